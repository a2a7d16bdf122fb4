"""fleet-profiles: which profiles may spawn, and which credentials cool off or are quarantined."""

from typing import TYPE_CHECKING, Any

import click

from fleettools.cli import Context, command, state
from fleettools.errors import Exit

if TYPE_CHECKING:
    from rich.table import Table


@command("fleet-profiles")
@state
@click.option("--watch", is_flag=True, help="Redraw in place every second, until stopped; in a pipe a line a change.")
def main(ctx: Context, state_url: str | None, watch: bool) -> Exit:
    """Which profiles may spawn now, and which credentials cool off or are quarantined.

    Prints JSON in a pipe, a table on a terminal.
    """
    from fleettools.adapters import fleet
    from fleettools.adapters.display import show
    from fleettools.policy.views import profiles_view

    config, store = ctx.config(), ctx.store(state_url)

    def view() -> dict[str, Any]:
        return profiles_view(config, fleet.credentials(store), fleet.members(store), store.now_ms())

    show(ctx.out, view, table, watch)
    return Exit.OK


def table(view: dict[str, Any]) -> "Table":
    """The view for a person; a quarantine is shown before a cool-off."""
    from rich.table import Table

    drawn = Table(box=None, header_style="bold")
    for heading in ("profile", "credential", "free", "state", "left", "why"):
        drawn.add_column(heading, no_wrap=True, overflow="ellipsis")
    for name, profile in view["profiles"].items():
        drawn.add_row(*_cells(name, profile))
    return drawn


def _cells(name: str, profile: dict[str, Any]) -> list[str]:
    from rich.markup import escape

    from fleettools.adapters.streams import printable

    free = "any" if profile["free"] is None else str(profile["free"])
    condition, seconds, why = "free" if profile["free"] != 0 else "full", "", ""
    for key, word in (("coolingOff", "cooling off"), ("quarantined", "quarantined")):
        if key in profile:
            condition, seconds, why = word, f"{profile[f'{key}ForSeconds']} s", profile[key]["why"]
    colour = {"free": "green", "full": "yellow"}.get(condition, "red")
    cells = [escape(printable(cell)) for cell in (name, profile["credentialId"] or "", free, condition, seconds, why)]
    cells[3] = f"[{colour}]{cells[3]}[/]"
    return cells


if __name__ == "__main__":
    main()
