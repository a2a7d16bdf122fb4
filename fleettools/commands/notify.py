"""fleet-notify: tell each affected lead once, in its pane, what became of its members and their credentials."""

from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, files, state, tmux_server
from fleettools.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fleettools import records
    from fleettools.adapters.lines import Batch
    from fleettools.services.delivery.worker import Worker
    from fleettools.services.store import Store

TICK = 0.25  # seconds between two looks for what the worker has to say
END_TICK = 0.1  # the same, after the end of the input


@command("fleet-notify", short_help="Tell the leads, in their panes.")
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
    """Tell each lead that a record concerns, in its pane and once, and pass the records on.

    Reads incident, quarantine, unmapped and verdict records, and looks every second for finished tickets that were
    not collected. Writes a `delivery` for each attempt.
    """
    if drop is not None and not pending:
        raise click.UsageError("--drop goes with --pending")
    from fleettools.adapters.tmux import Tmux

    chosen = Tmux(socket_path, socket_name) if socket_path or socket_name else None
    if pending:
        return _drop(ctx.store(state_url), drop) if drop is not None else _pending(ctx, ctx.store(state_url, view=True))
    from fleettools.services.delivery.worker import Worker

    worker = Worker(ctx, state_url, chosen, exec_command, dry_run, patient=follow)
    return _Filter(ctx, worker).run(files, follow, wait, dry_run)


class _Filter:
    """The side that reads and writes; it never waits for tmux or the store."""

    def __init__(self, ctx: Context, worker: "Worker") -> None:
        self._ctx, self._worker = ctx, worker

    def run(self, files: tuple[str, ...], follow: bool, wait: float, dry_run: bool) -> Exit:
        from fleettools import records
        from fleettools.adapters import signals
        from fleettools.adapters.lines import Input, pump

        said = self._worker.said

        class Spoken(Input):
            def __iter__(self) -> "Iterator[Batch | None]":
                for batch in super().__iter__():
                    for data in said():
                        self._out.write(data)
                    yield batch

        source = Spoken(files, self._ctx.out, self._ctx.messages, TICK)
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
        for data in self._worker.said():
            self._ctx.out.write(data)
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
                **clock.stamp(), id=item.id, server=item.server, target=item.target, kind=item.facts.kind,
                state=item.state, reason=item.reason or "not tried yet", attempts=item.attempts,
            )  # fmt: skip
            ctx.out.write(records.encode(notice))
    ctx.out.flush()
    return Exit.OK


def _drop(store: "Store", name: str) -> Exit:
    """End an item for every lead; NO when there is none that could be ended."""
    from fleettools.errors import FleetError
    from fleettools.policy.notices import outbox
    from fleettools.services.store import change, read_all

    found = [key for key, item in read_all(store, outbox.OUTBOX, outbox.Item) if item.id == name]
    now = store.now_ms()
    ended = [change(store, key, outbox.Item, lambda item: outbox.drop(item, "dropped", now)) for key in found]
    if any(ended):
        return Exit.OK
    error = FleetError(f"{name} is not pending", "fleet-notify --pending lists what is")
    error.exit = Exit.NO
    raise error


if __name__ == "__main__":
    main()
