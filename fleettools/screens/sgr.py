"""Text as a terminal holds it: without its colours, with one colour looked up, and with nothing but its letters."""

import re

ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_PIECE = re.compile(r"\x1b\[([0-9;:]*)m")
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
    if "\x1b" in text:
        text = ESCAPE.sub("", text)
    if "\xa0" in text:
        text = text.replace("\xa0", " ")
    for selector in ("\ufe0e", "\ufe0f"):
        if selector in text:
            text = text.replace(selector, "")
    text = text.rstrip()
    return list(map(str.rstrip, text.split("\n"))) if text else []


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
        if codes := _PIECE.findall(line):
            said, colour = _applied(";".join(codes))
            if said:
                state = colour
                break
    pieces: list[tuple[str, RGB | None]] = []
    start = 0
    line = raw[row]
    for match in _PIECE.finditer(line):
        if match.start() > start:
            pieces.append((ESCAPE.sub("", line[start : match.start()]), state))
        said, colour = _applied(match[1])
        state, start = colour if said else state, match.end()
    pieces.append((ESCAPE.sub("", line[start:]), state))
    return [piece for piece in pieces if piece[0]]


def without_faint(raw: list[str], first: int, last: int) -> list[str]:
    """The physical lines from `first` up to `last`, without colours, blank where the text is faint.

    So is a letter in reverse before it: the cursor stands on the first letter of what the agent proposes.
    """
    faint = reverse = False
    found: list[str] = []
    for row, line in enumerate(raw[:last]):
        pieces: list[tuple[str, bool, bool]] = []
        start = 0
        for match in [*_PIECE.finditer(line), None]:
            piece = ESCAPE.sub("", line[start : match.start() if match else len(line)])
            if piece:
                pieces.append((piece, faint, reverse))
            if match:
                faint, reverse = _marked(match[1], faint, reverse)
                start = match.end()
        if row >= first:
            shown = ""
            for at, (piece, dim, turned) in enumerate(pieces):
                cursor = turned and len(piece) == 1 and at + 1 < len(pieces) and pieces[at + 1][1]
                shown += " " * len(piece) if dim or cursor else piece
            found.append(shown.replace("\xa0", " ").rstrip())
    return found


def _marked(codes: str, faint: bool, reverse: bool) -> tuple[bool, bool]:
    """Whether text is faint, and in reverse, after the codes."""
    numbers = codes.split(";")
    at = 0
    while at < len(numbers):
        code = numbers[at]
        if code in ("38", "48", "58") and at + 1 < len(numbers):
            at += 5 if numbers[at + 1] == "2" else 3
            continue
        if code in ("", "0"):
            faint = reverse = False
        elif code in ("2", "22"):
            faint = code == "2"
        elif code in ("7", "27"):
            reverse = code == "7"
        at += 1
    return faint, reverse


def ground(line: str, column: int) -> RGB | None:
    """The background under a column of a physical line, as far as that line says; None being the terminal's own."""
    state: RGB | None = None
    at = start = 0
    for match in _PIECE.finditer(line):
        at += len(ESCAPE.sub("", line[start : match.start()]))
        if at > column:
            break
        start = match.end()
        said, colour = _applied(match[1], 40)
        state = colour if said else state
    return state


def _applied(codes: str, base: int = 30) -> tuple[bool, RGB | None]:
    """Whether the codes say anything of the foreground (of the background with base 40), and what."""
    numbers = [int(code[:9] or 0) for code in codes.replace(":", ";").split(";")]
    said, colour, at = False, None, 0
    while at < len(numbers):
        code = numbers[at]
        if code in (38, 48) and at + 1 < len(numbers):
            size = 5 if numbers[at + 1] == 2 else 3
            if code == base + 8:
                said, colour = True, _wide(numbers[at + 1 : at + size])
            at += size
            continue
        if code in (0, base + 9):
            said, colour = True, None
        elif base <= code <= base + 7 or base + 60 <= code <= base + 67:
            said, colour = True, _NAMED[code - base if code < base + 8 else code - base - 52]
        at += 1
    return said, colour


def _wide(numbers: list[int]) -> RGB | None:
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


def hue(colour: RGB | None) -> str:
    """`warm` (red to yellow, what agents draw failures in), `cool`, or `plain` for greys and the terminal's own."""
    if colour is None or max(colour) - min(colour) < 40:
        return "plain"
    red, green, blue = colour
    return "warm" if red >= green * 0.95 and blue < red * 0.85 else "cool"
