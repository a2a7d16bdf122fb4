"""Tickets: one piece of work each, settled exactly once by whoever is first."""

from typing import Any, Literal, NamedTuple

import msgspec

from fleettools import records

By = Literal["reply", "verdict", "gone", "release", "send"]

TICKETS = "ticket/"


class TicketState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is stored under `ticket/<id>`. `event`: that of its turn; `lead`: a pane id on `server`; times in ms.

    `again`: the failed ticket that it continues, `followed`: the one that continues it; `prompt`: what was sent, kept
    where it may be sent again. `collected_ms` is set when somebody fetched the outcome, or was told it at once by the
    command that failed.
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
    again: str | None = None
    followed: str | None = None
    prompt: str | None = None


class Settlement(NamedTuple):
    """How a ticket is to end. `event`: the turn that ended, None for a reply; `told`: the asker knows it already."""

    ticket: str
    by: By
    outcome: records.Outcome
    reason: str
    at_ms: int
    event: str | None = None
    reply: str | None = None
    told: bool = False


def ticket_key(ticket: str) -> str:
    """Where the store keeps a ticket."""
    return f"{TICKETS}{ticket}"


def settle(ticket: TicketState | None, end: Settlement) -> tuple[TicketState | None, tuple[bool, str]]:
    """End an open ticket: the answer is whether it is this settlement that ended it, and why.

    A verdict that comes again for the same event has ended it still; a second reply has not. A ticket that the store
    no longer has stands in nobody's way.
    """
    if ticket is None:
        return None, (end.by != "reply", "no such ticket")
    if ticket.state == "settled":
        again = end.event is not None and ticket.event == end.event and ticket.by == end.by
        return ticket, (again, f"already settled by {ticket.by}: {ticket.reason}")
    settled = msgspec.structs.replace(
        ticket,
        state="settled",
        event=end.event or ticket.event,
        outcome=end.outcome,
        reason=end.reason,
        by=end.by,
        reply=end.reply,
        settled_ms=end.at_ms,
        collected_ms=end.at_ms if end.told else None,
    )
    return settled, (True, end.reason)


def followed(ticket: TicketState | None, by: str) -> TicketState | None:
    """The ticket, with the one that continues it."""
    return None if ticket is None else msgspec.structs.replace(ticket, followed=by)


def collect(ticket: TicketState | None, now_ms: int) -> tuple[TicketState | None, bool]:
    """Mark a settled ticket as fetched; the answer is whether it had not been before."""
    if ticket is None or ticket.state == "open" or ticket.collected_ms is not None:
        return ticket, False
    return msgspec.structs.replace(ticket, collected_ms=now_ms), True


def record(ticket: TicketState, **stamp: Any) -> records.Ticket:
    """The ticket as a record; `stamp` is its `ts`, `boot` and `up`."""
    return records.Ticket(
        **stamp,
        **records.who(records.Ticket, ticket),
        id=ticket.id,
        state=ticket.state,
        event=ticket.event,
        outcome=ticket.outcome,
        reason=ticket.reason,
        by=ticket.by,
        reply=ticket.reply,
        again=ticket.again,
        opened_at=records.to_ts(ticket.opened_ms),
        settled_at=None if ticket.settled_ms is None else records.to_ts(ticket.settled_ms),
        collected=None if ticket.state == "open" else ticket.collected_ms is not None,
    )
