"""The story of a fleet as an SVG picture: one file without scripts or fonts of its own, light and dark.

Names are hostile: they are escaped for XML, and what XML cannot hold is escaped as on a terminal.
"""

import textwrap
from collections.abc import Iterator
from datetime import tzinfo
from xml.sax.saxutils import escape, quoteattr

from fleettools.adapters.streams import printable
from fleettools.commands.views.chart import FAILURES, PERIODS, entries, figures, heading, moment, ticks
from fleettools.policy.story import Chart, Lane

WIDTH, LEFT, RIGHT, TOP = 960, 206, 24, 64
LANE, BARS, MARKS = 72, 26, 46  # height of a lane; where its bars stand, and its marks, from its top
BINS = 120
LONGEST = 140  # characters of a sentence on one line
ROWS, ROW = 4, 32  # lines of figures below a name; how many characters stand beside the lane
CLASSES = {"failed": "f", "backend_error": "e", "exhausted": "x", "incident": "c", "quarantine": "q"}
STYLE = """
text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #24292f; }
.bg { fill: #ffffff; stroke: #d0d7de; } .t { font-size: 16px; font-weight: 600; } .n { font-weight: 600; }
.s { font-size: 11px; fill: #57606a; } .g { stroke: #d0d7de; } .b { fill: #2a9d8f; }
.f { fill: #bf8700; } .e { fill: #cf222e; } .x { fill: #8250df; } .o { fill: #0969da; } .u { fill: #6e7781; }
.c { fill: #cf222e; fill-opacity: .22; } .q { fill: #8250df; fill-opacity: .22; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .bg { fill: #0d1117; stroke: #30363d; } .s { fill: #8d96a0; } .g { stroke: #30363d; }
.b { fill: #3fb6a8; } .f { fill: #d29922; } .e { fill: #f85149; } .x { fill: #a371f7; } .o { fill: #58a6ff; }
.c { fill: #f85149; fill-opacity: .3; } .q { fill: #a371f7; fill-opacity: .3; }
}
"""


