"""fleet-correlate: count backend errors and exhaustion per credential, and say when they are an incident."""

import math
from typing import Any

import click

from fleettools.cli import Context, command, files, state
from fleettools.errors import Exit


class Seconds(click.FloatRange):
    """A span in seconds; neither "nan" nor "inf" is one."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number of seconds; fails for one that is not finite."""
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return seconds


@command("fleet-correlate")
@files
@state
@click.option("--threshold", metavar="N", type=click.IntRange(min=1), help="Errors that make an incident [default: 2].")
@click.option("--window", metavar="S", type=Seconds(min=0), help="Seconds from the first to the last [default: 60].")
@click.option("--cool-off", metavar="S", type=Seconds(min=0), help="Seconds of the cool-off [default: 60].")
@click.option(
    "--daemon",
    metavar="HOST:SOCKET",
    help="First write again what the fleetd of this host and tmux socket has not printed.",
)
def main(
    ctx: Context,
    files: tuple[str, ...],
    state_url: str | None,
    threshold: int | None,
    window: float | None,
    cool_off: float | None,
    daemon: str | None,
) -> Exit:
    """Count backend errors and exhaustion per credential.

    Passes on what it reads; after the verdict that caused it comes an `incident`, `quarantine` or `unmapped` record,
    and an `ended` record when a cool-off or quarantine is over.
    """
    from fleettools.adapters import clock
    from fleettools.adapters.lines import Input, pump
    from fleettools.adapters.memory import MemoryStore
    from fleettools.services.correlator import TICK, Correlator, rules

    config, store = ctx.config(), ctx.store(state_url, patient=True)
    replay = isinstance(store, MemoryStore)
    numbers = rules(config, threshold, window, cool_off)
    correlator = Correlator(store, config, numbers, ctx.messages, clock, ctx.out.flush, replay)
    for line in correlator.at_start(daemon):
        ctx.out.write(line)
    source = Input(files, ctx.out, ctx.messages, tick=TICK)
    consume, before = {"verdict": correlator.verdict}, correlator.before if replay else None
    status = pump(source, ctx.out, ctx.messages, consume, strict=ctx.strict, on_tick=correlator.due, before=before)
    for line in correlator.at_end():
        ctx.out.write(line)
    ctx.out.flush()
    return status


if __name__ == "__main__":
    main()
