"""Turns: which looks at a pane belong together, and what a turn's outcome is."""

import pytest

from fleettools import records
from fleettools.policy.members import turns
from fleettools.policy.members.turns import PastTurn, TurnState

T0 = 1_000_000


def look(outcome: str, screen: str | None = None, at: int = T0 + 10_000, **more: object) -> records.Verdict:
    """A verdict, as it is read from a stream."""
    seen = records.Verdict(ts=records.to_ts(at), outcome=outcome, screen=screen, **more)  # type: ignore[arg-type]
    return records.decode(records.encode(seen), records.Verdict)


def turn(screen: str | None = "fix:1", outcome: str | None = "working", **more: object) -> TurnState:
    fields = {"event": "e1", "began_ms": T0, "seen_ms": T0 + 5_000} | more
    return TurnState(screen=screen, outcome=outcome, **fields)  # type: ignore[arg-type]


SENT = {"event": "t1", "ticket": "t1", "delivered_at_ms": T0, "seen_ms": 0}
PROVEN = SENT | {"proven_ms": T0 + 2_000}
BEFORE = [PastTurn(event="e0", began_ms=T0 - 60_000, screen="old:1", block="b")]


@pytest.mark.parametrize(
    ("current", "seen", "kind"),
    [
        # The first look at a pane begins a turn when there is one on the screen.
        pytest.param(None, look("completed", "fix:1"), "new", id="the first look with a prompt"),
        pytest.param(None, look("working"), "new", id="the first look, at work, its prompt scrolled off"),
        pytest.param(None, look("idle"), "none", id="an idle pane without any turn"),
        pytest.param(None, look("blocked"), "none", id="a question before the first turn"),
        # Another last prompt, or a higher ordinal of the same one, begins a turn.
        pytest.param(turn(), look("working", "test:1"), "new", id="another last prompt"),
        pytest.param(turn(), look("working", "fix:2"), "new", id="a higher ordinal"),
        pytest.param(turn("fix:9"), look("working", "fix:10"), "new", id="ordinals are numbers"),
        pytest.param(turn(), look("working", "test:1", T0 + 1), "new", id="another last prompt, read out of order"),
        pytest.param(turn("fix:x"), look("working", "fix:2"), "same", id="an ordinal that is no number"),
        # A lower ordinal or no prompt is the same turn.
        pytest.param(turn("fix:2"), look("completed", "fix:1"), "same", id="a lower ordinal"),
        pytest.param(turn(), look("completed"), "same", id="no prompt on the screen"),
        pytest.param(turn(), look("completed", "none:0"), "same", id="no prompt, as classify says it"),
        pytest.param(turn(), look("completed", "fix:1"), "same", id="the same screen"),
        pytest.param(turn(None), look("working", "fix:1"), "same", id="a turn's prompt comes into sight"),
        # Working or retrying after an end begins a turn, nothing else does.
        pytest.param(turn(outcome="failed"), look("working", "fix:1"), "new", id="working after an end"),
        pytest.param(turn(outcome="completed"), look("retrying"), "new", id="retrying after an end"),
        pytest.param(turn(outcome="completed"), look("backend_error", "fix:1"), "same", id="an error after an end"),
        pytest.param(turn(outcome="completed"), look("idle"), "same", id="idle after an end"),
        pytest.param(turn(outcome="completed"), look("blocked"), "same", id="blocked after an end"),
        pytest.param(turn(outcome="blocked"), look("working", "fix:1"), "same", id="working after a question"),
        # What moves beside a turn that has ended is no work; nor is what its agent had said to be over a moment ago.
        pytest.param(
            turn(outcome="completed", block="b"), look("working", block="b"), "still", id="working, and nothing drawn"
        ),
        pytest.param(
            turn(outcome="completed", block="b"), look("working", block="a"), "new", id="working, and something drawn"
        ),
        pytest.param(
            turn(outcome="completed", block="b"), look("retrying", block="b"), "new", id="retrying, and nothing drawn"
        ),
        *(
            pytest.param(
                turn(outcome="completed", worded_ms=T0 + 6_000),
                look("working", at=T0 + at),
                kind,
                id=f"its word, {at} ms",
            )
            for at, kind in ((8_999, "still"), (9_000, "new"), (10_000, "new"))
        ),
        # A look that comes late, or again, begins nothing.
        pytest.param(
            turn(outcome="failed"), look("working", "fix:1", T0 + 1), "same", id="working, seen before the end"
        ),
        pytest.param(turn(), look("completed", "old:1", T0 - 1), "old", id="an earlier turn's screen comes again"),
        pytest.param(turn(), look("completed", "older:1", T0 - 90_000), "old", id="a screen of a forgotten turn"),
        pytest.param(turn(), look("completed", "old:1"), "new", id="an earlier prompt is given again"),
        pytest.param(turn(), look("working", "fix:2", T0 + 1), "same", id="a higher ordinal before it scrolled"),
        # A ticket's first prompt belongs to the ticket's turn; until it is submitted the screen shows what was before.
        pytest.param(turn(None, None, **SENT), look("idle", "old:1"), "waiting", id="while it is being delivered"),
        pytest.param(turn(None, None, **SENT), look("idle"), "waiting", id="the same, no prompt in sight"),
        pytest.param(turn(None, None, **SENT), look("working", "do:1"), "same", id="its prompt shows before the proof"),
        pytest.param(
            turn(None, None, proven_ms=T0 + 2_000, **SENT), look("working", "do:1"), "same", id="its first prompt"
        ),
        pytest.param(
            turn(None, None, proven_ms=T0 + 2_000, **SENT), look("working", "old:1"), "same", id="the same words again"
        ),
        pytest.param(
            turn(None, None, proven_ms=T0 + 2_000, **SENT),
            look("completed", "old:1", T0 + 1_000),
            "old",
            id="the screen just before Enter",
        ),
        pytest.param(
            turn(None, None, proven_ms=T0 + 2_000, **SENT),
            look("completed", "other:1", T0 - 1),
            "old",
            id="a look from before the paste",
        ),
        pytest.param(
            turn(None, None, **SENT), look("working", "do:1", T0 + 61_000), "same", id="a fleet-send that died"
        ),
        pytest.param(
            turn(None, None, **SENT), look("idle", "old:1", T0 + 59_999), "waiting", id="delivered for nearly a minute"
        ),
        pytest.param(turn(None, None, **SENT), look("idle", "old:1", T0 + 60_000), "old", id="delivered for a minute"),
        pytest.param(turn(None, None, **PROVEN), look("working", "do:1", T0), "same", id="at the moment of the paste"),
        pytest.param(
            turn(None, None, **PROVEN),
            look("completed", "old:1", block="b"),
            "back",
            id="the screen before it stands again",
        ),
        pytest.param(
            turn(None, None, **PROVEN),
            look("completed", "old:1", block="b", pattern="baseline"),
            "same",
            id="the screen at the delivery tells of no turn",
        ),
        pytest.param(
            turn(None, None, **SENT),
            look("completed", "old:1", T0 + 61_000),
            "old",
            id="one that died before the paste",
        ),
        pytest.param(
            turn("do:1", "working", **SENT | {"seen_ms": T0 + 2_000}), look("working", "more:1"), "new", id="its second"
        ),
    ],
)
def test_a_look_belongs_to_the_turn(current: TurnState | None, seen: records.Verdict, kind: str) -> None:
    found = turns.fit(current, BEFORE if current else [], seen, records.to_ms(seen.ts))
    assert found.kind == kind, found.reason
    assert found.reason


