"""Text as a terminal holds it: without its colours, with one colour looked up, and with nothing but its letters."""

import re
from functools import lru_cache
from typing import Any, NamedTuple

ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_PIECE = re.compile(r"\x1b\[([0-9;:]*)m")
_RESET = re.compile(r"\x1b\[(?:0?|0;[0-9;:]*)m")
_TYPED = {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u2026": "..."}
_TYPED |= {"\u2010": "-", "\u2011": "-", "\u2013": "-", "\u200b": "", "\ufeff": "", "\u2219": "·", "\u2022": "·"}

RGB = tuple[int, int, int]

# The sixteen named colours as xterm draws them: dark, then bright.
_NAMED: tuple[RGB, ...] = (
    *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)),
    *((127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255)),
    (255, 255, 255),
)


def lines_of(text: str) -> list[str]:
    """The lines of a text without colours, stripped at their ends, no blank ones last, spaces and emoji plain."""
    text = without_colours(text)
    if "\xa0" in text:
        text = text.replace("\xa0", " ")
    for selector in ("\ufe0e", "\ufe0f"):
        if selector in text:
            text = text.replace(selector, "")
    text = text.rstrip()
    return list(map(str.rstrip, text.split("\n"))) if text else []


def without_colours(text: str) -> str:
    """The text without its escape sequences."""
    return ESCAPE.sub("", text) if "\x1b" in text else text


def carried(text: str, at: int) -> str:
    """The sequences that set the ink which reaches a place in a text from above."""
    reset = max(text.rfind("\x1b[0m", 0, at), text.rfind("\x1b[m", 0, at), 0)
    return "".join(match[0] for match in _PIECE.finditer(text, reset, at))


def squeezed(text: str) -> str:
    """The text in lower case without any white space and with plain apostrophes, quotes and dots.

    Blind to wrapping, wherever it breaks a line, and to typographic variants.
    """
    text = "".join(text.split()).lower()
    if not text.isascii():
        for fancy, simple in _TYPED.items():
            if fancy in text:
                text = text.replace(fancy, simple)
    return text


class Ink(NamedTuple):
    """How a piece of text is drawn: its colour and its ground (None: the terminal's own), faint, in reverse."""

    colour: RGB | None = None
    ground: RGB | None = None
    faint: bool = False
    reverse: bool = False


PLAIN = Ink()


def pieces(raw: list[str], row: int) -> list[tuple[str, Ink]]:
    """The pieces of a physical line with their ink, which runs over line ends."""
    ink = _reached(raw, row)
    found: list[tuple[str, Ink]] = []
    start, line = 0, raw[row]
    for match in _PIECE.finditer(line):
        if match.start() > start:
            found.append((ESCAPE.sub("", line[start : match.start()]), ink))
        ink, start = _dipped(ink, match[1]), match.end()
    found.append((ESCAPE.sub("", line[start:]), ink))
    return [piece for piece in found if piece[0]]


def colour_before(line: str, column: int) -> RGB | None:
    """The colour that the line itself sets last before a column of its raw text; None when it sets none."""
    ink = PLAIN
    for codes in _PIECE.findall(line, 0, max(column, 0)):
        ink = _dipped(ink, codes)
    return ink.colour


def several_hues(text: str) -> bool:
    """Whether visible text is drawn in more than one hue."""
    ink, seen = PLAIN, set[str]()
    for at, part in enumerate(_PIECE.split(text)):
        if at % 2:
            ink = _dipped(ink, part)
        elif part and not part.isspace():
            seen.add(hue(ink.colour))
            if len(seen) > 1:
                return True
    return False


def without_faint(raw: list[str], first: int, last: int) -> list[str]:
    """The physical lines from `first` up to `last`, without colours, blank where the text is faint.

    So is a letter in reverse before it: the cursor stands on the first letter of what the agent proposes.
    """
    found: list[str] = []
    for row in range(first, min(last, len(raw))):
        shown = ""
        drawn = pieces(raw, row)
        for at, (piece, ink) in enumerate(drawn):
            cursor = ink.reverse and len(piece) == 1 and at + 1 < len(drawn) and drawn[at + 1][1].faint
            shown += " " * len(piece) if ink.faint or cursor else piece
        found.append(shown.replace("\xa0", " ").rstrip())
    return found


