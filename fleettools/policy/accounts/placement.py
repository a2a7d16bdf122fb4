"""May this profile spawn now, and which one should.

First match wins: an unknown profile, a quarantine, a cool-off, a probe, a window nearly used up, a full profile, a full
credential.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from fleettools import moments, records
from fleettools.errors import Exit
from fleettools.moments import Moment
from fleettools.policy.accounts import credential, periods, usage
from fleettools.policy.accounts.credential import CredentialState, Lease, is_name
from fleettools.policy.accounts.usage import UsageState
from fleettools.policy.members.roster import MemberState, member_key

LEASE_MS = 30_000
NAMED = 5  # so many candidates are told one by one when all are out


class Limits(Protocol):
    """What placement asks of a credential's configuration."""

    @property
    def max_members(self) -> int | None:
        """How many members there may be, None for any number."""


class ProfileLimits(Limits, Protocol):
    """What placement asks of a profile's configuration."""

    @property
    def priority(self) -> int:
        """The highest is chosen first."""


class Preferences(Protocol):
    """What placement asks of the configuration's `placement`."""

    @property
    def leave_free(self) -> float:
        """Percent of each window of a plan that the gate leaves free."""


class Fleet(Protocol):
    """What placement asks of the configuration."""

    @property
    def profiles(self) -> Mapping[str, ProfileLimits]:
        """Every configured profile by its name."""

    @property
    def credentials(self) -> Mapping[str, Limits]:
        """What holds for all profiles of a credential, by its id."""

    @property
    def placement(self) -> Preferences:
        """How the gate chooses."""

    def credential_of(self, profile: str | None) -> str | None:
        """The credential that a profile spends; None when nobody configured it."""


class Held(msgspec.Struct, kw_only=True):
    """How many members hold a slot, by profile and by credential, and the store keys of those members."""

    profiles: Mapping[str, int] = {}
    credentials: Mapping[str, int] = {}
    seats: set[str] = set()


class Situation(msgspec.Struct, kw_only=True):
    """What a decision knows: `now` on the store's clock, what is stored by credential id, and which slots are held."""

    now: Moment
    states: Mapping[str, CredentialState] = {}
    usage: Mapping[str, UsageState] = {}
    held: Held = msgspec.field(default_factory=Held)


class Obstacle(NamedTuple):
    """What is in the way of a profile: a kind, the words for it, and in how many seconds time removes it, if ever."""

    kind: str
    words: str
    seconds: int | None = None


UNKNOWN = "not configured"


class Choice(msgspec.Struct, kw_only=True):
    """The answer: may `profile` spawn, and why (not). The seconds are what remains, each only while active."""

    reason: str
    profile: str | None = None
    credential_id: str | None = None
    cooling_off_for_seconds: int | None = None
    quarantined_for_seconds: int | None = None
    obstacles: list[Obstacle] = []

    @property
    def allowed(self) -> bool:
        """Whether nothing is in the way."""
        return not self.obstacles

    @property
    def exit(self) -> Exit:
        """The status of a command that asked: what nobody configured is no matter of waiting."""
        if self.allowed:
            return Exit.OK
        return Exit.BAD_CONFIG if all(one.kind == UNKNOWN for one in self.obstacles) else Exit.NOT_NOW

    @property
    def back_in(self) -> int | None:
        """Seconds until it may spawn by time alone; None when it would not then either."""
        waits = [one.seconds for one in self.obstacles if one.seconds is not None]
        return max(waits) if waits and len(waits) == len(self.obstacles) else None

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


# -- one profile


def decide(fleet: Fleet, profile: str, known: Situation) -> Choice:
    """May this profile spawn?"""
    name = fleet.credential_of(profile)
    if name is None or not is_name(name):
        why = _why_unknown(fleet, profile)
        return Choice(profile=profile, reason=why, obstacles=[Obstacle(UNKNOWN, why)])
    state = known.states.get(name)
    found = [*_credential(fleet, name, known), *_places(fleet, profile, known)]
    return Choice(
        reason=f"{profile}: {found[0].words if found else f'credential {name} is free'}",
        profile=profile,
        credential_id=name,
        cooling_off_for_seconds=credential.cooling_seconds(state, known.now),
        quarantined_for_seconds=credential.quarantined_seconds(state, known.now),
        obstacles=found,
    )


