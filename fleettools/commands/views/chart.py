"""The story of a fleet as a chart of characters, from 40 columns on; what does not print in a name is escaped."""

from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from itertools import groupby

from rich.text import Text

from fleettools.adapters.streams import printable
from fleettools.policy import story
from fleettools.policy.story import Chart, Lane, Period

NARROWEST = 40
GUTTER = 6  # columns for what a row shows
HEIGHTS = "▁▂▃▄▅▆▇█"
# Per outcome: how it is drawn, in which colour, and what it is called; the later one wins where two share a column.
FAILURES = {
    "failed": ("○", "yellow", "failed"),
    "backend_error": ("×", "red", "backend error"),
    "exhausted": ("◆", "magenta", "out of quota"),
}
PERIODS = {"incident": ("▒", "red", "cooling off"), "quarantine": ("█", "magenta", "quarantined")}
TOLD, UNTOLD = ("▲", "cyan", "told"), ("?", "red", "not told")
STEPS = (
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    10_800,
    21_600,
    43_200,
    86_400,
    172_800,
    604_800,
)
_UNBROKEN = "\u00a0"  # a blank at which no line is broken
LATEST = 12  # lines of the list below


def draw(chart: Chart, width: int, zone: tzinfo) -> list[Text]:
    """The chart line by line, none wider than `width`."""
    width = max(NARROWEST, width)
    lines = [*_wrapped(heading(chart, zone), width, style="bold"), Text("")]
    used: set[str] = set()
    most = max((max(_heights(chart, lane, width - GUTTER)) for lane in chart.lanes), default=0)
    for lane in chart.lanes:
        lines += _lane(chart, lane, width, most, used)
    if not chart.lanes:
        return [*lines, Text("no turn ended, and nothing happened", style="dim")]
    lines += _axis(chart, width, zone)
    marks = (*FAILURES.values(), *PERIODS.values(), TOLD, UNTOLD)
    legend = [f"{glyph} {word}".replace(" ", _UNBROKEN) for glyph, _, word in marks if glyph in used]
    lines += (Text(line.plain.replace(_UNBROKEN, " "), "dim") for line in _wrapped("  ".join(legend), width))
    return [*lines, *_list(chart, width, zone)]


def heading(chart: Chart, zone: tzinfo) -> str:
    """From when to when, and what a lane is when it is no credential."""
    since, until = moment(chart.since_ms, zone), moment(chart.until_ms, zone)
    clock = "%H:%M:%S" if chart.until_ms - chart.since_ms < 600_000 else "%H:%M"
    last = until.strftime(clock if since.date() == until.date() else f"%Y-%m-%d {clock}")
    by = "" if chart.by == "credential" else f", by {chart.by}"
    return f"{since:%Y-%m-%d} {since.strftime(clock)} to {last} {until.tzname()}{by}"


def moment(ms: int, zone: tzinfo) -> datetime:
    """A time as a person there reads it."""
    return datetime.fromtimestamp(ms / 1000, zone)


