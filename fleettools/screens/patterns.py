"""Operators' own patterns: searched in physical lines, each search within a time budget."""

import re
import warnings
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec

if TYPE_CHECKING:
    import regex

BUDGET = 0.1  # seconds of processor time for all patterns of one pane together
LINE_BUDGET = 0.005  # seconds of processor time for a pattern of a person's own agent file on one line
LONGEST = 10_000  # characters of a pattern
DEEPEST = 50  # groups within each other
MOST = 1000  # times that a part may be repeated, and ten times that with the repetitions around it


class Own(msgspec.Struct, frozen=True):
    """A pattern with the place in the configuration that it comes from; `anywhere`: also in the model's words."""

    key: str
    pattern: str
    anywhere: bool = False


class Hit(NamedTuple):
    """Where a pattern matched: its line, that line's number among those searched, and the column."""

    line: str
    number: int
    column: int


class Kind(msgspec.Struct, frozen=True):
    """An operator's patterns of one kind; `bundled`: whether the agent's bundled ones of that kind still hold."""

    own: tuple[Own, ...] = ()
    bundled: bool = True


class Rules(msgspec.Struct, frozen=True):
    """What a profile's configuration says about judging its panes."""

    error: Kind = Kind()
    exhausted: Kind = Kind()
    min_turn_seconds: float = 2
    drawn: bool = False  # the profile says how its agent draws

    @property
    def configured(self) -> bool:
        """Whether the profile has patterns of its own, or a look."""
        return bool(self.drawn or self.error.own or self.exhausted.own)


_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]|\{(\d*)(?:,(\d*))?\}", re.DOTALL)


def fault(pattern: str) -> str | None:
    """What is wrong with a regular expression, None when it can be used."""
    if excess := _excess(pattern):
        return excess
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError):
        # What `re` takes `regex` takes too; loading `regex` would cost every command a quarter of a start.
        import regex

        try:
            regex.compile(pattern)
        except regex.error as error:
            return str(error).replace(" at position ", " at ")
    return None


def _excess(pattern: str) -> str | None:
    """What would take a machine's memory or stack to compile."""
    if len(pattern) > LONGEST:
        return f"longer than {LONGEST} characters"
    # For each open group, how often the most repeated part within it stands there.
    times = [1]
    last = 1
    for token in _TOKEN.finditer(pattern):
        if token[0] == "(":
            times.append(1)
            if len(times) > DEEPEST + 1:
                return f"groups more than {DEEPEST} deep at {token.start()}"
        elif token[0] == ")" and len(times) > 1:
            last = times.pop()
            times[-1] = max(times[-1], last)
        elif token[0].startswith("{") and (token[1] or token[2]):
            closes = pattern[token.start() - 1 : token.start()] == ")"
            most = max(int(number[:9]) for number in (token[1], token[2]) if number)
            last = most * (last if closes else 1)
            times[-1] = max(times[-1], last)
            if most > MOST or last > 10 * MOST:
                return f"a repetition of more than {MOST} times at {token.start()}"
    return None


_MARK = re.compile(r"\(\?#own ([^)]*)\)")
_ran_out: dict[str, None] = {}


def marked(key: str, pattern: str) -> str:
    """The pattern of a person's own file, with a comment that has it `bounded` also as a part of a larger one."""
    return f"(?#own {key}){pattern}"


def bounded(pattern: str) -> "Bounded | None":
    """The compiled form of a pattern that holds one which is `marked`; None for any other."""
    return Bounded(pattern) if "(?#own " in pattern else None


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled form of a place's regular expression; one of a person's own has a time budget."""
    return cast("re.Pattern[str]", bounded(pattern)) or re.compile(pattern)


def any_of(listed: list[str], flags: str = "") -> re.Pattern[str]:
    """Matches where one of the patterns does; `flags` as at the beginning of a regular expression."""
    return compiled(flags + ("|".join(f"(?:{pattern})" for pattern in listed) or "(?!)"))


class Bounded:
    """A pattern of a person's own: one that runs out of its time matches nothing more on that pane."""

    def __init__(self, pattern: str) -> None:
        import regex

        self._pattern = regex.compile(pattern)
        self.groups: int = self._pattern.groups
        self._keys = ", ".join(dict.fromkeys(_MARK.findall(pattern)))

    def match(self, text: str, *at: int) -> "regex.Match[str] | None":
        """As of a compiled pattern."""
        return self._within("match", text, at)

    def search(self, text: str, *at: int) -> "regex.Match[str] | None":
        """As of a compiled pattern."""
        return self._within("search", text, at)

    def _within(self, how: str, text: str, at: tuple[int, ...]) -> "regex.Match[str] | None":
        if self._keys in _ran_out:
            return None
        try:
            found: regex.Match[str] | None = getattr(self._pattern, how)(
                text, *at, timeout=LINE_BUDGET + len(text) * 2e-7
            )
        except TimeoutError:
            _ran_out[self._keys] = None
            return None
        return found


def ran_out() -> list[str]:
    """The keys of the bounded patterns that ran out of their time since the last call; they are tried again."""
    keys = list(_ran_out)
    _ran_out.clear()
    return keys


@cache
def _compiled(pattern: str) -> "regex.Pattern[str]":
    import regex

    return regex.compile(pattern)


class Search:
    """Searches within one pane's budget; `over` names the patterns that ran out of it."""

    def __init__(self) -> None:
        self.left = BUDGET
        self.over: list[str] = []

    def hits(self, own: tuple[Own, ...], lines: list[str]) -> list[tuple[Own, Hit | None]]:
        """Each pattern with the first line that it matches, if any; each gets its part of the budget."""
        found = []
        for number, candidate in enumerate(own):
            share = self.left / (len(own) - number + 1)
            found.append((candidate, self._in(candidate, lines, share)))
        return found

    def _in(self, own: Own, lines: list[str], share: float) -> Hit | None:
        """The first line in which a pattern matches within its share of the time; one that runs out goes to `over`."""
        pattern = _compiled(own.pattern)
        part = share / max(len(lines), 1)
        for number, line in enumerate(lines):
            try:
                if match := pattern.search(line, timeout=max(part, 0.0002)):
                    return Hit(line, number, match.start())
            except TimeoutError:
                self.over.append(own.key)
                self.left -= part
                return None
        return None