def _credential(fleet: Fleet, name: str, known: Situation) -> Iterator[Obstacle]:
    """What is in the way of everyone who spends this credential, the first one outranks the rest."""
    state = known.states.get(name)
    if (seconds := credential.quarantined_seconds(state, known.now)) is not None:
        words = f"credential {name} is quarantined for another {seconds} s, its quota is used up"
        yield Obstacle("quarantine", words, seconds)
    if (seconds := credential.cooling_seconds(state, known.now)) is not None:
        words = f"credential {name} is cooling off for another {seconds} s after backend errors"
        yield Obstacle("cool-off", words, seconds)
    probe = state.probe if state else None
    if probe and (seconds := periods.left(probe, known.now)) is not None:
        worker = f"worker {probe.name}" if probe.name else "one worker"
        yield Obstacle("probe", f"credential {name} is being tried by {worker} for another {seconds} s", seconds)
    yield from _used(fleet.placement.leave_free, name, known)


def _used(leave_free: float, name: str, known: Situation) -> Iterator[Obstacle]:
    """A window of the credential's plan of which less is left than is to be left free."""
    running = usage.running(known.usage.get(name), known.now).items()
    over = [(window, one) for window, one in running if leave_free and one.used_percent > usage.FULL - leave_free]
    if not over:
        return
    waits = {window: moments.seconds(moments.left(one.begin, one.length_ms, known.now)) for window, one in over}
    window, worst = max(over, key=lambda pair: waits[pair[0]])
    words = f"credential {name} has used {worst.used_percent:g} % of its {window} window, {leave_free:g} % stay free"
    yield Obstacle("nearly used up", f"{words}; it resets in {waits[window]} s", waits[window])


def _places(fleet: Fleet, profile: str, known: Situation) -> Iterator[Obstacle]:
    for room, words in _rooms(fleet, profile, known):
        if room == 0:
            yield Obstacle("no place", words)


def _why_unknown(fleet: Fleet, profile: str) -> str:
    if not is_name(profile):
        return f"{profile[:64]!r} is no profile name; use letters, digits and . _ @ + -, at most 64"
    known = sorted(fleet.profiles)
    more = f" and {len(known) - 10} more" if len(known) > 10 else ""
    return f"profile {profile} is not configured; there are {', '.join(known[:10])}{more}"


# -- one of several


def choose(fleet: Fleet, candidates: Iterable[str], policy: str, known: Situation) -> Choice:
    """The first candidate, in the order of the policy, that may spawn; else why none may and which returns first.

    `priority`: the highest number first. `least-loaded`: the fewest members and reservations first, then priority.
    The last tie is settled by name.
    """

    def rank(profile: str) -> tuple[int, int, str]:
        found = fleet.profiles.get(profile)
        load = _load(fleet, profile, known) if policy == "least-loaded" else 0
        return load, -found.priority if found else 0, profile

    choices = [decide(fleet, profile, known) for profile in sorted(set(candidates), key=rank)]
    for choice in choices:
        if choice.allowed:
            return replace(choice, reason=f"{choice.reason}, first by {policy}")
    if not choices:
        mend = "name some that are configured" if fleet.profiles else "configure some under profiles:"
        why = f"there is no profile to choose from; {mend}"
        return Choice(reason=why, obstacles=[Obstacle(UNKNOWN, why)])
    return _all_out(choices)


