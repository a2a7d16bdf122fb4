"""A view on standard output: one JSON line in a pipe, rich tables on a terminal."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from fleettools.adapters import clock
from fleettools.adapters.streams import Output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fleettools.policy.views import View


def show(
    out: Output, view: "Callable[[], View]", draw: "Callable[[View], RenderableType]", every: float | None
) -> None:
    """Show the view once, or again each `every` seconds until a signal, or a reader that is gone, ends the command."""
    if os.isatty(1):
        _show_drawn(view, draw, every)
        return
    while True:
        out.write(msgspec.json.encode(view()) + b"\n")
        out.flush()
        if every is None:
            return
        clock.sleep(every)


def _show_drawn(view: "Callable[[], View]", draw: "Callable[[View], RenderableType]", every: float | None) -> None:
    from rich.console import Console
    from rich.live import Live

    # rich alone would leave bold and dim on under NO_COLOR.
    console = Console(highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")
    if every is None:
        console.print(draw(view()))
        return
    with Live(draw(view()), console=console, auto_refresh=False) as live:
        live.refresh()
        while True:
            clock.sleep(every)
            live.update(draw(view()), refresh=True)
