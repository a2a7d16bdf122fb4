"""Agents that draw prompts and failures alike, as blocks behind a bar: telling one from the other."""

from typing import TYPE_CHECKING

from fleettools.screens.items import BARE, Asked, Item
from fleettools.screens.look import said
from fleettools.screens.sgr import RGB, colours, hue

if TYPE_CHECKING:
    from fleettools.screens.blocks import Screen

BAR = "┃"


def read(screen: "Screen") -> list[Asked]:
    """The prompts of a screen; its last bar becomes the screen's `failure` when it is one.

    A failure's bar is red. Without colours the last bar is one when no turn has ended since the prompt above it, or
    by its words. A question in the place of the composer is neither.
    """
    groups = _groups(screen)
    prompts: list[Asked] = []
    for first, after in groups:
        # What floats over the screen has bars of its own, further right.
        texts = [line.lstrip()[1:].partition(BAR)[0].strip() for line in screen.lines[first:after]]
        text = "\n".join(texts).strip()
        item = Item("error", first, screen.lines[first].index(BAR) + 1, "")
        item.lines = [" " * item.column + line for line in texts if line] or [""]
        last = first == groups[-1][0]
        if last and screen.frame is None and any(screen.look.question.search(line) for line in texts):
            continue
        colour = _colour(screen, first) if screen.coloured else None
        plain = colour is None or hue(colour) == "plain"
        if (last and _is_failure(screen, item, after, prompts)) if plain else _is_red(colour):
            screen.failure = item if last else None
        elif text:
            prompts.append(Asked(text, first, after))
    return prompts


def _groups(screen: "Screen") -> list[tuple[int, int]]:
    """First row and row after the last of each block of bars."""
    bars = [line.index(BAR) if line.lstrip()[:1] == BAR else -1 for line in screen.lines[: screen.end]]
    # A toast that covers the blank line between two bars has its own one further right.
    column = min((bar for bar in bars if bar >= 0), default=0)
    groups: list[tuple[int, int]] = []
    row = 0
    while row < screen.end:
        first = row
        while row < screen.end and bars[row] == column:
            row += 1
        if row > first:
            groups.append((first, row))
        row += 1
    return groups


def _colour(screen: "Screen", row: int) -> RGB | None:
    return next((colour for piece, colour in colours(screen.raw, row) if BAR in piece), None)


def _is_red(colour: RGB | None) -> bool:
    return colour is not None and hue(colour) == "warm" and colour[1] < colour[0] * 0.65


def _is_failure(screen: "Screen", item: Item, after: int, prompts: list[Asked]) -> bool:
    if any(rest.kind not in BARE for rest in screen.parse(after, screen.end)):
        return False
    if any(screen.look.busy_sign.search(line) for line in screen.footer):
        return False
    above = screen.parse(prompts[-1].after if prompts else 0, item.row)
    if not prompts and all(each.kind in BARE for each in above):
        return False  # the first prompt of all
    words = said(item.text)
    return all(each.kind != "end" for each in above) or any(rule.within(words) for rule in screen.look.rules)
