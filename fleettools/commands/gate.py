"""fleet-gate: may this profile spawn now?"""

import os
from collections.abc import Iterator

import click

from fleettools.cli import Context, command, complete, files, state
from fleettools.errors import BadConfig, Exit, UsageError


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
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.services.gate import Gate

    gate = Gate(lambda: ctx.store(state_url), ctx.config(), policy, fail_open)

    def answer(raw: bytes) -> Iterator[bytes]:
        request = records.decode(raw, records.Spawn)
        decision = gate.answer(request).record(clock.stamp())
        decision.lead = request.lead
        # Of the request's fields those survive that mean nothing here.
        yield records.replaced(raw, records.Spawn, decision)

    if profile is None and not auto:
        from fleettools.adapters.lines import Input, pump

        for name in files:
            if name in ctx.config().profiles and not os.path.exists(name):
                raise UsageError(f"no file {name}", f"to ask for the profile of that name: --profile {name}")
        source = Input(files, ctx.out, ctx.messages)
        return pump(source, ctx.out, ctx.messages, {"spawn": answer}, strict=ctx.strict)
    if files or (auto and profile is not None):
        raise UsageError("--profile, --auto and FILE exclude each other", "give one of them")
    if profile is not None:
        _require_name(profile)
    choice = gate.ask_any() if profile is None else gate.ask(profile)
    ctx.out.write(records.encode(choice.record(clock.stamp())))
    ctx.out.flush()
    if ctx.json or not (os.isatty(1) and os.isatty(2)):  # a person has read it in the sentence just now
        (ctx.messages.info if choice.allowed else ctx.messages.error)(choice.reason)
    return choice.exit


def _require_name(profile: str) -> None:
    from fleettools.policy.accounts.credential import is_name

    if not is_name(profile):
        mend = "use letters, digits and . _ @ + -, at most 64, the first a letter or digit"
        raise BadConfig(f"{profile!r} is no profile name", mend, "--profile")


if __name__ == "__main__":
    main()
