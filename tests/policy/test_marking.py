"""Marking: every state and transition of a member that a look at its pane causes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from looks import T0, after, at, look, run, sent

from fleettools import records
from fleettools.policy.members import handover, marking, roster
from fleettools.policy.members.roster import Answer


@pytest.mark.parametrize(
    ("outcomes", "state", "reason"),
    [
        # One look.
        pytest.param(["working"], "busy", None, id="working is busy"),
        pytest.param(["retrying"], "busy", None, id="retrying is busy"),
        pytest.param(["blocked"], "blocked", None, id="blocked is blocked"),
        pytest.param(["idle"], "idle", None, id="idle is idle"),
        pytest.param(["completed"], "done", None, id="completed is done"),
        pytest.param(["backend_error"], "backend_error", "backend_error", id="backend_error is backend_error"),
        pytest.param(["failed"], "failed", "failed", id="failed is failed"),
        pytest.param(["exhausted"], "failed", "exhausted", id="exhausted is failed, with the reason"),
        pytest.param(["working", "stale"], "busy", None, id="stale changes nothing"),
        # An error may come after the normal end, a normal end never undoes an error.
        pytest.param(["working", "backend_error"], "backend_error", "backend_error", id="busy to backend_error"),
        pytest.param(["working", "completed", "backend_error"], "backend_error", "backend_error", id="done to error"),
        pytest.param(["working", "completed", "exhausted"], "failed", "exhausted", id="done to exhausted"),
        pytest.param(["backend_error", "completed"], "backend_error", "backend_error", id="error stays at a late end"),
        pytest.param(["exhausted", "completed"], "failed", "exhausted", id="exhausted stays at a late end"),
        pytest.param(["completed", "failed"], "done", None, id="done stays when the same turn looks failed"),
        pytest.param(["backend_error", "idle"], "backend_error", "backend_error", id="idle does not reinstate"),
        pytest.param(["failed", "blocked"], "failed", "failed", id="a question does not reinstate"),
        # Work in a pane that had failed is a turn that somebody started.
        pytest.param(["backend_error", "working"], "busy", None, id="work after an error reinstates"),
        pytest.param(["backend_error", "working", "completed"], "done", None, id="and ends as it ends"),
        pytest.param(["completed", "idle"], "idle", None, id="done to idle"),
        pytest.param(["backend_error", "exhausted"], "failed", "exhausted", id="exhausted replaces backend_error"),
        pytest.param(["blocked", "working"], "busy", None, id="blocked to busy"),
    ],
)
def test_a_member_follows_what_is_seen(outcomes: list[str], state: str, reason: str | None) -> None:
    member = after(*outcomes)
    assert (member.state, member.failure_reason) == (state, reason)


@pytest.mark.parametrize("failure", ["failed", "backend_error", "exhausted"])
@pytest.mark.parametrize(
    ("outcome", "state"),
    [("completed", "done"), ("working", "busy"), ("blocked", "blocked"), ("idle", "idle"), ("failed", "failed")],
)
def test_a_new_prompt_in_a_failed_members_pane_reinstates_it(failure: str, outcome: str, state: str) -> None:
    member, answer, _ = run(look(outcome, "more:1", at=5, reason="new"), member=after(failure))
    assert member is not None
    assert (member.state, member.failure_reason) == (state, "new" if state == "failed" else None)
    assert answer.event != after(failure).turn.event  # type: ignore[union-attr]


def test_the_same_look_again_changes_nothing_and_says_the_same() -> None:
    """Any record may come again, and a restart must not make a turn of it."""
    looks = [look("working"), look("backend_error", at=1), look("working", "b:1", at=2), look("completed", "b:1", at=3)]
    member, first, _ = run(*looks)
    again, _, _ = run(*looks, member=member)
    assert again == member
    assert run(looks[-1], member=member)[1].event == first.event
    assert run(looks[1], member=member)[1].event == run(*looks[:2])[1].event


OUTCOMES = ["working", "retrying", "blocked", "idle", "stale", "completed", "failed", "backend_error", "exhausted"]
MARKS = st.fixed_dictionaries(
    {}, optional={"block": st.sampled_from(["x", "y"]), "proved": st.just(False), "stopped": st.just(True)}
)
LOOKS = st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(["a:1", "a:2", "b:1", "none:0"]), MARKS)


@given(st.lists(LOOKS, min_size=1, max_size=8))
@example([("blocked", "none:0", {}), ("idle", "none:0", {})])
@example([("completed", "a:1", {}), ("blocked", "a:1", {}), ("idle", "a:1", {})])
def test_any_record_may_come_again(seen: list[tuple[str, str, dict[str, object]]]) -> None:
    """Whatever was seen: each look again, in any place, changes no member and gets the event that it had.

    A prompt that was taken back, which blocks tell, may belong to its turn again later, so there only members count.
    """
    taken_back = any("block" in marks for _, _, marks in seen)
    stream = [look(outcome, screen, at=second, **marks) for second, (outcome, screen, marks) in enumerate(seen)]
    member, events = None, []
    for one in stream:
        member, answer, _ = run(one, member=member)
        events.append(answer.event)
    for one, event in zip(stream, events, strict=True):
        again, answer, _ = run(one, member=member)
        assert again == member
        assert taken_back or answer.event == event


def test_two_turns_with_equal_words_are_two_events() -> None:
    member, first, _ = run(look("backend_error", "fix:1"))
    _, second, _ = run(look("working", "fix:1", at=1), look("backend_error", "fix:1", at=2), member=member)
    assert first.event != second.event


class TestTicket:
    def test_its_event_is_the_tickets_and_the_first_verdict_settles_it(self) -> None:
        seen = look("completed", "do:1", at=12)
        member, answer, asked = run(look("working", "do:1", at=11), seen, member=sent(after("idle")))
        assert asked == ["t1 verdict completed"]
        assert (answer.event, answer.ticket, answer.resolved) == ("t1", "t1", True)
        assert member is not None and member.state == "done"
        assert run(seen, member=member)[1:] == (answer._replace(reason="the same turn"), [])

    @pytest.mark.parametrize("outcome", ["backend_error", "exhausted", "failed", "completed"])
    def test_a_verdict_that_loses_marks_no_failure_and_is_no_evidence(self, outcome: str) -> None:
        member = sent(after("idle"))
        member, answer, _ = run(look("working", "do:1", at=11), look(outcome, "do:1", at=12), member=member, won=False)
        assert member is not None
        assert (answer.resolved, member.state, member.failure_reason) == (False, "done", None)
        assert run(look(outcome, "do:1", at=13), member=member)[1].resolved is False

    def test_the_agents_own_stop_mark_settles_it_as_stopped_by_a_person(self) -> None:
        looks = look("working", "do:1", at=11), look("idle", "do:1", at=12, stopped=True)
        member, answer, asked = run(*looks, member=sent(after("idle")))
        assert asked == ["t1 verdict failed"]
        assert member is not None
        assert (member.state, member.failure_reason, answer.event, answer.resolved) == ("idle", None, "t1", True)
        assert run(looks[-1], member=member)[::2] == (member, [])

    @pytest.mark.parametrize("outcome", ["idle", "stale"])
    def test_a_screen_that_stays_as_before_the_delivery_settles_it_too(self, outcome: str) -> None:
        """Esc before any output puts the prompt back into the composer, and no mark tells of it."""
        first, soon, later = (look(outcome, at=second, pattern="baseline") for second in (12, 13, 14))
        member, _, asked = run(first, soon, member=sent(after("working", "completed")))
        assert member is not None
        assert (member.state, asked) == ("busy", [])
        member, answer, asked = run(later, member=member)
        assert member is not None
        assert (member.state, member.failure_reason, asked) == ("idle", None, ["t1 verdict failed"])
        assert (answer.event, answer.resolved) == ("t1", True)

    @pytest.mark.parametrize(
        "between",
        [
            pytest.param(look("working", "do:1", at=13), id="it works"),
            pytest.param(look("completed", "do:1", at=13, proved=False), id="an end in doubt"),
        ],
    )
    def test_what_comes_in_between_begins_the_wait_anew(self, between: records.Verdict) -> None:
        looks = look("idle", at=12, pattern="baseline"), between, look("idle", at=14, pattern="baseline")
        assert run(*looks, member=sent(after("working", "completed")))[2] == []

    def test_an_overlay_that_hides_the_screen_settles_nothing_however_long(self) -> None:
        looks = [look("stale", at=second) for second in (12, 15, 30)]
        member, _, asked = run(*looks, member=sent(after("working", "completed")))
        assert member is not None and (member.state, asked) == ("busy", [])

    def test_a_prompt_that_nobody_saw_submitted_is_not_stopped(self) -> None:
        opened = handover.open_ticket(after("working", "completed"), "t1", "", T0 + 10_000)
        looks = [look("idle", at=second, pattern="baseline") for second in (72, 75)]
        assert run(*looks, member=opened)[2] == []

    @pytest.mark.parametrize("how", ["gone", "dead"])
    def test_a_vanished_or_dead_pane_settles_it_whatever_the_screen_says(self, how: str) -> None:
        gone = look("backend_error", "do:1", at=12, **{how: True})
        member, answer, asked = run(gone, member=sent(after("idle")))
        assert asked == ["t1 gone failed"]
        assert member is not None
        assert (member.state, member.failure_reason, member.holds_slot) == ("failed", "pane gone", False)
        assert run(gone, member=member) == (member, answer, [])

    def test_a_person_who_types_into_its_turn_takes_it_along(self) -> None:
        looks = look("working", "do:1", at=11), look("working", "also:1", at=12), look("completed", "also:1", at=13)
        _, answer, asked = run(*looks, member=sent(after("idle")))
        assert (asked, answer.ticket) == (["t1 verdict completed"], "t1")

    def test_a_second_one_ends_the_first_when_its_own_turn_ends(self) -> None:
        member = sent(sent(after("idle")), "t2", at=20)
        member, _, asked = run(look("completed", "do:1", at=21), member=member)
        assert asked == ["t2 verdict completed", "t1 verdict failed"]
        assert member is not None and not member.earlier

    def test_until_then_the_screen_shows_what_was_before(self) -> None:
        before = after("working", "completed")
        opened = handover.open_ticket(before, "t1", "", T0 + 5_000)
        member, answer, asked = run(look("completed", at=6), member=opened)
        assert before.turn is not None and member is not None
        assert (answer.event, member.turn, member.state, asked) == (before.turn.event, opened.turn, "done", [])


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [("working", "pane gone"), ("completed", "pane gone"), ("backend_error", "backend_error"), ("failed", "failed")],
)
def test_a_member_that_had_failed_keeps_its_reason_when_its_pane_goes(outcome: str, reason: str) -> None:
    member, answer, _ = run(look("idle", gone=True, at=9), member=after(outcome))
    assert member is not None
    assert (member.state in roster.FAILED, member.failure_reason, member.gone) == (True, reason, True)
    assert answer.resolved


def test_released_never_returns_though_its_pane_lives() -> None:
    released, answer = roster.release(after("working"), "let go", "release", T0, {})
    assert answer.known and released is not None
    member, seen, _ = run(look("working", "new:1", at=9), member=released)
    assert (member, seen.resolved, seen.known) == (released, False, False)
    assert roster.release(released, "again", "release", T0, {})[1].resolved is False


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(look("idle", gone=True), id="a vanished pane that was no member"),
        pytest.param(look("idle", gone=True, profile=None, role="member"), id="the same without a profile"),
    ],
)
def test_an_unknown_target_is_an_explicit_false(seen: records.Verdict) -> None:
    member, answer = marking.step(None, seen, {}, at(seen))
    assert (member, answer.resolved, answer.known) == (None, False, False)
    assert roster.release(None, "let go", "release", T0, {})[1] == Answer(
        "no member is known in that pane", resolved=False, known=False
    )


@pytest.mark.parametrize(
    ("seat", "joins"),
    [
        pytest.param({}, True, id="a profile"),
        pytest.param({"profile": None, "role": "member"}, True, id="the role"),
        pytest.param({"profile": None, "name": "anna"}, True, id="a name"),
        pytest.param({"profile": None}, False, id="nothing"),
        pytest.param({"role": "lead"}, False, id="a lead"),
        pytest.param({"server": None}, False, id="no server"),
    ],
)
def test_a_pane_joins_the_roster_by_what_it_says_of_itself(seat: dict[str, str | None], joins: bool) -> None:
    seen = look("completed", **seat)
    member, answer = marking.step(None, seen, {}, at(seen))
    assert (member is not None, answer.resolved) == (joins, True)


class TestRespawn:
    """A respawned pane keeps its id: another process is another member, and a late look at the first is neither's."""

    def test_another_process_is_a_fresh_member(self) -> None:
        member, _, asked = run(look("working", pid=31, at=20), member=sent(after("backend_error")))
        assert asked == ["t1 gone failed"]
        assert member is not None
        assert (member.pid, member.state, member.failure_reason, member.holds_slot) == (31, "busy", None, True)

    def test_its_turn_is_another_event_though_the_prompt_is_the_same(self) -> None:
        _, first, _ = run(look("backend_error"))
        _, second, _ = run(look("backend_error", pid=31, at=20), member=after("backend_error"))
        assert first.event != second.event

    def test_a_late_look_at_the_process_before_changes_nothing(self) -> None:
        member = run(look("working", pid=31, at=20), member=after("working"))[0]
        for late in (look("backend_error", at=5), look("idle", gone=True, at=21)):
            assert run(late, member=member)[:1] == (member,)
            assert run(late, member=member)[1].resolved is False

    def test_it_may_join_where_another_was_released(self) -> None:
        released, _ = roster.release(after("idle"), "let go", "release", T0, {})
        member, answer, _ = run(look("working", pid=31, at=20), member=released)
        assert member is not None and (member.state, answer.resolved) == ("busy", True)


