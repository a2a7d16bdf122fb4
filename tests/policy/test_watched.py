"""What is watched, and what makes silence mean nothing."""

import pytest

from fleettools import records
from fleettools.policy import watched
from fleettools.policy.watched import Seat

MEMBER = Seat(True, "claude-a", True)
ALONE = Seat(True, "claude-a", False)
LEAD = Seat(False, None, False)
TS = "2026-01-31T12:00:00.000Z"


@pytest.mark.parametrize(
    ("seats", "says"),
    [
        pytest.param([], "watching: no members; leads: none", id="nobody"),
        pytest.param([MEMBER, MEMBER, LEAD], "watching: claude-a 2; leads: 1", id="members and their lead"),
        pytest.param([Seat(True, None, False)], "watching: no profile 1; leads: none", id="unmapped"),
    ],
)
def test_one_line_says_what_is_watched(seats: list[Seat], says: str) -> None:
    assert watched.summary(seats) == says


@pytest.mark.parametrize(
    ("seats", "alerts", "begins"),
    [
        pytest.param([MEMBER], False, "", id="a member with a lead"),
        pytest.param([MEMBER, ALONE], False, "", id="one of two has a lead"),
        pytest.param([ALONE], True, "", id="no lead, but alerts"),
        pytest.param([ALONE], False, "nobody is told", id="neither lead nor alerts"),
        pytest.param([LEAD], False, "watching nothing", id="a lead without members"),
        pytest.param([], True, "watching nothing", id="nobody"),
    ],
)
def test_it_is_said_why_nobody_would_hear_of_a_failure(seats: list[Seat], alerts: bool, begins: str) -> None:
    found = watched.faults(seats, alerts)
    assert len(found) == bool(begins)
    assert all(text.startswith(begins) for text in found)


@pytest.mark.parametrize("how", ["gone", "unmarked"])
def test_who_has_gone_is_not_watched(how: str) -> None:
    verdict = records.Heading(type="verdict", ts=TS, role="member", profile="claude-a", lead="%1")
    assert watched.seat_of(verdict) == MEMBER
    setattr(verdict, how, True)
    assert watched.seat_of(verdict) is None
