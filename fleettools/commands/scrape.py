"""fleet-scrape: look at panes, once or until stopped, and write a `pane` record for each that changed."""

from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, complete, state, tmux_server

if TYPE_CHECKING:
    from fleettools.services.sessionlogs import SessionLogs
    from fleettools.services.sweeper import Sweeper


@command("fleet-scrape")
@click.option("-t", "targets", multiple=True, metavar="%ID", shell_complete=complete("panes"),
              help="Only this pane; may be repeated.")  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="All panes, not only members and leads.")
@click.option("--follow", is_flag=True, help="Go on until stopped; write a pane when it changes.")
@click.option("--interval", type=click.FloatRange(min=0.05), default=1.0, metavar="SECONDS", show_default=True,
              help="Time between two sweeps with --follow.")  # fmt: skip
@click.option("--history", type=click.IntRange(min=0), default=0, metavar="N", help="N lines above the screen, too.")
@state
@tmux_server
def main(
    ctx: Context, targets: tuple[str, ...], everything: bool, follow: bool, interval: float, history: int,
    state_url: str | None, socket_path: str | None, socket_name: str | None,
) -> None:  # fmt: skip
    """Look at the panes of a tmux server and write a `pane` record for each: members and leads, if not told otherwise.

    Members are panes with the user option @fleet_profile, or that a `panes:` rule of the configuration matches.
    """
    from fleettools import records
    from fleettools.adapters import clock, signals
    from fleettools.adapters.tmux import Tmux, is_server
    from fleettools.errors import Unavailable
    from fleettools.services.sweeper import Doors, Scope, Sweeper

    _check(targets)
    tmux = Tmux(socket_path, socket_name)
    doors = Doors(
        tmux, clock, ctx.messages, lambda: ctx.store(state_url, view=True), is_server, ctx.finder(), ctx.namer(),
        lambda: _logs(ctx),
    )  # fmt: skip
    sweeper = Sweeper(doors, ctx.config(), Scope(targets, everything, history))
    if not follow:
        try:
            with signals.waiting():
                found = list(sweeper.sweep())
        except Unavailable:
            for ended in sweeper.ended():
                ctx.out.write(records.encode(ended))
            ctx.out.flush()
            raise
        for record in found:
            ctx.out.write(records.encode(record))
        ctx.out.flush()
        return
    _follow(ctx, sweeper, interval)


def _logs(ctx: Context) -> "SessionLogs":
    """What agents write of their own sessions."""
    import os

    from fleettools.adapters import agentfiles, sessionlogs
    from fleettools.adapters.terminals import Terminals
    from fleettools.services.sessionlogs import SessionLogs

    folder = ctx.config().agents
    return SessionLogs(sessionlogs, Terminals(), lambda name: agentfiles.load(name, folder), os.path.expanduser("~"))


def _check(targets: tuple[str, ...]) -> None:
    import re

    for target in targets:
        if not re.fullmatch(r"%[0-9]{1,9}", target):
            raise click.UsageError(f"-t {target} is no pane id (they look like %12)")


def _follow(ctx: Context, sweeper: "Sweeper", interval: float) -> None:
    from fleettools import records
    from fleettools.adapters import clock, signals

    due = clock.monotonic()
    while True:
        with signals.waiting():
            found = list(sweeper.follow(clock.monotonic()))
        for record in found:
            ctx.out.write(records.encode(record))
        ctx.out.flush()
        # After a pause the missed sweeps are not made up for.
        due = max(due + interval, clock.monotonic())
        _wait_for_tick(due - clock.monotonic())


def _wait_for_tick(seconds: float) -> None:
    """Wait; ends the command at once when its reader is gone, even if there is nothing to write."""
    import select
    import signal

    from fleettools.adapters import signals

    poll = select.poll()
    poll.register(1, 0)
    with signals.waiting():
        if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(max(0.0, seconds) * 1000)):
            raise signals.Killed(signal.SIGPIPE)


if __name__ == "__main__":
    main()
