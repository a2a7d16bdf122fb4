"""The end of a turn: whether a look proves it, and when it happened.

An end that is only inferred is proved by a second look, at least PROOF_MS later, at which the turn has drawn nothing
more; it then is what the first look said. An end mark and a worded failure wait for nothing.
"""

from typing import Any, NamedTuple

import msgspec

from fleettools import records
from fleettools.moments import Moment

PROOF_MS = 2_000

# What the first look said of an end, and the second look then says in its place.
SAID = ("outcome", "reason", "line", "pattern", "path", "cause", "resets_at", "passed")


class Doubt(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """An inferred end as the first look showed it: when, what had been drawn, when it happened, and SAID's fields."""

    seen_ms: int
    at_ms: int
    undated: bool = False
    block: str | None = None
    outcome: records.Outcome
    reason: str | None = None
    line: str | None = None
    pattern: str | None = None
    path: records.Path | None = None
    cause: records.Cause | None = None
    resets_at: str | None = None
    passed: bool | None = None


class End(NamedTuple):
    """An end that counts. `at_ms`: when it happened, `undated` when nothing told; `said`: what an earlier look said."""

    outcome: records.Outcome
    at_ms: int
    undated: bool
    said: dict[str, Any] | None = None


def weighed(doubt: Doubt | None, seen: records.Verdict, now_ms: int, before: Moment | None) -> End | Doubt:
    """What an ended outcome amounts to: an end, or the doubt to keep until another look.

    `doubt` is the turn's, `before` the last look at this process, at which the turn had not so ended.
    """
    known = doubt if doubt is not None and doubt.block == seen.block else None
    if seen.proved is not False:
        at_ms, undated = (known.at_ms, known.undated) if known else dated(seen, now_ms, before)
        return End(seen.outcome, at_ms, undated)
    if known is None:
        at_ms, undated = dated(seen, now_ms, before)
        shown = {name: getattr(seen, name) for name in SAID}
        return Doubt(seen_ms=now_ms, at_ms=at_ms, undated=undated, block=seen.block, **shown)
    if now_ms - known.seen_ms < PROOF_MS:
        return known
    return End(known.outcome, known.at_ms, known.undated, said(known))


def said(doubt: Doubt) -> dict[str, Any]:
    """What the look behind a doubt said of the end."""
    return {name: getattr(doubt, name) for name in SAID}


def dated(seen: records.Verdict, now_ms: int, before: Moment | None) -> tuple[int, bool]:
    """When what a look at `now_ms` shows happened, and whether nothing tells: not before the last look without it.

    Undated and with such a look, it is the middle between the two.
    """
    ts_ms = records.to_ms(seen.ts)
    age = max(0, ts_ms - records.to_ms(seen.at)) if seen.at else 0
    if before is None or before.ms >= now_ms:
        return now_ms - age, bool(seen.undated)
    gap = now_ms - before.ms
    return now_ms - (gap // 2 if seen.undated else min(age, gap)), False
