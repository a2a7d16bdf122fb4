"""Members that a sweep does not find: each is said once, as vanished or as marked no more."""

from types import SimpleNamespace
from typing import Any

import pytest

from fleettools import records
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.seats import Seat
from fleettools.services.rollcall import RollCall

STAMP = {"ts": "2026-01-31T12:00:00.000Z"}
MEMBER, LEAD, NOTHING = Seat(profile="p", role="member"), Seat(role="lead"), Seat()


def pane(pid: int = 7) -> records.Pane:
    return records.Pane(**STAMP, server="h:/s:1", target="%1", pid=pid, name="w", profile="p", role="member")


def called(roll: RollCall, now: float, pid: int | None = 7, seat: Seat = MEMBER) -> list[str]:
    """What a sweep says that found that process in the pane (None: no pane), in that seat."""
    rows: dict[str, Any] = {} if pid is None else {"%1": SimpleNamespace(pid=pid)}
    found = {} if pid is None else {"%1": seat}
    said = list(roll.absent(STAMP, rows, found, lambda pane: roll.unmarked_for(pane, now)))
    if pid is not None and seat.role == "member":
        roll.present(pane(pid))
    assert all(
        (one.server, one.target, one.name, one.role, one.text) == ("h:/s:1", "%1", "w", "member", None) for one in said
    )
    return ["gone" if one.gone else "unmarked" if one.unmarked else "?" for one in said]


@pytest.fixture
def roll() -> RollCall:
    roll = RollCall()
    roll.present(pane())
    return roll


def test_one_that_is_there_is_not_called(roll: RollCall) -> None:
    assert called(roll, 0) == called(roll, 100) == []


def test_one_whose_pane_has_vanished_is_gone_once(roll: RollCall) -> None:
    assert [called(roll, now, None) for now in (0, 1, 50)] == [["gone"], [], []]


def test_one_whose_process_was_replaced_is_gone_with_its_own_pid(roll: RollCall) -> None:
    assert called(roll, 0, 8) == ["gone"]
    assert called(roll, 1, 8) == []


@pytest.mark.parametrize("seat", [pytest.param(NOTHING, id="nothing"), pytest.param(LEAD, id="a lead")])
def test_one_that_is_marked_no_more_is_said_after_ten_seconds_once(roll: RollCall, seat: Seat) -> None:
    assert [called(roll, now, 7, seat) for now in (0, 9.9, 10, 11, 60)] == [[], [], ["unmarked"], [], []]


def test_marks_that_come_back_within_ten_seconds_change_nothing(roll: RollCall) -> None:
    assert [called(roll, now, 7, seat) for now, seat in ((0, NOTHING), (9, MEMBER), (10, NOTHING), (19, NOTHING))] == [
        []
    ] * 4
    assert called(roll, 20, 7, NOTHING) == ["unmarked"]


def test_one_that_is_marked_again_may_be_unmarked_again(roll: RollCall) -> None:
    seats = (NOTHING, NOTHING, MEMBER, NOTHING, NOTHING)
    assert [called(roll, now, 7, seat) for now, seat in zip((0, 10, 20, 30, 40), seats, strict=True)] == [
        [], ["unmarked"], [], [], ["unmarked"],
    ]  # fmt: skip


def test_one_that_only_the_store_knows_is_called_too() -> None:
    roll = RollCall()
    known = {"server": "h:/s:1", "state": "idle", "since_ms": 1, "joined_ms": 1, "name": "w"}
    roll.remember(MemberState(target="%1", pid=7, **known))  # type: ignore[arg-type]
    roll.remember(MemberState(target="%2", pid=8, gone=True, **known))  # type: ignore[arg-type]
    assert called(roll, 0, None) == ["gone"]


def test_one_that_was_found_is_gone_at_once_when_its_agent_has_ended() -> None:
    roll = RollCall()
    roll.present(records.Pane(**STAMP, server="h:/s:1", target="%1", pid=7, profile="claude-1f9a03", agent="claude"))
    rows: dict[str, Any] = {"%1": SimpleNamespace(pid=7)}
    (said,) = roll.absent(STAMP, rows, {"%1": NOTHING}, lambda pane: 0.0, finds=True)
    assert (said.gone, said.unmarked) == (True, True)