def draw(chart: Chart, zone: tzinfo) -> str:
    """The whole picture."""
    told = [line for text, _ in entries(chart, zone) for line in textwrap.wrap(printable(text), LONGEST)]
    bottom = TOP + LANE * max(1, len(chart.lanes))
    height = bottom + 66 + 20 * len(told)
    title = heading(chart, zone)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        f' role="img" aria-label={quoteattr(title)}>',
        f"<title>{_text(title)}</title><style>{STYLE}</style>",
        f'<rect class="bg" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="t" x="24" y="32">{_text(title)}</text>',
        *_axis(chart, zone, bottom),
    ]
    most = max((max(_counts(chart, lane)) for lane in chart.lanes), default=0)
    for number, lane in enumerate(chart.lanes):
        parts += _lane(chart, lane, TOP + LANE * number, most)
    if not chart.lanes:
        parts.append(f'<text x="{LEFT}" y="{TOP + 30}">no turn ended, and nothing happened</text>')
    parts += _legend(bottom + 40)
    for number, text in enumerate(told):
        parts.append(f'<text class="s" x="24" y="{bottom + 70 + 20 * number}">{_text(text)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _text(text: str) -> str:
    return escape(printable(text))


def _x(chart: Chart, ms: int) -> float:
    span = max(1, chart.until_ms - chart.since_ms)
    share = min(1.0, max(0.0, (ms - chart.since_ms) / span))
    return round(LEFT + (WIDTH - LEFT - RIGHT) * share, 1)


def _axis(chart: Chart, zone: tzinfo, bottom: int) -> Iterator[str]:
    for ms, form in ticks(chart, zone, 12):
        x = _x(chart, ms)
        yield f'<line class="g" x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{bottom}"/>'
        yield f'<text class="s" x="{x}" y="{bottom + 14}" text-anchor="middle">{moment(ms, zone).strftime(form)}</text>'


def _counts(chart: Chart, lane: Lane) -> list[int]:
    found = [0] * BINS
    span = max(1, chart.until_ms - chart.since_ms)
    for turn in lane.turns:
        found[min(BINS - 1, max(0, (turn.at_ms - chart.since_ms) * BINS // span))] += 1
    return found


def _lane(chart: Chart, lane: Lane, top: int, most: int) -> Iterator[str]:
    """A lane: name and figures at the left; periods as bands, turns as bars, failures and notices as marks."""
    name = lane.name if len(lane.name) <= 22 else f"{lane.name[:21]}…"
    yield f'<text class="n" x="24" y="{top + 18}">{_text(name)}</text>'
    for row, text in enumerate(_packed(figures(chart, lane))):
        yield f'<text class="s" x="24" y="{top + 32 + 13 * row}">{_text(text)}</text>'
    for period in lane.periods:
        x, end = _x(chart, period.since_ms), _x(chart, period.until_ms)
        yield (
            f'<rect class="{CLASSES[period.kind]}" x="{x}" y="{top}" width="{max(2.0, round(end - x, 1))}"'
            f' height="{LANE - 10}"><title>{_text(period.credential)} {PERIODS[period.kind][2]}</title></rect>'
        )
    step = (WIDTH - LEFT - RIGHT) / BINS
    for column, count in enumerate(_counts(chart, lane)):
        if count:
            tall = round(BARS * count / most, 1)
            x = round(LEFT + step * column + 0.5, 1)
            yield f'<rect class="b" x="{x}" y="{top + BARS + 4 - tall}" width="{step - 1:.1f}" height="{tall}"/>'
    for turn in lane.turns:
        if turn.outcome in FAILURES:
            said = f"{turn.member or ''}: {turn.reason or FAILURES[turn.outcome][2]}"
            yield _mark(turn.outcome, _x(chart, turn.at_ms), top + MARKS, said)
    for period in lane.periods:
        for told in period.told:
            word = "told" if told.outcome == "submitted" else "not told"
            yield _mark(word, _x(chart, told.at_ms) + 9, top + MARKS, f"{told.to} {word}")


def _packed(parts: list[str]) -> list[str]:
    """Each figure on a line of its own; where there are too many, as few lines as they fit on."""
    if len(parts) <= ROWS:
        return parts
    rows = parts[:1]
    for part in parts[1:]:
        joined = f"{rows[-1]}, {part}"
        rows[-1:] = [joined] if len(joined) <= ROW else [rows[-1], part]
    return rows


def _mark(kind: str, x: float, y: int, said: str) -> str:
    """A failure or a notice, with what it was for a reader who points at it."""
    shape = {
        "failed": f'<circle class="f" cx="{x}" cy="{y}" r="4"',
        "backend_error": f'<path class="e" d="M{x - 5:.1f} {y - 3}l2-2 3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3z"',
        "exhausted": f'<path class="x" d="M{x:.1f} {y - 6}l5 6-5 6-5-6z"',
        "told": f'<path class="o" d="M{x:.1f} {y - 5}l5 9h-10z"',
        "not told": f'<path class="u" d="M{x:.1f} {y + 5}l5-9h-10z"',
    }[kind]
    return f"{shape}><title>{_text(said)}</title>{'</circle>' if kind == 'failed' else '</path>'}"


def _legend(y: int) -> Iterator[str]:
    x = LEFT
    yield f'<rect class="b" x="{x}" y="{y - 9}" width="5" height="10"/>'
    yield f'<text class="s" x="{x + 10}" y="{y}">turns</text>'
    x += 60
    for kind, (_, _, word) in FAILURES.items():
        yield _mark(kind, x + 4, y - 4, word) + f'<text class="s" x="{x + 13}" y="{y}">{word}</text>'
        x += 34 + 7 * len(word)
    for kind, (_, _, word) in PERIODS.items():
        yield f'<rect class="{CLASSES[kind]}" x="{x}" y="{y - 10}" width="12" height="12"/>'
        yield f'<text class="s" x="{x + 17}" y="{y}">{word}</text>'
        x += 34 + 7 * len(word)
    for kind in ("told", "not told"):
        yield _mark(kind, x + 4, y - 4, kind) + f'<text class="s" x="{x + 13}" y="{y}">{kind}</text>'
        x += 34 + 7 * len(kind)
