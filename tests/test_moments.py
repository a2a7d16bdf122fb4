"""How long ago a moment is, and when a span is over: tables, with the clock's misfortune over each row."""

import pytest

from fleettools import moments, records
from fleettools.moments import Moment

HOUR = 3_600_000
T0 = 1_767_225_600_000


@pytest.mark.parametrize(
    ("then", "now", "ms"),
    [
        # Within one boot the clock that never steps is asked, whatever the wall's says.
        (Moment(T0, "b", 1000), Moment(T0 + HOUR, "b", 6000), 5000),
        (Moment(T0, "b", 1000), Moment(T0 - HOUR, "b", 6000), 5000),
        # Between two boots, or where one does not know its boot, the wall's is all there is.
        (Moment(T0, "b", 1000), Moment(T0 + 7, "c", 6000), 7),
        (Moment(T0, "b", 1000), Moment(T0 + 7), 7),
        (Moment(T0, "b"), Moment(T0 + 7, "b"), 7),
        (Moment(T0), Moment(T0 + 7), 7),
    ],
)
def test_the_time_between_two_moments(then: Moment, now: Moment, ms: int) -> None:
    assert now.since(then) == ms


@pytest.mark.parametrize(
    ("ahead", "left"),
    [
        (0, 60_000),
        (1, 60_001),
        (-1, 59_999),
        (-59_999, 1),
        (-60_000, 0),
        (-HOUR, 0),
        # A clock that was set back by less than the span is not noticed, one set back by more makes it over.
        (60_000, 120_000),
        (60_001, 0),
        (HOUR, 0),
    ],
)
def test_a_span_on_the_wall_clock(ahead: int, left: int) -> None:
    assert moments.left(Moment(T0 + ahead), 60_000, Moment(T0)) == left


def test_a_moment_moves_on_both_clocks() -> None:
    assert Moment(T0, "b", 1000).plus(-500) == Moment(T0 - 500, "b", 500)
    assert Moment(T0).plus(5) == Moment(T0 + 5)


def test_the_moment_of_a_record() -> None:
    plain = records.Tmux(ts=records.to_ts(T0), server="s", state="up")
    assert moments.of(plain) == Moment(T0)
    assert moments.of(records.Tmux(ts=records.to_ts(T0), boot="b", up=1.5, server="s", state="up")) == Moment(
        T0, "b", 1500
    )


@pytest.mark.parametrize(("ms", "whole"), [(0, 0), (1, 1), (1000, 1), (1001, 2)])
def test_seconds_round_up(ms: int, whole: int) -> None:
    assert moments.seconds(ms) == whole
