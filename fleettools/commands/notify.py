"""fleet-notify: tell each affected lead once, in its pane, what became of its members and their credentials."""

from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, files, state, tmux_server
from fleettools.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fleettools import records
    from fleettools.adapters.tmux import Tmux
    from fleettools.services.delivery.ways import To, Way
    from fleettools.services.delivery.worker import Worker
    from fleettools.services.ports import Answer
    from fleettools.services.store import Store

TICK = 0.25  # seconds between two looks for what the worker has to say
END_TICK = 0.1  # the same, after the end of the input


@command("fleet-notify")
@click.option("--follow", is_flag=True, help="Go on after the end of the input, until stopped.")
@click.option("--wait", type=click.FloatRange(min=0), default=30.0, metavar="SECONDS", show_default=True,
              help="How long to go on for what is pending at the end of the input.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print what would be typed, where, and why (not) now; change nothing.")
@click.option("--pending", is_flag=True, help="List what stands in the outbox, and read no input.")
@click.option("--drop", metavar="ID", help="With --pending: end this item.")
@click.option("--exec", "exec_command", metavar="CMD", help="Hand each notice as JSON to this command instead.")
@state
@tmux_server
@files
def main(
    ctx: Context, files: tuple[str, ...], follow: bool, wait: float, dry_run: bool, pending: bool, drop: str | None,
    exec_command: str | None, state_url: str | None, socket_path: str | None, socket_name: str | None,
) -> Exit:  # fmt: skip
    """Tell each lead that a record concerns, in its pane and once, and people by `alerts:`; pass the records on.

    Reads incident, quarantine, unmapped, ended, nearly and verdict records, and looks every second for finished tickets
    that were not collected. Writes a `delivery` for each attempt.
    """
    if drop is not None and not pending:
        raise click.UsageError("--drop goes with --pending")
    from fleettools.adapters.tmux import Tmux

    chosen = Tmux(socket_path, socket_name) if socket_path or socket_name else None
    if pending:
        return _drop(ctx.store(state_url), drop) if drop is not None else _pending(ctx, ctx.store(state_url, view=True))
    worker = _worker(ctx, state_url, chosen, exec_command, follow, dry_run)
    return _Filter(ctx, worker).run(files, follow, wait, dry_run)


def _worker(
    ctx: Context, state_url: str | None, chosen: "Tmux | None", exec_command: str | None, follow: bool, dry_run: bool
) -> "Worker":
    """The worker with its doors and ways."""
    import os

    from fleettools.adapters import clock, terminals
    from fleettools.policy.notices.news import Audience
    from fleettools.services.delivery.outbox import Rules
    from fleettools.services.delivery.worker import Doors, Plan, Worker

    config, host = ctx.config(), os.uname().nodename
    audiences = [Audience(alert.name, frozenset(alert.on)) for alert in config.channels]
    plan = Plan(Rules(config.notify.attempts, config.notify.reminders, config), audiences, host, follow, dry_run)
    ways = _ways(ctx, chosen, exec_command, host)
    return Worker(Doors(lambda: ctx.store(state_url, patient=True), clock, ctx.messages, terminals.started, ways), plan)


def _ways(ctx: Context, chosen: "Tmux | None", command: str | None, host: str) -> "Callable[[To], Way | None]":
    """Who is told how: leads of this host by --exec or in their panes, people by the alerts that are configured."""
    import os

    from fleettools.policy.notices.outbox import ALERT
    from fleettools.services.delivery.panes import socket_of

    alerts = _alerts(ctx)
    leads = _leads(ctx, command)
    only = os.path.realpath(chosen.socket) if chosen else None

    def way_of(to: "To") -> "Way | None":
        if to.server.partition(":")[0] != host:
            return None
        if to.target.startswith(ALERT):
            return alerts.get(to.target)
        return leads if only in (None, os.path.realpath(socket_of(to.server))) else None

    return way_of


def _leads(ctx: Context, command: str | None) -> "Way":
    if command:
        from fleettools.adapters import runner
        from fleettools.services.delivery.command import Command

        return Command(command, runner.run)
    from fleettools.adapters import agentfiles, clock
    from fleettools.adapters.terminals import Terminals
    from fleettools.adapters.tmux import Tmux, is_server
    from fleettools.services.delivery.panes import Doors, Panes

    config = ctx.config()
    doors = Doors(
        tmux=Tmux, is_tmux=is_server, terminals=Terminals(), clock=clock, pause=clock.hold,
        look=lambda profile, agent: agentfiles.of(config, profile, agent),
        agents=lambda: agentfiles.names(config.agents),
    )  # fmt: skip
    return Panes(config, doors)


