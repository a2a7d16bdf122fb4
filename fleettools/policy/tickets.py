"""Tickets: one piece of work each, settled exactly once by whoever is first (design section 5)."""

from typing import Literal

import msgspec

from fleettools import records

By = Literal["reply", "verdict", "gone", "release"]


class TicketState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is stored under `ticket/<id>`. `event`: that of its turn; `lead`: a pane id on `server`; times in ms.

    `collected_ms` is set when somebody fetched the outcome, or was told it at once by the command that failed.
    """

    id: str
    state: Literal["open", "settled"] = "open"
    server: str
    target: str
    name: str | None = None
    profile: str | None = None
    lead: str | None = None
    event: str
    outcome: records.Outcome | None = None
    reason: str | None = None
    by: By | None = None
    reply: str | None = None
    opened_ms: int
    settled_ms: int | None = None
    collected_ms: int | None = None


def ticket_key(ticket: str) -> str:
    """Where the store keeps a ticket."""
    return f"ticket/{ticket}"
