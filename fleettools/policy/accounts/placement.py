"""May this profile spawn now, and which one should (design section 4).

First match wins: an unknown profile, a quarantine, a cool-off, a full profile, a full credential.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from fleettools import records
from fleettools.policy.accounts.credential import CredentialState, Lease, cooling_seconds, is_name, quarantined_seconds
from fleettools.policy.members.roster import MemberState, member_key

LEASE_MS = 30_000
NAMED = 5  # so many candidates are told one by one when all are out


class Limits(Protocol):
    """What placement asks of a credential's configuration."""

    @property
    def max_members(self) -> int | None: ...


class ProfileLimits(Limits, Protocol):
    """What placement asks of a profile's configuration."""

    @property
    def priority(self) -> int: ...


class Fleet(Protocol):
    """What placement asks of the configuration."""

    @property
    def profiles(self) -> Mapping[str, ProfileLimits]: ...
    @property
    def credentials(self) -> Mapping[str, Limits]: ...
    def credential_of(self, profile: str | None) -> str | None: ...


class Choice(msgspec.Struct, kw_only=True):
    """The answer: may `profile` spawn, and why (not). The seconds are what remains, each only while active.

    `full`: there is no place for it, whatever becomes of its credential.
    """

    allowed: bool
    reason: str
    profile: str | None = None
    credential_id: str | None = None
    cooling_off_for_seconds: int | None = None
    quarantined_for_seconds: int | None = None
    full: bool = False

    @property
    def back_in(self) -> int | None:
        """Seconds until it may spawn by time alone; None when it would not then either."""
        waits = (self.cooling_off_for_seconds, self.quarantined_for_seconds)
        return None if self.full else max((seconds for seconds in waits if seconds is not None), default=None)

    def record(self, stamp: Mapping[str, Any]) -> records.Decision:
        """The `decision` record, with the `ts`, `boot` and `up` of `stamp`."""
        return records.Decision(
            **stamp,
            allowed=self.allowed,
            profile=self.profile,
            credential_id=self.credential_id,
            reason=self.reason,
            cooling_off_for_seconds=self.cooling_off_for_seconds,
            quarantined_for_seconds=self.quarantined_for_seconds,
        )


States = Mapping[str, CredentialState]


class Held(msgspec.Struct, kw_only=True):
    """How many members hold a slot, by profile and by credential, and the store keys of those members."""

    profiles: Mapping[str, int] = {}
    credentials: Mapping[str, int] = {}
    seats: set[str] = set()


def taken(fleet: Fleet, members: Iterable[MemberState]) -> Held:
    """The slots that members hold; reservations are not among them."""
    holding = [member for member in members if member.profile and member.holds_slot]
    profiles = Counter(member.profile or "" for member in holding)
    credentials: Counter[str] = Counter()
    for profile, number in profiles.items():
        credentials[fleet.credential_of(profile) or ""] += number
    seats = {member_key(member.server, member.target) for member in holding}
    return Held(profiles=profiles, credentials=credentials, seats=seats)


def free(fleet: Fleet, profile: str, states: States, held: Held, now_ms: int) -> int | None:
    """How many more members the profile and its credential may have, reservations counted; None: no limit.

    A cool-off or quarantine is not looked at.
    """
    return min((room for room, _ in _rooms(fleet, profile, states, held, now_ms)), default=None)


def decide(fleet: Fleet, profile: str, states: States, held: Held, now_ms: int) -> Choice:
    """May this profile spawn? `states` by credential id, `held` as of `taken`."""
    name = fleet.credential_of(profile)
    if name is None or not is_name(name):
        return Choice(allowed=False, profile=profile, reason=_why_unknown(fleet, profile))
    state = states.get(name)
    cooling, quarantined = cooling_seconds(state, now_ms), quarantined_seconds(state, now_ms)
    full = [what for room, what in _rooms(fleet, profile, states, held, now_ms) if room == 0]
    if quarantined is not None:
        reason = f"credential {name} is quarantined for another {quarantined} s, its quota is used up"
    elif cooling is not None:
        reason = f"credential {name} is cooling off for another {cooling} s after backend errors"
    elif full:
        reason = full[0]
    else:
        reason = f"credential {name} is free"
    return Choice(
        allowed=quarantined is None and cooling is None and not full,
        reason=f"{profile}: {reason}",
        profile=profile,
        credential_id=name,
        cooling_off_for_seconds=cooling,
        quarantined_for_seconds=quarantined,
        full=bool(full),
    )


def _why_unknown(fleet: Fleet, profile: str) -> str:
    if not is_name(profile):
        return f"{profile[:64]!r} is no profile name; use letters, digits and . _ @ + -, at most 64"
    known = sorted(fleet.profiles)
    more = f" and {len(known) - 10} more" if len(known) > 10 else ""
    return f"profile {profile} is not configured; there are {', '.join(known[:10])}{more}"