class TestCleared:
    """A screen that a person cleared: the next prompt begins a turn, even the same one."""

    CLEARED = look("idle", "none:0", at=5, stopped=True, pattern="cleared")

    def test_the_same_prompt_again_is_another_turn(self) -> None:
        member, first, _ = run(look("backend_error"))
        member, cleared, _ = run(self.CLEARED, member=member)
        assert member is not None and (member.state, cleared.event) == ("backend_error", first.event)
        member, again, _ = run(look("backend_error", at=9), member=member)
        assert member is not None and (again.event != first.event, member.count) == (True, 2)

    def test_what_stands_above_it_is_no_prompt_that_follows(self) -> None:
        """Where the agent keeps the old conversation in view, its last prompt stands above the new beginning."""
        above = [look("idle", at=second, stopped=True, pattern="cleared") for second in (5, 9)]
        member, answer, _ = run(look("completed"), *above)
        assert member is not None and (member.count, answer.event) == (1, run(look("completed"))[1].event)
        assert run(look("working", "fix:2", at=12), member=member)[0].count == 2  # type: ignore[union-attr]

    def test_an_open_ticket_ends_with_it(self) -> None:
        member = run(look("working", "do:1", at=11), member=sent(after("idle")))[0]
        cleared = look("idle", "none:0", at=12, stopped=True, pattern="cleared")
        assert run(cleared, member=member)[2] == ["t1 verdict failed"]

    def test_a_prompt_that_scrolls_away_below_a_stop_mark_is_not_cleared(self) -> None:
        stopped = look("idle", "none:0", at=5, stopped=True, block="b")
        assert run(look("working"), stopped, look("idle", at=6, stopped=True))[0].count == 1  # type: ignore[union-attr]


