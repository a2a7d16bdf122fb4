"""Backend errors on one credential: enough of them within the window are an incident (design section 4)."""

from hashlib import sha256
from typing import Any

from msgspec.structs import replace

from fleettools import records
from fleettools.policy.accounts import credential
from fleettools.policy.accounts.credential import MAX_EVIDENCE, OUTAGE, CredentialState, Evidence, Period, Rules

Step = tuple[CredentialState, records.Incident | None, str]


def step(state: CredentialState, name: str, found: Evidence, now_ms: int, rules: Rules) -> Step:
    """Count one error against the credential `name`; gives the incident that it raises, and what became of it."""
    if credential.is_known(state, OUTAGE, found, state.cool_off):
        return state, None, "known already"
    state = credential.noted(state, OUTAGE, found)
    if not credential.is_fresh(found, rules):
        return state, None, "older than the window when it was first seen"
    # An error of the cool-off that is read only after it is as old as the rest.
    if state.cool_off and (now_ms < state.cool_off.until_ms or found.at_ms < state.cool_off.until_ms):
        return state, None, "happened in the cool-off"
    group = crossing(state.pending, found, rules)
    if group is None:
        pending = sorted([*state.pending, found], key=lambda one: one.at_ms)[-max(MAX_EVIDENCE, rules.threshold) :]
        return replace(state, pending=pending), None, f"counts, below the threshold of {rules.threshold}"
    errors = "error" if len(group) == 1 else "errors"
    why = f"{len(group)} backend {errors} within {whole(rules.window_ms / 1000)} s"
    incident = _incident(name, group, found, rules)
    period = Period(id=incident.id, since_ms=now_ms, until_ms=now_ms + rules.cool_off_ms, why=why, evidence=group)
    return replace(state, pending=[], cool_off=period), incident, why


def crossing(pending: list[Evidence], found: Evidence, rules: Rules) -> list[Evidence] | None:
    """The first `threshold` errors, this one among them, whose first and last are at most the window apart.

    They may have come in any order. None when there are not enough.
    """
    near = sorted(((old.after(found), old) for old in pending), key=lambda pair: pair[0])
    near = [pair for pair in near if abs(pair[0]) <= rules.window_ms]
    place = sum(1 for offset, _ in near if offset <= 0)
    near.insert(place, (0, found))
    for first in range(max(0, place - rules.threshold + 1), place + 1):
        group = near[first : first + rules.threshold]
        if len(group) == rules.threshold and group[-1][0] - group[0][0] <= rules.window_ms:
            return [one for _, one in group]
    return None


def lift(state: CredentialState, now_ms: int) -> tuple[CredentialState, bool, str]:
    """End the cool-off now; what was counted before stays counted. Says whether there was one."""
    if credential.cooling_seconds(state, now_ms) is None or state.cool_off is None:
        return state, False, "it is not cooling off"
    return replace(state, cool_off=replace(state.cool_off, until_ms=now_ms)), True, "the cool-off is lifted"


def whole(seconds: float) -> float:
    """The number as it is written in a record: 60 rather than 60.0."""
    return int(seconds) if seconds == int(seconds) else seconds


def identity(kind: str, name: str, events: list[str]) -> str:
    """The id of what these events cause on the credential: the same events give the same id."""
    digest = sha256("\0".join((name, *sorted(events))).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{kind}:{name}:{digest[:16]}"


def _incident(name: str, group: list[Evidence], found: Evidence, rules: Rules) -> records.Incident:
    about: dict[str, Any] = found.stamp() | credential.concerned(group)
    return records.Incident(
        id=identity("incident", name, [one.event for one in group]),
        credential_id=name,
        window_seconds=whole(rules.window_ms / 1000),
        cooling_off_for_seconds=whole(rules.cool_off_ms / 1000),
        **about,
    )