def _alerts(ctx: Context) -> "Mapping[str, Way]":
    """The configured alerts by their target in the outbox."""
    from fleettools.policy.notices.outbox import ALERT
    from fleettools.services.delivery.alert import Alert, by_command, by_webhook

    def run(command: str, given: bytes, env: "Mapping[str, str]") -> "Answer":
        from fleettools.adapters import runner

        return runner.run(command, given, env)

    def post(url: str, body: bytes, headers: "Mapping[str, str]") -> "Answer":
        from fleettools.adapters import web  # late: TLS takes a third of a start

        return web.post(url, body, headers)

    return {
        f"{ALERT}{rule.name}": Alert(
            by_webhook(rule.webhook, rule.shape, post) if rule.webhook else by_command(rule.exec or "", run)
        )
        for rule in ctx.config().channels
    }


class _Filter:
    """The side that reads and writes; it never waits for tmux or the store."""

    def __init__(self, ctx: Context, worker: "Worker") -> None:
        self._ctx, self._worker = ctx, worker

    def run(self, files: tuple[str, ...], follow: bool, wait: float, dry_run: bool) -> Exit:
        """Read to the end of the input, then go on while items wait: for `wait` seconds, or until a signal."""
        from fleettools import records
        from fleettools.adapters import signals
        from fleettools.adapters.lines import Input, pump

        source = Input(files, self._ctx.out, self._ctx.messages, TICK, self._worker.said)
        consume = {kind: self._consumer(cls) for kind, cls in records.TOLD.items()}
        self._worker.start()
        try:
            status = pump(source, self._ctx.out, self._ctx.messages, consume, strict=self._ctx.strict)
            if status == Exit.BAD_INPUT and self._ctx.strict:
                return status
            left = self._work_on(follow, wait, dry_run)
        except signals.Killed:
            self._worker.stop()
            self._flush()
            raise
        self._worker.stop()
        self._flush()
        self._worker.check()
        return status if status != Exit.OK else Exit.NOT_NOW if left and not dry_run else Exit.OK

    def _consumer(self, kind: "type[records.Record]") -> "Callable[[bytes], Iterable[bytes]]":
        from fleettools import records

        def consume(raw: bytes) -> "Iterable[bytes]":
            self._worker.accept(records.decode(raw, kind))
            return (raw,)

        return consume

    def _work_on(self, follow: bool, wait: float, dry_run: bool) -> int:
        """Go on after the end of the input; the number of items that are left."""
        from fleettools.adapters import clock

        self._worker.hurry()
        end = clock.monotonic() + wait
        while True:
            self._flush()
            left, over = self._worker.left(), clock.monotonic() >= end
            known = left is not None or self._worker.failing()
            if not follow and (left == 0 or (known and (dry_run or over))):
                return left or 0
            clock.sleep(END_TICK)

    def _flush(self) -> None:
        self._ctx.out.take(self._worker.said())
        self._ctx.out.flush()


def _pending(ctx: Context, store: "Store") -> Exit:
    """List what is to be told, and what was given up without proof."""
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.policy.notices import outbox
    from fleettools.services.store import read_all

    for _, item in read_all(store, outbox.OUTBOX, outbox.Item):
        if item.state not in ("confirmed", "expired"):
            notice = records.Notice(
                **clock.stamp(), id=item.id, server=item.server, target=item.target, kind=item.about.kind,
                state=item.state, reason=item.reason or "not tried yet", attempts=item.attempts,
            )  # fmt: skip
            ctx.out.write(records.encode(notice))
    ctx.out.flush()
    return Exit.OK


def _drop(store: "Store", name: str) -> Exit:
    """End an item for every lead; NO when there is none that could be ended."""
    from fleettools.errors import Unknown
    from fleettools.policy.notices import outbox
    from fleettools.services.store import change, read_all

    found = [key for key, item in read_all(store, outbox.OUTBOX, outbox.Item) if item.id == name]
    now = store.now_ms()
    ended = [change(store, key, outbox.Item, lambda item: outbox.drop(item, "dropped", now)) for key in found]
    if any(ended):
        return Exit.OK
    raise Unknown(f"{name} is not pending", "fleet-notify --pending lists what is")


if __name__ == "__main__":
    main()
