"""What an agent drew, one thing at a time: prompts and items."""

import re
from typing import NamedTuple

from fleettools.screens.look import Look
from fleettools.screens.sgr import squeezed

WORDS = re.compile(r"[^\W_]")
BARE = frozenset({"end", "chrome"})


class Item:
    """One thing the agent drew: its kind, the row of its head, where its words begin, and its lines."""

    __slots__ = ("_text", "_words", "column", "kind", "lines", "output", "paragraphs", "row")

    def __init__(self, kind: str, row: int, column: int, line: str) -> None:
        self.kind, self.row, self.column = kind, row, column
        self.lines = [line]
        self._text: str | None = None  # kept once they are asked for, when all lines are there
        self._words: str | None = None
        self.paragraphs = 1
        self.output = False

    @property
    def text(self) -> str:
        """Its words on one line, the glyph left out."""
        if self._text is None:
            first = self.lines[0][self.column :].strip()
            self._text = " ".join([first, *[line.strip() for line in self.lines[1:]]]) if self.lines[1:] else first
        return self._text

    @property
    def opening(self) -> str:
        """The squeezed words that it begins with, those of two lines."""
        return squeezed(self.lines[0][self.column :] + (self.lines[1] if len(self.lines) > 1 else ""))

    @property
    def first(self) -> str:
        """The squeezed words of its first line."""
        return squeezed(self.lines[0][self.column :])

    @property
    def words(self) -> str:
        """Its words squeezed: blind to wrapping."""
        if self._words is None:
            self._words = squeezed(self.text)
        return self._words


class Asked(NamedTuple):
    """A prompt on the screen: its text, its first row, and the row after its last."""

    text: str
    row: int
    after: int


def column_of(line: str, end: int) -> int:
    """Where an item's words begin: behind its glyph, or at the head itself when that is words."""
    return len(line) - len(line.lstrip()) if WORDS.search(line, 0, end) else end


def parse(lines: list[str], start: int, end: int, look: Look, margin: int | None = None) -> list[Item]:
    """The items drawn in these rows; with a margin, what looks like a head further in is a quotation."""
    head, items = look.head, list[Item]()
    current: Item | None = None
    blank = True
    for row in range(start, end):
        line = lines[row]
        if not line:
            blank = True
            continue
        match = head.match(line)
        if match and margin is not None and len(line) - len(line.lstrip()) > margin:
            match = None
        kind = match.lastgroup or "plain" if match else "plain"
        if kind == "chrome":
            blank = True
            continue
        if match and current and _is_within(kind, current, blank, look):
            kind, match = current.kind, None
        goes_on = current is not None and (not blank or len(line) - len(line.lstrip()) >= look.indent)
        if match is None and goes_on and current:
            current.lines.append(line)
            current.paragraphs += blank
        else:
            current = Item(kind, row, column_of(line, match.end() if match else 0), line)
            items.append(current)
        blank = False
    return items


def _is_within(kind: str, current: Item, blank: bool, look: Look) -> bool:
    """Whether a line that could begin an item belongs to the one above it."""
    if kind == "own" and current.kind == "tool" and not current.output:
        # The first answer below a tool is the tool's; only a second one is the agent's own.
        current.output = True
        return True
    if kind == "own" and (current.kind == "busy" or (current.kind == "retry" and not blank)):
        return True  # the list of what it is about to do, or a hint at what it tries again
    bare = look.bare_replies and not look.marks_replies
    return kind == "error" and not blank and current.kind == "plain" and bare  # a line within a paragraph