class TestTakenBack:
    """A prompt that a person takes back: the screen of the turn before stands there again, and is no new failure."""

    FAILED = look("backend_error", block="b")

    @pytest.mark.parametrize("prompt", ["more:1", "fix:2"])
    def test_its_event_is_that_of_the_turn_before(self, prompt: str) -> None:
        member, first, _ = run(self.FAILED)
        member, answer, _ = run(look("working", prompt, at=3), look("backend_error", block="b", at=5), member=member)
        assert member is not None
        assert (answer.event, member.state) == (first.event, "idle")
        assert run(look("backend_error", block="b", at=5), member=member)[1].event == first.event

    def test_an_equal_prompt_whose_first_scrolled_away_is_another_turn(self) -> None:
        member, first, _ = run(self.FAILED)
        looks = look("working", "fix:2", block="draws", at=3), look("backend_error", block="b", at=5)
        assert run(*looks, member=member)[1].event != first.event

    def test_another_text_below_the_same_prompt_is_another_turn(self) -> None:
        member, first, _ = run(self.FAILED)
        looks = look("working", "more:1", at=3), look("backend_error", block="other", at=5)
        assert run(*looks, member=member)[1].event != first.event

    def test_a_ticket_ends_when_it_stays_so(self) -> None:
        member = sent(run(look("completed", block="b"))[0])  # type: ignore[arg-type]
        looks = [look("completed", block="b", at=second) for second in (12, 13, 14)]
        _, _, asked = run(*looks[:2], member=member)
        member, _, late = run(*looks, member=member)
        assert member is not None
        assert (asked, late, member.state) == ([], ["t1 verdict failed"], "idle")


