"""What is typed on a screen: the state of its composer, and where a token stands."""

from typing import Literal

from fleettools.screens import composer as composers
from fleettools.screens.composer import Composer
from fleettools.screens.look import Look
from fleettools.screens.sgr import lines_of, squeezed, without_faint

_BORDERS = tuple("─━╭╰┌└▀▄╹")


def composer(text: str, look: Look) -> Composer:
    """What stands in the composer of a screen; the text may hold colours. What an agent proposes counts as empty."""
    lines = lines_of(text)
    frame = composers.find(lines, look.composer)
    found = composers.state(frame, look.composer)
    if frame is None or found.state == "empty" or "\x1b" not in text:
        return found
    kept = without_faint(text.split("\n"), frame.top, frame.bottom)
    typed = [
        line if line.strip()[:1] in _BORDERS else bare for line, bare in zip(lines[frame.top :], kept, strict=False)
    ]
    bare = composers.find([*lines[: frame.top], *typed, *lines[frame.bottom :]], look.composer)
    return composers.state(bare, look.composer) if bare and bare.top == frame.top else found


def holds(text: str, look: Look, token: str) -> Literal["composer", "above", "none"]:
    """Where a token stands: in the composer, above it, or nowhere on the screen; blind to wrapping."""
    lines = lines_of(text)
    frame = composers.find(lines, look.composer)
    wanted = squeezed(token)
    if frame is not None and wanted in squeezed(frame.text):
        return "composer"
    return "above" if wanted in squeezed("\n".join(lines[: frame.top if frame else None])) else "none"
