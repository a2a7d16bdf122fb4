"""How much of a screen has to be read: what stands above the first line that may begin a prompt is of no turn in view.

Most of a long capture is such text. Reading it would only cost time, as long as a prompt is found below.
"""

from collections.abc import Iterator

from fleettools.screens.look import Look
from fleettools.screens.sgr import without_colours

ABOVE = 12  # rows above that line that are read, too: a frame, a hint or a rule may reach up there
_LEAST = 600  # letters: less is read as fast as it is left out
_TRIES = 40  # so many words that only look like a prompt's glyph make the search dearer than the reading


def begins(text: str, look: Look) -> int:
    """Where in a text reading may begin: the offset of a line, 0 where all has to be read."""
    if not look.glyphs or len(text) < _LEAST:
        return 0
    first = min(_firsts(text, look), default=0)
    for _ in range(ABOVE + 1):
        first = text.rfind("\n", 0, first)
        if first < 0:
            return 0
    return first + 1


def _firsts(text: str, look: Look) -> Iterator[int]:
    """For each glyph of a prompt's, the first place at the beginning of a line; 0 when that is too dear to find."""
    for glyph in look.glyphs:
        at = text.find(glyph)
        for _ in range(_TRIES):
            if at < 0:
                break
            before = text[text.rfind("\n", 0, at) + 1 : at]
            if not before or not without_colours(before).strip():
                yield at
                break
            at = text.find(glyph, at + 1)
        else:
            yield 0
