"""One sweep of 100 and 400 panes, against a process per pane and against the bare batched call."""

import subprocess
import time
from collections.abc import Iterator

from fleet import Fleet, running
from measure import Row, paired

from fleettools.adapters.tmux import Tmux


def rows() -> Iterator[Row]:
    for count in (100, 400):
        with running(count) as fleet:
            yield from compared(count, Tmux(fleet.socket), fleet)


def compared(count: int, tmux: Tmux, fleet: Fleet) -> Iterator[Row]:
    """The two rows of one size."""
    sweep = paired(lambda: ours(tmux), lambda: one_by_one(fleet), 5)
    part = 1 / sweep.ratio
    figure = f"1/{part:.0f} ({sweep.ours * 1e3:.0f} / {sweep.yardstick * 1e3:.0f} ms)"
    yield Row(f"one sweep of {count} panes, against a process each", figure, "<= 1/15, aim 1/25", part >= 15)
    bare = paired(lambda: ours(tmux), lambda: batched(fleet), 15)
    figure = f"{bare.ratio:.2f}x ({bare.ours * 1e3:.1f} / {bare.yardstick * 1e3:.1f} ms)"
    yield Row(f"one sweep of {count} panes, against the bare call", figure, "<= 1.5x", bare.ratio <= 1.5)


def ours(tmux: Tmux) -> float:
    """What fleet-scrape does in a sweep that finds every pane changed."""
    start = time.perf_counter()
    tmux.capture([row.id for row in tmux.panes(commands=False)])
    return time.perf_counter() - start


def one_by_one(fleet: Fleet) -> float:
    """A tmux process for each pane."""
    start = time.perf_counter()
    for pane in fleet.panes:
        run(fleet, ["capture-pane", "-e", "-J", "-p", "-t", pane])
    return time.perf_counter() - start


def batched(fleet: Fleet) -> float:
    """One tmux process that is told on its standard input to show every pane, and one that lists them."""
    script = "".join(f"display-message -p m{pane[1:]}\ncapture-pane -e -J -p -t {pane}\n" for pane in fleet.panes)
    start = time.perf_counter()
    run(fleet, ["list-panes", "-a"])
    run(fleet, ["source-file", "-"], script.encode())
    return time.perf_counter() - start


def run(fleet: Fleet, words: list[str], stdin: bytes = b"") -> None:
    """One tmux process; its output is read and thrown away."""
    subprocess.run(
        ["tmux", "-u", "-S", fleet.socket, *words], input=stdin, capture_output=True, check=True, env=fleet.env
    )
