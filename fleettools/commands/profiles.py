"""fleet-profiles: which profiles may spawn, and which credentials cool off or are quarantined."""

from typing import TYPE_CHECKING

from fleettools.cli import Context, command, state, watch

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fleettools.policy.views import View


@command("fleet-profiles")
@state
@watch
def main(ctx: Context, state_url: str | None, every: float | None) -> None:
    """Which profiles may spawn now, and which credentials cool off or are quarantined.

    Prints one JSON object in a pipe, a table on a terminal.
    """
    from fleettools.commands.views.display import show
    from fleettools.services.verbs import views

    config, store = ctx.config(), ctx.store(state_url, view=True)

    def view() -> "View":
        return views.profiles(config, store)

    def draw(view: "View") -> "RenderableType":
        from fleettools.commands.views import tables

        return tables.profiles(view)

    show(ctx, view, draw, every)


if __name__ == "__main__":
    main()
