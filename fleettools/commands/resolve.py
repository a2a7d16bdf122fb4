"""fleet-resolve: owns the turns; settles tickets by verdicts and marks members."""

from fleettools.cli import Context, command, files, state
from fleettools.errors import Exit


@command("fleet-resolve")
@state
@files
def main(ctx: Context, state_url: str | None, files: tuple[str, ...]) -> Exit:
    """Settle tickets by verdicts and keep the roster.

    Reads verdict and tmux records, writes them again: a verdict with `resolved`, the turn's `event` and its `ticket`.
    """
    from fleettools.adapters.lines import Input, pump
    from fleettools.services.resolver import Resolver

    resolver = Resolver(ctx.store(state_url, patient=True), ctx.config(), ctx.messages)
    consume = {"verdict": resolver.verdict, "tmux": resolver.tmux}
    return pump(Input(files, ctx.out, ctx.messages), ctx.out, ctx.messages, consume, strict=ctx.strict)


if __name__ == "__main__":
    main()
