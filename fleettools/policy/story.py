"""What happened to each credential, profile, agent or member over time: the story that fleet-timeline draws.

Records may come twice and in any order: a turn is known by its event, a period by its id, a notice by whom it reached.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from fleettools import records

By = Literal["credential", "profile", "agent", "member"]
Kind = Literal["incident", "quarantine"]
Warned = records.Nearly | records.Unmapped
NEAR_MS = 120_000  # a failure so long before a period began is part of it
NOBODY = "(unmapped)"  # what has no credential, profile or agent to stand under


class Turn(NamedTuple):
    """A turn that ended: when, how, and whose it was."""

    at_ms: int
    outcome: records.Outcome
    cause: str | None
    reason: str | None
    credential: str | None
    profile: str | None
    agent: str | None
    member: str | None


class Told(NamedTuple):
    """A notice or alert about a period: when, to whom (`%0`, `alert:ops`), and what became of it."""

    at_ms: int
    to: str
    outcome: str


class Period(NamedTuple):
    """A cool-off or quarantine. `until_ms` is when it ended, or will; `why` says what ended it, None: not known yet."""

    kind: Kind
    id: str
    credential: str
    since_ms: int
    until_ms: int
    again: bool
    evidence: int
    profiles: tuple[str, ...]
    members: tuple[str, ...]
    why: str | None = None
    told: tuple[Told, ...] = ()


class Warning(NamedTuple):
    """What people were warned of: a window nearly used up, or a failure that counts for no credential."""

    at_ms: int
    text: str
    profile: str | None


class Lane(NamedTuple):
    """One line of the story, each list in the order of time."""

    name: str
    turns: tuple[Turn, ...]
    periods: tuple[Period, ...]
    warnings: tuple[Warning, ...]


class Chart(NamedTuple):
    """The whole story from `since_ms` to `until_ms`, its lanes by name."""

    by: By
    since_ms: int
    until_ms: int
    lanes: tuple[Lane, ...]


class Timeline:
    """Takes records one after the other and keeps what the story needs of them.

    `credential_of` is what the configuration says of a profile; `first_ms` and `last_ms` the times of the
    earliest and the latest record.
    """

    def __init__(self, by: By, credential_of: Callable[[str | None], str | None]) -> None:
        self._by = by
        self._credential_of = credential_of
        self._turns: dict[str, Turn] = {}
        self._periods: dict[str, Period] = {}
        self._ends: dict[str, tuple[int, str]] = {}
        self._told: dict[str, dict[str, Told]] = {}
        self._warnings: dict[str, tuple[str, Warning]] = {}
        self._agents: dict[str, str] = {}
        self.first_ms: int | None = None
        self.last_ms: int | None = None

    def add(self, record: records.Record) -> None:
        """Take a record; of a type that has no part in the story only its time counts. Raises BadInput for no time."""
        now = records.to_ms(record.ts)
        self.first_ms = min(now, self.first_ms or now)
        self.last_ms = max(now, self.last_ms or now)
        if isinstance(record, records.Verdict):
            self._add_turn(record, now)
        elif isinstance(record, records.Incident | records.Quarantine):
            self._add_period(record, now)
        elif isinstance(record, records.Ended):
            self._ends[record.id] = (now, record.why)
        elif isinstance(record, records.Delivery):
            told = self._told.setdefault(record.id, {})
            told[record.target] = Told(now, record.target, record.outcome)
        elif isinstance(record, records.Nearly | records.Unmapped):
            self._add_warning(record, now)

    def _add_turn(self, verdict: records.Verdict, now: int) -> None:
        """Keep how a turn ended, and when that was first seen."""
        if verdict.profile and verdict.agent:
            self._agents[verdict.profile] = verdict.agent
        if verdict.outcome not in records.ENDINGS or verdict.resolved is False or verdict.role == "lead":
            return
        at = records.to_ms(verdict.at) if verdict.at else now
        pane = f"{verdict.server or ''} {verdict.target or ''}"
        credential = verdict.credential_id or self._credential_of(verdict.profile)
        member = verdict.name or verdict.target
        event = verdict.event or f"{pane} {at}"
        known = self._turns.get(event)
        # A turn's later look may raise its outcome, but the turn ended when that was first seen.
        at = min(at, known.at_ms) if known else at
        self._turns[event] = Turn(
            at, verdict.outcome, verdict.cause, verdict.reason, credential, verdict.profile, verdict.agent, member
        )

    def _add_period(self, record: records.Incident | records.Quarantine, now: int) -> None:
        """Keep an incident or quarantine, or the later word on one that is known."""
        if isinstance(record, records.Incident):
            until = now + round(record.cooling_off_for_seconds * 1000)
        else:
            until = records.to_ms(record.until)
        known = self._periods.get(record.id)
        members = [each.name or each.target for each in record.targets]
        # A quarantine that starts over keeps its id and its beginning.
        self._periods[record.id] = Period(
            "incident" if isinstance(record, records.Incident) else "quarantine", record.id, record.credential_id,
            min(now, known.since_ms) if known else now, max(until, known.until_ms) if known else until,
            bool(record.again), len(record.evidence),
            tuple(sorted({*record.profiles, *(known.profiles if known else ())})),
            tuple(dict.fromkeys([*(known.members if known else ()), *members])),
        )  # fmt: skip

    def _add_warning(self, record: Warned, now: int) -> None:
        if isinstance(record, records.Nearly):
            text = f"{record.window} limit {record.used_percent:g} % used"
            self._warnings[record.id] = (record.credential_id, Warning(now, text, None))
        else:
            text = f"unmapped failure of {record.target or 'a member'}, profile {record.profile or 'none'}"
            self._warnings[record.id] = (NOBODY, Warning(now, text, record.profile))

    def chart(self, until_ms: int, since_ms: int | None = None) -> Chart:
        """The story up to a moment, from `since_ms` or the first that is known on; a period that reaches in counts."""
        periods = [self._finished(period) for period in self._periods.values() if period.since_ms <= until_ms]
        starts = [turn.at_ms for turn in self._turns.values()] + [period.since_ms for period in periods]
        starts += [warning.at_ms for _, warning in self._warnings.values()]
        since = min([*starts, until_ms]) if since_ms is None else min(since_ms, until_ms)
        turns = [turn for turn in self._turns.values() if since <= turn.at_ms <= until_ms]
        periods = [period for period in periods if period.until_ms >= since]
        warnings = [warned for warned in self._warnings.values() if since <= warned[1].at_ms <= until_ms]
        return Chart(self._by, since, until_ms, tuple(self._lanes(turns, periods, warnings)))

    def _finished(self, period: Period) -> Period:
        told = sorted(self._told.get(period.id, {}).values())
        end, why = self._ends.get(period.id, (period.until_ms, None))
        return period._replace(until_ms=min(end, period.until_ms), why=why, told=tuple(told))

    def _lanes(self, turns: list[Turn], periods: list[Period], warned: list[tuple[str, Warning]]) -> Iterator[Lane]:
        """What happened to each credential, or to whatever else the story is told by, in the order of time."""
        of_turns: dict[str, list[Turn]] = {}
        for turn in turns:
            of_turns.setdefault(getattr(turn, self._by) or NOBODY, []).append(turn)
        of_periods: dict[str, list[Period]] = {}
        for period in periods:
            for name in self._names(period):
                of_periods.setdefault(name, []).append(period)
        warnings: dict[str, list[Warning]] = {}
        for credential, warning in warned:
            warnings.setdefault(credential if self._by == "credential" else NOBODY, []).append(warning)
        for name in sorted({*of_turns, *of_periods, *warnings}):
            yield Lane(
                name,
                tuple(sorted(of_turns.get(name, ()), key=lambda each: each.at_ms)),
                tuple(sorted(of_periods.get(name, ()), key=lambda each: each.since_ms)),
                tuple(sorted(warnings.get(name, ()), key=lambda each: each.at_ms)),
            )

    def _names(self, period: Period) -> Iterable[str]:
        """The lanes in which a period stands."""
        if self._by == "credential":
            return [period.credential]
        if self._by == "profile":
            return period.profiles or [NOBODY]
        if self._by == "member":
            return period.members or [NOBODY]
        return sorted({self._agents.get(profile, NOBODY) for profile in period.profiles}) or [NOBODY]


def counts(lane: Lane) -> dict[str, int]:
    """How many turns of a lane ended in which way; outcomes that did not occur are left out."""
    found: dict[str, int] = {}
    for turn in lane.turns:
        found[turn.outcome] = found.get(turn.outcome, 0) + 1
    return found


def out_ms(lane: Lane, since_ms: int, until_ms: int) -> int:
    """For how much of the time a lane was out, periods that overlap counted once."""
    total, reached = 0, since_ms
    for period in lane.periods:
        begin, end = max(period.since_ms, reached), min(period.until_ms, until_ms)
        if end > begin:
            total += end - begin
            reached = end
    return total


def lone(lane: Lane) -> list[Turn]:
    """The failures that belong to no period of the lane."""
    spans = [(period.since_ms - NEAR_MS, period.until_ms) for period in lane.periods]
    failed = (turn for turn in lane.turns if turn.outcome != "completed")
    return [turn for turn in failed if not any(begin <= turn.at_ms <= end for begin, end in spans)]


def view(chart: Chart) -> dict[str, object]:
    """The story as one JSON object, times as in records."""
    return {
        "by": chart.by,
        "since": records.to_ts(chart.since_ms),
        "until": records.to_ts(chart.until_ms),
        "lanes": [
            {
                "name": lane.name,
                "turns": counts(lane),
                "outSeconds": out_ms(lane, chart.since_ms, chart.until_ms) // 1000,
                "failures": [_failure(turn) for turn in lane.turns if turn.outcome != "completed"],
                "periods": [_period(period) for period in lane.periods],
                "warnings": [{"at": records.to_ts(each.at_ms), "text": each.text} for each in lane.warnings],
            }
            for lane in chart.lanes
        ],
    }


def _failure(turn: Turn) -> dict[str, object]:
    made = {
        "at": records.to_ts(turn.at_ms), "outcome": turn.outcome, "cause": turn.cause, "reason": turn.reason,
        "member": turn.member, "profile": turn.profile,
    }  # fmt: skip
    return {key: value for key, value in made.items() if value is not None}


def _period(period: Period) -> dict[str, object]:
    """A period for a program, what nobody knows left out."""
    made = {
        "kind": period.kind,
        "id": period.id,
        "credentialId": period.credential,
        "from": records.to_ts(period.since_ms),
        "until": records.to_ts(period.until_ms),
        "evidence": period.evidence,
        "again": period.again or None,
        "why": period.why,
        "profiles": list(period.profiles),
        "members": list(period.members),
        "told": [{"at": records.to_ts(each.at_ms), "to": each.to, "outcome": each.outcome} for each in period.told],
    }
    return {key: value for key, value in made.items() if value is not None}
