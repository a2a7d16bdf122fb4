"""How tickets ended: those that are asked for, until they have, and marked as fetched once they were handed over."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fleettools.errors import Unknown, UsageError
from fleettools.policy.members import tickets
from fleettools.policy.members.tickets import TICKETS, TicketState, ticket_key
from fleettools.services.ports import Clock
from fleettools.services.store import Store, change, read, read_all

LOOK_AGAIN = 0.2  # seconds


class Round(NamedTuple):
    """One look: the tickets that have ended since the look before, and those that have not ended."""

    ended: list[TicketState]
    open: list[TicketState]


class Wanted(NamedTuple):
    """Which tickets are asked for: those named, else all that nobody has fetched; of a `lead`: %5, or SERVER/%5."""

    names: Sequence[str] = ()
    lead: str | None = None


def checked(wanted: Wanted) -> Wanted:
    """The wish, its lead looked at; raises UsageError."""
    pane = (wanted.lead or "%0").rpartition("/")[2]
    if not (pane.startswith("%") and pane[1:].isdecimal() and pane.isascii()):
        raise UsageError(f"--lead {wanted.lead}: no pane id", "write %5, or SERVER/%5")
    return wanted


def rounds(store: Store, clock: Clock, wanted: Wanted, seconds: float) -> Iterator[Round]:
    """Look again and again, until all of them have ended or the time is over; raises Unknown for one that is not there.

    None is marked as fetched by that.
    """
    until = clock.monotonic() + seconds
    seen: set[str] = set()
    while True:
        found = [one for one in _found(store, wanted.names) if one.id not in seen and _is_of(one, wanted.lead)]
        ended = [one for one in found if one.state == "settled"]
        seen |= {one.id for one in ended}
        last = Round(ended, [one for one in found if one.state != "settled"])
        yield last
        if not last.open or clock.monotonic() >= until:
            return
        clock.sleep(min(LOOK_AGAIN, until - clock.monotonic()))


def mark(store: Store, ended: Iterable[TicketState]) -> None:
    """Mark tickets as fetched, which ends the reminders of them: to be called when they have been handed over."""
    now_ms = store.now_ms()
    for ticket in ended:
        change(store, ticket_key(ticket.id), TicketState, lambda kept: tickets.collect(kept, now_ms))


def _found(store: Store, names: Sequence[str]) -> Iterable[TicketState]:
    if not names:
        return _uncollected(store)
    known = {name: _named(store, name) for name in dict.fromkeys(names)}
    if missing := sorted(name for name, ticket in known.items() if ticket is None):
        what = f"no such ticket: {', '.join(missing)}"
        raise Unknown(what, "fleet-send prints the ids", code="unknown_ticket")
    return {ticket.id: ticket for ticket in known.values() if ticket}.values()


def _named(store: Store, name: str) -> TicketState | None:
    ticket = read(store, ticket_key(name), TicketState)
    while ticket is not None and ticket.followed:  # its member was prompted again
        ticket = read(store, ticket_key(ticket.followed), TicketState)
    return ticket


def _uncollected(store: Store) -> list[TicketState]:
    found = [ticket for _, ticket in read_all(store, TICKETS, TicketState) if ticket.collected_ms is None]
    return sorted(found, key=lambda ticket: (ticket.settled_ms or 0, ticket.opened_ms))


def _is_of(ticket: TicketState, lead: str | None) -> bool:
    return lead is None or lead in (ticket.lead, f"{ticket.server}/{ticket.lead}")