class TestUnmarked:
    """A pane that lives and is marked no more leaves nothing behind."""

    def test_its_member_goes_without_a_tombstone_and_its_ticket_ends(self) -> None:
        seen = look("stale", None, at=20, unmarked=True)
        member, answer, asked = run(seen, member=sent(after("idle")))
        assert (member, asked, answer.event) == (None, ["t1 gone failed"], "t1")
        assert run(seen)[:2] == (None, Answer("no member is known in that pane", resolved=False))

    def test_marked_again_it_joins_anew(self) -> None:
        gone = run(look("stale", None, at=20, unmarked=True), member=after("backend_error"))[0]
        assert run(look("idle", at=30), member=gone)[0].state == "idle"  # type: ignore[union-attr]

    def test_one_that_comes_late_changes_nothing(self) -> None:
        member = after("idle", "working")
        assert run(look("stale", None, unmarked=True), member=member)[0] == member

    def test_a_tombstone_stays(self) -> None:
        released, _ = roster.release(after("idle"), "let go", "release", T0, {})
        member, answer, _ = run(look("stale", None, at=20, unmarked=True), member=released)
        assert (member, answer.resolved, answer.known) == (released, False, True)


@pytest.mark.parametrize(
    ("before", "back", "state", "reason"),
    [
        pytest.param("idle", look("idle", "none:0", at=20), "idle", None, id="it waits for a prompt"),
        pytest.param("working", look("completed", "b:1", at=20), "done", None, id="it has worked meanwhile"),
        pytest.param(
            "backend_error", look("idle", "none:0", at=20), "backend_error", "backend_error", id="failed before"
        ),
        pytest.param("backend_error", look("working", "b:1", at=20), "busy", None, id="had failed, is at work"),
    ],
)
def test_an_agent_that_was_started_again_is_back(
    before: str, back: records.Verdict, state: str, reason: str | None
) -> None:
    gone, _, _ = run(look("stale", None, at=10, gone=True, unmarked=True), member=after(before))
    assert gone is not None
    assert (gone.state in roster.FAILED, gone.holds_slot) == (True, False)
    member, _, _ = run(back, member=gone)
    assert member is not None
    assert (member.state, member.failure_reason, member.holds_slot) == (state, reason, True)


