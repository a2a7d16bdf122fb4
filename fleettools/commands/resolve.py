"""fleet-resolve: owns the turns; settles tickets by verdicts and marks members."""

from typing import TYPE_CHECKING

from fleettools.cli import Context, command, files, state
from fleettools.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Iterable

TICK = 0.25  # seconds between two looks for what agents have posted: a question is told within a second


@command("fleet-resolve")
@state
@files
def main(ctx: Context, state_url: str | None, files: tuple[str, ...]) -> Exit:
    """Settle tickets by verdicts and keep the roster.

    Reads verdict, tmux and signal records, writes them again: a verdict with `resolved`, the turn's `event` and its
    `ticket`. After a signal, of the stream or posted by an agent's hook, comes the verdict that it makes.
    """
    import os

    from fleettools.adapters.lines import Input, pump
    from fleettools.services.resolver import Resolver

    store = ctx.store(state_url, patient=True)
    resolver = Resolver(store, ctx.config(), ctx.messages, os.uname().nodename, ctx.out.flush)
    consume = {"verdict": resolver.verdict, "tmux": resolver.tmux, "signal": resolver.signal}
    source = Input(files, ctx.out, ctx.messages, tick=TICK)
    _write(ctx, resolver.posted())
    status = pump(source, ctx.out, ctx.messages, consume, strict=ctx.strict, on_tick=resolver.posted)
    _write(ctx, resolver.posted())
    _write(ctx, resolver.alone())
    return status


def _write(ctx: Context, lines: "Iterable[bytes]") -> None:
    for line in lines:
        ctx.out.write(line)
    ctx.out.flush()


if __name__ == "__main__":
    main()
