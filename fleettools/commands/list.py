"""fleet-list: who is in the fleet and how it stands."""

from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, state, watch

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fleettools.policy.views import View


@command("fleet-list")
@state
@click.option("--all", "released", is_flag=True, help="Show released members too.")
@click.option("--status", is_flag=True, help="One short text for tmux's status line, in its own colours.")
@watch
def main(ctx: Context, state_url: str | None, released: bool, status: bool, every: float | None) -> None:
    """Who is in the fleet, in which state, and which profiles have a place free.

    Prints one JSON object in a pipe, tables on a terminal.
    """
    if status:
        if released or every is not None:
            raise click.UsageError("--status goes neither with --all nor with --watch")
        _write_status(ctx, state_url)
        return
    from fleettools.commands.views.display import show
    from fleettools.services.verbs import views

    config, store = ctx.config(), ctx.store(state_url, view=True)

    def view() -> "View":
        return views.members(config, store, released=released)

    def draw(view: "View") -> "RenderableType":
        from fleettools.commands.views import tables

        return tables.fleet(view)

    show(ctx, view, draw, every)


def _write_status(ctx: Context, state_url: str | None) -> None:
    """One short text. tmux asks for it every few seconds, so nothing is loaded here that it does not need."""
    from fleettools.policy.accounts.credential import CREDENTIALS, CredentialState
    from fleettools.policy.members.roster import MEMBERS, MemberState
    from fleettools.policy.segment import segment
    from fleettools.services.store import read_all

    ctx.config()
    store = ctx.store(state_url, view=True)
    states = [member.state for _, member in read_all(store, MEMBERS, MemberState)]
    known = {key.removeprefix(CREDENTIALS): found for key, found in read_all(store, CREDENTIALS, CredentialState)}
    ctx.out.write(segment(states, known, store.moment()).encode() + b"\n")
    ctx.out.flush()


if __name__ == "__main__":
    main()
