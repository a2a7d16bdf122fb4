"""A screen as its agent drew it: composer, prompts, the block after the last prompt, and that block's items."""

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import compress, repeat

from fleettools.screens import apart, bars, composer
from fleettools.screens.items import WORDS, Asked, Item, column_of
from fleettools.screens.look import Look, Prompt, compiled
from fleettools.screens.sgr import colours, ground, hue, lines_of, squeezed

MARGIN = 8


class Screen:
    """A pane's text read with an agent's look."""

    def __init__(self, text: str, look: Look) -> None:
        self.text = text
        self.look = look
        self.coloured = "\x1b[" in text
        self.lines = lines_of(text) if not look.scrollbar else _without_bar(lines_of(text), look.scrollbar)
        lines = self.lines
        self.frame = composer.find(lines, look.composer)
        self.end = self.frame.top if self.frame else len(lines)
        self.failure: Item | None = None
        self._raw: list[str] | None = None
        self._items: list[Item] | None = None
        self.telling: list[Item] | None = None  # kept by evidence.significant
        self.prompts = bars.read(self) if look.bars else self._prompts()
        if look.apart:
            self.prompts = apart.prompts(lines[: self.end], look)
        self.margin = 0
        if look.aligned and self.prompts:
            self.margin = min(_indent(lines[asked.row]) for asked in self.prompts)
            self.prompts = [asked for asked in self.prompts if _indent(lines[asked.row]) == self.margin]

    @property
    def raw(self) -> list[str]:
        """The physical lines with their colours."""
        if self._raw is None:
            self._raw = self.text.split("\n")
        return self._raw

    @property
    def footer(self) -> list[str]:
        """The composer's own lines and those below it."""
        return self.lines[self.end :]

    @cached_property
    def _asked_words(self) -> list[str]:
        """The squeezed words of each prompt."""
        return [squeezed(asked.text) for asked in self.prompts]

    @property
    def prompt(self) -> str:
        """The squeezed words of the last prompt, "" when none is on the screen."""
        return self._asked_words[-1] if self.prompts else ""

    @property
    def ordinal(self) -> int:
        """The last prompt's place among equal ones on the screen, from 1; 0 without a prompt."""
        return self._asked_words.count(self.prompt) if self.prompts else 0

    @property
    def start(self) -> int:
        """The first row of the block."""
        return self.prompts[-1].after if self.prompts else 0

    @property
    def items(self) -> list[Item]:
        """The items of the block."""
        if self._items is None:
            rows = (self.start, self.end)
            if self.failure is None:
                self._items = self.parse(*rows)
            else:
                row = self.failure.row
                self._items = [*self.parse(rows[0], row), self.failure, *self.parse(row + 1, rows[1])]
        return self._items

    @property
    def fresh(self) -> bool:
        """Whether the agent's banner is in view and no prompt follows it."""
        return not self.prompts and any(self.look.greeting.search(line) for line in self.lines[: self.end])

    def _prompts(self) -> list[Asked]:
        found: list[Asked] = []
        for prompt in self.look.prompts:
            head = compiled(prompt.head).match
            after = 0
            for row in self._rows(prompt):
                if row < after or not (match := head(self.lines[row])) or not self._below(prompt.above, row):
                    continue
                text, after = self._asked(prompt, match, row)
                if text and (prompt.unless is None or not compiled(prompt.unless).search(text)):
                    found.append(Asked(text, row, after))
        return sorted(found, key=lambda asked: asked.row) if len(self.look.prompts) > 1 else found

    def _rows(self, prompt: Prompt) -> list[int]:
        """The rows above the composer where one may begin."""
        if prompt.starts:
            begins: Iterable[object] = map(str.startswith, self.lines, repeat(tuple(prompt.starts)))
        else:
            begins = map(compiled(prompt.head).match, self.lines)
        return list(compress(range(self.end), begins))

    def _asked(self, prompt: Prompt, match: re.Match[str], row: int) -> tuple[str, int]:
        """The text of the prompt that begins in a row, and the row after it."""
        texts = [match[1] or ""] if match.re.groups else []
        more = compiled(prompt.more).match
        row += 1
        while prompt.skip and row < self.end and not self.lines[row]:
            row += 1
        while row < self.end and len(texts) < prompt.limit and (further := more(self.lines[row])):
            texts.append(further[1] or "")
            row += 1
        return "\n".join(texts).strip(), row

    def _below(self, above: str | None, row: int) -> bool:
        if above is None:
            return True
        pattern = compiled(above)
        while row > 0 and self.lines[row - 1]:
            row -= 1
            if pattern.match(self.lines[row]):
                return True
        return False

    def parse(self, start: int, end: int) -> list[Item]:
        """The items drawn in these rows."""
        head, indent, items = self.look.head, self.look.indent, list[Item]()
        current: Item | None = None
        blank = True
        plain_errors = self.look.shared and not self.look.marks_replies
        for row in range(start, end):
            line = self.lines[row]
            if not line:
                blank = True
                continue
            match = head.match(line)
            if match and self.look.aligned and self.prompts and _indent(line) > self.margin:
                match = None  # a quotation, further in than the agent's own glyphs
            kind = match.lastgroup or "plain" if match else "plain"
            if kind == "chrome":
                blank = True
                continue
            if kind == "own" and current and current.kind == "tool" and not current.output:
                # The first answer below a tool is the tool's; only a second one is the agent's own.
                current.output, kind, match = True, "tool", None
            elif kind == "own" and current and current.kind == "busy":
                match = None  # the list of what it is about to do
            elif kind == "error" and not blank and current and current.kind == "plain" and plain_errors:
                match = None  # a line within a paragraph
            goes_on = current is not None and (not blank or len(line) - len(line.lstrip()) >= indent)
            if match is None and goes_on and current:
                current.lines.append(line)
                current.paragraphs += blank
            else:
                current = Item(kind, row, column_of(line, match.end() if match else 0), line)
                items.append(current)
            blank = False
        return items

    def warm(self, item: Item) -> bool:
        """Whether the item's first words are in a colour of failures, or on one; True where colours say nothing."""
        if not self.coloured:
            return True
        at, seen = 0, hue(None)
        for piece, colour in colours(self.raw, item.row):
            at += len(piece)
            if piece.strip() and hue(colour) == "warm":  # the glyph alone may be red, before words without a colour
                return True
            if at > item.column and WORDS.search(piece[max(len(piece) - (at - item.column), 0) :]):
                seen = hue(colour)
                break
        return seen == "warm" or hue(ground(self.raw[item.row], item.column)) == "warm" or not self._colourful

    @cached_property
    def _colourful(self) -> bool:
        """Whether at least two colours are on the screen: one alone, or none, tells nothing apart."""
        seen = {c for row in range(len(self.lines)) for piece, c in colours(self.raw, row) if piece.strip()}
        return len({hue(colour) for colour in seen}) > 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _without_bar(lines: list[str], glyphs: str) -> list[str]:
    """The lines without the scrollbar that runs down their last column."""
    ends = [len(line) for line in lines if line[-1:] in glyphs and len(line) > MARGIN]
    if len(ends) < 3:
        return lines
    last = max(ends) - MARGIN  # wide letters make a line shorter than it looks
    return [line[:-1].rstrip() if line[-1:] in glyphs and len(line) >= last else line for line in lines]
