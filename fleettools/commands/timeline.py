"""fleet-timeline: what happened to each credential over the last hours, as a chart, a picture or JSON."""

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, files
from fleettools.errors import Exit, UsageError

if TYPE_CHECKING:
    from fleettools.policy.story import By, Chart, Timeline

SPAN = 6 * 3_600_000  # how much of the journal is shown, unless asked
UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


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
    from fleettools.policy.story import Timeline

    timeline = Timeline(by, ctx.config().credential_of)
    begin = _begin(since)
    if files or _piped():
        status = _feed(ctx, files, timeline)
        last = clock.now_ms() if timeline.last_ms is None else timeline.last_ms
        return timeline.chart(last, begin(last) if begin else None), status
    now = clock.now_ms()
    first = begin(now) if begin else now - SPAN
    days = journal.days(first, now)
    if not days:
        ctx.messages.info(f"no journal in {journal.folder()} since then; fleetd writes it, or name files with records")
    status = _feed(ctx, days, timeline) if days else Exit.OK
    # A journal that has only begun is drawn from its beginning.
    began = first if begin or timeline.first_ms is None else max(first, timeline.first_ms)
    return timeline.chart(now, began), status


def _piped() -> bool:
    """Whether standard input is a pipe or a file, so that somebody means it to be read."""
    mode = os.fstat(0).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _begin(since: str | None) -> Callable[[int], int] | None:
    """From the end of the story to its beginning, both in ms; raises UsageError."""
    from fleettools import records
    from fleettools.errors import BadInput

    if since is None:
        return None
    if span := re.fullmatch(r"(\d{1,6})([smhdw])", since):
        length = int(span[1]) * UNITS[span[2]]
        return lambda end: max(0, end - length)
    try:
        moment = records.to_ms(since)
    except BadInput:
        raise UsageError(f"--since {since} is no time", "write 90m, 6h, 2d, or 2026-01-31T12:00:00Z") from None
    return lambda _: moment


def _feed(ctx: Context, files: Iterable[str], timeline: "Timeline") -> Exit:
    """Read everything; a line that is bad is said, and the rest goes on."""
    from fleettools import records
    from fleettools.adapters.lines import Input, pump
    from fleettools.adapters.streams import Output

    def handler(cls: type[records.Record]) -> Callable[[bytes], Iterable[bytes]]:
        def take(line: bytes) -> Iterable[bytes]:
            timeline.add(records.decode(line, cls))
            return ()

        return take

    told = (records.Verdict, records.Incident, records.Quarantine, records.Ended, records.Delivery)
    kinds = {str(cls.__struct_config__.tag): handler(cls) for cls in (*told, records.Nearly, records.Unmapped)}
    with open(os.devnull, "wb") as file:  # what has no part in the story goes nowhere
        nowhere = Output(file.fileno())
        return pump(Input(files, nowhere, ctx.messages), nowhere, ctx.messages, kinds, strict=ctx.strict)


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