def test_a_late_look_brings_no_agent_back() -> None:
    looks = [look("idle", at=1), look("stale", None, at=10, gone=True, unmarked=True)]
    gone, _, _ = run(*looks)
    member, _, _ = run(look("idle", at=5), member=gone)
    assert member is not None
    assert (member.state, member.failure_reason, member.holds_slot) == ("failed", "agent gone", False)


def test_a_late_look_at_a_turn_that_nobody_knew_is_an_event_of_its_own() -> None:
    """Two looks that come in the wrong order: the one of a turn between two known ones is neither's."""
    first, between, last = (
        look("backend_error", f"{name}:1", at=at, event=f"{name}:1@h") for name, at in (("a", 0), ("b", 10), ("c", 20))
    )
    member, _, _ = run(first, last)
    known = {look_.event for look_ in (first, last)}
    member, answer, _ = run(between, member=member)
    assert answer.event == "b:1@h" and answer.resolved and answer.event not in known
    again, repeated, _ = run(between, member=member)
    assert (repeated.event, again) == (answer.event, member)


def test_a_look_older_than_all_turns_that_are_known_counts_for_nothing() -> None:
    looks = [look("backend_error", f"{n}:1", at=10 * n, event=f"{n}:1@h") for n in range(12)]
    member, _, _ = run(*looks)
    _, answer, _ = run(looks[0], member=member)
    assert (answer.event, answer.resolved) == ("0:1@h", False)
