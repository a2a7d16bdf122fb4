"""A view on standard output: one JSON line in a pipe, a rich table on a terminal."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from fleettools.adapters import clock
from fleettools.adapters.streams import Output

if TYPE_CHECKING:
    from rich.table import Table

EVERY = 1.0  # seconds between two looks


def show(
    out: Output, view: Callable[[], dict[str, Any]], table: Callable[[dict[str, Any]], "Table"], watch: bool
) -> None:
    """Show the view once, or with `watch` again and again until a signal ends the command."""
    if os.isatty(1):
        _draw(view, table, watch)
        return
    last = b""
    while True:
        line = msgspec.json.encode(view()) + b"\n"
        if line != last:
            out.write(line)
            out.flush()
        if not watch:
            return
        last = line
        clock.sleep(EVERY)


def _draw(view: Callable[[], dict[str, Any]], table: Callable[[dict[str, Any]], "Table"], watch: bool) -> None:
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)
    if not watch:
        console.print(table(view()))
        return
    with Live(table(view()), console=console, auto_refresh=False) as live:
        while True:
            clock.sleep(EVERY)
            live.update(table(view()), refresh=True)