def _all_out(choices: list[Choice]) -> Choice:
    """The refusal when every candidate is out; it carries the one that returns first."""
    kinds = " and ".join(dict.fromkeys(sorted(choice.obstacles[0].kind for choice in choices)))
    told = "; ".join(choice.reason for choice in choices[:NAMED])
    more = f"; and {len(choices) - NAMED} more" if len(choices) > NAMED else ""
    why = f"every candidate is out ({kinds}): {told}{more}"
    waits = [(choice.back_in, choice) for choice in choices if choice.back_in is not None]
    if not waits:
        # Waiting may change it as long as waiting may change one of them.
        first = next((choice for choice in choices if choice.exit == Exit.NOT_NOW), choices[0])
        return replace(first, reason=f"{why}; time alone frees none")
    seconds, first = min(waits, key=lambda pair: pair[0])
    return replace(first, reason=f"{why}; {first.profile} returns first, in {seconds} s")


# -- places and reservations


def taken(fleet: Fleet, members: Iterable[MemberState]) -> Held:
    """The slots that members hold; reservations are not among them."""
    holding = [member for member in members if member.profile and member.holds_slot]
    profiles = Counter(member.profile or "" for member in holding)
    credentials: Counter[str] = Counter()
    for profile, number in profiles.items():
        credentials[fleet.credential_of(profile) or ""] += number
    seats = {member_key(member.server, member.target) for member in holding}
    return Held(profiles=profiles, credentials=credentials, seats=seats)


def free(fleet: Fleet, profile: str, known: Situation) -> int | None:
    """How many more members the profile and its credential may have, reservations counted; None: no limit.

    A cool-off or quarantine is not looked at.
    """
    return min((room for room, _ in _rooms(fleet, profile, known)), default=None)


def _rooms(fleet: Fleet, profile: str, known: Situation) -> Iterator[tuple[int, str]]:
    """Each limit that holds for the profile: how much room it leaves, and what to say when that is none."""
    limits = fleet.profiles.get(profile)
    if limits and limits.max_members is not None:
        used = _load(fleet, profile, known)
        yield max(0, limits.max_members - used), f"all its places are taken ({used} of {limits.max_members})"
    name = fleet.credential_of(profile)
    shared = fleet.credentials.get(name) if name else None
    if name and shared and shared.max_members is not None:
        used = known.held.credentials.get(name, 0) + len(_reserved(name, known))
        what = f"all places of credential {name} are taken ({used} of {shared.max_members})"
        yield max(0, shared.max_members - used), what


def _load(fleet: Fleet, profile: str, known: Situation) -> int:
    """Members and reservations of a profile."""
    leases = _reserved(fleet.credential_of(profile) or "", known)
    return known.held.profiles.get(profile, 0) + sum(lease.profile == profile for lease in leases)


def _reserved(name: str, known: Situation) -> list[Lease]:
    """The reservations that hold and whose member is not among those counted already."""
    state = known.states.get(name)
    leases = state.leases if state else []
    return [lease for lease in leases if lease.runs(known.now) and lease.seat not in known.held.seats]


def reserve(
    fleet: Fleet, profile: str, state: CredentialState, known: Situation, lease: str
) -> tuple[CredentialState, Choice]:
    """Take a slot for LEASE_MS if the profile may spawn now; `state` is that of its credential.

    What is known has to be counted after the state was read, and the member stored before `unreserve`: then two never
    pass one free slot.
    """
    state = unreserve(state, lease, known.now)
    name = fleet.credential_of(profile)
    choice = decide(fleet, profile, replace(known, states={name: state} if name else {}))
    if not choice.allowed:
        return state, choice
    mine = Lease(id=lease, profile=profile, **periods.spanning(known.now, LEASE_MS))
    return replace(state, leases=[*state.leases, mine]), choice


def seat(state: CredentialState, lease: str, seat: str) -> CredentialState:
    """Say which member the reservation is for, before that is stored: from then on the two count once."""
    leases = [replace(one, seat=seat) if one.id == lease else one for one in state.leases]
    return replace(state, leases=leases)


def unreserve(state: CredentialState, lease: str, now: Moment) -> CredentialState:
    """The state without this reservation, and without those whose time is over."""
    kept = [one for one in state.leases if one.runs(now) and one.id != lease]
    return state if len(kept) == len(state.leases) else replace(state, leases=kept)
