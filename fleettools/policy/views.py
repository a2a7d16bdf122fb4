"""What fleet-list and fleet-profiles show (design section 5)."""

from collections.abc import Callable, Iterable
from typing import Any

from fleettools import records
from fleettools.policy.accounts.credential import CredentialState, Period, cooling_seconds, left, quarantined_seconds
from fleettools.policy.accounts.placement import Fleet, Held, States, free, taken
from fleettools.policy.members.roster import FAILED, MemberState

View = dict[str, Any]


def profiles_view(fleet: Fleet, states: States, members: Iterable[MemberState], now_ms: int) -> View:
    """The object that fleet-profiles prints: `profiles` by name, `coolingOff` and `quarantined` by credential id.

    `free` is null for a profile without a limit. With no profiles configured, those of the members and the
    credentials that are out are shown, because a profile's name is its credential then.
    """
    held = taken(fleet, members)
    cooling, quarantined = _remaining(states, cooling_seconds, now_ms), _remaining(states, quarantined_seconds, now_ms)
    names = sorted(fleet.profiles or {*held.profiles, *cooling, *quarantined})
    return {
        "profiles": {name: _profile(fleet, name, states, held, now_ms) for name in names},
        "coolingOff": cooling,
        "quarantined": quarantined,
    }


def fleet_view(
    fleet: Fleet, states: States, members: Iterable[MemberState], now_ms: int, *, released: bool, coverage: str
) -> View:
    """The object that fleet-list prints: `members`, with the `released` ones if asked for, and `profiles`."""
    everyone = list(members)
    shown = [member for member in everyone if released or member.state != "released"]
    shown.sort(key=lambda member: (member.server, int(member.target[1:])))
    return {
        "members": [_member(fleet, member, now_ms) for member in shown],
        "profiles": profiles_view(fleet, states, everyone, now_ms)["profiles"],
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


def _profile(fleet: Fleet, name: str, states: States, held: Held, now_ms: int) -> View:
    credential = fleet.credential_of(name)
    state = states.get(credential or "")
    view: View = {"free": free(fleet, name, states, held, now_ms), "credentialId": credential}
    if state:
        view |= _out("coolingOffForSeconds", "coolOff", state.cool_off, now_ms)
        view |= _out("quarantinedForSeconds", "quarantine", state.quarantine, now_ms)
    return view


def _out(seconds_key: str, period_key: str, period: Period | None, now_ms: int) -> View:
    """What a period that is not over means for a profile: no free place, for how long, until when, why, by what."""
    seconds = left(period, now_ms)
    if period is None or seconds is None:
        return {}
    events = [one.event for one in period.evidence]
    told = {"until": records.to_ts(period.until_ms), "why": period.why, "events": events}
    return {"free": 0, seconds_key: seconds, period_key: told}


def _remaining(
    states: States, seconds: Callable[[CredentialState | None, int], int | None], now_ms: int
) -> dict[str, int]:
    found = {name: seconds(state, now_ms) for name, state in sorted(states.items())}
    return {name: left for name, left in found.items() if left is not None}
