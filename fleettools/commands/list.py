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
    from fleettools.commands.views.display import show
    from fleettools.policy import views
    from fleettools.policy.heartbeat import DAEMONS, DaemonState
    from fleettools.services import fleet
    from fleettools.services.store import read_all

    config, store = ctx.config(), ctx.store(state_url, view=True)
    coverage = views.health_coverage(config.health.enabled, config.health.webhook)

    def view() -> "View":
        known, members = fleet.situation(store, config), fleet.members(store)
        made = views.fleet_view(config, known, members, released=released, coverage=coverage)
        daemons = views.daemons(dict(read_all(store, DAEMONS, DaemonState)), store.now_ms())
        return {**made, "daemons": daemons} if daemons else made

    if status:
        if released or every is not None:
            raise click.UsageError("--status goes neither with --all nor with --watch")
        from fleettools.policy.segment import segment

        out = views.profiles_view(config, fleet.situation(store, config))
        ctx.out.write(segment(view()["members"], out).encode() + b"\n")
        ctx.out.flush()
        return

    def draw(view: "View") -> "RenderableType":
        from fleettools.commands.views import tables

        return tables.fleet(view)

    show(ctx, view, draw, every)


if __name__ == "__main__":
    main()
