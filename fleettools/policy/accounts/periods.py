"""Spans that a credential's state keeps: a beginning and a length, which the clock of the boot measures.

`since_ms` and `until_ms` are on the store's clock; `boot` and `up_ms` say when it began on the clock that never steps.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from fleettools import moments, records
from fleettools.moments import Moment
from fleettools.policy.accounts.testimony import Evidence, whole

SAID_MS = 600_000  # an end that is older is marked and no more said

Why = Literal["time", "released", "worked"]


class Span(msgspec.Struct, kw_only=True, omit_defaults=True):
    """From `since_ms` to `until_ms`, over from the latter on."""

    since_ms: int = 0
    until_ms: int
    boot: str | None = None
    up_ms: int | None = None

    @property
    def begin(self) -> Moment:
        """When it began."""
        return Moment(self.since_ms, self.boot, self.up_ms)

    @property
    def length_ms(self) -> int:
        """How long it lasts."""
        return self.until_ms - self.since_ms

    def runs(self, now: Moment) -> bool:
        """Whether it is not over."""
        return moments.left(self.begin, self.length_ms, now) > 0


def spanning(now: Moment, length_ms: int) -> dict[str, Any]:
    """The fields of a span that begins now."""
    return {"since_ms": now.ms, "until_ms": now.ms + length_ms, "boot": now.boot, "up_ms": now.up_ms}


class Period(Span, kw_only=True):
    """A cool-off or quarantine: until when, why, and by which events.

    `planned_ms`: how long it was to last when it was ended before. `ended`: what ended it before its time;
    `told`: its end was committed.
    """

    id: str
    why: str
    evidence: list[Evidence]
    source: str | None = None
    planned_ms: int | None = None
    ended: Why | None = None
    told: bool = False

    def runs(self, now: Moment) -> bool:
        """Whether it is not over; what was ended never comes back, whatever the clock does."""
        return self.ended is None and super().runs(now)

    @property
    def plan_ms(self) -> int:
        """How long it was to last."""
        return self.length_ms if self.planned_ms is None else self.planned_ms


class Probe(Span, kw_only=True):
    """The one member that tries a credential that has come back; `event` is its turn's."""

    event: str
    name: str | None = None


def left(period: Span | None, now: Moment) -> int | None:
    """Seconds until the period is over, rounded up; None when there is none or it is over."""
    if period is None or not period.runs(now):
        return None
    return moments.seconds(moments.left(period.begin, period.length_ms, now))


def cut(period: Period, why: Why, now: Moment) -> Period:
    """The period, ended now."""
    lasted = max(0, now.since(period.begin))
    return replace(period, until_ms=period.since_ms + lasted, planned_ms=period.plan_ms, ended=why)


def ending(
    period: Period | None, kind: Literal["incident", "quarantine"], name: str, now: Moment, stamp: Mapping[str, Any]
) -> tuple[Period | None, records.Ended | None]:
    """The period marked as told when it is over, with the record of its end unless that is long ago.

    An empty `stamp` makes the record one of the very moment of the end.
    """
    if period is None or period.told or period.runs(now):
        return period, None
    told = replace(period, told=True)
    if now.since(period.begin) - period.length_ms > SAID_MS:
        return told, None
    seconds = whole(period.length_ms / 1000)
    end: Mapping[str, Any] = stamp or _stamp(period.begin.plus(period.length_ms))
    why: Why = period.ended or "time"
    return told, records.Ended(**end, id=period.id, kind=kind, credential_id=name, seconds=seconds, why=why)


def _stamp(moment: Moment) -> dict[str, Any]:
    up = None if moment.up_ms is None else moment.up_ms / 1000
    return {"ts": records.to_ts(moment.ms), "boot": moment.boot, "up": up}
