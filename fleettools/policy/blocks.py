"""A screen as its agent drew it: composer, prompts, the block after the last prompt, and that block's items."""

import re
from functools import cached_property

from fleettools.policy import composer
from fleettools.policy.look import Look, Prompt, compiled, said
from fleettools.policy.sgr import colours, hue, lines_of, squeezed

BARE = frozenset({"end", "chrome"})


class Item:
    """One thing the agent drew: its kind, the row of its head, where its words begin, and its lines."""

    __slots__ = ("_words", "column", "kind", "lines", "output", "paragraphs", "row")

    def __init__(self, kind: str, row: int, column: int, line: str) -> None:
        self.kind, self.row, self.column = kind, row, column
        self.lines = [line]
        self._words: str | None = None
        self.paragraphs = 1
        self.output = False

    @property
    def text(self) -> str:
        """Its words on one line, the glyph left out."""
        first = self.lines[0][self.column :]
        return " ".join((first.strip(), *(line.strip() for line in self.lines[1:])))

    @property
    def opening(self) -> str:
        """The squeezed words that it begins with, those of two lines."""
        return squeezed(self.lines[0][self.column :] + (self.lines[1] if len(self.lines) > 1 else ""))

    @property
    def words(self) -> str:
        """Its words squeezed: blind to wrapping."""
        if self._words is None:
            self._words = squeezed(self.text)
        return self._words


def _column(line: str, end: int) -> int:
    """Where an item's words begin: behind its glyph, or at the head itself when that is words."""
    return len(line) - len(line.lstrip()) if any(c.isalnum() for c in line[:end]) else end


class Screen:
    """A pane's text read with an agent's look."""

    def __init__(self, text: str, look: Look) -> None:
        self.text = text
        self.look = look
        self.coloured = "\x1b[" in text
        self.plain, self.lines = lines_of(text)
        lines = self.lines
        self.frame = composer.find(lines, look.composer)
        self.end = self.frame.top if self.frame else len(lines)
        self.failure: Item | None = None
        self._raw: list[str] | None = None
        self._items: list[Item] | None = None
        self.telling: list[Item] | None = None  # kept by evidence.significant
        self.prompts = self._barred() if look.bars else self._prompts()

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

    @property
    def prompt(self) -> str:
        """The squeezed words of the last prompt, "" when none is on the screen."""
        return squeezed(self.prompts[-1][0]) if self.prompts else ""

    @property
    def ordinal(self) -> int:
        """The last prompt's place among equal ones on the screen, from 1; 0 without a prompt."""
        last = self.prompt
        return sum(1 for text, _, _ in self.prompts if squeezed(text) == last)

    @property
    def start(self) -> int:
        """The first row of the block."""
        return self.prompts[-1][2] if self.prompts else 0

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

    def _prompts(self) -> list[tuple[str, int, int]]:
        found: list[tuple[str, int, int]] = []
        for prompt in self.look.prompts:
            head = compiled(prompt.head).match
            after = 0
            for row in self._rows(prompt.starts) if prompt.starts else range(self.end):
                if row < after or not (match := head(self.lines[row])) or not self._below(prompt.above, row):
                    continue
                text, after = self._asked(prompt, match, row)
                if text and (prompt.unless is None or not compiled(prompt.unless).search(text)):
                    found.append((text, row, after))
        return sorted(found, key=lambda asked: asked[1]) if len(self.look.prompts) > 1 else found

    def _rows(self, starts: list[str]) -> list[int]:
        """The rows above the composer that begin so."""
        text, rows = self.plain, []
        for start in starts:
            glyph = start.lstrip()[0]
            line = f"\n{start}"
            # A glyph alone is found faster than the line feed before it, a letter is not.
            sought, ahead = (line, 0) if glyph.isalnum() else (glyph, line.index(glyph))
            at = text.find(sought)
            while at >= 0:
                if text.startswith(line, at - ahead):
                    rows.append(text.count("\n", 0, at - ahead))
                at = text.find(sought, at + 1)
        return sorted(row for row in rows if row < self.end)

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

    def _barred(self) -> list[tuple[str, int, int]]:
        """The prompts of an agent that draws failures as bars too; the last bar is left to `failure` if it is one."""
        groups: list[tuple[int, int]] = []
        bars = [line.index("┃") if line.lstrip()[:1] == "┃" else -1 for line in self.lines[: self.end]]
        # A toast that covers the blank line between two bars has its own one further right.
        column = min((bar for bar in bars if bar >= 0), default=0)
        row = 0
        while row < self.end:
            first = row
            while row < self.end and bars[row] == column:
                row += 1
            if row > first:
                groups.append((first, row))
            row += 1
        prompts: list[tuple[str, int, int]] = []
        for first, after in groups:
            # What floats over the screen has bars of its own, further right.
            texts = [line.lstrip()[1:].partition("┃")[0].strip() for line in self.lines[first:after]]
            text = "\n".join(texts).strip()
            item = Item("error", first, self.lines[first].index("┃") + 1, "")
            item.lines = [" " * item.column + line for line in texts if line] or [""]
            if (
                self._red(first)
                if self.coloured
                else bool(prompts) and first == groups[-1][0] and self._fails(item, after)
            ):
                self.failure = item if first == groups[-1][0] else None
            elif text:
                prompts.append((text, first, after))
        return prompts

    def _red(self, row: int) -> bool:
        colour = next((colour for piece, colour in colours(self.raw, row) if "┃" in piece), None)
        return hue(colour) == "warm" and colour is not None and colour[1] < colour[0] * 0.65

    def _fails(self, item: Item, after: int) -> bool:
        words = said(item.text)
        return any(rule.within(words) for rule in self.look.rules) and not any(
            rest.kind not in BARE for rest in self.parse(after, self.end)
        )

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
        for row in range(start, end):
            line = self.lines[row]
            if not line:
                blank = True
                continue
            match = head.match(line)
            kind = match.lastgroup or "plain" if match else "plain"
            if kind == "chrome":
                blank = True
                continue
            if kind == "own" and current and current.kind == "tool" and not current.output:
                # The first answer below a tool is the tool's; only a second one is the agent's own.
                current.output, kind, match = True, "tool", None
            elif kind == "own" and current and current.kind == "busy":
                match = None  # the list of what it is about to do
            goes_on = current is not None and (not blank or len(line) - len(line.lstrip()) >= indent)
            if match is None and goes_on and current:
                current.lines.append(line)
                current.paragraphs += blank
            else:
                current = Item(kind, row, _column(line, match.end() if match else 0), line)
                items.append(current)
            blank = False
        return items

    def warm(self, item: Item) -> bool:
        """Whether the item's first words are in a colour of failures; True where colours say nothing."""
        if not self.coloured:
            return True
        at, seen = 0, hue(None)
        for piece, colour in colours(self.raw, item.row):
            at += len(piece)
            if at > item.column and piece[max(len(piece) - (at - item.column), 0) :].strip():
                seen = hue(colour)
                break
        return seen == "warm" or not self._colourful

    @cached_property
    def _colourful(self) -> bool:
        """Whether at least two colours are on the screen: one alone, or none, tells nothing apart."""
        seen = {c for row in range(len(self.lines)) for piece, c in colours(self.raw, row) if piece.strip()}
        return len({hue(colour) for colour in seen}) > 1
