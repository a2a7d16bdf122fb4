"""The order of judgement: for each two steps that stand beside each other, a screen on which the first one wins."""

import drawing
import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens.case import Case
from fleettools.screens.judge import ORDER, judge
from fleettools.screens.patterns import Rules

STEPS = [step.__name__.strip("_") for _, step in ORDER]
BUSY = "✻ Sailing… (12s · esc to interrupt)"
FAILED = "⏺ API Error: 529 Overloaded"
LIST = ("  ❯ /add-dir    Add a folder", "    /agents     Agents")
RETRY = "✻ 529 Overloaded · Retrying in 2s · attempt 4/10"
ASKS = ("─" * 60, " Do you want to proceed?", " ❯ 1. Yes", "   2. No", "", " Esc to cancel · Tab to amend")

FLOATED = (drawing.SAMPLES / "opencode" / "backend_error--opencode-72x24-401-sessions.txt").read_text()


def claude(*lines: str) -> str:
    return drawing._on("claude", list(lines))


def typed(text: str, *above: str) -> str:
    """Claude's screen with a draft in its composer, and what stands right above that."""
    rule = "─" * 60
    body = claude("⏺ Done.").split(rule[:20])[0].rstrip("\n")
    return "\n".join([body, "", *above, rule, f"❯\xa0{text}", rule, "  ? for shortcuts"])


def dialog(*lines: str) -> str:
    """Claude's screen with a dialog in place of its composer."""
    body = claude(*lines).split("─" * 20)[0].rstrip("\n")
    return "\n".join([body, "", *ASKS])


def pane(text: str, seconds: float | None = None, **fields: object) -> records.Pane:
    baseline = fields.pop("baseline", None)
    turn = records.Turn(id="t", seconds=seconds, baseline=baseline) if seconds is not None or baseline else None  # type: ignore[arg-type]
    known = {"agent": "claude", "tz": "UTC"}
    return records.Pane(ts="2026-11-30T02:00:00.000Z", text=text, turn=turn, **{**known, **fields})  # type: ignore[arg-type]


# The first step's name, then a pane for which it and the next one both have an answer.
BOTH = {
    ("gone", "unmarked"): pane("", gone=True, unmarked=True),
    ("unmarked", "undescribed"): pane("API Error: 529", agent="nobody", unmarked=True),
    ("stale", "begun_anew"): pane(claude(FAILED, "", "❯ /clear"), baseline=claude(FAILED)),
    ("begun_anew", "asking"): pane(dialog("⏺ Done.", "", "❯ /clear")),
    ("asking", "retrying"): pane(dialog(RETRY)),
    ("covered", "retrying"): pane(typed("/", RETRY, "", *LIST)),
    ("retrying", "working"): pane(claude(RETRY, "", BUSY)),
    ("covered", "working"): pane(typed("/", "✻ Sailing… (12s)", "", *LIST)),
    ("stopped", "failed"): pane(claude("  ⎿  Interrupted · And now?", "", f"\x1b[31m{FAILED}\x1b[39m")),
    ("covered", "ended"): pane(FLOATED, agent="opencode"),
    ("failed", "unearned"): pane(claude("  ⎿  You've hit your session limit")),
    ("failed", "too_fast"): pane(claude(FAILED), seconds=0.5),
    ("unearned", "too_fast"): pane(claude("  ⎿  Read the notes"), seconds=0.5),
    ("unfinished", "too_fast"): pane(typed("and then?"), seconds=0.5),
    ("too_fast", "ended"): pane(claude("⏺ Done."), seconds=0.5),
}


@pytest.mark.parametrize(("first", "second"), BOTH, ids=[f"{a} before {b}" for a, b in BOTH])
def test_of_two_steps_the_first_one_in_order_decides(first: str, second: str) -> None:
    shown = BOTH[first, second]
    look = agentfiles.load(shown.agent or "")
    steps = {step.__name__.strip("_"): step for _, step in ORDER}
    answers = {name: steps[name](Case(shown, look, Rules())) for name in (first, second)}
    assert all(answers.values()), answers
    found, wanted = judge(shown, look, Rules()), answers[first]
    assert wanted and (found.outcome, found.reason) == (wanted.outcome, wanted.reason)
    assert STEPS.index(first) < STEPS.index(second)


def test_each_step_is_one_of_a_pair() -> None:
    """Except where one excludes its neighbour: an agent without a look has no other steps, an empty screen no item."""
    paired = {name for pair in BOTH for name in pair}
    assert set(STEPS) - paired == {"empty"}


def test_every_step_has_its_rule_beside_it() -> None:
    assert len(STEPS) == len(set(STEPS)) and all(len(rule) > 10 for rule, _ in ORDER)
