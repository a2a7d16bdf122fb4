"""fleet-gate: may this profile spawn now?"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, complete, files, state
from fleettools.errors import BadConfig, BadInput, CannotWrite, Exit, Unavailable, UsageError

if TYPE_CHECKING:
    from fleettools import records
    from fleettools.policy.accounts.placement import Choice, Situation
    from fleettools.services.store import Store


@command("fleet-gate")
@files
@state
@click.option("--profile", metavar="P", shell_complete=complete("profiles"),
              help="May this profile spawn? Exit 0: yes, 75: not now.")  # fmt: skip
@click.option("--auto", is_flag=True, help="Choose a profile that may spawn.")
@click.option(
    "--policy",
    metavar="NAME",
    type=click.Choice(["priority", "least-loaded"]),
    help="How --auto chooses: priority or least-loaded [default: the configuration's, else priority].",
)
@click.option("--fail-open", is_flag=True, help="Allow when the store cannot be reached.")
def main(
    ctx: Context,
    files: tuple[str, ...],
    state_url: str | None,
    profile: str | None,
    auto: bool,
    policy: str | None,
    fail_open: bool,
) -> Exit:
    """May this profile spawn now?

    Prints a `decision` for --profile or --auto; as a filter, in place of each `spawn` record.
    """
    gate = Gate(ctx, state_url, policy, fail_open)
    if profile is None and not auto:
        from fleettools.adapters.lines import Input, pump

        source = Input(files, ctx.out, ctx.messages)
        return pump(source, ctx.out, ctx.messages, {"spawn": gate.answer}, strict=ctx.strict)
    if files or (auto and profile is not None):
        raise UsageError("--profile, --auto and FILE exclude each other", "give one of them")
    if profile is not None:
        _require_name(profile)
    choice = gate.choose(profile, None, None)
    ctx.out.write(gate.decision(choice))
    ctx.out.flush()
    if ctx.json or not (os.isatty(1) and os.isatty(2)):  # a person has read it in the sentence just now
        (ctx.messages.info if choice.allowed else ctx.messages.error)(choice.reason)
    return choice.exit


def _require_name(profile: str) -> None:
    from fleettools.policy.accounts.credential import is_name

    if not is_name(profile):
        mend = "use letters, digits and . _ @ + -, at most 64, the first a letter or digit"
        raise BadConfig(f"{profile!r} is no profile name", mend, "--profile")


class Gate:
    """Answers requests from the store and the configuration."""

    def __init__(self, ctx: Context, state_url: str | None, policy: str | None, fail_open: bool) -> None:
        self._ctx, self._url, self._fail_open = ctx, state_url, fail_open
        self._config = ctx.config()
        self._policy = policy or self._config.placement.policy
        self._store: Store | None = None

    def answer(self, raw: bytes) -> Iterator[bytes]:
        """The decision on one `spawn` record, with those fields of it that mean nothing here."""
        from fleettools import records

        request = records.decode(raw, records.Spawn)
        if bool(request.auto) == (request.profile is not None):
            raise BadInput("a spawn record needs either profile or auto", "name a profile, or write auto: true")
        choice = self.choose(request.profile, request.candidates, request.policy)
        decision = self._record(choice)
        decision.lead = request.lead
        yield records.replaced(raw, records.Spawn, decision)

    def choose(self, profile: str | None, candidates: list[str] | None, policy: str | None) -> "Choice":
        """Decide on the profile, or without one choose among the candidates (None: all that are configured)."""
        from fleettools.moments import Moment
        from fleettools.policy.accounts.placement import Situation

        policy = policy or self._policy
        names = [profile] if profile is not None else list(self._config.profiles) if candidates is None else candidates
        try:
            if self._store is None:
                self._store = self._ctx.store(self._url)
            return self._decide(profile, names, policy, self._known(self._store, names, policy))
        except (Unavailable, CannotWrite) as error:
            if not self._fail_open:
                raise
            choice = self._decide(profile, names, policy, Situation(now=Moment(0)))
            if choice.allowed:
                choice.reason = f"{choice.profile}: allowed by --fail-open, the store cannot be reached ({error.what})"
            return choice

    def decision(self, choice: "Choice") -> bytes:
        """The choice as a line."""
        from fleettools import records

        return records.encode(self._record(choice))

    def _decide(self, profile: str | None, names: list[str], policy: str, known: "Situation") -> "Choice":
        from fleettools.policy.accounts import placement

        if profile is not None:
            return placement.decide(self._config, profile, known)
        return placement.choose(self._config, names, policy, known)

    def _known(self, store: "Store", names: list[str], policy: str) -> "Situation":
        """What the store holds about these profiles; the roster is read only where members are counted."""
        from fleettools.services import fleet

        limits = [profile.max_members for profile in self._config.profiles.values()]
        limits += [credential.max_members for credential in self._config.credentials.values()]
        counted = policy == "least-loaded" or any(limit is not None for limit in limits)
        return fleet.situation_of(store, self._config, names, counted)

    def _record(self, choice: "Choice") -> "records.Decision":
        from fleettools.adapters import clock

        return choice.record(clock.stamp())


if __name__ == "__main__":
    main()
