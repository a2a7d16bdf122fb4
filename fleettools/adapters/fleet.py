"""What placement and the views ask of the store, read in one go."""

from collections.abc import Iterable

from fleettools.adapters.store import Store, read, read_all
from fleettools.policy.credential import CREDENTIALS, CredentialState, credential_key
from fleettools.policy.roster import MEMBERS, MemberState


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
