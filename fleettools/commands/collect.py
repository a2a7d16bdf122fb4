"""fleet-collect: fetch how tickets ended, and wait for those that have not."""

from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, complete, state
from fleettools.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleettools.policy.members.tickets import TicketState


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
    from fleettools.services.verbs import collect

    wanted = collect.checked(collect.Wanted(tickets, lead))
    store = ctx.store(state_url)
    left = 0
    for round in collect.rounds(store, clock, wanted, seconds):
        _print(ctx, round.ended)
        collect.mark(store, round.ended)
        left = len(round.open)
    if left:
        ctx.messages.info(f"{left} of the tickets not ended yet; run it again, or give --wait more seconds")
        return Exit.NOT_NOW
    return Exit.OK


def _print(ctx: Context, ended: "Iterable[TicketState]") -> None:
    """Write, before they are marked: a reader that dies in between sees a ticket once more rather than never."""
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.policy.members import tickets

    for ticket in ended:
        ctx.out.write(records.encode(tickets.record(ticket, **clock.stamp())))
    ctx.out.flush()


if __name__ == "__main__":
    main()
