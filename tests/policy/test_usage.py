"""What agents say of their plan: what is known, what is said, and what the gate makes of it."""

import pytest

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.accounts import usage
from fleettools.policy.accounts.credential import CredentialState
from fleettools.policy.accounts.usage import UsageState

T0 = 1_767_225_600_000
TS = "2026-01-01T00:00:00.000Z"
HOUR = 3_600_000


def said(window: str, percent: float, resets: float | None = None) -> records.Usage:
    """One window, which resets `resets` hours after TS."""
    at = None if resets is None else records.to_ts(T0 + round(resets * HOUR))
    return records.Usage(window=window, used_percent=percent, resets_at=at)


def known(*windows: records.Usage, ms: int = T0) -> UsageState:
    return usage.heard(None, windows, Moment(ms), TS)


def test_a_window_is_kept_until_it_resets_or_half_an_hour_when_nobody_said_when() -> None:
    state = known(said("5h", 50, 5), said("weekly", 20))
    assert set(usage.running(state, Moment(T0))) == {"5h", "weekly"}
    assert set(usage.running(state, Moment(T0 + HOUR // 2))) == {"5h"}
    assert set(usage.running(state, Moment(T0 + 5 * HOUR))) == set()
    assert usage.running(None, Moment(T0)) == {}


def test_the_last_word_counts_and_an_older_one_that_comes_late_does_not() -> None:
    state = usage.heard(known(said("5h", 50, 5)), [said("5h", 70, 5)], Moment(T0 + 1000), TS)
    state = usage.heard(state, [said("5h", 40, 5), said("weekly", 9, 100)], Moment(T0 + 500), TS)
    assert {name: one.used_percent for name, one in state.windows.items()} == {"5h": 70, "weekly": 9}


def test_resets_are_put_on_the_store_s_clock() -> None:
    """A server whose clock is two hours ahead."""
    state = known(said("5h", 50, 5), ms=T0 + 2 * HOUR)
    assert state.windows["5h"].until_ms == T0 + 7 * HOUR


def test_windows_are_bounded() -> None:
    state = known(*(said(str(number), 1, 5) for number in range(40)))
    assert list(state.windows) == [str(number) for number in range(24, 40)]


@pytest.mark.parametrize(
    ("windows", "ahead"),
    [
        ([said("5h", 99.9, 5)], None),
        ([said("5h", 100, 5)], 5 * HOUR),
        ([said("5h", 100, 5), said("weekly", 100, 50)], 50 * HOUR),
        ([said("5h", 100)], None),
    ],
)
def test_until_when_a_plan_is_used_up(windows: list[records.Usage], ahead: int | None) -> None:
    assert usage.full_until(known(*windows), Moment(T0)) == ahead


def test_each_level_is_said_once_a_window() -> None:
    """79, 80, 94, 95, 100 %, back to 10 after the reset, and 85 again."""
    state, told = CredentialState(), []
    for hours, percent, resets in (
        (0, 79, 5), (1, 80, 5), (2, 94, 5), (3, 95, 5), (4, 100, 5), (5, 10, 10), (6, 85, 10), (7, 85, 10),
    ):  # fmt: skip
        now = Moment(T0 + hours * HOUR)
        heard = usage.heard(None, [said("5h", percent, resets)], now, records.to_ts(now.ms))
        state, made = usage.warn(state, "team", heard, now, {"ts": records.to_ts(now.ms)})
        told += [(hours, one.used_percent, one.resets_at) for one in made]
        again, repeated = usage.warn(state, "team", heard, now, {"ts": records.to_ts(now.ms)})
        assert repeated == [] and again is state
    assert told == [
        (1, 80, records.to_ts(T0 + 5 * HOUR)),
        (3, 95, records.to_ts(T0 + 5 * HOUR)),
        (6, 85, records.to_ts(T0 + 10 * HOUR)),
    ]


def test_a_first_word_beyond_both_levels_is_said_once() -> None:
    _, made = usage.warn(CredentialState(), "team", known(said("5h", 97, 5)), Moment(T0), {"ts": TS})
    assert [(one.window, one.used_percent) for one in made] == [("5h", 97)]
