"""A cron job that is slower than the window says so, once."""

from fleettools.moments import Moment
from fleettools.policy.accounts import pace
from fleettools.policy.accounts.credential import CredentialState
from fleettools.policy.accounts.testimony import Rules

T0 = 1_767_225_600_000


def said(runs: list[tuple[float, bool]]) -> list[int | None]:
    """What each run says that ends at so many seconds and has missed an error, or not."""
    state, found = CredentialState(), []
    for at, missed in runs:
        state, apart = pace.looked(state, missed, Moment(T0 + round(at * 1000)), Rules())
        found.append(apart)
    return found


def test_it_is_said_when_an_error_was_missed_for_want_of_a_look() -> None:
    assert said([(0, False), (300, True), (600, True)]) == [None, 300, None]


def test_a_first_run_and_one_that_missed_nothing_say_nothing() -> None:
    assert said([(0, True), (300, False), (600, False)]) == [None, None, None]


def test_runs_within_the_window_are_quick_enough() -> None:
    assert said([(0, False), (60, True), (120.001, True)]) == [None, None, 61]
