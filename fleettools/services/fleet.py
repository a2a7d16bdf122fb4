"""What placement and the views ask of the store, and slots reserved there."""

from collections.abc import Callable, Iterable

from fleettools.policy.accounts import placement
from fleettools.policy.accounts.credential import CREDENTIALS, CredentialState, credential_key, is_name
from fleettools.policy.accounts.placement import Choice, Fleet
from fleettools.policy.members.roster import MEMBERS, MemberState
from fleettools.services.store import Store, change, read, read_all

_Reserved = tuple[CredentialState | None, Choice]


def members(store: Store) -> list[MemberState]:
    """Every member of the roster, released ones too."""
    return [member for _, member in read_all(store, MEMBERS, MemberState)]


def credentials(store: Store) -> dict[str, CredentialState]:
    """The state of every credential about which anything is known, by id."""
    return {key.removeprefix(CREDENTIALS): found for key, found in read_all(store, CREDENTIALS, CredentialState)}


def some_credentials(store: Store, names: Iterable[str | None]) -> dict[str, CredentialState]:
    """The state of those of these credentials about which anything is known, by id."""
    found = {name: read(store, credential_key(name), CredentialState) for name in sorted({n for n in names if n})}
    return {name: known for name, known in found.items() if known is not None}


def reserve(store: Store, fleet: Fleet, profile: str, lease: str) -> Choice:
    """Ask the gate for the profile and take the slot under this lease, both in one commit."""
    name = fleet.credential_of(profile)
    if name is None or not is_name(name):
        return placement.decide(fleet, profile, {}, placement.Held(), store.now_ms())
    key = credential_key(name)
    while True:
        seen: list[CredentialState | None] = []

        def step(known: CredentialState | None, seen: list[CredentialState | None] = seen) -> _Reserved:
            seen.append(known)
            held = placement.taken(fleet, members(store))
            after, choice = placement.reserve(fleet, profile, known or CredentialState(), held, lease, store.now_ms())
            return after if choice.allowed else known, choice

        choice = change(store, key, CredentialState, step)
        # A refusal commits nothing, so it holds only if no other spawn moved on while the members were counted.
        if choice.allowed or read(store, key, CredentialState) == seen[-1]:
            return choice


def reserve_any(store: Store, fleet: Fleet, candidates: Iterable[str], policy: str, lease: str) -> Choice:
    """Choose among the candidates and take the slot under this lease."""
    names = sorted(set(candidates))
    while True:
        known = some_credentials(store, map(fleet.credential_of, names))
        held = placement.taken(fleet, members(store))
        choice = placement.choose(fleet, names, policy, known, held, store.now_ms())
        if choice.allowed and choice.profile is not None:
            if reserve(store, fleet, choice.profile, lease).allowed:
                return choice
        elif some_credentials(store, map(fleet.credential_of, names)) == known:
            return choice


def seat(store: Store, credential: str, lease: str, member: str) -> None:
    """Say which member, by its store key, the reservation is for."""
    _change(store, credential, lambda known: placement.seat(known, lease, member))


def unreserve(store: Store, credential: str, lease: str) -> None:
    """Give the reservation back."""
    now_ms = store.now_ms()
    _change(store, credential, lambda known: placement.unreserve(known, lease, now_ms))


def _change(store: Store, credential: str, step: Callable[[CredentialState], CredentialState]) -> None:
    change(store, credential_key(credential), CredentialState, lambda known: (known and step(known), None))
