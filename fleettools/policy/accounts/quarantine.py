"""A credential whose quota is used up spawns nothing until its limit resets."""

from typing import Any, Literal

from msgspec.structs import replace

from fleettools import moments, records
from fleettools.moments import Moment
from fleettools.policy.accounts import credential, periods, testimony
from fleettools.policy.accounts.credential import MAX_EVIDENCE, CredentialState
from fleettools.policy.accounts.periods import Period
from fleettools.policy.accounts.testimony import EXHAUSTION, Evidence, Rules

Step = tuple[CredentialState, records.Quarantine | None, str]
Source = Literal["cooldown", "resetsAt", "usage"]

MAX_RESET_MS = 32 * 86_400_000


def step(state: CredentialState, name: str, found: Evidence, now: Moment, rules: Rules) -> Step:
    """Quarantine the credential `name` by one exhaustion, or restart its quarantine; says what became of it."""
    state = credential.without(state, found.event)  # what was taken for an error of the backend is more than that
    known, completes = credential.is_known(state, EXHAUSTION, found), _completes(state.quarantine, found)
    if known and not completes:
        return state, None, "known already"
    state = credential.noted(state, EXHAUSTION, found)
    again = state.probe is not None and state.probe.event == found.event
    if again:
        state = replace(state, probe=None)
    if reason := _why_not(state, found, now, rules):
        return state, None, reason
    running = state.quarantine if state.quarantine and state.quarantine.runs(now) else None
    if completes and running is None:
        return state, None, "the quarantine that it would have given its end is over"
    period = _period(running, name, found, now, rules, completes)
    return replace(state, quarantine=period), _record(name, period, found, now, again), period.why


def _completes(period: Period | None, found: Evidence) -> bool:
    """Whether it gives an event of the quarantine, which had none, its reset time."""
    before = next((one for one in period.evidence if one.event == found.event), None) if period else None
    return before is not None and found.resets_ms is not None and (before.resets_ms is None or before.by_usage)


def _why_not(state: CredentialState, found: Evidence, now: Moment, rules: Rules) -> str:
    """Why an exhaustion that is new says nothing about the time to come; empty when it does."""
    if found.doubtful:
        return "its time of day had passed at the first look at the pane, it may be over"
    if found.resets_ms is not None and found.resets_ms <= now.ms:
        return "the limit has reset since"
    # A time at which the limit will reset dates a screen of any age.
    if _resets(found, now) is None and found.undated:
        return "nobody knows when it happened"
    if _resets(found, now) is None and not found.is_fresh(rules):
        return "older than the window when it was first seen"
    if state.quarantine and now.since(state.quarantine.begin) < 0:
        return "older than the quarantine that it belongs to"
    return ""


def _resets(found: Evidence, now: Moment) -> int | None:
    """In how many milliseconds the limit resets, None when that is not known or too far away to be meant."""
    ahead = None if found.resets_ms is None else found.resets_ms - now.ms
    return None if ahead is None or ahead > MAX_RESET_MS else ahead


def _period(running: Period | None, name: str, found: Evidence, now: Moment, rules: Rules, completes: bool) -> Period:
    """The quarantine that begins, or the one that runs with its new end and one piece of evidence more."""
    ahead, source = _ahead(running, _resets(found, now), found, now, rules)
    why = "its quota is used up" + (" until the time that its screen gives" if source == "resetsAt" else "")
    kept = [one for one in running.evidence if one.event != found.event] if running else []
    evidence = [*kept, found][-MAX_EVIDENCE:]
    if running is None:
        made = testimony.identity("quarantine", name, [found.event])
        return Period(id=made, why=why, source=source, evidence=evidence, **periods.spanning(now, ahead))
    until = running.since_ms + now.since(running.begin) + ahead
    return replace(running, until_ms=until, why=why, source=source, evidence=evidence)


def _ahead(
    running: Period | None, resets: int | None, found: Evidence, now: Moment, rules: Rules
) -> tuple[int, Source]:
    """For how long from now, and how that is known.

    A reset time that a screen gave beats the cooldown, the later one another. A reset that has just passed holds for
    no longer than a cool-off.
    """
    before = moments.left(running.begin, running.length_ms, now) if running else 0
    stated = before if running and running.source in ("resetsAt", "usage") else 0
    guess = rules.cool_off_ms if found.passed else rules.cooldown_ms
    if resets is not None and not found.by_usage:
        own = stated if running and running.source == "resetsAt" else 0
        return max(resets, own), "resetsAt"
    if resets is not None and resets >= stated:
        return resets, "usage"
    if stated > guess and running:
        return stated, "resetsAt" if running.source == "resetsAt" else "usage"
    return max(before, guess), "cooldown"


def worked(
    state: CredentialState, server: str | None, target: str | None, began: Moment, now: Moment
) -> tuple[CredentialState, str]:
    """End the quarantine because a member that had shown an exhaustion completed a turn that it began after it."""
    running = state.quarantine
    if running is None or not running.runs(now):
        return state, "it is not quarantined"
    shown = [one for one in running.evidence if (one.server, one.target) == (server, target)]
    if not any(began.since(one.at) > 0 for one in shown):
        return state, "no member that began this turn after its exhaustion"
    return replace(state, quarantine=periods.cut(running, "worked", now)), "it works again"


def lift(state: CredentialState, now: Moment) -> tuple[CredentialState, bool, str]:
    """End the quarantine now; a banner that still stands starts no other. Says whether there was one."""
    if state.quarantine is None or not state.quarantine.runs(now):
        return state, False, "it is not quarantined"
    ended = periods.cut(state.quarantine, "released", now)
    return replace(state, quarantine=ended), True, "the quarantine is lifted"


def _record(name: str, period: Period, found: Evidence, now: Moment, again: bool) -> records.Quarantine:
    """The record of a quarantine, with what is left of it when its evidence was recorded."""
    about: dict[str, Any] = found.stamp() | testimony.concerned(period.evidence)
    ahead = moments.left(period.begin, period.length_ms, now)
    return records.Quarantine(
        id=period.id,
        credential_id=name,
        quarantined_for_seconds=moments.seconds(ahead),
        # On the clock of the record, which may be another than the store's.
        until=records.to_ts(found.ts_ms + ahead),
        source="resetsAt" if period.source == "resetsAt" else "usage" if period.source == "usage" else "cooldown",
        again=again or None,
        **about,
    )
