"""How much of a credential's plan is used up, as its agents say, window by window."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from fleettools import moments, records
from fleettools.moments import Moment
from fleettools.policy.accounts import periods
from fleettools.policy.accounts.credential import CredentialState, Warned
from fleettools.policy.accounts.periods import Span
from fleettools.policy.accounts.testimony import identity, whole
from fleettools.screens.resets import HORIZON_MS

USAGE = "usage/"
LEVELS = (95, 80)  # percent that are said, the higher first
STALE_MS = 1_800_000  # what was said without a reset time holds for so long
FULL = 100
MOST_WINDOWS = 16


class Window(Span, kw_only=True):
    """What was last heard of one window of a plan: from when it was said until the window resets.

    `dated`: its reset time was said, too.
    """

    used_percent: float
    dated: bool = False


class UsageState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is stored under `usage/<credential>`: the windows by name (`5h`, `weekly`)."""

    windows: dict[str, Window] = {}


def usage_key(credential: str) -> str:
    """Where the store keeps what is known of a credential's use."""
    return USAGE + credential


def heard(state: UsageState | None, said: Iterable[records.Usage], now: Moment, ts: str) -> UsageState:
    """The state after an agent said this in a record of `ts`, which is `now` on the store's clock.

    An older word than the one that is known changes nothing. Raises BadInput when a reset time is no time.
    """
    windows = dict(state.windows) if state else {}
    for one in said:
        known = windows.get(one.window)
        if known and now.since(known.begin) < 0:
            continue
        ahead = records.to_ms(one.resets_at) - records.to_ms(ts) if one.resets_at else STALE_MS
        dated = one.resets_at is not None and ahead <= HORIZON_MS  # what is further ahead is no plan's window
        # Moved to the end, so that the longest unheard of goes first.
        windows.pop(one.window, None)
        percent = max(0.0, one.used_percent)
        windows[one.window] = Window(
            used_percent=percent, dated=dated, **periods.spanning(now, max(0, ahead if dated else STALE_MS))
        )
    return UsageState(windows=dict(list(windows.items())[-MOST_WINDOWS:]))


def running(state: UsageState | None, now: Moment) -> Mapping[str, Window]:
    """The windows that have not reset since they were heard of."""
    return {name: one for name, one in state.windows.items() if one.runs(now)} if state else {}


def full_until(state: UsageState | None, now: Moment) -> int | None:
    """In how many milliseconds the last window that is used up resets; None when none is, or nobody said when."""
    full = [one for one in running(state, now).values() if one.dated and one.used_percent >= FULL]
    return max((moments.left(one.begin, one.length_ms, now) for one in full), default=None)


def fullest(state: UsageState | None, now: Moment) -> tuple[str, Window] | None:
    """The window of which most is used up, the one that lasts longest among equals."""
    found = running(state, now).items()
    return max(found, key=lambda pair: (pair[1].used_percent, moments.left(pair[1].begin, pair[1].length_ms, now)),
               default=None)  # fmt: skip


def warn(
    state: CredentialState, name: str, usage: UsageState, now: Moment, stamp: Mapping[str, Any]
) -> tuple[CredentialState, list[records.Nearly]]:
    """Say of each window, once a level, that it is nearly used up; the state knows it until that window resets."""
    warned = {window: one for window, one in state.warned.items() if one.runs(now)}
    said = []
    for window, known in running(usage, now).items():
        level = next((level for level in LEVELS if known.used_percent >= level), None)
        before = warned.get(window)
        if level is None or (before and before.percent >= level):
            continue
        ahead = moments.left(known.begin, known.length_ms, now)
        warned[window] = Warned(percent=level, **periods.spanning(now, ahead))
        said.append(
            records.Nearly(
                **stamp,
                id=identity("nearly", name, [window, str(level), str(known.until_ms)]),
                credential_id=name,
                window=window,
                used_percent=whole(known.used_percent),
                resets_at=records.to_ts(records.to_ms(str(stamp["ts"])) + ahead) if known.dated else None,
            )
        )
    return (state if warned == state.warned else replace(state, warned=warned)), said
