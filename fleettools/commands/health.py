"""fleet-health: one check of the fleet for cron and monitoring, in one line."""

from typing import TYPE_CHECKING, Any

import click

from fleettools.cli import Command, Context, command, complete, state, tmux_server
from fleettools.errors import Exit, FleetError

if TYPE_CHECKING:
    from fleettools.adapters.tmux import Tmux
    from fleettools.policy.checkup import Health, Limits

SECONDS = click.FloatRange(min=1)


class Misused(click.UsageError):
    """The command line does not fit, so the check can tell nothing."""

    exit_code = Exit.UNKNOWN


class Check(Command):
    """A command that a monitor calls: for that, a wrong command line is no critical fault of what is watched."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """As click has it."""
        try:
            return super().make_context(*args, **extra)
        except click.UsageError as error:
            raise Misused(error.format_message(), error.ctx) from None


@command("fleet-health", cls=Check)
@click.option("--metrics", metavar="FILE", shell_complete=complete("files"),
              help="Write the figures to FILE as OpenMetrics, too.")  # fmt: skip
@click.option("--stuck", type=SECONDS, default=7200, metavar="SECONDS", show_default=True,
              help="A member at work for so long is stuck.")  # fmt: skip
@click.option("--blocked", type=SECONDS, default=900, metavar="SECONDS", show_default=True,
              help="A question without an answer for so long is a fault.")  # fmt: skip
@state
@tmux_server
def main(
    ctx: Context, metrics: str | None, stuck: float, blocked: float,
    state_url: str | None, socket_path: str | None, socket_name: str | None,
) -> int:  # fmt: skip
    """Check the fleet: credentials, members, notices and alerts, fleetd itself. One line, and the status of Nagios.

    With -q nothing is printed while all is well.
    """
    import msgspec

    from fleettools.adapters import files
    from fleettools.adapters.streams import printable
    from fleettools.adapters.tmux import Tmux
    from fleettools.policy import checkup

    try:
        found = _checked(ctx, state_url, Tmux(socket_path, socket_name), checkup.Limits(stuck, blocked))
        if metrics:
            files.replace(metrics, checkup.metrics(found).encode())
        line = found.line()
    except FleetError as error:
        found = checkup.Health((checkup.Finding(checkup.Grade.UNKNOWN, str(error)),), ())
        line = f"FLEET UNKNOWN - {error}"
    if found.grade or ctx.messages.level >= 0:
        ctx.out.write(msgspec.json.encode(found.plain()) + b"\n" if ctx.json else f"{printable(line)}\n".encode())
        ctx.out.flush()
    return found.grade


def _checked(ctx: Context, state_url: str | None, tmux: "Tmux", limits: "Limits") -> "Health":
    """Gather what the check looks at."""
    from fleettools.errors import Unavailable
    from fleettools.policy import checkup, views
    from fleettools.policy.heartbeat import DaemonState, daemon_key
    from fleettools.policy.notices.outbox import OUTBOX
    from fleettools.services import fleet
    from fleettools.services.store import read, read_all

    config, store = ctx.config(), ctx.store(state_url)
    known, members = fleet.situation(store, config), fleet.members(store)
    view = views.fleet_view(config, known, members, released=False, coverage="")
    out = views.profiles_view(config, known)
    told = [item for _, item in read_all(store, OUTBOX, checkup.Told)]
    daemon = read(store, daemon_key(f"{tmux.host}:{tmux.socket}"), DaemonState)
    try:
        tmux.server()
        silent = ""
    except Unavailable as error:
        silent = str(error)
    return checkup.check(view, out, told, daemon, silent, known.now.ms, limits)


if __name__ == "__main__":
    main()