PAST = [PastTurn(event=f"e{n}", began_ms=T0 - 90_000 + n, screen=f"{n}:1", block="b") for n in (1, 2, 3)]


def test_the_screen_from_before_a_ticket_is_that_of_the_turn_just_before_it() -> None:
    current, at = turn(None, None, **PROVEN), T0 + 1_000
    found = turns.fit(current, PAST, look("completed", "3:1", at), at)
    assert (found.kind, found.past) == ("old", PAST[-1])
    assert turns.fit(current, PAST, look("completed", "1:1", at), at).kind == "same"


def test_of_earlier_turns_with_the_same_reply_the_one_with_that_prompt_stands_again() -> None:
    seen = look("completed", "2:1", block="b")
    found = turns.fit(turn(), PAST, seen, records.to_ms(seen.ts))
    assert (found.kind, found.past) == ("back", PAST[1])


@pytest.mark.parametrize(
    ("known", "floor"),
    [
        pytest.param({}, None, id="nothing tells"),
        pytest.param({"earliest_ms": T0}, T0 + 1, id="after the last look before it"),
        pytest.param({"earliest_ms": T0, "told_ms": T0 + 9}, T0 + 9, id="not before its agent said so"),
        pytest.param({"told_ms": T0 + 9, "delivered_at_ms": T0 + 5}, T0 + 5, id="not before its prompt was pasted"),
    ],
)
def test_a_turn_had_not_begun_before(known: dict[str, int], floor: int | None) -> None:
    assert turn(**known).floor_ms == floor


