"""Who is prompted again, when: one first, the rest when its turn shows work, nobody that a person has touched."""

from typing import Any

import pytest
from msgspec.structs import replace

from fleettools.moments import Moment
from fleettools.policy.accounts import resuming
from fleettools.policy.accounts.credential import CredentialState
from fleettools.policy.accounts.periods import Period
from fleettools.policy.accounts.resuming import Rules
from fleettools.policy.accounts.testimony import Evidence
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.turns import TurnState

T0 = 1_000_000_000
RULES = Rules()


def at(seconds: float) -> Moment:
    """A moment so many seconds after the end of the cool-off."""
    return Moment(T0 + round(seconds * 1000))


def evidence(event: str) -> Evidence:
    return Evidence(event=event, at_ms=T0 - 70_000, ts_ms=T0 - 60_000)


def cooled(*events: str, seconds: int = 60) -> CredentialState:
    """A credential whose cool-off of these events has just ended."""
    period = Period(
        id="i1", since_ms=T0 - 1000 * seconds, until_ms=T0, why="w", evidence=[evidence(event) for event in events]
    )
    return CredentialState(cool_off=period)


def reset(*events: str) -> CredentialState:
    period = Period(id="q1", since_ms=T0 - 90_000, until_ms=T0, why="w", evidence=[evidence(event) for event in events])
    return CredentialState(quarantine=period)


def failed(event: str, outcome: str = "backend_error", since: float = -60, **more: Any) -> MemberState:
    turn = TurnState(event=event, outcome=outcome, began_ms=T0 - 90_000, at_ms=T0 + round(since * 1000))  # type: ignore[arg-type]
    turn = replace(turn, **{name: more.pop(name) for name in ("cause", "drew") if name in more})
    state = more.pop("state", "backend_error")
    fields = {"server": "h:/s:1", "target": f"%{event}", "since_ms": T0, "joined_ms": 0} | more
    return MemberState(state=state, turn=turn, **fields)


def begun(state: CredentialState, now: float = 1) -> CredentialState:
    return resuming.begun(resuming.begun(state, "incident", at(now)), "quarantine", at(now))


def working(member: MemberState, event: str, **more: Any) -> MemberState:
    """The member after it was prompted again: a new turn."""
    return replace(member, state="busy", turn=TurnState(event=event, began_ms=T0, **more))


# Rule: its last turn is a failure of the period's backend, no more and nothing since.
TAKEN = {
    "counted evidence": (failed("1"), True),
    "a failure within the period that did not count": (failed("7", since=-30), True),
    "a failure before it": (failed("7", since=-300), False),
    "a failure after it": (failed("7", since=5), False),
    "one that failed between the errors that raised it and its beginning": (failed("7", since=-65), True),
    "an exhaustion": (failed("1", outcome="exhausted"), True),
    "a failure of another kind": (failed("1", outcome="failed"), False),
    "a turn that goes on": (failed("1", state="busy"), False),
    "one that a person made ready again": (failed("1", state="idle"), False),
    "a request that was at fault itself": (failed("1", cause="context"), False),
    "one that was prompted twice": (failed("1", resumed=2), True),
    "one that may have been prompted for an earlier failure": (failed("1", doubted="0"), True),
}


@pytest.mark.parametrize(("member", "taken"), TAKEN.values(), ids=TAKEN.keys())
def test_who_is_prompted_again(member: MemberState, taken: bool) -> None:
    rules = Rules(ignore_causes=frozenset({"context"}))
    coming = resuming.upcoming(begun(cooled("1", "2")), [member], rules, at(1))
    assert (coming.members, coming.left) == (((member,) if taken else ()), ())


# Rule: who failed of the backend and is prompted no more is named, with the reason.
LEFT = {
    "its pane has gone": {"gone": True},
    "it was prompted 3 times in a row": {"resumed": 3},
    "it may have been prompted already, nobody saw that go in": {"doubted": "1"},
}


@pytest.mark.parametrize(("reason", "fields"), LEFT.items(), ids=LEFT.keys())
def test_who_is_left_to_people(reason: str, fields: dict[str, Any]) -> None:
    left = failed("1", **fields)
    coming = resuming.upcoming(begun(cooled("1", "2")), [left, failed("2")], RULES, at(1))
    assert (coming.what, coming.members, coming.left) == ("probe", (failed("2"),), ((left, reason),))
    coming = resuming.upcoming(begun(cooled("1", "2")), [left], RULES, at(1))
    assert (coming.what, coming.left) == ("done", ((left, reason),))


