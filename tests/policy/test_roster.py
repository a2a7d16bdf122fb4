"""The roster: every state and transition of a member (design section 5)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleettools import records
from fleettools.policy.members import handover, marking, roster
from fleettools.policy.members.roster import Answer, MemberState

T0 = 1_000_000
SERVER = "h:/s:7"


def look(outcome: str, screen: str | None = "fix:1", **more: object) -> records.Verdict:
    """A verdict; `at` counts seconds from T0."""
    at = more.pop("at", 0)
    fields = {"server": SERVER, "target": "%3", "pid": 30, "profile": "claude-a", "reason": outcome} | more
    return records.Verdict(ts=records.to_ts(T0 + 1000 * int(str(at))), outcome=outcome, screen=screen, **fields)  # type: ignore[arg-type]


def run(
    *looks: records.Verdict, member: MemberState | None = None, won: bool = True
) -> tuple[MemberState | None, Answer, list[str]]:
    """The member after the looks, the last answer, and what was asked to be settled: `ticket by outcome`."""
    answer, asked = Answer(""), []
    for seen in looks:
        settled: dict[str, bool] = {}
        member, answer = marking.step(member, seen, settled)
        while answer.asks:
            asked += [f"{ask.ticket} {ask.by} {ask.outcome}" for ask in answer.asks]
            settled |= {ask.ticket: won for ask in answer.asks}
            member, answer = marking.step(member, seen, settled)
    return member, answer, asked


def after(*outcomes: str) -> MemberState:
    """A member of whom these were seen, one a second, in one turn."""
    member, _, _ = run(*(look(outcome, at=second) for second, outcome in enumerate(outcomes)))
    assert member is not None
    return member


def sent(member: MemberState, ticket: str = "t1", at: int = 10) -> MemberState:
    """The member with a ticket delivered to it."""
    opened = handover.open_ticket(member, ticket, "baseline", T0 + 1000 * at)
    proven = handover.prove(opened, ticket, T0 + 1000 * at + 500)
    assert proven is not None
    return proven


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


def test_no_prompt_is_delivered_to_a_member_that_cannot_take_it() -> None:
    released, _ = roster.release(after("idle"), "let go", "release", T0, {})
    refusing = [None, released, after("failed"), after("backend_error"), after("exhausted"), after("blocked")]
    refusing.append(run(look("working", gone=True, at=1), member=after("working"))[0])
    refusing.append(handover.open_ticket(after("idle"), "t1", "", T0))
    assert all(handover.may_be_sent(member, T0 + 1) for member in refusing)
    assert not any(handover.may_be_sent(after(outcome), T0 + 1) for outcome in ("idle", "completed"))


def test_the_same_look_again_changes_nothing_and_says_the_same() -> None:
    """Any record may come again, and a restart must not make a turn of it."""
    looks = [look("working"), look("backend_error", at=1), look("working", "b:1", at=2), look("completed", "b:1", at=3)]
    member, first, _ = run(*looks)
    again, _, _ = run(*looks, member=member)
    assert again == member
    assert run(looks[-1], member=member)[1].event == first.event
    assert run(looks[1], member=member)[1].event == run(*looks[:2])[1].event


OUTCOMES = ["working", "retrying", "blocked", "idle", "stale", "completed", "failed", "backend_error", "exhausted"]
LOOKS = st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(["a:1", "a:2", "b:1", "none:0"]))


@given(st.lists(LOOKS, min_size=1, max_size=8))
@example([("blocked", "none:0"), ("idle", "none:0")])
@example([("completed", "a:1"), ("blocked", "a:1"), ("idle", "a:1")])
def test_any_record_may_come_again(seen: list[tuple[str, str]]) -> None:
    """Whatever was seen: each look again, in any place, changes no member and gets the event that it had."""
    stream = [look(outcome, screen, at=second) for second, (outcome, screen) in enumerate(seen)]
    member, events = None, []
    for one in stream:
        member, answer, _ = run(one, member=member)
        events.append(answer.event)
    for one, event in zip(stream, events, strict=True):
        again, answer, _ = run(one, member=member)
        assert (again, answer.event) == (member, event)


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

    def test_a_reply_makes_the_member_done_and_its_later_verdict_lose(self) -> None:
        member = handover.replied(sent(after("idle")), "t1", T0 + 11_000)
        assert member is not None and member.state == "done"
        member, answer, asked = run(look("working", "do:1", at=12), look("backend_error", "do:1", at=13), member=member)
        assert member is not None
        assert (member.state, answer.resolved, asked) == ("done", False, [])

    def test_idle_after_work_settles_it_as_stopped_by_a_person(self) -> None:
        looks = look("working", "do:1", at=11), look("idle", "do:1", at=12)
        member, answer, asked = run(*looks, member=sent(after("idle")))
        assert asked == ["t1 verdict failed"]
        assert member is not None
        assert (member.state, member.failure_reason, answer.resolved) == ("idle", None, True)

    def test_idle_before_any_work_settles_nothing(self) -> None:
        assert run(look("idle", "do:1", at=11), member=sent(after("idle")))[2] == []

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

    def test_a_prompt_that_did_not_go_in_leaves_the_turn_before(self) -> None:
        before = after("working", "completed")
        opened = handover.open_ticket(before, "t1", "", T0)
        assert handover.withdraw(opened, before, "t1", T0) == (before, False)

    def test_a_look_that_sees_its_prompt_is_as_good_as_fleet_sends_own(self) -> None:
        """The new prompt may fail before fleet-send has its proof; its error must not wait, nor count twice."""
        before = after("idle")
        opened = handover.open_ticket(before, "t1", "", T0)
        member, answer, asked = run(look("backend_error", "do:1", at=1), member=opened)
        assert member is not None
        assert (answer.event, member.state, asked) == ("t1", "backend_error", ["t1 verdict backend_error"])
        proven, submitted = handover.withdraw(member, before, "t1", T0 + 2_000)
        assert proven is not None and submitted
        assert proven.state == "backend_error"
        assert run(look("backend_error", "do:1", at=3), member=proven)[1].event == "t1"

    def test_until_then_the_screen_shows_what_was_before(self) -> None:
        before = after("working", "completed")
        opened = handover.open_ticket(before, "t1", "", T0 + 5_000)
        member, answer, asked = run(look("completed", at=6), member=opened)
        assert before.turn is not None
        assert (answer.event, member, asked) == (before.turn.event, opened, [])


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


def test_release_settles_the_open_ticket() -> None:
    _, answer = roster.release(sent(after("idle")), "let go", "release", T0, {})
    assert [(ask.ticket, ask.by) for ask in answer.asks] == [("t1", "release")]
    member, _ = roster.release(sent(after("idle")), "let go", "release", T0, {"t1": True})
    assert member is not None and member.state == "released"


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(look("idle", gone=True), id="a vanished pane that was no member"),
        pytest.param(look("idle", gone=True, profile=None, role="member"), id="the same without a profile"),
    ],
)
def test_an_unknown_target_is_an_explicit_false(seen: records.Verdict) -> None:
    member, answer = marking.step(None, seen, {})
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
    member, answer = marking.step(None, look("completed", **seat), {})
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


class TestSpawned:
    """A spawned member is starting until a look at its pane says more, whichever comes first."""

    def test_the_first_look_follows(self) -> None:
        spawned = MemberState(server=SERVER, target="%3", pid=30, state="starting", since_ms=T0, joined_ms=T0)
        assert roster.starting(None, spawned) == spawned
        assert run(look("idle", None, at=1), member=spawned)[0].state == "idle"  # type: ignore[union-attr]

    def test_a_look_that_was_faster_stays(self) -> None:
        spawned = MemberState(server=SERVER, target="%3", pid=30, state="starting", since_ms=T0, joined_ms=T0)
        assert roster.starting(after("working"), spawned).state == "busy"

    def test_what_an_earlier_process_left_does_not(self) -> None:
        spawned = MemberState(server=SERVER, target="%3", pid=31, state="starting", since_ms=T0, joined_ms=T0)
        assert roster.starting(after("backend_error"), spawned) == spawned
