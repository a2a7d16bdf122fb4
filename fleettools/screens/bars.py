"""Agents that draw prompts and failures alike, as blocks behind a bar: telling one from the other."""

import re
from typing import NamedTuple

from fleettools.screens.items import BARE, Asked, Item, parse
from fleettools.screens.look import Look
from fleettools.screens.phrases import said
from fleettools.screens.sgr import RGB, colour_before, hue, is_red, pieces

# The foot of the composer, with something else behind it.
_JOINED = re.compile(r"(╹(?:\x1b\[[0-9;:]*m)*▀+)(?=(?:\x1b\[[0-9;:]*m| )+[^\s\x1b])")


class Bars(NamedTuple):
    """The blocks behind bars: the prompts among them, and the last one when it is a failure."""

    prompts: list[Asked]
    failure: Item | None


def parted(text: str) -> str:
    """The text of a screen with the row below the composer on a line of its own.

    Once a pane has been narrower, tmux may take rows that are full to the last column for one wrapped line.
    """
    return _JOINED.sub(r"\1\n", text) if "╹" in text else text


def read(lines: list[str], raw: list[str] | None, end: int, framed: bool, look: Look) -> Bars:
    """The blocks of bars above the row `end`; `raw` has the colours, `framed` says that the composer is there.

    A failure's bar is red. Without colours the last bar is one when no turn has ended since the prompt above it, or
    by its words. A question in the place of the composer is neither.
    """
    groups = _groups(lines, end, look.bar)
    prompts: list[Asked] = []
    failure: Item | None = None
    for first, after in groups:
        # What floats over the screen has bars of its own, further right.
        texts = [line.lstrip()[1:].partition(look.bar)[0].strip() for line in lines[first:after]]
        text = "\n".join(texts).strip()
        item = Item("error", first, lines[first].index(look.bar) + 1, "")
        item.lines = [" " * item.column + line for line in texts if line] or [""]
        last = first == groups[-1][0]
        if last and not framed and any(look.question.search(line) for line in texts):
            continue
        colour = _colour(raw, first, look.bar) if raw else None
        if colour is None or hue(colour) == "plain":
            failed = last and _is_failure(lines, item, after, end, prompts, look)
        else:
            failed = is_red(colour)
        if failed:
            failure = item if last else None
        elif text:
            prompts.append(Asked(text, first, after))
    return Bars(prompts, failure)


def _groups(lines: list[str], end: int, bar: str) -> list[tuple[int, int]]:
    """First row and row after the last of each block of bars."""
    bars = [line.index(bar) if line.lstrip()[:1] == bar else -1 for line in lines[:end]]
    # A toast that covers the blank line between two bars has its own one further right.
    column = min((at for at in bars if at >= 0), default=0)
    groups: list[tuple[int, int]] = []
    row = 0
    while row < end:
        first = row
        while row < end and bars[row] == column:
            row += 1
        if row > first:
            groups.append((first, row))
        row += 1
    return groups


def _colour(raw: list[str], row: int, bar: str) -> RGB | None:
    said = colour_before(raw[row], raw[row].find(bar))
    return said or next((ink.colour for piece, ink in pieces(raw, row) if bar in piece), None)


def _is_failure(lines: list[str], item: Item, after: int, end: int, prompts: list[Asked], look: Look) -> bool:
    """Whether a block behind a red bar is a failure and no prompt: nothing follows, and its place or words say so."""
    if any(rest.kind not in BARE for rest in parse(lines, after, end, look)):
        return False
    if any(look.busy_sign.search(line) for line in lines[end:]):
        return False
    above = parse(lines, prompts[-1].after if prompts else 0, item.row, look)
    if not prompts and all(each.kind in BARE for each in above):
        return False  # the first prompt of all
    words = said(item.text)
    if all(each.kind != "end" for each in above):
        return True
    # A bare number is no word of a failure's: prompts hold numbers, too.
    return any(rule.within(words) for rule in look.rules if not rule.phrase.isdigit())
