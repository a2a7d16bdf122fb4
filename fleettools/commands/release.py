"""fleet-release: let a member go, or lift a credential's cool-off and quarantine."""

from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, complete, state, tmux_server
from fleettools.errors import Exit, UsageError

if TYPE_CHECKING:
    from fleettools.services.store import Store


@command("fleet-release")
@click.argument("target", required=False, shell_complete=complete("targets"))
@click.option("--kill", is_flag=True, help="End the member's pane, too.")
@click.option("--reinstate", is_flag=True, help="Make a failed member ready for work again instead.")
@click.option("--credential", metavar="C", shell_complete=complete("credentials"),
              help="Lift this credential's cool-off and quarantine instead.")  # fmt: skip
@click.option("--row", metavar="KEY", help="Remove a row of the store that cannot be read instead.")
@state
@tmux_server
def main(
    ctx: Context,
    target: str | None,
    kill: bool,
    reinstate: bool,
    credential: str | None,
    row: str | None,
    state_url: str | None,
    socket_path: str | None,
    socket_name: str | None,
) -> Exit:
    """Let a member go, or lift a credential's cool-off and quarantine.

    TARGET is a pane id (%5) or a member's exact name. Its pane lives on, without the fleet's options. Exit 1: there is
    no such member or credential, and the record says changed: false.
    """
    if [target, credential, row].count(None) != 2 or (target is None and (kill or reinstate)) or (kill and reinstate):
        raise UsageError("name either a member or a credential", "give TARGET, --credential C or --row KEY alone")
    store = ctx.store(state_url)
    if row is not None:
        return _remove(ctx, store, row)
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.adapters.tmux import Tmux
    from fleettools.services.verbs import release

    doors = release.Doors(ctx.config(), store, Tmux(socket_path, socket_name), clock, ctx.messages)
    if credential:
        answer = release.lift(doors, credential)
    else:
        answer = release.release(doors, str(target), kill=kill, reinstate=reinstate)
    ctx.out.write(records.encode(answer.record))
    ctx.out.flush()
    return Exit.NO if answer.code else Exit.OK


def _remove(ctx: Context, store: "Store", key: str) -> Exit:
    """Delete a row, whatever it holds: no command could use it."""
    while (found := store.get(key))[0] is not None:
        if store.put(key, None, found[1]):
            ctx.messages.info(f"{key} is removed")
            return Exit.OK
    ctx.messages.warn(f"{key} is no row of the store; a message that a row cannot be read names its key")
    return Exit.NO


if __name__ == "__main__":
    main()
