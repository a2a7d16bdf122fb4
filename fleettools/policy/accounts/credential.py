"""What is known about one credential, and which verdicts say something about it (design section 4).

`outage` and `quarantine` are the steps on this state, `placement` keeps its reservations here. Times are in ms.
"""

import msgspec

from fleettools import records

CREDENTIALS = "credential/"
MAX_PANES = 4096  # panes and kinds remembered for one credential
MAX_EVIDENCE = 64  # events remembered of one cool-off, quarantine or count
RESAY_MS = 10_000  # what has stood unannounced for so long is written again
KEEP_MS = 600_000  # what was announced is kept for so long, to be written again into a pipe that broke
MAX_ANNOUNCED = 8

OUTAGE, EXHAUSTION = "outage", "exhaustion"
SPEAKING = frozenset({"backend_error", "exhausted", "retrying"})  # outcomes that may be evidence


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the credential policy, with the defaults of design section 4."""

    threshold: int = 2
    window_ms: int = 60_000
    cool_off_ms: int = 60_000
    cooldown_ms: int = 1_800_000
    count_retries_from: int = 5
    ignore_causes: frozenset[str] = frozenset({"context", "request"})


class Evidence(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One event that speaks against a credential: `at_ms` when it happened, `ts_ms` when it was first recorded.

    `up_ms` is `at_ms` on the never stepping clock of `boot`; `resets_ms` when the screen says that the limit resets,
    `doubtful` when that may be over as well as tomorrow's.
    """

    event: str
    at_ms: int
    ts_ms: int
    boot: str | None = None
    up_ms: int | None = None
    resets_ms: int | None = None
    doubtful: bool = False
    server: str | None = None
    target: str | None = None
    name: str | None = None
    profile: str | None = None
    lead: str | None = None

    def after(self, other: "Evidence") -> int:
        """Milliseconds from the other to this one, on the clock that never steps when both were seen in one boot."""
        if self.boot is not None and self.boot == other.boot and self.up_ms is not None and other.up_ms is not None:
            return self.up_ms - other.up_ms
        return self.at_ms - other.at_ms

    def stamp(self) -> dict[str, object]:
        """The `ts`, `boot` and `up` of the verdict: what it causes is a record of the same moment."""
        up = None if self.up_ms is None else (self.up_ms + self.ts_ms - self.at_ms) / 1000
        return {"ts": records.to_ts(self.ts_ms), "boot": self.boot, "up": up}


