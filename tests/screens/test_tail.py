"""What stands above the first line that may begin a prompt is not read, and nothing of the verdict changes by that."""

import json
import random

import drawing
import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens import tail
from fleettools.screens.blocks import Screen
from fleettools.screens.judge import judge
from fleettools.screens.patterns import Rules

# An older conversation without a prompt, in a colour that ends with each line and in one that runs on.
OLDER = (
    [f"  src/module_{n}.py: renamed helper {n * 7}, tests pass" for n in range(60)],
    [f"\x1b[31m  line {n} of what a tool printed, all of it in red" for n in range(60)] + ["\x1b[0m"],
)
INDEX = [json.loads(line) for line in (drawing.SAMPLES / "index.jsonl").read_text().splitlines()]
CASES = [(case["agent"], (drawing.SAMPLES / case["file"]).read_text()) for case in random.Random(8).sample(INDEX, 200)]


def verdict(agent: str, text: str) -> records.Verdict:
    pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text=text, tz="UTC", agent=agent)
    return judge(pane, agentfiles.load(agent), Rules())


def all_read(monkeypatch: pytest.MonkeyPatch, agent: str, text: str) -> records.Verdict:
    with monkeypatch.context() as patch:
        patch.setattr(tail, "begins", lambda text, look: 0)
        return verdict(agent, text)


@pytest.mark.parametrize("older", OLDER, ids=["plain", "red"])
def test_a_verdict_is_the_same_whether_all_is_read_or_not(monkeypatch: pytest.MonkeyPatch, older: list[str]) -> None:
    cut = 0
    for agent, text in CASES:
        long = "\n".join([*older, text])
        look = agentfiles.load(agent)
        assert look is not None
        cut += Screen(long, look).skipped > 0
        assert verdict(agent, long) == all_read(monkeypatch, agent, long), (agent, text)
    assert cut > len(CASES) / 4


def test_the_turn_before_is_read_when_its_end_is_asked_for() -> None:
    look = agentfiles.load("claude")
    assert look is not None
    gap = [""] * (tail.ABOVE + 1)
    text = "\n".join([*OLDER[0], "● Done.", "", "✻ Cooked for 1m 3s", *gap, "❯ go on", "", "● Reading."])
    screen = Screen(text, look)
    assert screen.skipped > 0
    assert screen.marked_above


def test_a_person_is_told_the_rows_of_the_whole_screen() -> None:
    look = agentfiles.load("claude")
    assert look is not None
    screen = Screen("\n".join([*OLDER[0], "❯ go on", "", "● Reading."]), look)
    assert screen.skipped + screen.prompts[-1].row == len(OLDER[0])


def test_where_a_glyph_is_everywhere_all_is_read() -> None:
    look = agentfiles.load("claude")
    assert look is not None
    assert tail.begins("\n".join(["a > b > c"] * 100 + ["> go"]), look) == 0
