"""What is known about one credential: its evidence, its cool-off and quarantine, and what is reserved on it.

`outage` and `quarantine` are the steps on this state, `placement` keeps its reservations here.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.accounts import periods
from fleettools.policy.accounts.announcing import Announcement
from fleettools.policy.accounts.periods import Period, Probe, Span
from fleettools.policy.accounts.rounds import Round
from fleettools.policy.accounts.testimony import OUTAGE, Evidence

CREDENTIALS = "credential/"
MAX_PANES = 4096  # panes and kinds remembered for one credential
MAX_EVIDENCE = 64  # events remembered of one cool-off, quarantine or count


class Lease(Span, kw_only=True):
    """A slot reserved for a spawn that is under way; `seat` is the store key of its member once the pane is open."""

    id: str
    profile: str
    seat: str | None = None


class Warned(Span, kw_only=True):
    """That a window of a plan was said to be nearly used up, until that window resets."""

    percent: int


class CredentialState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is stored under `credential/<id>`.

    `pending`: errors that may still cross the threshold. `last`: per kind and pane the last event that counted, or
    would have, so that a banner that stays is never fresh again. `warned`: by window of its plan. `worked_ms`: when a
    turn on it last completed. `looked`: when the last short run ended; `slow`: they are too far apart, that was said.
    """

    pending: list[Evidence] = []
    last: dict[str, str] = {}
    cool_off: Period | None = None
    quarantine: Period | None = None
    probe: Probe | None = None
    leases: list[Lease] = []
    announcements: list[Announcement] = []
    warned: dict[str, Warned] = {}
    worked_ms: int | None = None
    looked: Moment | None = None
    slow: bool = False
    round: Round | None = None


def credential_key(credential: str) -> str:
    """Where the store keeps a credential."""
    return CREDENTIALS + credential


def is_name(text: str) -> bool:
    """Whether a profile name or credential id is one that may stand in a store key."""
    try:
        msgspec.convert(text, records.Name)
    except msgspec.ValidationError:
        return False
    return True


def is_known(state: CredentialState, kind: str, found: Evidence) -> bool:
    """Whether this event was counted, or would have been, before."""
    period = state.cool_off if kind == OUTAGE else state.quarantine
    kept = [*(state.pending if kind == OUTAGE else ()), *(period.evidence if period else ())]
    return state.last.get(_pane(kind, found)) == found.event or any(old.event == found.event for old in kept)


def noted(state: CredentialState, kind: str, found: Evidence) -> CredentialState:
    """The state that knows this event as the last of its kind in its pane; the longest unheard panes are forgotten."""
    key = _pane(kind, found)
    last = {pane: event for pane, event in state.last.items() if pane != key}
    last[key] = found.event
    for pane in list(last)[: max(0, len(last) - MAX_PANES)]:
        del last[pane]
    return replace(state, last=last)


def without(state: CredentialState, event: str) -> CredentialState:
    """The state in which this event counts for no outage any more."""
    pending = [one for one in state.pending if one.event != event]
    return state if len(pending) == len(state.pending) else replace(state, pending=pending)


def worked(state: CredentialState, at_ms: int) -> CredentialState:
    """The state that knows that a turn completed at this moment."""
    return state if at_ms <= (state.worked_ms or 0) else replace(state, worked_ms=at_ms)


def _pane(kind: str, found: Evidence) -> str:
    return f"{kind} {found.server or ''} {found.target or ''}"


def cooling_seconds(state: CredentialState | None, now: Moment) -> int | None:
    """Seconds for which the credential still cools off, rounded up; None when it does not."""
    return periods.left(state.cool_off, now) if state else None


def quarantined_seconds(state: CredentialState | None, now: Moment) -> int | None:
    """Seconds for which the credential is still quarantined, rounded up; None when it is not."""
    return periods.left(state.quarantine, now) if state else None


def ends(
    state: CredentialState, name: str, now: Moment, stamp: Mapping[str, Any]
) -> tuple[CredentialState, list[tuple[records.Ended, Period]]]:
    """The state that has told the end of each period that is over, and what there is to say, the older end first."""
    cool_off, first = periods.ending(state.cool_off, "incident", name, now, stamp)
    quarantine, second = periods.ending(state.quarantine, "quarantine", name, now, stamp)
    if cool_off is state.cool_off and quarantine is state.quarantine:
        return state, []
    said = [(one, period) for one, period in ((first, cool_off), (second, quarantine)) if one and period]
    said.sort(key=lambda pair: pair[1].until_ms)
    return replace(state, cool_off=cool_off, quarantine=quarantine), said
