"""Agents that draw prompts and replies alike, parted by two blank rows: telling one from the other by their order."""

from collections.abc import Sequence
from typing import NamedTuple

from fleettools.screens.items import Asked
from fleettools.screens.look import Look

ENDS = frozenset({"error", "stop", "end", "done"})  # what such a passage ends with ends a turn


class Passage(NamedTuple):
    """Rows without two blank ones in a row: the first, the row after the last, the kinds of its first and last line."""

    row: int
    after: int
    first: str
    last: str


def prompts(lines: Sequence[str], look: Look) -> list[Asked]:
    """The prompts among the lines above the composer: passages of plain text in every other place of a turn.

    A prompt follows the banner, an end or a reply; a reply follows a prompt or a tool. Of plain passages at the top of
    the screen the last one before a turn's end, a prompt, or before the end of the screen, a reply, tells the order.
    """
    passages = _passages(lines, look)
    plain = [passage.first == "plain" for passage in passages]
    asked: list[Asked] = []
    turn = plain.index(False) if False in plain else len(plain)  # the plain passages at the top
    next_is_prompt = (turn % 2 == 1) if turn < len(plain) and passages[turn].first in ENDS else (turn % 2 == 0)
    for passage in passages:
        if passage.first == "plain":
            if next_is_prompt:
                text = "\n".join(line.strip() for line in lines[passage.row : passage.after])
                asked.append(Asked(text.strip(), passage.row, passage.after))
            next_is_prompt = not next_is_prompt
        else:
            next_is_prompt = passage.first != "tool"
        if passage.last in ENDS and passage.first != "tool":  # what a tool printed ends nothing
            next_is_prompt = True
    return asked


def _passages(lines: Sequence[str], look: Look) -> list[Passage]:
    """What stands together, parted by two blank rows, with the kinds of its first and last marked lines."""
    found: list[Passage] = []
    row = 0
    while row < len(lines):
        if not lines[row]:
            row += 1
            continue
        after = row
        while after < len(lines) and (lines[after] or (after + 1 < len(lines) and lines[after + 1])):
            after += 1
        kinds = [_kind(line, look) for line in lines[row:after] if line]
        found.append(
            Passage(row, after, kinds[0], next((kind for kind in reversed(kinds) if kind != "plain"), "plain"))
        )
        row = after
    return found


def _kind(line: str, look: Look) -> str:
    if look.greeting.search(line):
        return "banner"
    match = look.head.match(line)
    return match.lastgroup or "plain" if match else "plain"
