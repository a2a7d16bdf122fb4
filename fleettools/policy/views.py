"""The fleet views that fleet-list and fleet-profiles share (design section 5)."""

from collections.abc import Iterable
from typing import Any

from fleettools import records
from fleettools.policy.credential import CredentialState, Period, cooling_seconds, left, quarantined_seconds
from fleettools.policy.placement import Fleet, Held, States, free, taken
from fleettools.policy.roster import MemberState


def profiles_view(fleet: Fleet, states: States, members: Iterable[MemberState], now_ms: int) -> dict[str, Any]:
    """The object that fleet-profiles prints: `profiles` by name, `coolingOff` and `quarantined` by credential id.

    `free` is null for a profile without a limit. Without configured profiles a profile's name is its credential, and
    those are shown that have a member or a stored credential.
    """
    held = taken(fleet, members)
    names = sorted(fleet.profiles or {*held.profiles, *states})
    return {
        "profiles": {name: _profile(fleet, name, states, held, now_ms) for name in names},
        "coolingOff": _remaining(states, cooling_seconds, now_ms),
        "quarantined": _remaining(states, quarantined_seconds, now_ms),
    }


def _profile(fleet: Fleet, name: str, states: States, held: Held, now_ms: int) -> dict[str, Any]:
    credential = fleet.credential_of(name)
    state = states.get(credential or "")
    view: dict[str, Any] = {"free": free(fleet, name, states, held, now_ms), "credentialId": credential}
    for key, period in _periods(state):
        seconds = left(period, now_ms)
        if period is not None and seconds is not None:
            view |= {"free": 0, f"{key}ForSeconds": seconds, key: _told(period)}
    return view


def _periods(state: CredentialState | None) -> list[tuple[str, Period | None]]:
    return [("quarantined", state.quarantine), ("coolingOff", state.cool_off)] if state else []


def _told(period: Period) -> dict[str, Any]:
    """Until when, why and by which events."""
    events = [one.event for one in period.evidence]
    return {"until": records.to_ts(period.until_ms), "why": period.why, "events": events}


def _remaining(states: States, seconds: Any, now_ms: int) -> dict[str, int]:
    found = {name: seconds(state, now_ms) for name, state in sorted(states.items())}
    return {name: left for name, left in found.items() if left is not None}