def _reached(raw: list[str], row: int) -> Ink:
    """The ink that the rows above leave behind; read from the last reset on, or the last row that was asked for."""
    global _known
    screen, inks = _known
    if screen is not raw:
        _known = raw, inks = raw, {}
    first = row
    while first > 0 and first not in inks and not _RESET.search(raw[first - 1]):
        first -= 1
    ink = inks.get(first, PLAIN)
    for at in range(first if first in inks else max(first - 1, 0), row):
        for codes in _PIECE.findall(raw[at]):
            ink = _dipped(ink, codes)
        inks[at + 1] = ink
    return ink


# The screen that was asked about last, and the ink at the beginning of its rows: a long one is read once.
_known: tuple[list[str], dict[int, Ink]] = ([], {})


@lru_cache(4000)  # a screen uses the same few again and again
def _dipped(ink: Ink, codes: str) -> Ink:
    changes = _changes(codes)
    return changes if isinstance(changes, Ink) else ink._replace(**changes) if changes else ink


def _changes(codes: str) -> dict[str, Any] | Ink:
    """What the codes of one sequence change; an Ink when they begin with a reset."""
    changes: dict[str, Any] = {}
    whole = False
    fields = codes.split(";")
    at = 0
    while at < len(fields):
        code, *sub = (int(number[:9] or 0) for number in fields[at].split(":"))
        if code in _WIDE and not sub:
            size = 4 if fields[at + 1 : at + 2] == ["2"] else 2
            sub = [int(number[:9] or 0) if number.isdigit() else 0 for number in fields[at + 1 : at + 1 + size]]
            at += size
        elif code in _WIDE and sub[0] == 2:
            sub = [2, *sub[-3:]]  # a colour space may stand before the three
        if code == 0:
            whole, changes = True, {}
        else:
            changes |= _change(code, sub)
        at += 1
    return PLAIN._replace(**changes) if whole else changes


_WIDE = {38: "colour", 48: "ground", 58: ""}  # 58 is the colour of underlines
_FLAGS = {2: ("faint", True), 22: ("faint", False), 7: ("reverse", True), 27: ("reverse", False)}


def _change(code: int, sub: list[int]) -> dict[str, Any]:
    """What a code changes of the style; empty for one that means nothing here."""
    if code in _WIDE:
        return {_WIDE[code]: _wide(sub)} if _WIDE[code] else {}
    if code in _FLAGS:
        name, value = _FLAGS[code]
        return {name: value}
    for name, base in (("colour", 30), ("ground", 40)):
        if code == base + 9:
            return {name: None}
        if base <= code <= base + 7 or base + 60 <= code <= base + 67:
            return {name: _NAMED[code - base if code < base + 8 else code - base - 52]}
    return {}


def _wide(numbers: list[int]) -> RGB | None:
    """A colour of the 256 or of all, None for one that is cut short."""
    if len(numbers) == 4:
        return (numbers[1] % 256, numbers[2] % 256, numbers[3] % 256)
    if len(numbers) < 2:
        return None
    index = numbers[1]
    if index < 16:
        return _NAMED[index]
    if index > 231:
        grey = 8 + (min(index, 255) - 232) * 10
        return (grey, grey, grey)
    index -= 16
    levels = (0, 95, 135, 175, 215, 255)
    return (levels[index // 36], levels[index // 6 % 6], levels[index % 6])


@lru_cache(1000)
def hue(colour: RGB | None) -> str:
    """`warm` (red to yellow, what agents draw failures in), `cool`, or `plain` for greys and the terminal's own."""
    if colour is None or max(colour) - min(colour) < 40:
        return "plain"
    red, green, blue = colour
    return "warm" if red >= green * 0.95 and blue < red * 0.85 else "cool"


def is_warm(colour: RGB | None) -> bool:
    """Whether a colour is one that agents draw failures in."""
    return hue(colour) == "warm"


def is_red(colour: RGB | None) -> bool:
    """Whether a colour is red, and no yellow or orange."""
    return colour is not None and hue(colour) == "warm" and colour[1] < colour[0] * 0.65
