"""What agents really handed to their hooks becomes signals: today's releases against a backend that fails."""

import json
from pathlib import Path
from typing import Any

import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.adapters.memory import MemoryStore
from fleettools.policy.signals import payloads
from fleettools.policy.signals.payloads import Nothing, Said
from fleettools.screens import causes
from fleettools.services import signaling
from fleettools.services.signaling import Origin

LINES = [json.loads(line) for line in Path(__file__).with_name("payloads.jsonl").read_text().splitlines()]
STAMP = {"ts": "2026-12-01T00:00:10.000Z"}


def said(line: dict[str, Any]) -> Said | Nothing:
    look = agentfiles.load(line["agent"])
    assert look is not None
    return payloads.read(line["payload"], lambda text: causes.cause_of(look, text)[0], records.to_ms(STAMP["ts"]))


# Rule: each agent's word, its cause, and whether it names the turn, in the order of the file.
WORDS = {
    "claude": (True, ["begin", "end", "auth", "rate_limit", "quota", "overload", "blocked", "blocked"]),
    "codex": (True, ["end"]),
    "opencode": (True, ["begin", "auth", "rate_limit", "quota", "end", "overload"]),
    "qwen": (True, ["begin", "end", "auth", "overload"]),
    "kimi": (False, ["begin", "end", "auth", "rate_limit", "quota", "overload", "blocked"]),
}


@pytest.mark.parametrize("agent", WORDS)
def test_what_real_payloads_say(agent: str) -> None:
    found = [one for line in LINES if line["agent"] == agent and isinstance(one := said(line), Said)]
    names_turns, words = WORDS[agent]
    assert [one.cause or one.said for one in found] == words
    assert {one.said for one in found if one.cause} <= {"failure"}
    assert {one.prompt is not None for one in found} == {names_turns}


def test_a_next_try_in_hours_says_when_the_plan_is_free_again() -> None:
    (quota,) = [one for line in LINES if line["agent"] == "opencode" and (one := said(line)) and one[3:4] == ("quota",)]
    assert isinstance(quota, Said) and quota.resets_ms is not None
    assert 2.9 < (quota.resets_ms - records.to_ms(STAMP["ts"])) / 3_600_000 < 3.1


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["agent"])
def test_a_payload_twice_is_one_signal_and_holds_none_of_what_it_need_not(line: dict[str, Any]) -> None:
    one = said(line)
    if isinstance(one, Nothing):
        return
    made = [signaling.record(one, Origin(line["agent"], "h:/s:1", "%1"), "hook", STAMP) for _ in range(2)]
    assert made[0] == made[1] and made[0].session
    assert "/home/dev" not in records.encode(made[0]).decode()


def test_what_nobody_takes_up_does_not_grow() -> None:
    """Hooks go on while no fleet-resolve runs: a hundred words of a pane wait, further ones are dropped."""
    store, look = MemoryStore(lambda text: None), Origin("claude", "h:/s:1", "%1")
    for number in range(3 * signaling.MOST):
        word = signaling.record(Said("begin", "s", f"p{number}"), look, "hook", STAMP)
        assert signaling.post(store, word) is (number < signaling.MOST)
    other = signaling.record(Said("begin", "s", "p"), look._replace(target="%11"), "hook", STAMP)
    assert signaling.post(store, other), "another pane's words wait beside them"
    assert len(list(store.scan(signaling.SIGNALS))) == signaling.MOST + 1
