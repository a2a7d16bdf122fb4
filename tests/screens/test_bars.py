"""What stands behind bars."""

import json
import re

import drawing
import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens import bars
from fleettools.screens.judge import judge
from fleettools.screens.patterns import Rules

ROWS = [json.loads(line) for line in (drawing.SAMPLES / "index.jsonl").read_text().splitlines()]
NAMES = [row["file"] for row in ROWS if row["agent"] == "opencode"]
FOOT = re.compile(r"(╹(?:\x1b\[[0-9;:]*m)*▀+[^\n]*?) *\n(?=[^\n]*\S)")  # with the row below it


def verdict(text: str) -> records.Verdict:
    pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text=text, tz="UTC", agent="opencode")
    return judge(pane, agentfiles.load("opencode"), Rules())


@pytest.mark.parametrize("name", NAMES)
def test_a_status_row_that_tmux_has_joined_to_the_composers_foot_says_what_it_said_below_it(name: str) -> None:
    """As `capture-pane -J` gives it for good once the pane has been narrower."""
    text = (drawing.SAMPLES / name).read_text()
    joined = FOOT.sub(r"\1  ", text)
    assert [verdict(joined).outcome, verdict(joined).cause] == [verdict(text).outcome, verdict(text).cause]


def test_samples_have_such_rows() -> None:
    assert sum(bool(FOOT.search((drawing.SAMPLES / name).read_text())) for name in NAMES) > 50


def test_a_foot_with_nothing_behind_it_stays_as_it_is() -> None:
    text = "  ┃  go\n  \x1b[34m╹\x1b[30m▀▀▀▀\x1b[m  \n  status"
    assert bars.parted(text) == text
    assert bars.parted("  ╹▀▀▀▀\x1b[m   status") == "  ╹▀▀▀▀\n\x1b[m   status"
