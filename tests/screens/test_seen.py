"""What an agent's file claims to have seen of the real program, its samples bear out."""

import json

import drawing
import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens.judge import judge
from fleettools.screens.look import Look
from fleettools.screens.patterns import Rules

ROWS = [json.loads(line) for line in (drawing.SAMPLES / "index.jsonl").read_text().splitlines()]
AGENTS = agentfiles.names()


def look_of(agent: str) -> Look:
    look = agentfiles.load(agent)
    assert look is not None
    return look


def shown(agent: str, version: str) -> set[str]:
    """The situations of an agent's captured screens, of that version."""
    return {
        row["situation"]
        for row in ROWS
        if row["agent"] == agent and row["origin"] == "captured" and version in row["source"] and "situation" in row
    }


@pytest.mark.parametrize("agent", AGENTS)
def test_a_file_claims_no_more_than_its_captures_show(agent: str) -> None:
    seen = look_of(agent).seen
    if seen is not None:
        assert set(seen.situations) <= shown(agent, seen.version)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_whose_reply_and_failure_were_captured_is_bundled_and_another_unseen(agent: str) -> None:
    rows = [row for row in ROWS if row["agent"] == agent and row["origin"] == "captured" and "situation" in row]
    captured = {"reply", "failure"} <= {row["situation"] for row in rows}
    pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text="nothing", agent=agent)
    assert judge(pane, look_of(agent), Rules()).coverage == ("bundled" if captured else "unseen")


def test_a_situation_fits_its_outcome() -> None:
    """So that no claim rests on a screen that shows something else."""
    outcomes = {
        "working": {"working"}, "streaming": {"working"}, "tool": {"working"}, "retrying": {"retrying"},
        "reply": {"completed"}, "question": {"blocked"}, "failure": {"backend_error", "exhausted"},
        "idle": {"idle"}, "stopped": {"idle"}, "cleared": {"idle"},
    }  # fmt: skip
    for row in ROWS:
        if row.get("situation") in outcomes:
            assert row["outcome"] in outcomes[row["situation"]], row["file"]
