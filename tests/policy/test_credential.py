"""What is kept of one credential: names, the last event of each pane, and the ends that there are to tell."""

import pytest
from msgspec.structs import replace

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.accounts import credential, periods
from fleettools.policy.accounts.credential import CredentialState
from fleettools.policy.accounts.periods import Period

T0 = 1_767_225_600_000
MINUTE = 60_000


@pytest.mark.parametrize("name", ["a", "team-a", "A.b_c@d+e", "0" * 64])
def test_names_that_may_stand_in_a_key(name: str) -> None:
    assert credential.is_name(name)


@pytest.mark.parametrize("name", ["", ".a", "-a", "a/b", "../a", "a b", "a\n", "0" * 65, "é", "a\0"])
def test_names_that_may_not(name: str) -> None:
    assert not credential.is_name(name)


def period(id: str, since: int, length: int) -> Period:
    return Period(id=id, why="why", evidence=[], **periods.spanning(Moment(T0 + since), length))


STAMP = {"ts": "2026-01-01T01:00:00.000Z"}
BOTH = CredentialState(cool_off=period("i", 0, MINUTE), quarantine=period("q", 0, 30 * MINUTE))


def test_an_end_is_told_once_when_it_has_come() -> None:
    assert credential.ends(BOTH, "a", Moment(T0 + MINUTE - 1), STAMP) == (BOTH, [])
    state, [(ended, of)] = credential.ends(BOTH, "a", Moment(T0 + MINUTE), STAMP)
    assert ended == records.Ended(**STAMP, id="i", kind="incident", credential_id="a", seconds=60, why="time")
    assert of.id == "i"
    assert credential.ends(state, "a", Moment(T0 + MINUTE), STAMP) == (state, [])
    assert [one.id for one, _ in credential.ends(state, "a", Moment(T0 + 30 * MINUTE), STAMP)[1]] == ["q"]


def test_of_two_ends_the_earlier_one_is_told_first() -> None:
    state = replace(BOTH, quarantine=period("q", 0, MINUTE - 1))
    assert [one.id for one, _ in credential.ends(state, "a", Moment(T0 + 2 * MINUTE), STAMP)[1]] == ["q", "i"]


@pytest.mark.parametrize(("late", "said"), [(600_000, ["i"]), (600_001, [])])
def test_an_end_that_is_long_ago_is_marked_and_not_said(late: int, said: list[str]) -> None:
    state, found = credential.ends(replace(BOTH, quarantine=None), "a", Moment(T0 + MINUTE + late), STAMP)
    assert [one.id for one, _ in found] == said
    assert state.cool_off is not None and state.cool_off.told


def test_without_a_stamp_the_record_is_one_of_the_very_moment_of_the_end() -> None:
    begun = Moment(T0, "b", 5_000)
    state = CredentialState(cool_off=Period(id="i", why="", evidence=[], **periods.spanning(begun, MINUTE)))
    _, [(ended, _)] = credential.ends(state, "a", Moment(T0 + 90_000, "b", 95_000), {})
    assert (ended.ts, ended.boot, ended.up) == ("2026-01-01T00:01:00.000Z", "b", 65.0)


def test_when_it_last_worked_never_goes_back() -> None:
    state = credential.worked(CredentialState(), T0)
    assert state.worked_ms == T0
    assert credential.worked(state, T0) is state
    assert credential.worked(state, T0 - 1) is state
    assert credential.worked(state, T0 + 1).worked_ms == T0 + 1