def test_one_is_the_first_and_nobody_follows_until_its_turn_shows_work() -> None:
    state, one, two = begun(cooled("1", "2")), failed("1"), failed("2")
    assert resuming.upcoming(state, [one, two], RULES, at(1))[::2] == ("probe", (one, two))
    state = resuming.tried(state, "t-1", "ada", 2, at(1))
    assert state.probe is not None and state.probe.event == "t-1" and state.probe.length_ms == 60_000
    one = working(one, "t-1")
    state = resuming.looked(state, [one, two], RULES, at(30))
    assert resuming.upcoming(state, [one, two], RULES, at(30)).what == "wait"
    assert resuming.upcoming(state, [one, two], RULES, at(90)).what == "wait", "after its minute, too"
    drawing = working(one, "t-1", drew=True)
    state = resuming.looked(state, [drawing, two], RULES, at(31))
    assert state.probe is None
    assert resuming.upcoming(state, [drawing, two], RULES, at(31))[::2] == ("prompt", (two,))


# Rule: a turn shows work when it has drawn something, or has completed; a spinner is no work.
SHOWS = {
    "a spinner": ({"outcome": "working"}, False),
    "its own next try": ({"outcome": "retrying"}, False),
    "its own next try below what it had drawn": ({"outcome": "retrying", "drew": True}, False),
    "a question about what it is about to do": ({"outcome": "blocked", "drew": True}, True),
    "something drawn": ({"outcome": "working", "drew": True}, True),
    "its end": ({"outcome": "completed"}, True),
    "a failure of its backend": ({"outcome": "backend_error", "drew": True}, False),
}


@pytest.mark.parametrize(("turn", "shown"), SHOWS.values(), ids=SHOWS.keys())
def test_what_shows_work(turn: dict[str, Any], shown: bool) -> None:
    state = resuming.tried(begun(cooled("1", "2")), "t-1", None, 2, at(1))
    after = resuming.looked(state, [working(failed("1"), "t-1", **turn)], RULES, at(5))
    assert after.round is not None and after.round.shown is shown


# Rule: whose turn ended in something that says nothing of the backend has not tried it.
TELLS_NOTHING: dict[str, dict[str, Any]] = {
    "it failed otherwise": {"outcome": "failed"},
    "its request was at fault": {"outcome": "backend_error", "cause": "context"},
    "a person stopped it": {"outcome": "idle", "resolved": True},
}


@pytest.mark.parametrize("turn", TELLS_NOTHING.values(), ids=TELLS_NOTHING.keys())
def test_another_is_the_first_when_that_ones_turn_tells_nothing(turn: dict[str, Any]) -> None:
    rules = Rules(ignore_causes=frozenset({"context"}))
    state = resuming.tried(begun(cooled("1", "2")), "t-1", None, 2, at(1))
    after = resuming.looked(state, [working(failed("1"), "t-1", **turn)], rules, at(5))
    assert after.probe is None and resuming.upcoming(after, [failed("2")], rules, at(5)).what == "probe"


def test_who_was_prompted_less_often_goes_first() -> None:
    members = (failed("1", resumed=1), failed("2"), failed("3", resumed=2))
    coming = resuming.upcoming(begun(cooled("1", "2", "3")), members, RULES, at(1))
    assert [member.target for member in coming.members] == ["%2", "%1", "%3"]


def again(state: CredentialState, seconds: float, event: str = "t-1") -> CredentialState:
    """The state after the first one has failed: a cool-off of a minute by that alone."""
    failure = Evidence(event=event, at_ms=at(seconds).ms, ts_ms=at(seconds).ms)
    period = Period(
        id=f"i-{event}", since_ms=failure.at_ms, until_ms=failure.at_ms + 60_000, why="w", evidence=[failure]
    )
    return replace(state, cool_off=period, probe=None)


def test_a_round_takes_over_those_whom_the_one_before_left() -> None:
    state = again(resuming.tried(begun(cooled("1", "2")), "t-1", None, 2, at(1)), 10)
    tried, left, late = failed("t-1", since=10), failed("2"), failed("7", since=-30)
    assert resuming.upcoming(state, [tried, left], RULES, at(20)).what == "wait"
    state = again(resuming.tried(begun(state, 71), "t-2", None, 2, at(71)), 80, "t-2")
    coming = resuming.upcoming(begun(state, 141), [tried, left, late, failed("8", since=-300)], RULES, at(141))
    assert (coming.what, coming.members) == ("probe", (tried, left, late))


def test_a_round_takes_over_nobody_from_one_that_is_long_past() -> None:
    state = again(resuming.tried(begun(cooled("1", "2")), "t-1", None, 2, at(1)), 700, "9")
    coming = resuming.upcoming(begun(state, 761), [failed("2"), failed("9", since=700)], RULES, at(761))
    assert [member.target for member in coming.members] == ["%9"]


def test_a_quarantine_that_outlasts_a_cool_off_takes_over_who_waited_for_it() -> None:
    outlasting = Period(id="q1", since_ms=T0 - 30_000, until_ms=T0 + 900_000, why="w", evidence=[evidence("3")])
    state = begun(replace(cooled("1", "2"), quarantine=outlasting))
    assert state.round is not None and state.round.period == "i1"
    assert resuming.upcoming(state, [failed("1")], RULES, at(1)).reason == "it is in quarantine"
    coming = resuming.upcoming(begun(state, 901), [failed("1"), failed("3")], RULES, at(901))
    assert (coming.what, len(coming.members)) == ("probe", 2)