def choose(fleet: Fleet, candidates: Iterable[str], policy: str, states: States, held: Held, now_ms: int) -> Choice:
    """The first candidate, in the order of the policy, that may spawn; else why none may and which returns first.

    `priority`: the highest number first. `least-loaded`: the fewest members and reservations first, then priority.
    The last tie is settled by name.
    """

    def rank(profile: str) -> tuple[int, int, str]:
        found = fleet.profiles.get(profile)
        load = _load(fleet, profile, states, held, now_ms) if policy == "least-loaded" else 0
        return load, -found.priority if found else 0, profile

    choices = [decide(fleet, profile, states, held, now_ms) for profile in sorted(set(candidates), key=rank)]
    for choice in choices:
        if choice.allowed:
            return replace(choice, reason=f"{choice.reason}, first by {policy}")
    if not choices:
        mend = "name some that are configured" if fleet.profiles else "configure some under profiles:"
        return Choice(allowed=False, reason=f"there is no profile to choose from; {mend}")
    return _all_out(choices)


def _all_out(choices: list[Choice]) -> Choice:
    """The refusal when every candidate is out; it carries the one that returns first."""
    kinds = " and ".join(dict.fromkeys(sorted(_kind(choice) for choice in choices)))
    told = "; ".join(choice.reason for choice in choices[:NAMED])
    more = f"; and {len(choices) - NAMED} more" if len(choices) > NAMED else ""
    waits = [(choice.back_in, choice) for choice in choices if choice.back_in is not None]
    if not waits:
        return replace(choices[0], reason=f"every candidate is out ({kinds}): {told}{more}; time alone frees none")
    seconds, first = min(waits, key=lambda pair: pair[0])
    return replace(
        first, reason=f"every candidate is out ({kinds}): {told}{more}; {first.profile} returns first, in {seconds} s"
    )


def _kind(choice: Choice) -> str:
    if choice.quarantined_for_seconds is not None:
        return "quarantine"
    if choice.cooling_off_for_seconds is not None:
        return "cool-off"
    return "no place" if choice.full else "not configured"


def reserve(
    fleet: Fleet, profile: str, state: CredentialState, held: Held, lease: str, now_ms: int
) -> tuple[CredentialState, Choice]:
    """Take a slot for LEASE_MS if the profile may spawn now; `state` is that of its credential.

    Count `held` after the state was read, and store the member before `unreserve`: then two never pass one free slot.
    """
    state = unreserve(state, lease, now_ms)
    name = fleet.credential_of(profile)
    choice = decide(fleet, profile, {name: state} if name else {}, held, now_ms)
    if not choice.allowed:
        return state, choice
    mine = Lease(id=lease, profile=profile, until_ms=now_ms + LEASE_MS)
    return replace(state, leases=[*state.leases, mine]), choice


def seat(state: CredentialState, lease: str, seat: str) -> CredentialState:
    """Say which member the reservation is for, before that is stored: from then on the two count once."""
    leases = [replace(one, seat=seat) if one.id == lease else one for one in state.leases]
    return replace(state, leases=leases)


def unreserve(state: CredentialState, lease: str, now_ms: int) -> CredentialState:
    """The state without this reservation, and without those whose time is over."""
    kept = [one for one in state.leases if one.until_ms > now_ms and one.id != lease]
    return state if len(kept) == len(state.leases) else replace(state, leases=kept)


def _rooms(fleet: Fleet, profile: str, states: States, held: Held, now_ms: int) -> Iterator[tuple[int, str]]:
    """Each limit that holds for the profile: how much room it leaves, and what to say when that is none."""
    limits = fleet.profiles.get(profile)
    if limits and limits.max_members is not None:
        used = _load(fleet, profile, states, held, now_ms)
        yield max(0, limits.max_members - used), f"all its places are taken ({used} of {limits.max_members})"
    name = fleet.credential_of(profile)
    shared = fleet.credentials.get(name) if name else None
    if name and shared and shared.max_members is not None:
        used = held.credentials.get(name, 0) + len(_reserved(states.get(name), held, now_ms))
        what = f"all places of credential {name} are taken ({used} of {shared.max_members})"
        yield max(0, shared.max_members - used), what


def _load(fleet: Fleet, profile: str, states: States, held: Held, now_ms: int) -> int:
    """Members and reservations of a profile."""
    leases = _reserved(states.get(fleet.credential_of(profile) or ""), held, now_ms)
    return held.profiles.get(profile, 0) + sum(lease.profile == profile for lease in leases)


def _reserved(state: CredentialState | None, held: Held, now_ms: int) -> list[Lease]:
    """The reservations that hold and whose member is not among those counted already."""
    leases = state.leases if state else []
    return [lease for lease in leases if lease.until_ms > now_ms and lease.seat not in held.seats]