class Period(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A cool-off or quarantine: until when, why, and by which events. It is over from `until_ms` on."""

    id: str
    since_ms: int
    until_ms: int
    why: str
    evidence: list[Evidence]
    source: str | None = None


class Lease(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A slot reserved for a spawn that is under way; `seat` is the store key of its member once the pane is open."""

    id: str
    profile: str
    until_ms: int
    seat: str | None = None


class Notice(msgspec.Struct, kw_only=True):
    """A record that was committed; `announced` once it has been written to standard output."""

    line: str
    committed_ms: int
    announced: bool = False


class CredentialState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is stored under `credential/<id>`.

    `pending`: errors that may still cross the threshold. `last`: per kind and pane the last event that counted, or
    would have, so that a banner that stays is never fresh again.
    """

    pending: list[Evidence] = []
    last: dict[str, str] = {}
    cool_off: Period | None = None
    quarantine: Period | None = None
    leases: list[Lease] = []
    notices: list[Notice] = []


def credential_key(credential: str) -> str:
    """Where the store keeps a credential."""
    return CREDENTIALS + credential


def is_name(text: str) -> bool:
    """Whether a profile name or credential id is one that may stand in a store key."""
    try:
        msgspec.convert(text, records.Name)
    except msgspec.ValidationError:
        return False
    return True


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
        return "its ticket was settled by something else"
    if verdict.outcome == "retrying":
        return f"attempt {verdict.attempt or 0} of its own is not counted"
    return f"cause {verdict.cause} is ignored"


def evidence(verdict: records.Verdict, first_look: bool = False) -> Evidence:
    """What a verdict says, at the `first_look` at its pane or later; raises BadInput when a time of it is none."""
    ts = records.to_ms(verdict.ts)
    at = min(ts, records.to_ms(verdict.at)) if verdict.at else ts
    resets = records.to_ms(verdict.resets_at) if verdict.resets_at else None
    up = None if verdict.up is None else round(verdict.up * 1000) - (ts - at)
    return Evidence(
        # A verdict written by hand may have no event; its pane and moment then tell it apart.
        event=verdict.event or f"{verdict.server or ''} {verdict.target or ''} {at}",
        at_ms=at,
        ts_ms=ts,
        boot=verdict.boot,
        up_ms=up,
        resets_ms=resets,
        doubtful=first_look and bool(verdict.rolled),
        server=verdict.server,
        target=verdict.target,
        name=verdict.name,
        profile=verdict.profile,
        lead=verdict.lead,
    )


def is_fresh(found: Evidence, rules: Rules) -> bool:
    """Whether an error was seen within the window of its happening; an older one is no evidence."""
    return found.ts_ms - found.at_ms <= rules.window_ms


def is_known(state: CredentialState, kind: str, found: Evidence, period: Period | None) -> bool:
    """Whether this event was counted, or would have been, before."""
    kept = (
        [*state.pending, *(period.evidence if period else [])] if kind == OUTAGE else period.evidence if period else []
    )
    return state.last.get(_pane(kind, found)) == found.event or any(old.event == found.event for old in kept)


def noted(state: CredentialState, kind: str, found: Evidence) -> CredentialState:
    """The state that knows this event as the last of its kind in its pane; the longest unheard panes are forgotten."""
    key = _pane(kind, found)
    last = {pane: event for pane, event in state.last.items() if pane != key}
    last[key] = found.event
    for pane in list(last)[: max(0, len(last) - MAX_PANES)]:
        del last[pane]
    return msgspec.structs.replace(state, last=last)


def _pane(kind: str, found: Evidence) -> str:
    return f"{kind} {found.server or ''} {found.target or ''}"


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


def left(period: Period | None, now_ms: int) -> int | None:
    """Seconds until the period is over, rounded up; None when there is none or it is over."""
    return None if period is None or now_ms >= period.until_ms else -((now_ms - period.until_ms) // 1000)


def cooling_seconds(state: CredentialState | None, now_ms: int) -> int | None:
    """Seconds for which the credential still cools off, rounded up; None when it does not."""
    return left(state.cool_off, now_ms) if state else None


def quarantined_seconds(state: CredentialState | None, now_ms: int) -> int | None:
    """Seconds for which the credential is still quarantined, rounded up; None when it is not."""
    return left(state.quarantine, now_ms) if state else None


def committed(state: CredentialState, made: records.Record, clock_ms: int) -> CredentialState:
    """The state that owes the announcement of a record; the last announced ones of before are kept for KEEP_MS."""
    kept = [n for n in state.notices if n.announced and 0 <= clock_ms - n.committed_ms <= KEEP_MS][-MAX_ANNOUNCED:]
    owed = [notice for notice in state.notices if not notice.announced]
    notice = Notice(line=records.encode(made).decode(), committed_ms=clock_ms)
    return msgspec.structs.replace(state, notices=[*kept, *owed, notice])


def announced(state: CredentialState, line: str) -> CredentialState:
    """The state after a record was written out."""
    notices = [
        msgspec.structs.replace(notice, announced=True) if notice.line == line else notice for notice in state.notices
    ]
    return msgspec.structs.replace(state, notices=notices)


def overdue(state: CredentialState, clock_ms: int) -> tuple[CredentialState, list[str]]:
    """The lines that stood unannounced for RESAY_MS, and the state that gives the caller as long to write them."""
    late = [n for n in state.notices if not n.announced and not 0 <= clock_ms - n.committed_ms < RESAY_MS]
    if not late:
        return state, []
    notices = [
        msgspec.structs.replace(notice, committed_ms=clock_ms) if notice in late else notice for notice in state.notices
    ]
    return msgspec.structs.replace(state, notices=notices), [notice.line for notice in late]


def lately(state: CredentialState, clock_ms: int, span_ms: int) -> list[str]:
    """The lines that were announced in the last `span_ms`: a pipe that has broken since may have lost them."""
    return [n.line for n in state.notices if n.announced and 0 <= clock_ms - n.committed_ms <= span_ms]
