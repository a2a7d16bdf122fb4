"""A view on standard output: one JSON line in a pipe, or when it is asked for, tables on a terminal."""

import io
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from fleettools.adapters import clock
from fleettools.cli import Context

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from fleettools.policy.views import View


def show(
    ctx: Context, view: "Callable[[], View]", draw: "Callable[[View], RenderableType]", every: float | None
) -> None:
    """Show the view once, or again each `every` seconds until a signal, or a reader that is gone, ends the command."""
    out = ctx.out
    if os.isatty(1) and not ctx.json:
        _show_drawn(view, draw, every)
        return
    while True:
        out.write(msgspec.json.encode(view()) + b"\n")
        out.flush()
        if every is None:
            return
        clock.sleep(every)


def drawn(lines: "Iterable[Text]", width: int) -> bytes:
    """Lines that fit the width as they stand; with colours only on a terminal, and not under NO_COLOR."""
    from rich.console import Console

    coloured = os.isatty(1) and not os.environ.get("NO_COLOR")
    # The width is one more, because rich would break a line that fills the whole of it.
    console = Console(
        file=io.StringIO(), width=width + 1, highlight=False, color_system="standard" if coloured else None,
        force_terminal=coloured, legacy_windows=False,
    )  # fmt: skip
    for line in lines:
        console.print(line, soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().encode()


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
