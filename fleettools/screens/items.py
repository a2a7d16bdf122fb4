"""What an agent drew, one thing at a time: prompts and items."""

import re
from typing import NamedTuple

from fleettools.screens.sgr import squeezed

WORDS = re.compile(r"[^\W_]")
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
