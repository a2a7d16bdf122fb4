"""What lies over a screen and is not the turn's: popups above a composer, hints beside it, dialogs in its place."""

from typing import Literal, NamedTuple

from fleettools.screens import composer
from fleettools.screens.composer import Frame, is_rule
from fleettools.screens.look import Look
from fleettools.screens.patterns import compiled

FOOT = 12  # so many rows at the foot of a screen may name the keys of a dialog
GAP = 3  # so many blank rows above it show that nothing goes on below it
POPUP = 16  # a popup is at most this high
_HIGHEST = 60  # rows of a dialog
_PAGE = frozenset("▔─")
_BORDER = frozenset("╭┌┏▔")

# Keys that a dialog waits for. Signs of work name keys, too, behind a clock or dots.
_KEY = (
    r"(?:enter|return|↵|⏎|esc(?:ape)?|tab|space|shift\+tab|ctrl\+\w|[↑↓←→](?:/?[↑↓←→])*|arrow keys|any (?:other )?key)"
)
_KEY_WORDS = ("enter", "return", "esc", "tab", "space", "ctrl", "key", *"↵⏎↑↓←→")
_KEYS = rf"(?i)(?:^|[\s·•,(\[│|]){_KEY}[\])]?:? (?:or \w+ )?(?:to )?(?!for\b)[a-z]{{2,}}"
_BUTTONS = r"(?i)(?:\[\w\]|\(\w\)) ?\w[^\[(]*\s{2,}.*(?:\[\w\]|\(\w\)) ?\w|\b\w+ \([a-z]\)\s.*\b\w+ \([a-z]\)"
_MARKED = r"\W{0,4}[❯›●▸→▶>] ?\S"
_COMMAND = r"\W{0,4}/[\w:.-]+(?:\s|$)"
_CELL = r"(?i)(?:^|\s{2,})(?:[@!/?]|(?:ctrl|alt|shift)\+\S+|esc(?: esc)?|tab) (?=[a-z])"
_CHOOSES = r"(?i)(?:enter|return|↵|⏎)[\])]?:? (?:to )?(?:select|choose|confirm|open|set)"
_CLOSES = r"(?i)esc(?:ape)?[\])]?:? (?:to )?(?:cancel|close|go back|back|exit|dismiss)"
_CELLS = 4  # so many keys with their meaning are a table
_CHOICE = r"\W{0,4}[❯›●▸→▶>]\s*\d+[.)] \S"
_AT_WORK = r"(?i)\((?:\d+[hms] ?)+|\(?\besc(?:ape)? to (?:interrupt|stop)|…|\.\.\. \(|^\s*[⠁-⣿]"


class Cover(NamedTuple):
    """What lies over the rows from `top` on: a `popup` above the composer, or a `dialog` in its place.

    `line` names it; `hides`: whether the turn may go on beneath it.
    """

    kind: Literal["popup", "dialog", "editor"]
    top: int
    line: str
    hides: bool


class Window(NamedTuple):
    """What floats in the middle of a screen: its title row, and whether it hides words of the last turn."""

    title: str
    hides: bool


def find(lines: list[str], frame: Frame | None, look: Look) -> Cover | None:
    """What lies over the foot of a screen, None when nothing does."""
    if frame is not None:
        return _picker(lines, frame, look) or _table(lines, frame) or _popup(lines, frame, look)
    return _editor(lines) or _dialog(lines, look)


def floating(lines: list[str], rows: range, look: Look) -> Window | None:
    """The window that floats over these rows of a screen, or above them; None when none does."""
    for row in range(rows.stop):
        match = look.floating.search(lines[row])
        if match is None:
            continue
        left = lines[row].rfind("  ", 0, match.start() + 1) + 2
        beside = (line for line in lines[max(rows.start, row) : rows.stop] if len(line) > left)
        hides = any(line[left - 2 : left].isspace() and not line[left].isspace() for line in beside)
        return Window(lines[row], hides)
    return None


def above_hints(lines: list[str], end: int, width: int) -> int:
    """The row above which the turn ends, hints at the right above the composer left out."""
    row = end
    for _ in range(3):
        while row > 0 and not lines[row - 1]:
            row -= 1
        line = lines[row - 1] if row else ""
        indent = len(line) - len(line.lstrip())
        beside = indent >= 20 or (indent >= 6 and len(line) >= width - 4 > 40)
        if not beside or (row > 1 and lines[row - 2]):
            break
        row -= 1
        end = row
    return end


def _picker(lines: list[str], frame: Frame, look: Look) -> Cover | None:
    """A dialog with a field to search in, which looks like a composer: the keys below it choose and close."""
    for row in range(frame.bottom, min(frame.bottom + 3, len(lines))):
        if "sc" not in lines[row] and "nter" not in lines[row]:
            continue  # names neither Esc nor Enter
        keys = " ".join(line.strip() for line in lines[row : row + 2])
        if compiled(_CHOOSES).search(keys) and compiled(_CLOSES).search(keys):
            return Cover("dialog", _top(lines, frame.top, look), lines[row], False)
    return None


