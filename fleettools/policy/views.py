"""What fleet-list and fleet-profiles show."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.accounts.credential import CredentialState, cooling_seconds, quarantined_seconds
from fleettools.policy.accounts.periods import Period, left
from fleettools.policy.accounts.placement import Fleet, Situation, free
from fleettools.policy.accounts.usage import Window, running
from fleettools.policy.heartbeat import DAEMONS, DaemonState, hangs
from fleettools.policy.members.roster import FAILED, MemberState

View = dict[str, Any]
ENDED_MS = 86_400_000  # for which a fleetd that has ended is still shown


def profiles_view(fleet: Fleet, known: Situation) -> View:
    """The object that fleet-profiles prints: `profiles` by name, `coolingOff` and `quarantined` by credential id.

    `free` is null for a profile without a limit. With no profiles configured, those of the members and the
    credentials that are out are shown, because a profile's name is its credential then.
    """
    cooling, quarantined = _remaining(known, cooling_seconds), _remaining(known, quarantined_seconds)
    names = _profiles(fleet, known)
    return {
        "profiles": {name: _profile(fleet, name, known) | _history(fleet, name, known) for name in names},
        "coolingOff": cooling,
        "quarantined": quarantined,
    }


def fleet_view(
    fleet: Fleet, known: Situation, members: Iterable[MemberState], *, released: bool, coverage: str
) -> View:
    """The object that fleet-list prints: `members`, with the `released` ones if asked for, and `profiles`."""
    shown = [member for member in members if released or member.state != "released"]
    shown.sort(key=lambda member: (member.server, int(member.target[1:])))
    return {
        "members": [_member(fleet, member, known.now.ms) for member in shown],
        "profiles": {name: _profile(fleet, name, known) for name in _profiles(fleet, known)},
        "healthCoverage": coverage,
    }


def health_coverage(enabled: bool, webhook: str | None) -> str:
    """`full` with a health check that has a webhook, `detection-only` without one, `off` without the check."""
    if not enabled:
        return "off"
    return "full" if webhook else "detection-only"


def _member(fleet: Fleet, member: MemberState, now_ms: int) -> View:
    """A member; what it does not have is left out."""
    failed = member.state in FAILED
    view = {
        "name": member.name,
        "server": member.server,
        "target": member.target,
        "pid": member.pid,
        "state": member.state,
        "since": records.to_ts(member.since_ms),
        "ageSeconds": max(0, now_ms - member.since_ms) // 1000,
        "profile": member.profile,
        "credentialId": fleet.credential_of(member.profile),
        "agent": member.agent,
        "lead": member.lead,
        "ticket": member.turn.open_ticket if member.turn else None,
        "failureReason": (member.failure_reason or "no reason is known") if failed else None,
        "reason": member.reason if member.state == "released" else None,
    }
    return {key: value for key, value in view.items() if value is not None}


def _profiles(fleet: Fleet, known: Situation) -> list[str]:
    out = {*_remaining(known, cooling_seconds), *_remaining(known, quarantined_seconds)}
    return sorted(fleet.profiles or {*known.held.profiles, *out})


def _profile(fleet: Fleet, name: str, known: Situation) -> View:
    """A profile; what is not the case is left out."""
    credential = fleet.credential_of(name)
    state = known.states.get(credential or "")
    view: View = {"free": free(fleet, name, known), "credentialId": credential}
    if state:
        view |= _out("coolingOffForSeconds", "coolOff", state.cool_off, known.now)
        view |= _out("quarantinedForSeconds", "quarantine", state.quarantine, known.now)
        if state.probe and (seconds := left(state.probe, known.now)) is not None:
            view |= {"free": 0, "triedBy": state.probe.name, "triedForSeconds": seconds}
    return view


def _history(fleet: Fleet, name: str, known: Situation) -> View:
    """When the credential of a profile last worked, and how much of its plan is used."""
    credential = fleet.credential_of(name) or ""
    state, used = known.states.get(credential), running(known.usage.get(credential), known.now)
    view: View = {}
    if state and state.worked_ms is not None:
        ago = max(0, known.now.ms - state.worked_ms) // 1000
        view |= {"lastWorked": records.to_ts(state.worked_ms), "lastWorkedSecondsAgo": ago}
    if used:
        view["usage"] = [_window(window, one, known.now) for window, one in used.items()]
    return view


def _out(seconds_key: str, period_key: str, period: Period | None, now: Moment) -> View:
    """What a period that is not over means for a profile: no free place, for how long, until when, why, by what."""
    seconds = left(period, now)
    if period is None or seconds is None:
        return {}
    events = [one.event for one in period.evidence]
    told = {"until": records.to_ts(period.until_ms), "why": period.why, "events": events}
    return {"free": 0, seconds_key: seconds, period_key: told}


def _window(window: str, one: Window, now: Moment) -> View:
    """How much of a window of the plan is used; its reset only where the agent has said it."""
    view: View = {"window": window, "usedPercent": one.used_percent}
    return view | ({"resetsAt": records.to_ts(one.until_ms), "resetsInSeconds": left(one, now)} if one.dated else {})


def _remaining(known: Situation, seconds: Callable[[CredentialState | None, Moment], int | None]) -> dict[str, int]:
    found = {name: seconds(state, known.now) for name, state in sorted(known.states.items())}
    return {name: left for name, left in found.items() if left is not None}


def daemons(known: Mapping[str, DaemonState], now_ms: int) -> list[View]:
    """Each fleetd that has left a sign of life: where, how it is, and how long ago; `known` by its store key.

    One that has ended is left out after a day.
    """
    return [
        {
            "host": key.removeprefix(DAEMONS).partition("/")[0],
            "socket": f"/{key.removeprefix(DAEMONS).partition('/')[2].lstrip('/')}",
            "state": "silent" if hangs(one, now_ms) else "running" if one.pid else "once" if one.once else "stopped",
            "seen": records.to_ts(one.beat_ms),
            "ageSeconds": max(0, now_ms - one.beat_ms) // 1000,
        }
        for key, one in sorted(known.items())
        if one.pid or now_ms - one.beat_ms <= ENDED_MS
    ]
