"""Timing in pairs: a command and its yardstick in turn, so that a machine whose speed drifts slows both."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

PYTHON = sys.executable
record = False  # whether what is drawn is meant to be committed


class Row(NamedTuple):
    """One line of the table: what was measured against what, the ratio, and whether the goal was reached."""

    what: str
    figure: str
    goal: str
    reached: bool | None

    def __str__(self) -> str:
        mark = {True: "reached", False: "MISSED", None: ""}[self.reached]
        return f"{self.what:<66} {self.figure:<34} goal {self.goal:<26} {mark}"


class Measured(NamedTuple):
    """Median seconds of the command and of its yardstick, and the median of the ratios pair by pair."""

    ours: float
    yardstick: float
    ratio: float


def drawing(name: str) -> str:
    """Where a benchmark's drawing goes: to a folder that git ignores, unless it is to be recorded."""
    folder = "benchmarks" if record else os.path.join("benchmarks", "out")
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, name)


def seconds(command: Sequence[str], stdin: str | None = None, env: dict[str, str] | None = None) -> float:
    """The wall time of one whole process; its output is thrown away. Raises when it fails."""
    with open(stdin or os.devnull, "rb") as source:
        start = time.perf_counter()
        done = subprocess.run(command, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
        took = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return took


def paired(a: Callable[[], float], b: Callable[[], float], runs: int = 15) -> Measured:
    """Measure both in turn, after one warm-up of each."""
    a(), b()
    pairs = [(a(), b()) for _ in range(runs)]
    return Measured(
        statistics.median(x for x, _ in pairs),
        statistics.median(y for _, y in pairs),
        statistics.median(x / y for x, y in pairs),
    )


def command(module: str, *args: str) -> list[str]:
    """The argument vector of one of our commands, started as its installed script starts it."""
    return [PYTHON, "-c", f"from fleettools.commands.{module} import main; main()", *args]


MINIMAL_CLICK = [
    PYTHON,
    "-c",
    "import click\n@click.command()\n@click.option('--name')\ndef main(name):\n    click.echo('{}')\nmain()",
]
