"""A credential whose quota is used up spawns nothing until its limit resets (design section 4)."""

from typing import Any

from msgspec.structs import replace

from fleettools import records
from fleettools.policy.accounts import credential
from fleettools.policy.accounts.credential import EXHAUSTION, MAX_EVIDENCE, CredentialState, Evidence, Period, Rules
from fleettools.policy.accounts.outage import identity

Step = tuple[CredentialState, records.Quarantine | None, str]

MAX_RESET_MS = 8 * 86_400_000


def step(state: CredentialState, name: str, found: Evidence, now_ms: int, rules: Rules) -> Step:
    """Quarantine the credential `name` by one exhaustion, or restart its quarantine; says what became of it."""
    if credential.is_known(state, EXHAUSTION, found, state.quarantine):
        return state, None, "known already"
    state = credential.noted(state, EXHAUSTION, found)
    resets = found.resets_ms
    if found.doubtful:
        return state, None, "its time of day had passed at the first look at the pane, it may be over"
    if resets is not None and resets <= now_ms:
        return state, None, "the limit has reset since"
    if resets is not None and resets - now_ms > MAX_RESET_MS:
        resets = None
    if resets is None and found.ts_ms - found.at_ms > rules.window_ms:
        return state, None, "older than the window when it was first seen"
    if state.quarantine and now_ms < state.quarantine.since_ms:
        return state, None, "older than the quarantine that it belongs to"
    running = state.quarantine if credential.quarantined_seconds(state, now_ms) is not None else None
    until, source = _end(running, resets, now_ms, rules)
    group = [*(running.evidence if running else []), found][-MAX_EVIDENCE:]
    period = Period(
        id=running.id if running else identity("quarantine", name, [found.event]),
        since_ms=running.since_ms if running else now_ms,
        until_ms=until,
        why="its quota is used up" + (" until the time that its screen gives" if source == "resetsAt" else ""),
        evidence=group,
        source=source,
    )
    return replace(state, quarantine=period), _quarantine(name, period, found, now_ms), period.why


def _end(running: Period | None, resets: int | None, now_ms: int, rules: Rules) -> tuple[int, str]:
    """Until when, and how that is known: a reset time that a screen gave beats the cooldown, the later one another."""
    until = running.until_ms if running else 0
    known = until if running and running.source == "resetsAt" else 0
    if resets is not None or known > now_ms + rules.cooldown_ms:
        return max(resets or 0, known), "resetsAt"
    return max(until, now_ms + rules.cooldown_ms), "cooldown"


def lift(state: CredentialState, now_ms: int) -> tuple[CredentialState, bool, str]:
    """End the quarantine now; a banner that still stands starts no other. Says whether there was one."""
    if credential.quarantined_seconds(state, now_ms) is None or state.quarantine is None:
        return state, False, "it is not quarantined"
    return replace(state, quarantine=replace(state.quarantine, until_ms=now_ms)), True, "the quarantine is lifted"


def _quarantine(name: str, period: Period, found: Evidence, now_ms: int) -> records.Quarantine:
    about: dict[str, Any] = found.stamp() | credential.concerned(period.evidence)
    return records.Quarantine(
        id=period.id,
        credential_id=name,
        quarantined_for_seconds=credential.left(period, now_ms) or 0,
        until=records.to_ts(period.until_ms),
        source="resetsAt" if period.source == "resetsAt" else "cooldown",
        **about,
    )
