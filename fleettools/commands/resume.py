"""fleet-resume: prompt again the members that failed, when their credential is free: one first, then the rest."""

from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, complete, files, state, tmux_server
from fleettools.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleettools.services.resumer import Resumer
    from fleettools.services.rounds import Rounds

TICK = 0.25  # seconds between two looks for what there is to say
END_TICK = 0.1  # the same, after the end of the input


@command("fleet-resume")
@click.option("--now", "credential", metavar="CREDENTIAL", shell_complete=complete("credentials"),
              help="Begin with this credential's last cool-off or quarantine, however long ago it ended.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say who would be prompted, and why others would not; type nothing.")
@click.option("--wait", type=click.FloatRange(min=0), default=120.0, metavar="SECONDS", show_default=True,
              help="How long to go on at the end of the input while members are left.")  # fmt: skip
@state
@tmux_server
@files
def main(
    ctx: Context, files: tuple[str, ...], credential: str | None, dry_run: bool, wait: float, state_url: str | None,
    socket_path: str | None, socket_name: str | None,
) -> Exit:  # fmt: skip
    """Prompt again the members that failed of a credential that is free again; pass the records on.

    One is prompted first. The rest follow when its turn shows work, with a pause between them. Writes a `resume` for
    each. Without `resume:` in the configuration it only says what it would do.
    """
    from fleettools.services.rounds import Rounds

    dry_run = dry_run or ctx.config().resume is None
    rounds = Rounds(
        lambda: _resumer(ctx, state_url, socket_path, socket_name, dry_run), credential, ctx.messages
    )  # fmt: skip
    return _Filter(ctx, rounds).run(files, wait, dry_run)


def _resumer(
    ctx: Context, state_url: str | None, socket_path: str | None, socket_name: str | None, dry_run: bool
) -> "Resumer":
    """The resumer with its doors."""
    import os
    import secrets

    from fleettools.adapters import agentfiles, clock, terminals
    from fleettools.adapters.tmux import Tmux
    from fleettools.services.delivery import again
    from fleettools.services.delivery.panes import socket_of
    from fleettools.services.owner import Ownership
    from fleettools.services.resumer import Doors, Resumer

    store, config, host = ctx.store(state_url), ctx.config(), os.uname().nodename
    owner = Ownership(store, clock.boot(), terminals.started)
    chosen = os.path.realpath(Tmux(socket_path, socket_name).socket) if socket_path or socket_name else None
    panes = again.Doors(
        store, Tmux, terminals.Terminals(), owner, clock, ctx.messages, config,
        lambda profile, agent: agentfiles.of(config, profile, agent),
    )  # fmt: skip

    def ours(server: str) -> bool:
        here = server.partition(":")[0] == host
        return here and chosen in (None, os.path.realpath(socket_of(server)))

    doors = Doors(
        store, owner, store.moment, clock.stamp, lambda member: again.FailedPane(panes, member),
        lambda member: ours(member.server), lambda: f"t-{secrets.token_hex(6)}", ctx.messages,
    )  # fmt: skip
    return Resumer(doors, config, dry_run)


class _Filter:
    """The side that reads and writes; it never waits for tmux or the store."""

    def __init__(self, ctx: Context, rounds: "Rounds") -> None:
        self._ctx, self._rounds = ctx, rounds

    def run(self, files: tuple[str, ...], wait: float, dry_run: bool) -> Exit:
        """Read to the end of the input, then go on while rounds are not over, for `wait` seconds."""
        from fleettools.adapters import clock, signals
        from fleettools.adapters.lines import Input, pump

        source = Input(files, self._ctx.out, self._ctx.messages, TICK, self._rounds.said)
        self._rounds.start()
        try:
            status = pump(source, self._ctx.out, self._ctx.messages, {"ended": self._ended}, strict=self._ctx.strict)
            self._rounds.hurry()
            end = clock.monotonic() + wait
            while self._rounds.left() is None or (self._rounds.left() and not dry_run and clock.monotonic() < end):
                self._flush()
                clock.sleep(END_TICK)
        except signals.Killed:
            self._rounds.stop()
            self._flush()
            raise
        self._rounds.stop()
        self._flush()
        return status

    def _ended(self, raw: bytes) -> "Iterable[bytes]":
        """The end of a period as it came: there may be somebody to prompt."""
        self._rounds.hurry()
        return (raw,)

    def _flush(self) -> None:
        self._ctx.out.take(self._rounds.said())
        self._ctx.out.flush()


if __name__ == "__main__":
    main()
