"""fleet-collect: fetch how tickets ended, and wait for those that have not."""

from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, complete, state
from fleettools.errors import Exit, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleettools.policy.members.tickets import TicketState
    from fleettools.services.store import Store

LOOK_AGAIN = 0.2  # seconds


@command("fleet-collect")
@click.argument("tickets", nargs=-1, metavar="[TICKET]...", shell_complete=complete("tickets"))
@click.option("--lead", metavar="L", shell_complete=complete("panes"),
              help="Only tickets of this lead: a pane id (%5), or SERVER/%5.")  # fmt: skip
@click.option("--wait", "seconds", type=click.FloatRange(min=0), default=0.0, metavar="SECONDS",
              help="Wait so long for tickets that have not ended [default: 0].")  # fmt: skip
@state
def main(ctx: Context, tickets: tuple[str, ...], lead: str | None, seconds: float, state_url: str | None) -> Exit:
    """Fetch how tickets ended.

    Prints each settled `ticket` once and marks it collected; one that is named is printed again. Exit 1: there is no
    such ticket. Exit 75: some had not ended in time.
    """
    from fleettools.adapters import clock

    pane = (lead or "%0").rpartition("/")[2]
    if not (pane.startswith("%") and pane[1:].isdecimal() and pane.isascii()):
        raise UsageError(f"--lead {lead}: no pane id", "write %5, or SERVER/%5")
    store = ctx.store(state_url)
    until = clock.monotonic() + seconds
    printed: set[str] = set()
    while True:
        found = list(_named(store, tickets) if tickets else _uncollected(store))
        missing = _missing(store, tickets) if len(found) < len(set(tickets)) else set()
        if missing:
            ctx.messages.error(f"no such ticket: {', '.join(sorted(missing))}; fleet-send prints the ids")
            return Exit.NO
        wanted = [ticket for ticket in found if ticket.id not in printed and _is_of(ticket, lead)]
        ended = [ticket for ticket in wanted if ticket.state == "settled"]
        _print(ctx, store, ended, again=bool(tickets))
        printed |= {ticket.id for ticket in ended}
        left = len(wanted) - len(ended)
        if not left:
            return Exit.OK
        if clock.monotonic() >= until:
            ctx.messages.info(f"{left} of the tickets not ended yet; run it again, or give --wait more seconds")
            return Exit.NOT_NOW
        clock.sleep(min(LOOK_AGAIN, until - clock.monotonic()))


def _missing(store: "Store", tickets: tuple[str, ...]) -> set[str]:
    return {name for name in tickets if not list(_named(store, (name,)))}


def _named(store: "Store", tickets: tuple[str, ...]) -> "Iterable[TicketState]":
    from fleettools.policy.members.tickets import TicketState, ticket_key
    from fleettools.services.store import read

    for name in dict.fromkeys(tickets):
        ticket = read(store, ticket_key(name), TicketState)
        while ticket is not None and ticket.followed:  # its member was prompted again
            ticket = read(store, ticket_key(ticket.followed), TicketState)
        if ticket is not None:
            yield ticket


def _uncollected(store: "Store") -> "Iterable[TicketState]":
    from fleettools.policy.members.tickets import TICKETS, TicketState
    from fleettools.services.store import read_all

    found = [ticket for _, ticket in read_all(store, TICKETS, TicketState) if ticket.collected_ms is None]
    return sorted(found, key=lambda ticket: (ticket.settled_ms or 0, ticket.opened_ms))


def _is_of(ticket: "TicketState", lead: str | None) -> bool:
    return lead is None or lead in (ticket.lead, f"{ticket.server}/{ticket.lead}")


def _print(ctx: Context, store: "Store", ended: "Iterable[TicketState]", again: bool) -> None:
    """Write, then mark: a reader that dies in between sees the ticket once more rather than never."""
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.policy.members import tickets
    from fleettools.services.store import change

    for ticket in ended:
        if ticket.collected_ms is None or again:
            ctx.out.write(records.encode(tickets.record(ticket, **clock.stamp())))
    ctx.out.flush()
    now_ms = store.now_ms()
    for ticket in ended:
        key = tickets.ticket_key(ticket.id)
        change(store, key, tickets.TicketState, lambda kept: tickets.collect(kept, now_ms))


if __name__ == "__main__":
    main()