def test_a_cool_off_and_a_quarantine_that_end_together_begin_one_round() -> None:
    state = begun(replace(cooled("1"), quarantine=reset("2").quarantine))
    state = resuming.tried(state, "t-1", None, 2, at(1))
    assert begun(state, 2) is state


def test_who_takes_nothing_for_too_long_is_left_to_people() -> None:
    state = resuming.tried(begun(cooled("1", "2")), "t-1", None, 2, at(1))
    assert state.round is not None
    state = replace(state, round=replace(state.round, shown=True))
    assert resuming.upcoming(state, [failed("2")], RULES, at(600)).what == "prompt"
    assert resuming.upcoming(state, [failed("2")], RULES, at(602)).what == "done"


# Rule: accounts of the same agent share a backend, as far as anybody knows: one is tried first, the rest apart.
def test_two_accounts_that_come_back_together_bring_one_request_at_a_time() -> None:
    mine = begun(cooled("1"))
    coming = resuming.upcoming(mine, [failed("1")], RULES, at(1))
    assert resuming.paced(coming, [begun(cooled("2"))], RULES, at(1)) is coming
    other = resuming.tried(begun(cooled("2")), "t-2", None, 1, at(1))
    assert resuming.paced(coming, [other], RULES, at(60)).what == "wait", "it is being tried"
    assert resuming.paced(coming, [other], RULES, at(61)) is coming, "for a minute at most"
    worked = resuming.looked(other, [working(failed("2"), "t-2", outcome="completed")], RULES, at(3))
    assert resuming.paced(coming, [worked], RULES, at(5.9)).what == "wait", "prompts stay apart"
    assert resuming.paced(coming, [worked], RULES, at(6)) is coming
    follows = resuming.Next("prompt", "", (failed("1"),))
    assert resuming.paced(follows, [other], RULES, at(6)) is follows, "who follows has been tried"


def test_a_claim_of_a_process_that_died_before_it_typed_is_over_after_a_minute() -> None:
    state = resuming.tried(begun(cooled("1", "2")), "t-1", None, 2, at(1))
    members = [failed("1"), failed("2")]
    assert resuming.looked(state, members, RULES, at(60)) is state
    assert resuming.upcoming(resuming.looked(state, members, RULES, at(61)), members, RULES, at(61)).what == "probe"


def test_a_prompt_that_did_not_go_in_leaves_the_place_to_another() -> None:
    state = resuming.tried(begun(cooled("1", "2")), "t-1", None, 2, at(1))
    after = resuming.untried(state, "t-1")
    assert after.probe is None and after.round is not None and after.round.probe is None


@pytest.mark.parametrize(
    ("state", "many", "pause"),
    [(cooled("1"), 4, 5_000), (reset("1"), 4, 15_000), (reset("1"), 50, 5_000), (reset("1"), 1, 5_000)],
)
def test_the_rest_follow_apart_and_after_a_reset_over_a_minute(state: CredentialState, many: int, pause: int) -> None:
    state = resuming.tried(begun(state), "t-1", None, many, at(0))
    assert state.round is not None
    state = replace(state, round=replace(state.round, shown=True))
    rest = [failed("1")]
    assert resuming.upcoming(state, rest, RULES, at(pause / 1000 - 0.001)).what == "wait"
    assert resuming.upcoming(state, rest, RULES, at(pause / 1000)).what == "prompt"


def test_a_new_period_makes_the_round_wait() -> None:
    state = begun(cooled("1", "2"))
    again = Period(id="i2", since_ms=T0 + 10_000, until_ms=T0 + 70_000, why="w", evidence=[])
    state = replace(state, cool_off=again)
    assert resuming.upcoming(state, [failed("1")], RULES, at(20)).what in ("wait", "done")
    assert begun(state, 20) is state, "it has not ended"


# Rule: what ended in the last ten minutes is taken up at a start, and nothing that is older.
@pytest.mark.parametrize(("now", "what"), [(599, "probe"), (601, "done")])
def test_a_period_is_taken_up_for_ten_minutes(now: float, what: str) -> None:
    assert resuming.upcoming(begun(cooled("1"), now), [failed("1")], RULES, at(now)).what == what


def test_a_person_may_begin_a_round_of_a_period_that_ended_long_ago() -> None:
    state = resuming.forced(cooled("1"), at(5000))
    assert resuming.upcoming(state, [failed("1")], RULES, at(5000)).what == "probe"


def test_a_known_round_is_not_begun_again() -> None:
    state = begun(cooled("1"))
    assert begun(state, 5) is state
