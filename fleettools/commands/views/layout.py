"""Rows of a view, fitted to the width of the terminal: names give way first, and the last column is never lost.

Texts of panes are hostile: what does not print is escaped, and markup is not read.
"""

import textwrap
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from fleettools.adapters.streams import printable

Cell = str | tuple[str, str]  # a text, or a text and its style

GAP = 2
LEAST = 28  # columns that the last column needs to stand beside the others; with fewer it stands below
SHORTEST = 6  # columns that are left of a name
LINES = 6  # of the last column, at most


class Rows:
    """A heading and rows; `names` are the columns that may be shortened, the last column is wrapped."""

    def __init__(self, headings: Sequence[str], rows: Iterable[Sequence[Cell]], names: Sequence[str]) -> None:
        self._headings = headings
        self._rows = [[_plain(cell) for cell in row] for row in rows]
        self._names = [number for number, heading in enumerate(headings) if heading in names]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks for it."""
        yield from self.lines(options.max_width)

    def lines(self, width: int) -> Iterable[Text]:
        """The view as lines of at most that width."""
        kept = [n for n in range(len(self._headings) - 1) if any(row[n][0] for row in self._rows)]
        said = any(row[-1][0] for row in self._rows)
        widest = max((cell_len(row[-1][0]) for row in self._rows), default=0)
        whole = {n: max(len(self._headings[n]), self._longest(n)) for n in kept}
        widths = dict(whole)
        beside = said and self._fit(widths, width - GAP - min(widest, LEAST))
        if not beside:
            widths = whole
            self._fit(widths, width)
        left = width - sum(widths.values()) - GAP * len(widths)
        heading = self._line([(self._headings[n][: widths[n]], "bold") for n in kept], list(widths.values()))
        if beside:
            heading.append(" " * GAP + self._headings[-1], "bold")
        yield _cut(heading, width)
        for row in self._rows:
            line = self._line([row[n] for n in kept], list(widths.values()))
            text, style = row[-1]
            words = _wrapped(text, left if beside else width - GAP)
            if beside and words:
                line.append(" " * GAP).append(words.pop(0), style)
            yield _cut(line, width)
            indent = width - left if beside else GAP
            yield from (Text(" " * indent).append(each, style) for each in words)

    def _longest(self, number: int) -> int:
        return max((cell_len(row[number][0]) for row in self._rows), default=0)

    def _fit(self, widths: dict[int, int], width: int) -> bool:
        """Cut headings that are wider than what stands below, then names, the longest first; whether all fits then."""
        while sum(widths.values()) + GAP * (len(widths) - 1) > width:
            wide = [n for n in widths if widths[n] > max(SHORTEST, self._longest(n))]
            names = [n for n in self._names if widths.get(n, 0) > SHORTEST]
            if not wide and not names:
                return False
            widths[max(wide or names, key=lambda n: widths[n])] -= 1
        return True

    def _line(self, cells: Sequence[tuple[str, str]], widths: Sequence[int]) -> Text:
        line = Text(no_wrap=True)
        for number, ((text, style), width) in enumerate(zip(cells, widths, strict=True)):
            line.append(" " * GAP if number else "").append(set_cell_size(_shortened(text, width), width), style)
        return line


def _plain(cell: Cell) -> tuple[str, str]:
    text, style = (cell, "") if isinstance(cell, str) else cell
    return printable(text), style


def _shortened(text: str, width: int) -> str:
    """The beginning and the end of a name that is too long: what tells names apart often stands at the end."""
    if cell_len(text) <= width:
        return text
    tail = (width - 1) // 2
    return set_cell_size(text, width - 1 - tail) + "…" + text[len(text) - tail :]


def _wrapped(text: str, width: int) -> list[str]:
    lines = textwrap.wrap(text, max(10, width), break_on_hyphens=False)
    if len(lines) > LINES:
        lines[LINES - 1] = set_cell_size(lines[LINES - 1], max(10, width) - 1).rstrip() + "…"
    return lines[:LINES]


def _cut(line: Text, width: int) -> Text:
    line.rstrip()
    line.truncate(width, overflow="ellipsis")
    return line
