"""Text as a terminal holds it: without its colours, with one colour looked up, and with nothing but its letters."""

import re

ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_PIECE = re.compile(r"\x1b\[([0-9;:]*)m")
_TYPED = {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u2026": "..."}
_TYPED |= {"\u2010": "-", "\u2011": "-", "\u2013": "-", "\u200b": "", "\ufeff": "", "\u2219": "·", "\u2022": "·"}
_BASIC = [(0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)]
_BRIGHT = [(127,) * 3, (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255), (255,) * 3]

RGB = tuple[int, int, int]


def lines_of(text: str) -> list[str]:
    """The physical lines without colours, non-breaking spaces made plain, line ends stripped, no blank ones last."""
    if "\x1b" in text:
        text = ESCAPE.sub("", text)
    if "\xa0" in text:
        text = text.replace("\xa0", " ")
    return [line.rstrip() for line in text.rstrip().split("\n")] if text else []


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


def colours(raw: list[str], row: int) -> list[tuple[str, RGB | None]]:
    """The pieces of a physical line with their foreground, None being the terminal's own; state runs over line ends."""
    state: RGB | None = None
    for line in reversed(raw[:row]):
        found = _last_colour(line)
        if found is not ...:
            state = found  # type: ignore[assignment]
            break
    pieces: list[tuple[str, RGB | None]] = []
    start = 0
    line = raw[row]
    for match in _PIECE.finditer(line):
        if match.start() > start:
            pieces.append((ESCAPE.sub("", line[start : match.start()]), state))
        state, start = _applied(match[1], state), match.end()
    pieces.append((ESCAPE.sub("", line[start:]), state))
    return [piece for piece in pieces if piece[0]]


def _last_colour(line: str) -> object:
    """The foreground that a line leaves behind, `...` when it says nothing of it."""
    state: object = ...
    for match in _PIECE.finditer(line):
        state = _applied(match[1], state)
    return state


def _applied(codes: str, state: object) -> object:
    numbers = [int(code or 0) for code in codes.replace(":", ";").split(";")]
    at = 0
    while at < len(numbers):
        code = numbers[at]
        if code in (38, 48) and at + 1 < len(numbers):
            size = 5 if numbers[at + 1] == 2 else 3
            if code == 38:
                state = _wide(numbers[at + 1 : at + size])
            at += size
            continue
        if code in (0, 39):
            state = None
        elif 30 <= code <= 37:
            state = _BASIC[code - 30]
        elif 90 <= code <= 97:
            state = _BRIGHT[code - 90]
        at += 1
    return state


def _wide(numbers: list[int]) -> RGB | None:
    if len(numbers) == 4:
        return (numbers[1], numbers[2], numbers[3])
    if len(numbers) < 2:
        return None
    index = numbers[1]
    if index < 16:
        return (_BASIC + _BRIGHT)[index]  # type: ignore[return-value]
    if index > 231:
        return (8 + (index - 232) * 10,) * 3  # type: ignore[return-value]
    index -= 16
    levels = (0, 95, 135, 175, 215, 255)
    return (levels[index // 36], levels[index // 6 % 6], levels[index % 6])


def hue(colour: RGB | None) -> str:
    """`warm` (red to yellow, what agents draw failures in), `cool`, or `plain` for greys and the terminal's own."""
    if colour is None or max(colour) - min(colour) < 40:
        return "plain"
    red, green, blue = colour
    return "warm" if red >= green * 0.95 and blue < red * 0.85 else "cool"
