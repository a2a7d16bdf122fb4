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
    return Evidence(event=event, at_ms=T0 - 60_000, ts_ms=T0 - 60_000)


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
WHY_NOT = {
    "counted evidence": (failed("1"), ""),
    "a failure within the period that did not count": (failed("7", since=-30), ""),
    "a failure before it": (failed("7", since=-300), "outside"),
    "a failure after it": (failed("7", since=5), "outside"),
    "an exhaustion": (failed("1", outcome="exhausted"), ""),
    "a failure of another kind": (failed("1", outcome="failed"), "did not fail of its backend"),
    "a turn that goes on": (failed("1", state="busy"), "did not fail of its backend"),
    "a pane that is gone": (failed("1", gone=True), "did not fail of its backend"),
    "a request that was at fault itself": (failed("1", cause="context"), "its request's own"),
    "one that was prompted twice": (failed("1", resumed=2), ""),
    "one that was prompted three times in a row": (failed("1", resumed=3), "3 times in a row"),
}


@pytest.mark.parametrize(("member", "says"), WHY_NOT.values(), ids=WHY_NOT.keys())
def test_who_is_prompted_again(member: MemberState, says: str) -> None:
    rules = Rules(ignore_causes=frozenset({"context"}))
    why = resuming.why_not(member, begun(cooled("1", "2")), rules)
    assert says in why and bool(says) is bool(why)


def test_one_is_the_first_and_nobody_follows_until_its_turn_shows_work() -> None:
    state, one, two = begun(cooled("1", "2")), failed("1"), failed("2")
    assert resuming.upcoming(state, [one, two], RULES, at(1))[::2] == ("probe", (one, two))
    state = resuming.tried(state, "t-1", "ada", 2, at(1))
    assert state.probe is not None and state.probe.event == "t-1" and state.probe.length_ms == 60_000
    one = working(one, "t-1")
    state = resuming.looked(state, [one, two], at(30))
    assert resuming.upcoming(state, [one, two], RULES, at(30)).what == "wait"
    assert resuming.upcoming(state, [one, two], RULES, at(90)).what == "wait", "after its minute, too"
    drawing = working(one, "t-1", drew=True)
    state = resuming.looked(state, [drawing, two], at(31))
    assert state.probe is None
    assert resuming.upcoming(state, [drawing, two], RULES, at(31))[::2] == ("prompt", (two,))


# Rule: a turn shows work when it has drawn something, or has completed; a spinner is no work.
SHOWS = {
    "a spinner": ({"outcome": "working"}, False),
    "its own next try": ({"outcome": "retrying"}, False),
    "something drawn": ({"outcome": "working", "drew": True}, True),
    "its end": ({"outcome": "completed"}, True),
    "a failure of its backend": ({"outcome": "backend_error", "drew": True}, False),
}


@pytest.mark.parametrize(("turn", "shown"), SHOWS.values(), ids=SHOWS.keys())
def test_what_shows_work(turn: dict[str, Any], shown: bool) -> None:
    state = resuming.tried(begun(cooled("1", "2")), "t-1", None, 2, at(1))
    after = resuming.looked(state, [working(failed("1"), "t-1", **turn)], at(5))
    assert after.round is not None and after.round.shown is shown


def test_another_is_the_first_when_that_ones_turn_ends_in_something_else() -> None:
    state = resuming.tried(begun(cooled("1", "2")), "t-1", None, 2, at(1))
    after = resuming.looked(state, [working(failed("1"), "t-1", outcome="failed")], at(5))
    assert after.probe is None and resuming.upcoming(after, [failed("2")], RULES, at(5)).what == "probe"


def test_a_claim_of_a_process_that_died_before_it_typed_is_over_after_a_minute() -> None:
    state = resuming.tried(begun(cooled("1", "2")), "t-1", None, 2, at(1))
    members = [failed("1"), failed("2")]
    assert resuming.looked(state, members, at(60)) is state
    assert resuming.upcoming(resuming.looked(state, members, at(61)), members, RULES, at(61)).what == "probe"


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
