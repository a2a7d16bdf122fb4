"""What placement and the views ask of the store, and slots reserved there."""

from collections.abc import Callable, Iterable

from fleettools.policy.accounts import placement
from fleettools.policy.accounts.credential import CREDENTIALS, CredentialState, credential_key, is_name
from fleettools.policy.accounts.placement import Choice, Fleet, Situation
from fleettools.policy.accounts.usage import USAGE, UsageState, usage_key
from fleettools.policy.members.roster import MEMBERS, MemberState
from fleettools.services.store import Store, change, change_knowing, read, read_all


def members(store: Store) -> list[MemberState]:
    """Every member of the roster, released ones too."""
    return [member for _, member in read_all(store, MEMBERS, MemberState)]


def credentials(store: Store) -> dict[str, CredentialState]:
    """The state of every credential about which anything is known, by id."""
    return {key.removeprefix(CREDENTIALS): found for key, found in read_all(store, CREDENTIALS, CredentialState)}


def situation(store: Store, fleet: Fleet) -> Situation:
    """All that placement and the views know now."""
    usage = {key.removeprefix(USAGE): found for key, found in read_all(store, USAGE, UsageState)}
    states, held = credentials(store), placement.taken(fleet, members(store))
    return Situation(now=store.moment(), states=states, usage=usage, held=held)


def situation_of(store: Store, fleet: Fleet, profiles: Iterable[str], counted: bool = True) -> Situation:
    """What placement has to know of these profiles now; the roster is read only where members are `counted`."""
    names = sorted({name for name in map(fleet.credential_of, profiles) if name})
    states = {name: read(store, credential_key(name), CredentialState) for name in names}
    usage = {name: read(store, usage_key(name), UsageState) for name in names if fleet.placement.leave_free}
    held = placement.taken(fleet, members(store)) if counted else placement.Held()
    return Situation(
        now=store.moment(),
        states={name: known for name, known in states.items() if known is not None},
        usage={name: known for name, known in usage.items() if known is not None},
        held=held,
    )


def reserve(store: Store, fleet: Fleet, profile: str, lease: str) -> Choice:
    """Ask the gate for the profile and take the slot under this lease, both in one commit."""
    name = fleet.credential_of(profile)
    if name is None or not is_name(name):
        return placement.decide(fleet, profile, Situation(now=store.moment()))
    key = credential_key(name)

    def step(
        before: CredentialState | None, known: Situation
    ) -> tuple[CredentialState | None, tuple[Choice, CredentialState | None]]:
        after, choice = placement.reserve(fleet, profile, before or CredentialState(), known, lease)
        return after if choice.allowed else before, (choice, before)

    while True:
        # Members are counted after the state was read, each time: see placement.reserve.
        choice, seen = change_knowing(store, key, CredentialState, lambda: situation_of(store, fleet, [profile]), step)
        # A refusal commits nothing, so it holds only if no other spawn moved on while the members were counted.
        if choice.allowed or read(store, key, CredentialState) == seen:
            return choice


def reserve_any(store: Store, fleet: Fleet, candidates: Iterable[str], policy: str, lease: str) -> Choice:
    """Choose among the candidates and take the slot under this lease."""
    names = sorted(set(candidates))
    while True:
        known = situation_of(store, fleet, names)
        choice = placement.choose(fleet, names, policy, known)
        if choice.allowed and choice.profile is not None:
            if reserve(store, fleet, choice.profile, lease).allowed:
                return choice
        elif situation_of(store, fleet, names, counted=False).states == known.states:
            return choice


def seat(store: Store, credential: str, lease: str, member: str) -> None:
    """Say which member, by its store key, the reservation is for."""
    _change(store, credential, lambda known: placement.seat(known, lease, member))


def unreserve(store: Store, credential: str, lease: str) -> None:
    """Give the reservation back."""
    now = store.moment()
    _change(store, credential, lambda known: placement.unreserve(known, lease, now))


def _change(store: Store, credential: str, step: Callable[[CredentialState], CredentialState]) -> None:
    change(store, credential_key(credential), CredentialState, lambda known: (known and step(known), None))
