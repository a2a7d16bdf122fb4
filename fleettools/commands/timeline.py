"""fleet-timeline: what happened to each credential over the last hours, as a chart, a picture or JSON."""

import os
import shutil
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, files
from fleettools.errors import Exit

if TYPE_CHECKING:
    from fleettools.policy.story import By, Chart


@command("fleet-timeline")
@click.option(
    "--since", metavar="TIME", help="Begin there: 90m, 6h, 2d before the end, or a time [default: 6h, or all records]."
)
@click.option(
    "--by",
    type=click.Choice(["credential", "profile", "agent", "member"]),
    default="credential",
    metavar="[credential|profile|agent|member]",
    help="What a line of the chart is [default: credential].",
)
@click.option(
    "--width", type=click.IntRange(40, 1000), metavar="COLUMNS", help="How wide it is [default: the terminal]."
)
@click.option("--svg", metavar="FILE", help="Write it as a picture to FILE instead, - for standard output.")
@files
def main(
    ctx: Context,
    since: str | None,
    by: "By",
    width: int | None,
    svg: str | None,
    files: tuple[str, ...],
) -> Exit:
    """What happened over the last hours: turns, failures, cool-offs, quarantines, and who was told.

    Writes a chart, with --json one object. Reads records: from FILE, from standard input when that is a pipe or a
    file, else from fleetd's journal.
    """
    if svg and ctx.json:
        raise click.UsageError("--svg and --json exclude each other")
    chart, status = _read(ctx, since, by, files)
    if ctx.json:
        import msgspec

        from fleettools.policy.story import view

        ctx.out.write(msgspec.json.encode(view(chart)) + b"\n")
    elif svg:
        _picture(ctx, chart, svg)
    else:
        _characters(ctx, chart, width)
    ctx.out.flush()
    return status


def _read(ctx: Context, since: str | None, by: "By", files: tuple[str, ...]) -> "tuple[Chart, Exit]":
    """The story in the files, in standard input or in the journal. A stored stream ends with its last record."""
    from fleettools.adapters import clock, journal
    from fleettools.adapters.lines import tell
    from fleettools.policy.story import Timeline
    from fleettools.services.verbs import timeline as verb

    timeline = Timeline(by, ctx.config().credential_of)
    begin = verb.begin(since)
    ends = [Exit.OK]

    def feed(names: Sequence[str]) -> None:
        ends.append(tell(names, ctx.messages, verb.KINDS, timeline.add, strict=ctx.strict))

    def feed_days(names: Sequence[str]) -> None:
        if names:
            feed(names)
        else:
            ctx.messages.info(
                f"no journal in {journal.folder()} since then; fleetd writes it, or name files with records"
            )

    if files or _piped():
        feed(files)
        return verb.stream(timeline, begin, clock.now_ms()), ends[-1]
    return verb.journal(timeline, begin, clock.now_ms(), journal.days, feed_days), ends[-1]


def _piped() -> bool:
    """Whether standard input is a pipe or a file, so that somebody means it to be read."""
    mode = os.fstat(0).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _picture(ctx: Context, chart: "Chart", file: str) -> None:
    from fleettools.adapters import clock, files
    from fleettools.commands.views import picture

    text = picture.draw(chart, clock.zone()).encode()
    if file == "-":
        ctx.out.write(text)
    else:
        files.replace(file, text)


def _characters(ctx: Context, chart: "Chart", width: int | None) -> None:
    from fleettools.adapters import clock
    from fleettools.commands.views import chart as characters
    from fleettools.commands.views.display import drawn

    columns = width or shutil.get_terminal_size().columns
    ctx.out.write(drawn(characters.draw(chart, columns, clock.zone()), columns))


if __name__ == "__main__":
    main()
