"""What a screen takes to judge grows with its size, not with the square of it: counted in calls, not in seconds."""

import json
import random
import sys
from collections.abc import Callable

import drawing
import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens.blocks import Screen
from fleettools.screens.judge import judge
from fleettools.screens.patterns import Rules

INDEX = [json.loads(line) for line in (drawing.SAMPLES / "index.jsonl").read_text().splitlines()]
CASES = random.Random(7).sample(INDEX, 90)
BLANK = "\x1b[31m  \x1b[0m"

STRETCHED: dict[str, Callable[[list[str], int, int], list[str]]] = {
    "a word": lambda lines, row, times: [*lines[:row], f"{lines[row]} {lines[row][-8:]}" * times, *lines[row + 1 :]],
    "a row": lambda lines, row, times: [*lines[:row], *[lines[row]] * times, *lines[row + 1 :]],
    "blank coloured rows": lambda lines, row, times: [*lines[:row], *[BLANK] * times, *lines[row:]],
    "all of it": lambda lines, row, times: lines * (times // 6),
}


def calls(agent: str, lines: list[str]) -> int:
    """How many functions are called to judge a screen."""
    look, count = agentfiles.load(agent), 0
    pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text="\n".join(lines), tz="UTC", agent=agent)

    def seen(_frame: object, event: str, _what: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        judge(pane, look, Rules())
    finally:
        sys.setprofile(before)
    return count


def rows(case: dict[str, str], lines: list[str]) -> list[int]:
    """Rows of a sample worth stretching: the heads of what the turn's last things are, else any with text."""
    look = agentfiles.load(case["agent"])
    assert look is not None
    screen = Screen("\n".join(lines), look)
    heads = [screen.skipped + item.row for item in screen.telling[-3:]]
    return heads or [next((at for at, line in enumerate(lines) if line.strip()), 0)]


@pytest.mark.parametrize("what", STRETCHED)
def test_four_times_the_rows_take_no_more_than_about_four_times_the_calls(what: str) -> None:
    for case in CASES:
        lines = (drawing.SAMPLES / case["file"]).read_text().rstrip().split("\n")
        calls(case["agent"], lines)  # loads what is loaded once
        for row in rows(case, lines):
            short, long = (STRETCHED[what](lines, row, times) for times in (60, 240))
            few, many = calls(case["agent"], short), calls(case["agent"], long)
            if many >= 6 * few + 500:  # a pattern that only the long one needs may have been compiled meanwhile
                many = calls(case["agent"], long)
            assert many < 6 * few + 500, (case["file"], lines[row], few, many)
