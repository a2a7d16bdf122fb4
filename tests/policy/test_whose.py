"""Whose word it is: the rule that decides, and the turn that it names."""

from typing import Any

import pytest

from fleettools import records
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.turns import PastTurn, TurnState
from fleettools.policy.members.whose import RULES, Turn, Word, turn_of

T0 = 1_767_225_600_000
OLD = PastTurn(event="old", began_ms=T0 - 60_000, prompt="p0", outcome="completed", told=True)
(AGAIN, PROMPT, FIRST, BEGIN, BEFORE, OTHER, FAILED, ELSE) = (rule for rule, _ in RULES)


def word(
    said: str, after_s: float, prompt: str | None = None, signal: str = "s", past: tuple[PastTurn, ...] = (OLD,),
    none: bool = False, its: str | None = "p1", **turn: Any,
) -> Word:  # fmt: skip
    """A word so many seconds after the current turn began; `its` is that turn's own prompt."""
    now = None if none else TurnState(**{"event": "now", "began_ms": T0, "seen_ms": T0, "prompt": its} | turn)
    member = MemberState(
        server="h:/s:1", target="%1", state="busy", since_ms=T0, joined_ms=T0 - 90_000, turn=now, past=list(past),
        heard={"known": "now", "older": "old", "lost": "forgotten"},
    )  # fmt: skip
    given: Any = {"said": said, "prompt": prompt, "id": signal}
    signalled = records.Signal(ts=records.to_ts(T0), source="hook", **given)
    return Word(member, signalled, T0 + round(1000 * after_s))


SHOWN: dict[str, Any] = {"screen": "a:1", "outcome": "working", "its": None}
CASES = {
    "heard before, of this turn": (word("end", 9, "p0", "known"), AGAIN, "now"),
    "heard before, of an earlier one": (word("end", 9, "p1", "older"), AGAIN, "old"),
    "heard before, of one that nobody knows": (word("end", 9, "p1", "lost"), AGAIN, "forgotten"),
    "by the prompt's id, whatever the time": (word("end", -30, "p1"), PROMPT, "now"),
    "by an earlier prompt's id": (word("failure", 30, "p0"), PROMPT, "old"),
    "the first of all": (word("blocked", 0, none=True, past=()), FIRST, "new"),
    "it begins what fleet-send has delivered": (
        word("begin", 1, "p2", delivered_at_ms=T0 - 500, its=None), BEGIN, "now"),
    "it begins what the screen showed a moment before": (word("begin", 2.9, "p2", **SHOWN), BEGIN, "now"),
    "it begins another after that moment": (word("begin", 3.1, "p2", **SHOWN), BEGIN, "new"),
    "it began the earlier one, before this one can have begun": (
        word("begin", -9, "p2", delivered_at_ms=T0 - 500, its=None), BEGIN, "old"),
    "it ended so quickly that the screen showed it later": (word("end", -1, its=None), BEFORE, "now"),
    "it is of the turn before, which was still at work": (
        word("end", -1, past=(PastTurn(event="old", began_ms=T0 - 9_000, outcome="working"),)), BEFORE, "old"),
    "another prompt's end, which nobody has seen": (word("end", 5, "p9"), OTHER, "forgotten"),
    "another prompt's failure": (word("failure", 5, "p9"), OTHER, "new"),
    "a failure long after the end": (word("failure", 3.1, outcome="completed", its=None), FAILED, "new"),
    "a failure just after the end": (word("failure", 2.9, outcome="completed", its=None), ELSE, "now"),
    "a failure after the word of the end": (
        word("failure", 1, outcome="completed", its=None, worded_ms=T0), FAILED, "new"),
    "all else": (word("end", 5), ELSE, "now"),
}  # fmt: skip


def called(turn: Turn) -> str:
    return {"current": "now", "past": turn.past.event if turn.past else ""}.get(turn.kind, turn.kind)


@pytest.mark.parametrize(("one", "rule", "whose"), CASES.values(), ids=CASES.keys())
def test_the_first_rule_that_applies_names_the_turn(one: Word, rule: str, whose: str) -> None:
    assert next(rule for rule, step in RULES if step(one) is not None) == rule
    assert called(turn_of(one)) == whose


def test_every_rule_decides_a_case() -> None:
    assert {rule for _, rule, _ in CASES.values()} == {rule for rule, _ in RULES}
