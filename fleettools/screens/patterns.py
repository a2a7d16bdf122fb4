"""Operators' own patterns: searched in physical lines, each search within a time budget."""

from functools import cache
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import regex

BUDGET = 0.1  # seconds of processor time for all patterns of one pane together


class Own(msgspec.Struct, frozen=True):
    """A pattern with the place in the configuration that it comes from."""

    key: str
    pattern: str


class Kind(msgspec.Struct, frozen=True):
    """An operator's patterns of one kind; `bundled`: whether the agent's bundled ones of that kind still hold."""

    own: tuple[Own, ...] = ()
    bundled: bool = True


class Rules(msgspec.Struct, frozen=True):
    """What a profile's configuration says about judging its panes."""

    error: Kind = Kind()
    exhausted: Kind = Kind()
    min_turn_seconds: float = 2

    @property
    def configured(self) -> bool:
        """Whether the profile has patterns of its own."""
        return bool(self.error.own or self.exhausted.own)


@cache
def _compiled(pattern: str) -> "regex.Pattern[str]":
    import regex

    return regex.compile(pattern)


class Search:
    """Searches within one pane's budget; `over` names the patterns that ran out of it."""

    def __init__(self) -> None:
        self.left = BUDGET
        self.over: list[str] = []

    def first(self, own: tuple[Own, ...], lines: list[str]) -> tuple[Own, str] | None:
        """The first pattern that one of the lines holds, and that line; each gets its part of the budget."""
        for number, candidate in enumerate(own):
            share = self.left / (len(own) - number + 1)
            line = self._in(candidate, lines, share)
            if line is not None:
                return candidate, line
        return None

    def _in(self, own: Own, lines: list[str], share: float) -> str | None:
        pattern = _compiled(own.pattern)
        part = share / max(len(lines), 1)
        for line in lines:
            try:
                if pattern.search(line, timeout=max(part, 0.0002)):
                    return line
            except TimeoutError:
                self.over.append(own.key)
                self.left -= part
                return None
        return None
