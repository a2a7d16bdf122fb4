"""Drives the credential policy, by verdicts and by time; what it commits is said by the announcer."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from fleettools import moments, records
from fleettools.config import Config
from fleettools.errors import BadInput
from fleettools.moments import Moment
from fleettools.policy.accounts import announcing, credential, outage, pace, quarantine, testimony, usage
from fleettools.policy.accounts.credential import CredentialState
from fleettools.policy.accounts.testimony import EXHAUSTION, SPEAKING, Evidence, Rules
from fleettools.policy.accounts.usage import USAGE, UsageState
from fleettools.seen import Seen
from fleettools.services.announcer import Announcer, Made, Step, unchanged
from fleettools.services.ports import Clock, Messages
from fleettools.services.store import Store, change, read, read_all

TICK = 10.0  # seconds between two looks for what has ended, or stands unannounced


def rules(
    config: Config, threshold: int | None = None, window: float | None = None, cool_off: float | None = None
) -> Rules:
    """The numbers of the policy: what is given (`window` and `cool_off` in seconds), else what is configured."""
    outage = config.outage
    return Rules(
        threshold=outage.threshold if threshold is None else threshold,
        window_ms=round(1000 * (outage.window_seconds if window is None else window)),
        cool_off_ms=round(1000 * (outage.cool_off_seconds if cool_off is None else cool_off)),
        growth=outage.growth,
        max_cool_off_ms=round(1000 * outage.max_cool_off_seconds),
        cooldown_ms=round(1000 * config.quarantine_cooldown_seconds),
        count_retries_from=outage.count_retries_from,
        ignore_causes=frozenset(outage.ignore_causes),
    )


class _Dated(msgspec.Struct):
    ts: str | None = None


class Correlator:
    """Applies the credential policy to verdicts, and looks for what time alone brings.

    `flush` brings to the reader what was yielded. `replay`: the time is that of the records alone, so that a stored
    stream gives the same every time.
    """

    def __init__(
        self, store: Store, config: Config, rules: Rules, messages: Messages, clock: Clock, flush: Callable[[], None],
        replay: bool = False,
    ) -> None:  # fmt: skip
        self._store, self._config, self._rules = store, config, rules
        self._messages, self._clock, self._replay = messages, clock, replay
        self._announcer = Announcer(store, clock, flush, replay)
        self._unmapped: Seen[str] = Seen()
        self._panes: Seen[tuple[str | None, str | None]] = Seen()
        self._completed: Seen[str] = Seen()
        self._missed: Seen[str] = Seen()  # credentials of which an error was too old to count
        self._began = store.moment()

    # -- verdicts

    def verdict(self, raw: bytes) -> Iterable[bytes]:
        """The verdict as it came, then what it causes; only evidence and success touch the store."""
        head = records.decode(raw, records.VerdictHead)
        first_look = self._panes.add((head.server, head.target))
        if head.outcome == "completed" and head.event not in self._completed:
            return self._success(raw, records.decode(raw, records.Verdict))
        if head.outcome in SPEAKING:
            return self._evidence(raw, records.decode(raw, records.Verdict), first_look)
        return (raw,)

    def _evidence(self, raw: bytes, verdict: records.Verdict, first_look: bool) -> Iterable[bytes]:
        """What speaks against a credential: counted, or said to count for none, or no evidence at all."""
        kind = testimony.kind(verdict, self._rules)
        name = self._config.credential_of(verdict.profile)
        mapped = name is not None and credential.is_name(name)
        if kind is None:
            reason = testimony.why_none(verdict)
            self._messages.debug(f"{testimony.event_of(verdict)}: {reason}")
            if name is not None and mapped and testimony.withdraws(verdict, self._rules):
                self._withdrawn(name, testimony.event_of(verdict))
            return (raw,)
        now = self._store.placed(moments.of(verdict))
        found = testimony.evidence(verdict, now, first_look)
        if name is None or not mapped:
            counts = kind == EXHAUSTION or found.is_fresh(self._rules)
            return (raw, *self._unknown(found, verdict.outcome)) if counts else (raw,)
        if kind == EXHAUSTION:
            found = self._by_usage(name, found, now)
        policy = quarantine.step if kind == EXHAUSTION else outage.step

        def step(state: CredentialState) -> tuple[CredentialState, list[Made], str]:
            made: records.Outage | None
            state, made, reason = policy(state, name, found, now, self._rules)
            servers = [target.server for target in made.targets] if made else []
            return state, [Made(made, servers)] if made else [], reason

        return self._then(raw, name, found.event, now, step)

    def _by_usage(self, name: str, found: Evidence, now: Moment) -> Evidence:
        """The exhaustion with the reset time that the agents themselves gave, when its screen gives none."""
        if found.resets_ms is not None or found.passed:
            return found
        ahead = usage.full_until(read(self._store, usage.usage_key(name), UsageState), now)
        return found if ahead is None else replace(found, resets_ms=now.ms + ahead, by_usage=True)

    def _success(self, raw: bytes, verdict: records.Verdict) -> Iterable[bytes]:
        """A completed turn ends the quarantine that it disproves, and says when its credential last worked."""
        name = self._config.credential_of(verdict.profile)
        if verdict.role == "lead" or verdict.resolved is False or name is None or not credential.is_name(name):
            return (raw,)
        now = self._store.placed(moments.of(verdict))
        found = testimony.evidence(verdict, now)
        if found.undated or not self._completed.add(found.event):
            return (raw,)
        lasted = None if verdict.began is None else records.to_ms(verdict.ts) - records.to_ms(verdict.began)

        def step(state: CredentialState) -> tuple[CredentialState, list[Made], str]:
            state, reason = credential.worked(state, found.at_ms), "its turn completed"
            if lasted is not None:
                began = found.at.plus(found.late_ms - lasted)
                state, reason = quarantine.worked(state, verdict.server, verdict.target, began, now)
            return state, [], reason

        return self._then(raw, name, found.event, now, step)

    def _withdrawn(self, name: str, event: str) -> None:
        """What counted as an error of unknown cause turned out to be the request's own fault."""
        change(
            self._store, credential.credential_key(name), CredentialState,
            lambda state: (state and credential.without(state, event), None),
        )  # fmt: skip

    def _then(self, raw: bytes, name: str, event: str, now: Moment, step: Step) -> Iterator[bytes]:
        """Commit a step of a credential; the verdict goes out first, then what the step made."""
        self._announcer.reach(now.ms)
        made, reason = self._announcer.commit(name, step)
        self._messages.debug(f"{event} on credential {name}: {reason}")
        if reason == outage.LATE:
            self._missed.add(name)
        yield raw
        for one in made:
            yield from self._announcer.said(name, one.line)
            if not self._replay and self._store.moment().since(now) < announcing.KEEP_MS:
                self._complain(one.record)

    def _complain(self, record: records.Record) -> None:
        """Say that news reaches nobody by itself: no lead, and no alert of its kind."""
        if isinstance(record, records.Outage) and not record.leads:
            kind = records.kind(records.encode(record))
            if any(kind in alert.on for alert in self._config.channels):
                return
            mend = "set @fleet_lead on their panes, or alerts: in fleetd.yaml"
            self._messages.warn(f"{kind} on credential {record.credential_id}: no lead is known to be told; {mend}")

    def _unknown(self, found: Evidence, outcome: str) -> Iterator[bytes]:
        """Evidence that counts for no credential: said once an event, by record and on standard error."""
        if not self._unmapped.add(found.event):
            return
        reason = _why_unmapped(found.profile, bool(self._config.profiles))
        where = f"{found.server or 'unknown server'} {found.target or 'unknown pane'}"
        self._messages.error(f"{where}: {outcome} counts for no credential: {reason}")
        if found.lead is None:
            self._messages.warn(f"{where} has no lead that could be told: {reason}")
        stamp: Any = found.stamp()
        yield records.encode(
            records.Unmapped(
                id=f"unmapped:{found.event}",
                event=found.event,
                server=found.server,
                target=found.target,
                profile=found.profile,
                reason=reason,
                lead=found.lead,
                **stamp,
            )
        )

    # -- what is due by time

    def at_start(self, daemon: str | None) -> Iterator[bytes]:
        """What this fleetd (`host:socket path`) has not printed of its panes, then what is due."""
        if daemon is not None:
            yield from self._announcer.unprinted(daemon)
        yield from self.due()

    def due(self) -> Iterator[bytes]:
        """The periods that have ended, what nobody has announced for 10 s, and the windows nearly used up."""
        if self._replay:
            return
        now, stamp = self._store.moment(), self._clock.stamp()
        states = dict(self._announcer.credentials())
        for name, state in states.items():
            if announcing.overdue(state.announcements, now)[1]:
                yield from self._announcer.said_again(name, now)
            if credential.ends(state, name, now, stamp)[0] is not state:
                yield from self._announcer.settled(name, unchanged)
        for key, known in read_all(self._store, USAGE, UsageState):
            yield from self._nearly(key.removeprefix(USAGE), known, states, now, stamp)

    def before(self, raw: bytes) -> Iterator[bytes]:
        """In a replay: the ends that lie before the record of this line, or at its moment."""
        if not self._announcer.awaits_an_end:
            return
        try:
            ts = msgspec.json.decode(raw, type=_Dated).ts
            ms = records.to_ms(ts) if ts else None
        except (msgspec.DecodeError, BadInput):
            return  # what is wrong with the line is said by who has to read it
        if ms is not None:
            yield from self._announcer.ends_until(ms)

    def at_end(self) -> Iterator[bytes]:
        """What is due at the end of the input; in a replay all periods end."""
        yield from self._announcer.all_ends()
        yield from self.due()
        if not self._replay:
            self._look_at_the_pace()

    def _look_at_the_pace(self) -> None:
        """Say once that short runs, as from cron, are further apart than errors that belong together."""
        now = self._store.moment()
        if now.since(self._began) > self._rules.window_ms:
            return
        for name in [name for name, _ in self._announcer.credentials()]:
            apart = change(
                self._store, credential.credential_key(name), CredentialState,
                lambda state, missed=name in self._missed: pace.looked(  # type: ignore[misc]
                    state or CredentialState(), missed, now, self._rules
                ),
            )  # fmt: skip
            if apart is not None:
                window = testimony.whole(self._rules.window_ms / 1000)
                what = f"errors on credential {name} count for nothing: this runs only every {apart} s"
                self._messages.warn(f"{what}, and they have to be at most {window} s old; run it more often, or fleetd")

    def _nearly(
        self, name: str, known: UsageState, states: dict[str, CredentialState], now: Moment, stamp: dict[str, Any]
    ) -> Iterator[bytes]:
        def step(state: CredentialState) -> tuple[CredentialState, list[Made], str]:
            state, said = usage.warn(state, name, known, now, stamp)
            return state, [Made(one, []) for one in said], ""

        if credential.is_name(name) and step(states.get(name) or CredentialState())[1]:
            yield from self._announcer.settled(name, step)


def _why_unmapped(profile: str | None, configured: bool) -> str:
    if profile is None:
        return "the pane has no profile; set @fleet_profile on it"
    if configured:
        return f"profile {profile} is not configured; add it under profiles: in fleetd.yaml"
    return f"{profile!r} is no profile name; use letters, digits and . _ @ + -, at most 64"
