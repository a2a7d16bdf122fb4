"""fleet-correlate: count backend errors and exhaustion per credential, and say when they are an incident."""

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fleettools.cli import Context, command, files, state
from fleettools.errors import Exit

if TYPE_CHECKING:
    from fleettools import records
    from fleettools.config import Config
    from fleettools.policy.accounts.credential import CredentialState, Evidence, Rules
    from fleettools.services.store import Store

T = TypeVar("T")

TICK = 10.0  # seconds between two looks for what stands unannounced
KEPT = 600.0  # seconds for which the store keeps what was said
REMEMBERED = 4096  # panes that were looked at before, and unmapped events that are not said again


class Seconds(click.FloatRange):
    """A span in seconds; neither "nan" nor "inf" is one."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return seconds


@command("fleet-correlate")
@files
@state
@click.option("--threshold", metavar="N", type=click.IntRange(min=1), help="Errors that make an incident [default: 2].")
@click.option("--window", metavar="S", type=Seconds(min=0), help="Seconds from the first to the last [default: 60].")
@click.option("--cool-off", metavar="S", type=Seconds(min=0), help="Seconds of the cool-off [default: 60].")
@click.option(
    "--again",
    metavar="S",
    type=Seconds(min=0, max=KEPT),
    default=0.0,
    help="First write again what was said in the last S seconds, for a pipe that broke.",
)
def main(
    ctx: Context,
    files: tuple[str, ...],
    state_url: str | None,
    threshold: int | None,
    window: float | None,
    cool_off: float | None,
    again: float,
) -> Exit:
    """Count backend errors and exhaustion per credential.

    Passes on what it reads; after the verdict that caused it comes an `incident`, `quarantine` or `unmapped` record.
    """
    from fleettools.adapters.lines import Input, pump

    config = ctx.config()
    correlator = Correlator(ctx, ctx.store(state_url), config, _rules(config, threshold, window, cool_off))
    for line in correlator.at_start(again):
        ctx.out.write(line)
    source = Input(files, ctx.out, ctx.messages, tick=TICK)
    consume = {"verdict": correlator.verdict}
    return pump(source, ctx.out, ctx.messages, consume, strict=ctx.strict, on_tick=correlator.unannounced)


def _rules(config: "Config", threshold: int | None, window: float | None, cool_off: float | None) -> "Rules":
    from fleettools.policy.accounts.credential import Rules

    outage = config.outage
    return Rules(
        threshold=outage.threshold if threshold is None else threshold,
        window_ms=round(1000 * (outage.window_seconds if window is None else window)),
        cool_off_ms=round(1000 * (outage.cool_off_seconds if cool_off is None else cool_off)),
        cooldown_ms=round(1000 * config.quarantine_cooldown_seconds),
        count_retries_from=outage.count_retries_from,
        ignore_causes=frozenset(outage.ignore_causes),
    )


class Correlator:
    """Applies the credential policy to verdicts, and sees to it that what was committed is said."""

    def __init__(self, ctx: Context, store: "Store", config: "Config", rules: "Rules") -> None:
        from fleettools import records
        from fleettools.policy.accounts import credential

        self._records, self._policy = records, credential
        self._ctx, self._store, self._config, self._rules = ctx, store, config, rules
        self._unmapped: dict[str, None] = {}
        self._looked_at: dict[tuple[str | None, str | None], None] = {}

    def verdict(self, raw: bytes) -> Iterable[bytes]:
        """The verdict as it came, then what it causes; only evidence touches the store."""
        head = self._records.decode(raw, self._records.VerdictHead)
        first_look = _remember(self._looked_at, (head.server, head.target))
        if head.outcome not in self._policy.SPEAKING:
            return (raw,)
        verdict = self._records.decode(raw, self._records.Verdict)
        kind = self._policy.kind(verdict, self._rules)
        found = self._policy.evidence(verdict, first_look)
        if kind is None:
            self._ctx.messages.debug(f"{found.event}: {self._policy.why_none(verdict)}")
            return (raw,)
        name = self._config.credential_of(found.profile)
        if name is None or not self._policy.is_name(name):
            counts = kind == self._policy.EXHAUSTION or self._policy.is_fresh(found, self._rules)
            return (raw, *self._unknown(found, verdict.outcome)) if counts else (raw,)
        return self._counted(raw, name, kind, found)

    def at_start(self, again: float) -> Iterator[bytes]:
        """What was announced in the last `again` seconds, and what is still to be announced."""
        from fleettools.policy.accounts.credential import CREDENTIALS, CredentialState
        from fleettools.services.store import read_all

        if again:
            for _, known in read_all(self._store, CREDENTIALS, CredentialState):
                lines = self._policy.lately(known, self._store.now_ms(), round(again * 1000))
                yield from (line.encode() for line in lines)
        yield from self.unannounced()

    def unannounced(self) -> Iterator[bytes]:
        """What another process, or an earlier run, committed and has not announced for 10 s."""
        from fleettools.policy.accounts.credential import CREDENTIALS, CredentialState
        from fleettools.services.store import read_all

        clock = self._store.now_ms()
        for key, known in read_all(self._store, CREDENTIALS, CredentialState):
            if self._policy.overdue(known, clock)[1]:
                yield from self._said_again(key, clock)

    def _said_again(self, key: str, clock: int) -> Iterator[bytes]:
        from fleettools.policy.accounts.credential import CredentialState
        from fleettools.services.store import change

        # Of several processes that see the same record standing, one gets its line from this commit.
        lines = change(self._store, key, CredentialState, lambda s: self._policy.overdue(s or CredentialState(), clock))
        for line in lines:
            yield from self._said(key, line)

    def _counted(self, raw: bytes, name: str, kind: str, found: "Evidence") -> Iterator[bytes]:
        key = self._policy.credential_key(name)
        line = self._commit(key, name, kind, found)
        yield raw
        if line is not None:
            yield from self._said(key, line)

    def _commit(self, key: str, name: str, kind: str, found: "Evidence") -> str | None:
        """Store what this evidence changes; the record that it causes, if any."""
        from fleettools.policy.accounts import outage, quarantine
        from fleettools.policy.accounts.credential import EXHAUSTION, CredentialState
        from fleettools.services.store import change

        def step(before: "CredentialState | None") -> "tuple[CredentialState | None, records.Record | None]":
            made: records.Record | None
            policy = quarantine.step if kind == EXHAUSTION else outage.step
            after, made, reason = policy(before or CredentialState(), name, found, found.ts_ms, self._rules)
            self._ctx.messages.debug(f"{found.event} on credential {name}: {reason}")
            return (after if made is None else self._policy.committed(after, made, self._store.now_ms())), made

        made = change(self._store, key, CredentialState, step)
        return None if made is None else self._records.encode(made).decode()

    def _said(self, key: str, line: str) -> Iterator[bytes]:
        """Write the line out, and only then mark it announced."""
        from fleettools.policy.accounts.credential import CredentialState
        from fleettools.services.store import change

        yield line.encode()
        self._ctx.out.flush()
        change(self._store, key, CredentialState, lambda s: (s and self._policy.announced(s, line), None))

    def _unknown(self, found: "Evidence", outcome: str) -> Iterator[bytes]:
        """Evidence that counts for no credential: said once an event, by record and on standard error."""
        if not _remember(self._unmapped, found.event):
            return
        reason = _why_unmapped(found.profile, bool(self._config.profiles))
        where = f"{found.server or 'unknown server'} {found.target or 'unknown pane'}"
        self._ctx.messages.error(f"{where}: {outcome} counts for no credential: {reason}")
        if found.lead is None:
            self._ctx.messages.warn(f"{where} has no lead that could be told: {reason}")
        stamp: Any = found.stamp()
        yield self._records.encode(
            self._records.Unmapped(
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


def _remember(known: dict[T, None], new: T) -> bool:
    """Add it, forgetting the oldest; False when it is known already."""
    if new in known:
        return False
    known[new] = None
    if len(known) > REMEMBERED:
        del known[next(iter(known))]
    return True


def _why_unmapped(profile: str | None, configured: bool) -> str:
    if profile is None:
        return "the pane has no profile; set @fleet_profile on it"
    if configured:
        return f"profile {profile} is not configured; add it under profiles: in fleetd.yaml"
    return f"{profile!r} is no profile name; use letters, digits and . _ @ + -, at most 64"


if __name__ == "__main__":
    main()
