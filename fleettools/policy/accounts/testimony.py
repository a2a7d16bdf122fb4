"""Which verdicts say something about a credential, and what."""

from hashlib import sha256

import msgspec

from fleettools import records
from fleettools.moments import Moment

OUTAGE, EXHAUSTION = "outage", "exhaustion"
SPEAKING = frozenset({"backend_error", "exhausted", "retrying"})  # outcomes that may be evidence


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the credential policy, with their defaults."""

    threshold: int = 2
    window_ms: int = 60_000
    cool_off_ms: int = 60_000
    growth: float = 1
    max_cool_off_ms: int = 900_000
    cooldown_ms: int = 1_800_000
    count_retries_from: int = 5
    ignore_causes: frozenset[str] = frozenset({"context", "request"})


class Evidence(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One event that speaks against a credential.

    `at_ms`: when it happened, on the store's clock; `up_ms` the same on the never stepping clock of `boot`. It was
    recorded `late_ms` after that, at `ts_ms` by the record's own clock; `undated`: nobody knows when it happened.
    `resets_ms`: when the limit resets, on the store's clock; `by_usage` when that is not the screen's word; `doubtful`:
    it may be over as well as tomorrow's; `passed`: it just was. `unnamed`: told by its place alone, in words that no
    list holds.
    """

    event: str
    at_ms: int
    ts_ms: int
    late_ms: int = 0
    boot: str | None = None
    up_ms: int | None = None
    undated: bool = False
    resets_ms: int | None = None
    by_usage: bool = False
    doubtful: bool = False
    passed: bool = False
    unnamed: bool = False
    server: str | None = None
    target: str | None = None
    name: str | None = None
    profile: str | None = None
    lead: str | None = None

    @property
    def at(self) -> Moment:
        """When it happened."""
        return Moment(self.at_ms, self.boot, self.up_ms)

    def after(self, other: "Evidence") -> int:
        """Milliseconds from the other to this one, on the clock that never steps when both were seen in one boot."""
        return self.at.since(other.at)

    def is_fresh(self, rules: Rules) -> bool:
        """Whether it was seen within the window of its happening; an older error is no evidence."""
        return self.late_ms <= rules.window_ms

    def stamp(self) -> dict[str, object]:
        """The `ts`, `boot` and `up` of the verdict: what it causes is a record of the same moment."""
        up = None if self.up_ms is None else (self.up_ms + self.late_ms) / 1000
        return {"ts": records.to_ts(self.ts_ms), "boot": self.boot, "up": up}


def kind(verdict: records.Verdict, rules: Rules) -> str | None:
    """OUTAGE, EXHAUSTION, or None for a verdict that says nothing about its credential."""
    if verdict.role == "lead" or verdict.resolved is False:
        return None
    if verdict.outcome == "exhausted":
        return EXHAUSTION
    if verdict.outcome == "retrying":
        if not rules.count_retries_from or (verdict.attempt or 0) < rules.count_retries_from:
            return None
    elif verdict.outcome != "backend_error":
        return None
    return None if verdict.cause in rules.ignore_causes else OUTAGE


def why_none(verdict: records.Verdict) -> str:
    """Why `kind` found nothing in a verdict that speaks of a failure."""
    if verdict.role == "lead":
        return "a lead's is not counted"
    if verdict.resolved is False:
        return "its end is not proved" if verdict.proved is False else "its ticket was settled by something else"
    if verdict.outcome == "retrying":
        return f"attempt {verdict.attempt or 0} of its own is not counted"
    return f"cause {verdict.cause} is ignored"


def withdraws(verdict: records.Verdict, rules: Rules) -> bool:
    """Whether a verdict says of its event that it is no evidence after all: its cause is known now, and ignored."""
    speaks = verdict.role != "lead" and verdict.resolved is not False and verdict.outcome in SPEAKING
    return speaks and verdict.outcome != "exhausted" and verdict.cause in rules.ignore_causes


def evidence(verdict: records.Verdict, now: Moment, first_look: bool = False) -> Evidence:
    """What a verdict says that was made `now` on the store's clock, at the `first_look` at its pane or later.

    Raises BadInput when a time of it is none.
    """
    ts = records.to_ms(verdict.ts)
    late = max(0, ts - records.to_ms(verdict.at)) if verdict.at else 0
    resets = now.ms + records.to_ms(verdict.resets_at) - ts if verdict.resets_at else None
    return Evidence(
        event=event_of(verdict),
        at_ms=now.ms - late,
        ts_ms=ts,
        late_ms=late,
        boot=verdict.boot,
        up_ms=None if verdict.up is None else round(verdict.up * 1000) - late,
        undated=bool(verdict.undated),
        resets_ms=resets,
        doubtful=first_look and bool(verdict.rolled),
        passed=bool(verdict.passed),
        unnamed=_is_unnamed(verdict),
        server=verdict.server,
        target=verdict.target,
        name=verdict.name,
        profile=verdict.profile,
        lead=verdict.lead,
    )


def event_of(verdict: records.Verdict) -> str:
    """The event of a verdict; one written by hand may have none, its pane and moment then tell it apart."""
    return verdict.event or f"{verdict.server or ''} {verdict.target or ''} {records.to_ms(verdict.at or verdict.ts)}"


def _is_unnamed(verdict: records.Verdict) -> bool:
    """Whether its place alone makes it an error: no cause is known, no status code or JSON body stands in its line."""
    import re

    if verdict.pattern != "place" or verdict.cause not in (None, "unknown"):
        return False
    return not re.search(r"(?<![\w.,-])(4[0-3]\d|451|499|5[0-3]\d)(?![\w-]|[.,]\d)|\{\s*\"", verdict.line or "")


def concerned(found: list[Evidence]) -> dict[str, object]:
    """The fields of an incident or quarantine that say whom it concerns and by which events."""
    seated = [one for one in found if one.server and one.target]
    workers = {(one.server, one.target): one for one in seated}
    leads = {(one.server, one.lead): None for one in seated if one.lead}
    return {
        "targets": [records.Worker(server=s or "", target=t or "", name=one.name) for (s, t), one in workers.items()],
        "profiles": sorted({one.profile for one in found if one.profile}),
        "leads": [records.LeadPane(server=server or "", target=lead or "") for server, lead in leads],
        "evidence": [one.event for one in found],
    }


def identity(kind: str, name: str, events: list[str]) -> str:
    """The id of what these events cause on the credential: the same events give the same id."""
    digest = sha256("\0".join((name, *sorted(events))).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{kind}:{name}:{digest[:16]}"


def whole(seconds: float) -> float:
    """The number as it is written in a record: 60 rather than 60.0."""
    return int(seconds) if seconds == int(seconds) else seconds
