"""fleet-spawn: ask the gate, then open a pane with a profile's command and its metadata."""

import click

from fleettools.cli import Context, command, complete, state, tmux_server
from fleettools.errors import Exit, UsageError


@command("fleet-spawn")
@click.argument("argument", metavar="[PROFILE]", required=False, shell_complete=complete("profiles"))
@click.option("--profile", metavar="P", shell_complete=complete("profiles"), help="The profile, as PROFILE.")
@click.option("--auto", is_flag=True, help="Choose a profile that may spawn.")
@click.option(
    "--policy",
    metavar="NAME",
    type=click.Choice(["priority", "least-loaded"]),
    help="How --auto chooses: priority or least-loaded [default: the configuration's, else priority].",
)
@click.option("--lead", metavar="%ID", shell_complete=complete("panes"), help="The pane of the member's lead.")
@click.option("--name", metavar="NAME", help="The member's name, also that of its window.")
@click.option(
    "--cwd",
    metavar="DIR",
    shell_complete=complete("files"),
    help="Working folder [default: the profile's, else this one].",
)
@click.option("--session", metavar="NAME", help="tmux session of the new window [default: the lead's].")
@click.option("--split", metavar="%ID", shell_complete=complete("panes"), help="Split this pane, open no window.")
@state
@tmux_server
def main(
    ctx: Context,
    argument: str | None,
    profile: str | None,
    auto: bool,
    policy: str | None,
    lead: str | None,
    name: str | None,
    cwd: str | None,
    session: str | None,
    split: str | None,
    state_url: str | None,
    socket_path: str | None,
    socket_name: str | None,
) -> Exit:
    """Open a pane with a profile's command, if the gate lets it.

    Prints the gate's `decision`, then the new `member`. Refused, it opens nothing and ends with 75.
    """
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.adapters.tmux import Tmux
    from fleettools.services.verbs import spawn

    wanted = _wanted(argument, profile, auto, policy)
    place = spawn.checked(spawn.Place(lead, name, cwd, session, split))
    doors = spawn.Doors(ctx.config(), ctx.store(state_url), Tmux(socket_path, socket_name), clock)

    def say(record: records.Record) -> None:
        ctx.out.write(records.encode(record))
        ctx.out.flush()

    choice = spawn.spawn(doors, spawn.Wish(wanted, policy), place, say)
    if not choice.allowed:
        ctx.messages.error(choice.reason)
    return choice.exit


def _wanted(argument: str | None, profile: str | None, auto: bool, policy: str | None) -> str | None:
    """The profile that is asked for, None for --auto."""
    given = [name for name in (argument, profile) if name is not None]
    if len(given) + auto != 1:
        raise UsageError("name one profile, or ask for any", "give PROFILE, --profile P or --auto")
    if policy and not auto:
        raise UsageError("--policy says how --auto chooses", "give --auto, or leave --policy out")
    return given[0] if given else None


if __name__ == "__main__":
    main()
