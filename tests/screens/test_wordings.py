"""No wording without a message that it must match as a failure and must not match as a quotation."""

import json
from pathlib import Path

import drawing
import pytest
import yaml
from live import drift

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens.judge import judge
from fleettools.screens.patterns import Rules

LINES = (drawing.SAMPLES / "wordings.jsonl").read_text().splitlines()
ROWS = [json.loads(line) for line in LINES]
WORDINGS = [row for row in ROWS if "phrase" in row]
RELEASED = [row for row in ROWS if "phrase" not in row]
QUOTED = (
    "The log ends with:\n\n{}",
    "1. start of the run\n2. {}",
    "Found in the log: {}\n\nNothing else is wrong there, and the tests pass.",
)


def verdict(agent: str, text: str) -> records.Verdict:
    pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text=text, tz="UTC", agent=agent)
    return judge(pane, agentfiles.load(agent), Rules())


def phrases(file: str) -> set[str]:
    data = yaml.safe_load(Path(agentfiles.BUNDLED, f"{file}.yaml").read_text())
    kinds = (data.get("exhausted") or {}, data.get("errors") or {})
    return {phrase for kind in kinds for listed in kind.values() for phrase in listed}


@pytest.mark.parametrize("file", ["_backends", *agentfiles.names()])
def test_every_phrase_has_a_message_of_its_own(file: str) -> None:
    assert phrases(file) == {wording["phrase"] for wording in WORDINGS if wording["file"] == file}


@pytest.mark.parametrize("wording", WORDINGS, ids=lambda wording: f"{wording['agent']} {wording['phrase']}")
def test_a_phrase_decides_a_failure_and_no_quotation(wording: dict[str, str]) -> None:
    agent, text = wording["agent"], wording["text"]
    starts = agentfiles.load(agent).starts  # type: ignore[union-attr]
    own = f"API Error: {text}" if starts and not text.lower().startswith(tuple(starts)) else text
    failed = verdict(agent, drawing.failure(agent, own))
    assert (failed.outcome, failed.cause) == (wording["outcome"], wording["cause"])
    assert failed.pattern == f"{agent}: {wording['phrase']}"
    for form in QUOTED:
        assert verdict(agent, drawing.reply(agent, form.format(text))).outcome == "completed", form


@pytest.mark.parametrize("start", agentfiles.load("claude").starts)  # type: ignore[union-attr]
def test_a_message_that_begins_as_failures_do_is_one_and_its_quotation_is_none(start: str) -> None:
    text = f"{start[0].upper()}{start[1:]}".replace("*", "")
    assert verdict("claude", drawing.failure("claude", text)).outcome in ("backend_error", "exhausted")
    for form in QUOTED:
        assert verdict("claude", drawing.reply("claude", form.format(text))).outcome == "completed", form


def test_what_releases_say_is_judged_as_a_person_decided() -> None:
    """Those that the judge still owes are judged wrong: one that is right by now owes nothing any more."""
    judged = [row for row in RELEASED if row.get("outcome")]
    wrong = [row["text"] for row in judged if drift.judged(row) != drift.right(row)]
    assert wrong == [row["text"] for row in judged if row.get("owed")]


def test_no_proposal_is_left_that_nobody_has_looked_at() -> None:
    assert [row["text"] for row in RELEASED if row.get("proposed")] == []
