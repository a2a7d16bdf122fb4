"""How much longer a sample screen takes to judge when something in it is stretched, than plain text of that size."""

import random
import time

import corpus

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens.judge import judge
from fleettools.screens.patterns import Rules

SIZES = (50_000, 1_000_000)
LONGEST = 6_000_000  # letters of one line
SHORTEST = 0.001  # seconds below which a ratio says nothing
LINE = "some words of a line that a tool has printed, 12345\n"


def worst(number: int) -> str:
    """The worst of so many sample screens."""
    chosen = random.Random(7)
    found = [_ratios(agent, text, chosen) for agent, text in chosen.sample(corpus.screens(), number)]
    ratio, what = max(one for ratios in found for one in ratios)
    return f"at worst {ratio:.1f} times as long as plain text of that size ({what})"


def _ratios(agent: str, text: str, chosen: random.Random) -> list[tuple[float, str]]:
    lines = text.split("\n")
    row = chosen.choice([at for at, line in enumerate(lines) if line.strip()] or [0])
    found = []
    for size in SIZES:
        plain = max(_seconds(agent, LINE * (size // len(LINE))), SHORTEST)
        found += [
            (_seconds(agent, "\n".join(shown)) / plain, f"{agent}, {size // 1000} KB, {what}")
            for what, shown in _stretched(lines, row, size)
        ]
    plain = max(_seconds(agent, LINE * (LONGEST // len(LINE))), SHORTEST)
    long = [*lines[:row], lines[row] + lines[row] * (LONGEST // max(len(lines[row]), 1)), *lines[row + 1 :]]
    return [*found, (_seconds(agent, "\n".join(long)) / plain, f"{agent}, a line of 6 MB")]


def _stretched(lines: list[str], row: int, size: int) -> list[tuple[str, list[str]]]:
    above, line, below = lines[:row], lines[row], lines[row + 1 :]
    word = (line.split() or ["x"])[-1] + " "
    blank = "\x1b[31m  \x1b[0m"
    return [
        ("a word again and again", [*above, f"{line} {word * (size // len(word))}", *below]),
        ("blank coloured lines", [*above, *[blank] * (size // len(blank)), line, *below]),
        ("its line again and again", [*above, *[line or "x"] * (size // (len(line) + 1)), *below]),
        ("the whole screen again and again", lines * (size // len("\n".join(lines)) + 1)),
    ]


def _seconds(agent: str, text: str) -> float:
    pane = records.Pane(ts="2026-01-31T12:00:00.000Z", text=text, agent=agent, tz="UTC")
    look = agentfiles.load(agent)
    best = float("inf")
    for _ in range(2):  # the machine does other things, too
        began = time.process_time()
        judge(pane, look, Rules())
        best = min(best, time.process_time() - began)
    return best
