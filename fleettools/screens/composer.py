"""Where a person types: finding the composer at the foot of a screen, and what stands in it."""

from functools import cache
from typing import Literal, NamedTuple

from fleettools.screens.agentdata import ComposerLook
from fleettools.screens.patterns import compiled
from fleettools.screens.sgr import squeezed

REACH = 40  # a composer with a long draft is at most this high
FOOTER = 14  # so many lines may stand below it
COMMANDS = "!#$"  # glyphs before what is typed as a shell command or a note, and not as a prompt


class Composer(NamedTuple):
    """What stands in the composer: `empty` (its placeholder counts as nothing), a `draft`, or it is `absent`."""

    state: Literal["empty", "draft", "absent"]
    text: str


class Frame(NamedTuple):
    """The lines of the screen that are the composer: from `top` up to but not including `bottom`."""

    top: int
    bottom: int
    text: str


def find(lines: list[str], look: ComposerLook) -> Frame | None:
    """The composer of a screen (lines without colours, no blank ones at the end)."""
    for kind in look.frames:
        frame = _FINDERS[kind](lines, look)
        if frame is None:
            continue
        if look.unless and any(compiled(look.unless).search(line) for line in lines[frame.bottom :]):
            return None
        return frame
    return None


def state(frame: Frame | None, look: ComposerLook) -> Composer:
    """Whether the composer is empty; a placeholder of the agent's is no text."""
    if frame is None:
        return Composer("absent", "")
    text = frame.text.strip()
    shown = squeezed(text)
    for phrase in look.placeholders:
        whole, head = _placeholder(phrase)
        if shown == whole or (head is not None and shown.startswith(head)):
            return Composer("empty", "")
    return Composer("draft" if text else "empty", text)


@cache
def _placeholder(phrase: str) -> tuple[str, str | None]:
    """A placeholder's squeezed words, and those before its `*`, when it has one."""
    head, star, _ = phrase.partition("*")
    return squeezed(phrase), squeezed(head) if star else None


def _feet(lines: list[str]) -> range:
    return range(len(lines) - 1, max(len(lines) - FOOTER - 1, -1), -1)


def is_rule(line: str) -> bool:
    """Whether a line is a rule across the screen."""
    return line.startswith("──", 1 if line.startswith(" ") else 0) and line.count("─") > 8


def _rules(lines: list[str], look: ComposerLook) -> Frame | None:
    """A composer between two rules."""
    for bottom in _feet(lines):
        if not is_rule(lines[bottom]):
            continue
        for top in range(bottom - 1, max(bottom - REACH, -1), -1):
            if is_rule(lines[top]):
                first = lines[top + 1].lstrip()
                if not look.glyph and top + 1 < bottom:
                    return Frame(top, bottom + 1, "\n".join(line.strip() for line in lines[top + 1 : bottom]))
                if first[:1] and first[0] in look.glyph and not _is_choice(first[1:]):
                    rest = [_typed(first), *lines[top + 2 : bottom]]
                    return Frame(top, bottom + 1, "\n".join(line.strip() for line in rest))
                break
    return None


def _typed(line: str) -> str:
    """What stands behind the glyph. One of a shell's stays: under it even nothing is no empty composer."""
    return line if line[:1] in COMMANDS else line[1:]


def _is_choice(text: str) -> bool:
    text = text.lstrip()
    return text[:1].isdigit() and text[1:3] == ". "


def _box(lines: list[str], look: ComposerLook) -> Frame | None:
    """A composer in a box."""
    for bottom in _feet(lines):
        if lines[bottom].lstrip()[:1] not in ("╰", "└"):
            continue
        top = bottom - 1
        while top > 0 and lines[top].lstrip()[:1] in ("│", "┃"):
            top -= 1
        if lines[top].lstrip()[:1] not in ("╭", "┌") or top + 1 == bottom:
            continue
        inner = [line.strip().strip("│┃").strip() for line in lines[top + 1 : bottom]]
        glyph = inner[0][:1]
        if look.glyph and (not glyph or glyph not in look.glyph or _is_choice(inner[0][1:])):
            continue
        return Frame(top, bottom + 1, "\n".join((_typed(inner[0]) if look.glyph else inner[0], *inner[1:])))
    return None


def _is_half(line: str) -> bool:
    return line[:3] in ("▀▀▀", "▄▄▄") and len(line) > 8 and not line.strip("▀▄")


def _half(lines: list[str], look: ComposerLook) -> Frame | None:
    """A composer between two half-block lines."""
    for bottom in _feet(lines):
        if not _is_half(lines[bottom]):
            continue
        top = bottom - 1
        while top >= 0 and not _is_half(lines[top]):
            top -= 1
        first = lines[top + 1].strip() if top >= 0 else ""
        below = [line for line in lines[bottom + 1 :] if line]
        menu = first[1:].lstrip()[:1] in ("/", "@")  # its list stands below
        if first[:1] and first[0] in look.glyph and (len(below) <= 5 or menu) and _after_status(lines, top):
            rest = [_typed(first), *lines[top + 2 : bottom]]
            return Frame(top, bottom + 1, "\n".join(line.strip() for line in rest))
        return None
    return None


def _after_status(lines: list[str], top: int) -> bool:
    """Whether the status line stands above, as it does over the composer and not over a prompt of the past."""
    return any(is_rule(line) for line in lines[max(top - 4, 0) : top]) or not any(
        line and not _is_half(line) for line in lines[top + 3 :]
    )


def _bars(lines: list[str], look: ComposerLook) -> Frame | None:
    """A composer behind a bar that ends in a foot."""
    # On its first screen it stands in the middle, with any number of blank lines below.
    for bottom in reversed(range(len(lines))):
        if not lines[bottom].lstrip().startswith("╹▀"):
            continue
        top = bottom
        while top > 0 and lines[top - 1].lstrip()[:1] == "┃":
            top -= 1
        inner = [line.lstrip()[1:].strip() for line in lines[top:bottom]]
        # Its last line names the model, not what is typed; or that it is typed for a shell.
        typed = ["! ", *inner[:-1]] if inner and inner[-1].partition(" ")[0] == "Shell" else inner[:-1]
        return Frame(top, bottom + 1, "\n".join(typed).strip())
    return None


def _line(lines: list[str], look: ComposerLook) -> Frame | None:
    """A composer that is a line by itself."""
    pattern = compiled(look.line or "(?!)")
    below = compiled(look.below or "(?!)")
    for top in range(len(lines) - 1, max(len(lines) - REACH, -1), -1):
        if look.last and top < len(lines) - 1 and lines[top + 1] and not below.match(lines[top + 1]):
            return None
        match = pattern.match(lines[top])
        if match is None:
            continue
        typed = lines[top] if lines[top][:1] in COMMANDS else match[1] or ""
        if _is_choice(typed):
            return None
        bottom = top + 1
        while bottom < len(lines) and lines[bottom].startswith("  "):
            bottom += 1
        return Frame(top, bottom, "\n".join((typed, *(line.strip() for line in lines[top + 1 : bottom]))))
    return None


_FINDERS = {"rules": _rules, "box": _box, "half": _half, "bars": _bars, "line": _line}
