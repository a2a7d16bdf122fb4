"""Whether somebody looks often enough: what lies further back than the window at each look counts for nothing."""

from msgspec.structs import replace

from fleettools import moments
from fleettools.moments import Moment
from fleettools.policy.accounts.credential import CredentialState
from fleettools.policy.accounts.testimony import Rules


def looked(state: CredentialState, missed: bool, now: Moment, rules: Rules) -> tuple[CredentialState, int | None]:
    """The state after a short run that ends now, and how many seconds after the last one, when that is to be said.

    It is said once: when an error was `missed`, for it was too old when it was first seen, and no run was nearer.
    """
    apart = None if state.looked is None else now.since(state.looked)
    slow = missed and not state.slow and apart is not None and apart > rules.window_ms
    after = replace(state, looked=now, slow=state.slow or slow)
    return after, moments.seconds(apart) if slow and apart is not None else None