def test_a_late_look_gets_the_event_of_the_turn_that_was_under_way() -> None:
    past = [PastTurn(event="e-1", began_ms=T0 - 90_000), *BEFORE]
    for at, event in ((T0 - 1, "e0"), (T0 - 60_001, "e-1")):
        found = turns.fit(turn(), past, look("completed", "old:1", at), at)
        assert found.past is not None and found.past.event == event


@pytest.mark.parametrize(
    ("first", "then", "stays"),
    [
        pytest.param(None, "failed", "failed", id="the first end counts"),
        pytest.param("working", "completed", "completed", id="an end follows work"),
        pytest.param("completed", "backend_error", "backend_error", id="backend_error replaces completed"),
        pytest.param("completed", "exhausted", "exhausted", id="exhausted replaces completed"),
        pytest.param("completed", "failed", "completed", id="failed does not replace completed"),
        pytest.param("backend_error", "completed", "backend_error", id="completed does not undo backend_error"),
        pytest.param("exhausted", "backend_error", "exhausted", id="backend_error does not replace exhausted"),
        pytest.param("failed", "backend_error", "failed", id="backend_error does not replace failed"),
        pytest.param("backend_error", "exhausted", "exhausted", id="exhausted replaces backend_error"),
    ],
)
def test_the_first_end_stays_unless_an_error_replaces_completed(first: str, then: str, stays: str) -> None:
    assert turns.final(turn(outcome=first), then) == stays  # type: ignore[arg-type]


@pytest.mark.parametrize("worse", ["backend_error", "exhausted"])
def test_a_turn_that_failed_only_by_ending_too_fast_may_turn_out_worse(worse: str) -> None:
    assert turns.final(turn(outcome="failed", fast=True), worse) == worse  # type: ignore[arg-type]
    assert turns.final(turn(outcome="failed", fast=True), "completed") == "failed"


def test_events_of_equal_turns_differ_and_are_the_same_whenever_worked_out() -> None:
    first, second = (turns.event_of("h:/s:1", "%3", "fix:1", number) for number in (1, 2))
    assert first == "fix:1@h:/s:1/%3"  # what classify says without a store
    assert first != second
    assert second == "fix:1@h:/s:1/%3#2"


def test_only_the_last_few_turns_are_remembered() -> None:
    past: list[PastTurn] = []
    for number in range(20):
        past = turns.remembered(past, turn(event=f"e{number}"))
    assert [entry.event for entry in past] == [f"e{number}" for number in range(12, 20)]
