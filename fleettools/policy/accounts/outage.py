"""Backend errors on one credential: enough of them within the window are an incident."""

from typing import Any

from msgspec.structs import replace

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.accounts import credential, periods, testimony
from fleettools.policy.accounts.credential import MAX_EVIDENCE, CredentialState
from fleettools.policy.accounts.periods import Period
from fleettools.policy.accounts.testimony import EXHAUSTION, OUTAGE, Evidence, Rules, whole

Step = tuple[CredentialState, records.Incident | None, str]

LATE = "older than the window when it was first seen"
AGAIN_MS = 600_000  # an incident that follows the last one's end so soon cools off for longer


def step(state: CredentialState, name: str, found: Evidence, now: Moment, rules: Rules) -> Step:
    """Count one error against the credential `name`; gives the incident that it raises, and what became of it."""
    if credential.is_known(state, EXHAUSTION, found):
        return state, None, "known already, as an exhaustion"
    if credential.is_known(state, OUTAGE, found):
        return _named(state, name, found, now, rules)
    state = credential.noted(state, OUTAGE, found)
    if state.probe and state.probe.event == found.event:
        return _raised(state, name, [found], found, now, rules, "the one that tried it failed")
    if found.undated:
        return state, None, "nobody knows when it happened"
    if not found.is_fresh(rules):
        return state, None, LATE
    if state.cool_off and _within(state.cool_off, found, now):
        return state, None, "happened in the cool-off"
    return _counted(state, name, found, now, rules)


def _within(cool_off: Period, found: Evidence, now: Moment) -> bool:
    """Whether the cool-off runs, or ran when this happened: an error of it that is read late is as old as the rest."""
    if cool_off.runs(now):
        return True
    after = found.at.since(cool_off.begin)
    # Between two boots an error that lies so far before it tells of a clock that was set back, not of the past.
    doubted = None not in (found.boot, cool_off.boot) and found.boot != cool_off.boot and after < -cool_off.length_ms
    return after < cool_off.length_ms and not doubted


def _named(state: CredentialState, name: str, found: Evidence, now: Moment, rules: Rules) -> Step:
    """An event that is known already changes nothing, unless its cause was not known before."""
    before = next((one for one in state.pending if one.event == found.event), None)
    if before is None or not before.unnamed or found.unnamed:
        return state, None, "known already"
    return _counted(credential.without(state, found.event), name, replace(before, unnamed=False), now, rules)


def _counted(state: CredentialState, name: str, found: Evidence, now: Moment, rules: Rules) -> Step:
    group = crossing(state.pending, found, rules)
    if group is not None:
        errors = "error" if len(group) == 1 else "errors"
        why = f"{len(group)} backend {errors} within {whole(rules.window_ms / 1000)} s"
        return _raised(state, name, group, found, now, rules, why)
    pending = sorted([*state.pending, found], key=lambda one: one.at_ms)[-max(MAX_EVIDENCE, rules.threshold) :]
    reason = f"counts, below the threshold of {rules.threshold}"
    return replace(state, pending=pending), None, f"{reason}; its words are unknown" if found.unnamed else reason


def crossing(pending: list[Evidence], found: Evidence, rules: Rules) -> list[Evidence] | None:
    """The first `threshold` errors, this one among them, whose first and last are at most the window apart.

    They may have come in any order; the words of one of them at least are known. None when there are not enough.
    """
    near = sorted(((old.after(found), old) for old in pending), key=lambda pair: pair[0])
    near = [pair for pair in near if abs(pair[0]) <= rules.window_ms]
    place = sum(1 for offset, _ in near if offset <= 0)
    near.insert(place, (0, found))
    for first in range(max(0, place - rules.threshold + 1), place + 1):
        group = near[first : first + rules.threshold]
        in_time = len(group) == rules.threshold and group[-1][0] - group[0][0] <= rules.window_ms
        if in_time and not all(one.unnamed for _, one in group):
            return [one for _, one in group]
    return None


def _raised(
    state: CredentialState, name: str, group: list[Evidence], found: Evidence, now: Moment, rules: Rules, why: str
) -> Step:
    """The group is an incident: its cool-off begins, and whatever was pending has counted."""
    length = _length(state.cool_off, now, rules)
    about: dict[str, Any] = found.stamp() | testimony.concerned(group)
    incident = records.Incident(
        id=testimony.identity("incident", name, [one.event for one in group]),
        credential_id=name,
        window_seconds=whole(rules.window_ms / 1000),
        cooling_off_for_seconds=whole(length / 1000),
        again=True if state.probe and state.probe.event == found.event else None,
        **about,
    )
    period = Period(id=incident.id, why=why, evidence=group, **periods.spanning(now, length))
    return replace(state, pending=[], cool_off=period, probe=None), incident, why


def _length(before: Period | None, now: Moment, rules: Rules) -> int:
    """How long to cool off: longer by `growth` when the cool-off before ended within the last ten minutes."""
    if before is None or rules.growth <= 1 or now.since(before.begin) - before.length_ms > AGAIN_MS:
        return rules.cool_off_ms
    grown = round(before.plan_ms * rules.growth)
    return max(rules.cool_off_ms, min(grown, rules.max_cool_off_ms))


def lift(state: CredentialState, now: Moment) -> tuple[CredentialState, bool, str]:
    """End the cool-off now; what was counted before stays counted. Says whether there was one."""
    if state.cool_off is None or not state.cool_off.runs(now):
        return state, False, "it is not cooling off"
    return replace(state, cool_off=periods.cut(state.cool_off, "released", now)), True, "the cool-off is lifted"
