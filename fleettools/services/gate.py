"""The gate: may this profile spawn now, or which of several should. What it answers by is in policy/accounts/placement.

Asking takes no place; see services.fleet.reserve for that.
"""

from collections.abc import Callable, Iterable

from fleettools import records
from fleettools.config import Config
from fleettools.errors import BadInput, CannotWrite, Unavailable
from fleettools.moments import Moment
from fleettools.policy.accounts import placement
from fleettools.policy.accounts.placement import Choice, Situation
from fleettools.services import fleet
from fleettools.services.store import Store


class Gate:
    """Answers from the store and the configuration, each time anew.

    `store` opens the store, at the first question. `policy` is how one of several is chosen where a question does not
    say it (None: as the configuration says). `fail_open`: what only the store could forbid is allowed while the store
    cannot be reached.
    """

    def __init__(
        self, store: Callable[[], Store], config: Config, policy: str | None = None, fail_open: bool = False
    ) -> None:
        self._open, self._config, self._fail_open = store, config, fail_open
        self._policy = policy or config.placement.policy
        self._store: Store | None = None

    def ask(self, profile: str) -> Choice:
        """May this profile spawn? Raises Unavailable or CannotWrite for a store that cannot be reached."""
        return self._asked([profile], self._limited(), lambda known: placement.decide(self._config, profile, known))

    def ask_any(self, candidates: Iterable[str] | None = None, policy: str | None = None) -> Choice:
        """Which of the candidates (None: all that are configured) should spawn? Raises as `ask` does."""
        names = list(self._config.profiles if candidates is None else candidates)
        policy = policy or self._policy
        counted = policy == "least-loaded" or self._limited()
        return self._asked(names, counted, lambda known: placement.choose(self._config, names, policy, known))

    def answer(self, request: records.Spawn) -> Choice:
        """The answer to a `spawn` record; raises BadInput when it asks for both or for nothing, else as `ask` does."""
        if bool(request.auto) == (request.profile is not None):
            raise BadInput("a spawn record needs either profile or auto", "name a profile, or write auto: true")
        if request.profile is not None:
            return self.ask(request.profile)
        return self.ask_any(request.candidates, request.policy)

    def _asked(self, names: list[str], counted: bool, decide: Callable[[Situation], Choice]) -> Choice:
        """Decide by what the store knows, or, where it is away and the gate fails open, by the configuration alone."""
        try:
            if self._store is None:
                self._store = self._open()
            return decide(fleet.situation_of(self._store, self._config, names, counted))
        except (Unavailable, CannotWrite) as error:
            if not self._fail_open:
                raise
            choice = decide(Situation(now=Moment(0)))
            if choice.allowed:
                choice.reason = f"{choice.profile}: allowed by --fail-open, the store cannot be reached ({error.what})"
            return choice

    def _limited(self) -> bool:
        """Whether any number of members is limited: the roster is read only to count them."""
        limits = [profile.max_members for profile in self._config.profiles.values()]
        limits += [credential.max_members for credential in self._config.credentials.values()]
        return any(limit is not None for limit in limits)