def _table(lines: list[str], frame: Frame) -> Cover | None:
    """A table of keys and their meaning above the composer."""
    rows = range(max(frame.top - FOOT, 0), frame.top)
    if "+" not in "".join(lines[rows.start : rows.stop]):
        return None  # a table names keys such as Ctrl+G; asked first, since counting costs more
    cells = {row: len(compiled(_CELL).findall(lines[row])) for row in rows if "  " in lines[row].strip()}
    wide = [row for row, count in cells.items() if count > 1]
    if sum(cells[row] for row in wide) < _CELLS:
        return None
    top = wide[0]
    while top > 0 and lines[top - 1] and not is_rule(lines[top]):
        top -= 1
    return Cover("popup", top, lines[top], _abuts(lines, top))


def _popup(lines: list[str], frame: Frame, look: Look) -> Cover | None:
    """The list that a composer offers for a command or a name that is typed, above it or in its frame."""
    text = frame.text
    if "/" not in text and "@" not in text:
        return None
    if sum(bool(compiled(_COMMAND).match(line)) for line in text.split("\n")) > 2:
        return Cover("popup", frame.top, lines[frame.top], _abuts(lines, frame.top))
    words = composer.state(frame, look.composer).text
    if not (words.startswith(("/", "@")) or " @" in words):
        return None
    row = frame.top
    while row > 0 and frame.top - row < 2 and not lines[row - 1]:
        row -= 1
    if not row or not lines[row - 1]:
        return None
    top = row - 1
    while top > 0 and lines[top - 1] and row - top < POPUP:
        top -= 1
    if row < frame.top and _keys_in(lines[row - 1]) > 1:
        top = _top(lines, row - 1, look)
    elif row < frame.top and not any(compiled(_COMMAND).match(line) for line in lines[top:row]):
        return None
    return Cover("popup", top, lines[top], _abuts(lines, top))


def _editor(lines: list[str]) -> Cover | None:
    """An editor over the whole screen, as vi and nano draw it."""
    tildes = sum(line == "~" for line in lines[-FOOT:])
    nano = any(line.lstrip().startswith("GNU nano") for line in lines[:2])
    return Cover("editor", 0, lines[0], True) if tildes >= FOOT - 2 or nano else None


def _dialog(lines: list[str], look: Look) -> Cover | None:
    row = len(lines) - 1
    named = bool(look.questions) and look.asks("\n".join(lines[-_HIGHEST:]))
    for at in range(row, max(row - (_HIGHEST if named else FOOT), -1), -1):
        line = lines[at]
        asked = named and look.question.search(line)
        if line and (asked or (at > row - FOOT and not look.streams and _waits(lines, at, look))):
            top = _top(lines, at, look)
            # One in a box of its own lies over the turn; one below a rule pushes the turn up.
            return Cover("dialog", top, line, lines[top].lstrip()[:1] in "╭┌┏" and _abuts(lines, top))
    return _page(lines, look)


def _page(lines: list[str], look: Look) -> Cover | None:
    """A page that a person opened and that runs on below the screen, so that the keys it waits for are out of sight."""
    for row in range(max(len(lines) - _HIGHEST, 2), len(lines)) if look.menus else ():
        rule = row - 1 if lines[row - 1] else row - 2
        if lines[rule][:1] in _PAGE and look.menu.search(lines[row]):
            return Cover("dialog", rule, lines[row], _abuts(lines, rule))
    return None


def _waits(lines: list[str], at: int, look: Look) -> bool:
    """Whether a row shows that a key is waited for: numbered choices, buttons, or the names of two keys."""
    line = lines[at]
    if compiled(_CHOICE).match(line):
        return True
    buttons = ("[" in line or "(" in line) and compiled(_BUTTONS).search(line) is not None
    keys = 0 if buttons else _keys_in(line)
    if not buttons and not keys:
        return False
    match = look.head.match(line)
    if compiled(_AT_WORK).search(line) or look.busy_sign.search(line) or (match and match.lastgroup == "chrome"):
        return False
    return buttons or keys > 1 or any(compiled(_MARKED).match(each) for each in lines[max(at - FOOT, 0) : at])


def _keys_in(line: str) -> int:
    """How many keys a line names with what they do."""
    lower = line.lower()
    for word in _KEY_WORDS:  # asked first of every row of a screen's foot: the pattern costs ten times as much
        if word in lower:
            return len(compiled(_KEYS).findall(line))
    return 0


def _top(lines: list[str], at: int, look: Look) -> int:
    """The first row of the dialog that names its keys in row `at`: its frame, or what stands below the last item."""
    row = at
    while row > 0 and lines[row].lstrip()[:1] in ("│", "┃", "║"):
        row -= 1
    if row < at and lines[row].lstrip()[:1] in _BORDER:
        return row
    top = None
    while row > 0 and at - row < _HIGHEST:
        line = lines[row - 1]
        if line and (is_rule(line) or line.lstrip()[:1] in _BORDER):
            top = row - 1
        elif line and not compiled(_CHOICE).match(line) and _heads(line, look):
            while top is None and row < at and lines[row]:
                row += 1
            break
        row -= 1
    return row if top is None else top


def _heads(line: str, look: Look) -> bool:
    match = look.head.match(line)
    return bool(match and match.lastgroup != "chrome") or any(compiled(each.head).match(line) for each in look.prompts)


def _abuts(lines: list[str], top: int) -> bool:
    """Whether what stands above ends so close by that it may go on below."""
    return top < GAP or any(lines[top - GAP : top])