def _column(chart: Chart, ms: int, columns: int) -> int:
    span = max(1, chart.until_ms - chart.since_ms)
    return min(columns - 1, max(0, (ms - chart.since_ms) * columns // span))


def _heights(chart: Chart, lane: Lane, columns: int) -> list[int]:
    found = [0] * columns
    for turn in lane.turns:
        found[_column(chart, turn.at_ms, columns)] += 1
    return found


def _lane(chart: Chart, lane: Lane, width: int, most: int, used: set[str]) -> Iterator[Text]:
    """A lane: its name and figures, then a row for each thing that occurred in it."""
    columns = width - GUTTER
    yield from _named(chart, lane, width)
    heights = _heights(chart, lane, columns)
    if any(heights):
        bars = ((HEIGHTS[(n * len(HEIGHTS) - 1) // most], "green") if n else (" ", "") for n in heights)
        yield _row("turns", bars)
    failures = [turn for turn in lane.turns if turn.outcome in FAILURES]
    failed = [(_column(chart, turn.at_ms, columns), FAILURES[turn.outcome]) for turn in failures]
    if marks := _marks(failed, columns, used, order=list(FAILURES.values())):
        yield _row("fail", marks)
    if marks := _marks(_spans(chart, lane, columns), columns, used, order=list(PERIODS.values())):
        yield _row("out", marks)
    told = [
        (_column(chart, told.at_ms, columns), TOLD if told.outcome == "submitted" else UNTOLD)
        for period in lane.periods
        for told in period.told
    ]
    if marks := _marks(told, columns, used, order=[TOLD, UNTOLD]):
        yield _row("told", marks)


def _named(chart: Chart, lane: Lane, width: int) -> Iterator[Text]:
    name, said = printable(lane.name), ", ".join(figures(chart, lane))
    if len(name) + 2 + len(said) <= width:
        yield Text.assemble((name, "bold"), "  ", said)
    else:
        yield Text(name[: width - 1] + "…" if len(name) > width else name, style="bold")
        yield from _wrapped(said, width)


def figures(chart: Chart, lane: Lane) -> list[str]:
    """How many turns ended, how many in which failure, and for how long the lane was out."""
    found = story.counts(lane)
    total = sum(found.values())
    parts = [f"{total} turn{'s' if total > 1 else ''}"] if found else []
    for outcome, (_, _, word) in FAILURES.items():
        if count := found.get(outcome):
            parts.append(f"{count} {word}s" if count > 1 and word.endswith("error") else f"{count} {word}")
    out = story.out_ms(lane, chart.since_ms, chart.until_ms)
    return [*parts, f"out for {_span(out)}"] if out else parts


def _spans(chart: Chart, lane: Lane, columns: int) -> Iterator[tuple[int, tuple[str, str, str]]]:
    for period in lane.periods:
        first, last = _column(chart, period.since_ms, columns), _column(chart, period.until_ms, columns)
        for column in range(first, last + 1):
            yield column, PERIODS[period.kind]


def _marks(
    marks: Iterable[tuple[int, tuple[str, str, str]]],
    columns: int,
    used: set[str],
    order: list[tuple[str, str, str]],
) -> list[tuple[str, str]]:
    """A row of marks, the later one in `order` in front; [] when there is none."""
    row: list[tuple[str, str, str] | None] = [None] * columns
    for column, mark in marks:
        there = row[column]
        if there is None or order.index(mark) > order.index(there):
            row[column] = mark
    if not any(row):
        return []
    used |= {mark[0] for mark in row if mark}
    return [(mark[0], mark[1]) if mark else (" ", "") for mark in row]


def _row(name: str, cells: Iterable[tuple[str, str]]) -> Text:
    made = Text(f"{name:>{GUTTER - 1}} ", style="dim", no_wrap=True)
    for style, run in groupby(cells, key=lambda cell: cell[1]):
        made.append("".join(glyph for glyph, _ in run), style=style or "none")
    return made


def _axis(chart: Chart, width: int, zone: tzinfo) -> Iterator[Text]:
    """A rule with a tick at round times, and the times below it."""
    columns = width - GUTTER
    rule, below, free = ["─"] * columns, [" "] * columns, 0
    for ms, form in ticks(chart, zone, columns // 9):
        column = _column(chart, ms, columns)
        rule[column] = "┬"
        text = moment(ms, zone).strftime(form)
        start = min(column, columns - len(text))
        if start >= free:
            below[start : start + len(text)] = text
            free = start + len(text) + 1
    yield Text(" " * GUTTER + "".join(rule), style="dim")
    yield Text((" " * GUTTER + "".join(below)).rstrip(), style="dim")


def ticks(chart: Chart, zone: tzinfo, most: int) -> Iterator[tuple[int, str]]:
    """Round times of that zone, at most about so many, each with how it is written."""
    span = max(1, chart.until_ms - chart.since_ms) / 1000
    step = next((step for step in STEPS if span / step <= most), STEPS[-1])
    form = "%H:%M:%S" if step < 60 else "%H:%M" if step < 43_200 else "%b %d"
    offset = moment(chart.since_ms, zone).utcoffset()
    shift = int(offset.total_seconds()) if offset else 0
    first = -((-chart.since_ms // 1000 - shift) // step) * step - shift
    for second in range(first, chart.until_ms // 1000 + 1, step):
        if second * 1000 >= chart.since_ms:
            yield second * 1000, form


def _list(chart: Chart, width: int, zone: tzinfo) -> Iterator[Text]:
    """What happened, the latest last."""
    told = list(entries(chart, zone))
    if told:
        yield Text("")
    for text, style in told:
        yield from _wrapped(printable(text), width, style=style, indent="  ")


def entries(chart: Chart, zone: tzinfo) -> Iterator[tuple[str, str]]:
    """The latest periods, warnings and lone failures, each as a sentence with its time, and its colour."""
    told: dict[tuple[int, str], tuple[str, str]] = {}
    for lane in chart.lanes:
        for period in lane.periods:
            told[period.since_ms, period.id] = (_sentence(chart, period, zone), PERIODS[period.kind][1])
        for warning in lane.warnings:
            told[warning.at_ms, warning.text] = (f"{lane.name}: {warning.text}", "yellow")
        for turn in story.lone(lane):
            said = f"{turn.member or lane.name} {FAILURES[turn.outcome][2]}"
            told[turn.at_ms, said] = (f"{said}: {turn.reason}" if turn.reason else said, FAILURES[turn.outcome][1])
    if len(told) > LATEST:
        yield f"{len(told) - LATEST} earlier: see --json", "dim"
    form = "%H:%M:%S" if chart.until_ms - chart.since_ms < 86_400_000 else "%b %d %H:%M"
    for (ms, _), (text, style) in sorted(told.items())[-LATEST:]:
        yield f"{moment(ms, zone).strftime(form)} {text}", style


def _sentence(chart: Chart, period: Period, zone: tzinfo) -> str:
    """What a period was or is, who failed, how it ended and who was told."""
    if period.until_ms > chart.until_ms:
        left = period.until_ms - chart.until_ms
        form = "%H:%M:%S" if left < 600_000 else "%H:%M" if left < 64_800_000 else "%b %d %H:%M"
        what = "cools off" if period.kind == "incident" else "is in quarantine"
        text = f"{period.credential} {what} until {moment(period.until_ms, zone).strftime(form)}"
    else:
        what = "cooled off" if period.kind == "incident" else "was in quarantine"
        text = f"{period.credential} {what} for {_span(period.until_ms - period.since_ms)}"
    again = ", again" if period.again else ""
    ended = {"released": ", released by a person", "worked": ", ended by a turn that worked"}.get(period.why or "", "")
    text += f"{ended}{again}"
    if period.members:
        text += f"; failed: {', '.join(period.members)}"
    reached = [each.to for each in period.told if each.outcome == "submitted"]
    missed = [f"{each.to} ({each.outcome})" for each in period.told if each.outcome != "submitted"]
    text += f"; told: {', '.join(reached)}" if reached else ""
    text += f"; not told: {', '.join(missed)}" if missed else ""
    return text if period.told else f"{text}; nobody was told"


def _span(ms: int) -> str:
    """A length in its two greatest units: `45 s`, `2 min`, `1 h 30 min`, `2 d 4 h`."""
    seconds = round(ms / 1000)
    if seconds < 60:
        return f"{seconds} s"
    for size, unit, part, smaller in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return ""


def _wrapped(text: str, width: int, style: str = "", indent: str = "") -> Iterator[Text]:
    import textwrap

    for line in textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False):
        yield Text(line, style=style)
