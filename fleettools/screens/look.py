"""How one agent draws its screen: what a file under fleettools/agents/ says (fleettools(7) lists the keys).

Wordings (`errors`, `starts`, `placeholders`, ...) are plain phrases: case, white space, wrapping and the shape of
apostrophes and dots do not count, `*` stands for a few words, and a bare number must stand alone (`429`). Places
(`prompts`, `items`, ...) are regular expressions over one physical line without its colours, from its first column on.
"""

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Annotated, Any, Literal, NamedTuple, cast

import msgspec

from fleettools.errors import Fault
from fleettools.records import Cause
from fleettools.screens import patterns
from fleettools.screens.sgr import squeezed

GAP = 20  # so many letters at most does a `*` stand for: it does not lead from one sentence into the next

Frame = Literal["rules", "box", "half", "bars", "line"]
Kind = Literal["exhausted", "backend_error"]

# What an agent does differently from the rest:
#   bareReplies  a reply carries no mark, so that any paragraph may be the model's words
#   failsAsReply a failure carries the mark of a reply: colour and words tell them apart
#   signsBelow   while it has a composer, it tells of a next try only beside a sign of work; else a reply says so
Capability = Literal["bareReplies", "failsAsReply", "signsBelow"]

# Item kinds: what the agent draws, and what that means for the turn.
#   error   drawn only for failures        own     the agent's own message, below a prompt or a tool
#   reply   the model's words              tool    a tool and its output
#   notice  a remark that ends nothing     retry   the agent tries again by itself
#   busy    a sign of work                 stop    a person stopped the turn
#   done    a turn has ended well          end     a turn has ended, well or not
#   local   a command of a person's that the model never sees
#   chrome  no content
ITEM_KINDS = (
    *("local", "stop", "retry", "busy", "done", "end", "chrome"),
    *("error", "own", "tool", "notice", "reply"),
)


class Data(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A mapping of an agent file; keys that it does not have are errors."""


class Prompt(Data):
    """Where a person's prompt stands: `head` begins it, `more` goes on; group 1 is its text.

    With `above`, some line directly above must match that too; with `skip`, blank lines may follow the head.
    One whose text matches `unless` is none. `limit`: how many lines it has at most.
    """

    head: str
    starts: list[str] = []  # what a line with a head begins with, where that can be said: it makes prompts fast to find
    more: str = r"^  (\S.*)"
    above: str | None = None
    unless: str | None = None
    skip: bool = False
    limit: int = 400


class ComposerLook(Data):
    """Where a person types: its frames, the glyph before the text, what stands in it when it is empty."""

    frames: list[Frame] = []
    glyph: str = ">"
    line: str | None = None
    placeholders: list[str] = []
    last: bool = False  # nothing but blank lines, and those that match `below`, may follow
    below: str | None = None
    unless: str | None = None  # a line below that matches shows that it is none


class Hooks(Data):
    """How the agent tells others of its turns: in which file of its own, below which folder, and of which events.

    `settings`: hooks in a JSON file; `notify`: a line of a TOML file; `plugin`: a file of its own, whose text is in
    `plugin`; `shown`: hooks in a JSON or TOML file that a person writes, as `file` ends.
    """

    form: Literal["settings", "notify", "plugin", "shown"]
    file: str
    user: str
    variable: str | None = None  # of the environment: names the folder instead of `user`
    project: str | None = None
    events: list[str] = []
    plugin: str | None = None


class AccountSource(Data):
    """Where the account that the agent spends can be told from: all of the variables that are set, or a JSON file.

    `file` may begin with `~` or `${VARIABLE:-path}`; `at` are the keys that lead to what names the account in it.
    """

    env: list[str] = []
    file: str | None = None
    at: list[str] = []


class Log(Data):
    """The agent's logs of its sessions: below the folder `user`, or that of the environment `variable`, by day."""

    files: str  # a glob; the folders of its `*` are looked at from the newest
    user: str
    variable: str | None = None


Situation = Literal[
    "idle", "working", "streaming", "reply", "tool", "question", "failure", "retrying", "stopped", "overlay", "cleared",
]  # fmt: skip


class Seen(Data):
    """Which version of the real program was captured, on which day, in which situations; the samples bear it out."""

    version: str
    date: str
    situations: list[Situation]


class Rule(NamedTuple):
    """One wording: what it means, the phrase as it stands in the file, and its squeezed parts between the `*`."""

    kind: Kind
    cause: Cause
    phrase: str
    first: str
    rest: tuple[str, ...]

    def within(self, words: str) -> bool:
        """Whether the squeezed words hold the phrase."""
        return self.first in words and (not self.rest or _holds((self.first, *self.rest), words))


class Wordings(Data):
    """Phrases by cause. Of two that match, exhaustion wins, then words over a bare number, then what stands first."""

    exhausted: dict[Cause, list[str]] = {}
    errors: dict[Cause, list[str]] = {}
    harmless: list[str] = []  # taken out of an item's words before they are judged
    retrying: list[str] = []
    # A limit that names one of `momentary` and none of `lasting` is over in a minute: no exhaustion.
    momentary: list[str] = []
    lasting: list[str] = []


class Look(Wordings, dict=True, kw_only=True):
    """One agent's screen. `backends` holds the wordings that any agent may pass on from a model's provider."""

    name: str
    commands: list[str] = []
    runs: list[str] = []  # further names, of one's own, of programs that it runs as
    account: list[AccountSource] = []  # the first that says anything counts
    bracketed_paste: bool = False
    whole_notice: Annotated[int, msgspec.Meta(ge=40)] = 400
    banner: list[str] = []  # at the top of a session
    prompts: list[Prompt] = []
    apart: bool = False  # prompts and replies look alike, parted by two blank rows
    bars: bool = False  # prompts and failures are both blocks behind a bar; a failure's bar is red
    bar: str = "┃"
    borders: str = "│└"  # what begins the last line of a tool's output that is no failure
    composer: ComposerLook = msgspec.field(default_factory=ComposerLook)
    items: dict[str, list[str]] = {}
    offers: list[str] = []  # what stands behind a failure only while it is the last thing that happened
    always_busy: bool = False  # a sign of work stands on the screen from the prompt to the end of its turn
    aligned: bool = False  # the glyphs of all items stand in the column of the prompts' own
    scrollbar: str = ""  # the glyphs of one that runs down the last column
    indent: int = 2  # from this column on a line continues the item above it, over blank lines too
    marks: list[str] = []  # what the agent puts before a failure, whatever it says
    starts: list[str] = []  # what a reply or an own message must begin with to be a failure
    reply_coloured: list[str] = []  # failures that are drawn in the colour of replies
    capabilities: list[Capability] = []
    tail: bool = False  # paragraphs after a failure belong to it
    confirm: list[str] = []  # one of these must follow a failure's head
    busy: list[str] = []  # in the footer or in the frame of the composer
    questions: list[str] = []
    limit_dialogs: list[str] = []
    floats: list[str] = []  # the title row of a window that floats over the turn
    menus: list[str] = []  # dialogs that only a person opens
    local: list[str] = []  # commands that the model never sees
    clears: list[str] = msgspec.field(default_factory=lambda: ["/clear", "/new"])  # begin a conversation anew
    cleared: list[str] = []  # a line that shows that a person begins anew
    title: list[str] = []  # the pane's title while it works
    streams: bool = False  # has a composer only while it is idle
    hooks: Hooks | None = None
    log: Log | None = None
    seen: Seen | None = None
    backends: Wordings = msgspec.field(default_factory=Wordings)

    @cached_property
    def head(self) -> re.Pattern[str]:
        """Matches a line that begins an item; the name of the group that matched is its kind."""
        kinds = (f"(?P<{kind}>{'|'.join(self.items[kind])})" for kind in ITEM_KINDS if self.items.get(kind))
        return compiled("|".join(kinds) or "(?!)")

    @property
    def bare_replies(self) -> bool:
        """Whether a reply carries no mark."""
        return "bareReplies" in self.capabilities

    @property
    def fails_as_reply(self) -> bool:
        """Whether a failure carries the mark of a reply."""
        return "failsAsReply" in self.capabilities

    @property
    def signs_below(self) -> bool:
        """Whether it tells of a next try only beside a sign of work."""
        return "signsBelow" in self.capabilities

    @cached_property
    def is_seen(self) -> bool:
        """Whether the real program was captured where it matters: with a reply, and with a failure."""
        return self.seen is not None and {"reply", "failure"} <= set(self.seen.situations)

    @property
    def marks_replies(self) -> bool:
        """Whether something on the screen tells the end of a reply from a failure: a mark, or words after failures."""
        return bool(self.items.get("done") or self.confirm)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Every wording in the order of judgement: of errors those that are a bare number come last."""
        own, common = self, self.backends
        errors = [*_rules("backend_error", own.errors), *_rules("backend_error", common.errors)]
        return (
            *_rules("exhausted", own.exhausted),
            *_rules("exhausted", common.exhausted),
            *sorted(errors, key=lambda rule: rule.phrase.isdigit()),
        )

    @cached_property
    def firsts(self) -> list[tuple[str, Rule]]:
        """The rules, each behind the words that have to be there before it is worth a look."""
        return [(rule.first, rule) for rule in self.rules]

    @cached_property
    def found(self) -> dict[tuple[str, bool, bool], Rule | None]:
        """What evidence.rule_of found in the texts that it was asked of last: an outage says the same many times."""
        return {}

    @cached_property
    def by_cause(self) -> dict[tuple[str, str], list[Rule]]:
        """The rules by kind and cause."""
        found: dict[tuple[str, str], list[Rule]] = {}
        for rule in self.rules:
            found.setdefault((rule.kind, rule.cause), []).append(rule)
        return found

    @cached_property
    def glyphs(self) -> tuple[str, ...]:
        """What a line with a prompt begins with, spaces aside; () where the lines around it have a say, too."""
        plain = not (self.bars or self.apart) and all(prompt.starts and not prompt.above for prompt in self.prompts)
        return (
            tuple(dict.fromkeys(start.strip() for prompt in self.prompts for start in prompt.starts)) if plain else ()
        )

    @cached_property
    def greeting(self) -> re.Pattern[str]:
        """Matches a line of the banner."""
        return any_of(self.banner)

    @cached_property
    def busy_sign(self) -> re.Pattern[str]:
        """Matches a line of the footer that shows work."""
        return any_of(self.busy)

    @cached_property
    def question(self) -> re.Pattern[str]:
        """Matches a line in which the agent asks a person something."""
        return any_of(self.questions)

    @cached_property
    def _question_lines(self) -> re.Pattern[str]:
        return any_of(self.questions, "(?m)")

    def asks(self, text: str) -> bool:
        """Whether some line of a text may be a question: one search in place of one a line."""
        return self._question_lines.search(text) is not None

    @cached_property
    def menu(self) -> re.Pattern[str]:
        """Matches a line of a dialog that only a person opens."""
        return any_of(self.menus)

    @cached_property
    def floating(self) -> re.Pattern[str]:
        """Matches the title row of a window that floats over the turn."""
        return any_of(self.floats)

    @cached_property
    def new_start(self) -> re.Pattern[str]:
        """Matches a line that shows that a person begins anew."""
        return any_of(self.cleared)

    @cached_property
    def working_title(self) -> re.Pattern[str]:
        """Matches the pane's title while the agent works."""
        return any_of(self.title)

    def is_local(self, prompt: str) -> bool | None:
        """Whether a prompt is a command that the model never sees; None for a command that no file names."""
        command = prompt.split(maxsplit=1)[0] if prompt[:1] == "/" else ""
        if not command or "/" in command[1:]:
            return False
        return True if command in self.local or command in self.clears else None

    @cached_property
    def _starts(self) -> tuple[tuple[tuple[str, ...], bool], ...]:
        return tuple((_parts(phrase.removesuffix("*")), phrase.endswith("*")) for phrase in (*self.marks, *self.starts))

    @cached_property
    def _first_starts(self) -> tuple[str, ...]:
        return tuple(parts[0] for parts, _ in self._starts)

    def begins(self, words: str) -> bool:
        """Whether the squeezed words begin with one of `marks` or `starts`; only a `*` at its end lets words follow."""
        if not words.startswith(self._first_starts):  # most words: one question in place of one for each
            return False
        for parts, more in self._starts:
            at = _past(parts, words) if words.startswith(parts[0]) else -1
            if at >= 0 and (more or words[at : at + 1] in _MARKS):
                return True
        return False

    @cached_property
    def _reply_coloured(self) -> tuple[tuple[str, ...], ...]:
        return tuple(_parts(phrase) for phrase in self.reply_coloured)

    def is_reply_coloured(self, words: str) -> bool:
        """Whether the squeezed words begin with one of `reply_coloured`."""
        return any(words.startswith(parts[0]) and _holds(parts, words) for parts in self._reply_coloured)

    def is_momentary(self, words: str) -> bool:
        """Whether the limit that the squeezed words name is one of a minute."""
        brief, lasting = self._spans
        return any(phrase in words for phrase in brief) and not any(phrase in words for phrase in lasting)

    @cached_property
    def _spans(self) -> tuple[list[str], list[str]]:
        own, common = self, self.backends
        return [squeezed(phrase) for phrase in (*own.momentary, *common.momentary)], [
            squeezed(phrase) for phrase in (*own.lasting, *common.lasting)
        ]

    @cached_property
    def innocent(self) -> tuple[str, ...]:
        """The squeezed `harmless` phrases."""
        return tuple(squeezed(phrase) for phrase in (*self.harmless, *self.backends.harmless))

    @cached_property
    def retries(self) -> tuple[tuple[str, ...], ...]:
        """The parts of the phrases that say that the agent tries again by itself."""
        return tuple(_parts(phrase) for phrase in (*self.retrying, *self.backends.retrying))

    def is_retry(self, words: str) -> bool:
        """Whether the squeezed words say that the agent tries again by itself."""
        for parts in self.retries:  # noqa: SIM110  # asked of every item; a generator costs more than the search
            if parts[0] in words and _holds(parts, words):
                return True
        return False


def drawn(
    name: str, prompt: str, busy: str | None, error: str | None, composer: str | None, place: str = "look"
) -> Look:
    """The look of an agent that no file describes, from a few places over one line, each with a time budget.

    A composer that looks as a prompt does is one only while nothing stands below it. `place`: where they were written.
    """

    def own(key: str, pattern: str) -> str:
        return patterns.marked(f"{place}.{key}", pattern)

    items = {"error": [own("error", f"(?:{error.lstrip('^')})")]} if error else {}
    if busy:
        items["busy"] = [own("busy", f".*(?:{busy.lstrip('^')})")]
    typed = ComposerLook()
    if composer:
        line = composer.lstrip("^").rstrip("$").rstrip(" ")
        typed = ComposerLook(
            frames=["line"], line=own("composer", f"(?:{line})(?: (.*))?$"),
            last=composer.lstrip("^") == prompt.lstrip("^"),
        )  # fmt: skip
    asked = Prompt(head=own("prompt", f"(?:{prompt.lstrip('^')})(.*\\S.*)"), more="(?!)")
    return Look(
        name=name, prompts=[asked], composer=typed, items=items,
        busy=[own("busy", busy)] if busy else [], capabilities=["bareReplies"], bracketed_paste=False,
    )  # fmt: skip


def _rules(kind: Kind, wordings: dict[Cause, list[str]]) -> list[Rule]:
    made = []
    for cause, phrases in wordings.items():
        for phrase in phrases:
            first, *rest = _parts(phrase)
            made.append(Rule(kind, cause, phrase, first, tuple(rest)))
    return made


def said(text: str) -> str:
    """The squeezed words of a text, followed by each number of three digits that stands alone in it."""
    codes = dict.fromkeys(_CODE.findall(text))
    return "".join((squeezed(text), *(f"\0{code}\0" for code in codes)))


_CODE = re.compile(r"(?<![\w.-])\d{3}(?![\w-]|\.\d)")


def _parts(phrase: str) -> tuple[str, ...]:
    if phrase.isdigit():
        return (f"\0{phrase}\0",)
    return tuple(squeezed(part) for part in phrase.split("*"))


_MARKS = ("", ".", "·", "∙", "•", "|", "(", "!", "-", "–", "—")


def _past(parts: tuple[str, ...], words: str) -> int:
    """Where the phrase ends that the words begin with, or -1."""
    first, *rest = parts
    at = len(first)
    for part in rest:
        at = words.find(part, at, at + GAP + len(part))
        if at < 0:
            return -1
        at += len(part)
    return at


def _holds(parts: tuple[str, ...], words: str) -> bool:
    first, *rest = parts
    start = words.find(first)
    while start >= 0:
        at = start + len(first)
        for part in rest:
            at = words.find(part, at, at + GAP + len(part))
            if at < 0:
                break
            at += len(part)
        else:
            return True
        start = words.find(first, start + 1)
    return False


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled form of a place's regular expression; one of a person's own has a time budget."""
    return cast("re.Pattern[str]", patterns.bounded(pattern)) or re.compile(pattern)


def any_of(listed: list[str], flags: str = "") -> re.Pattern[str]:
    """Matches where one of the patterns does; `flags` as at the beginning of a regular expression."""
    return compiled(flags + ("|".join(f"(?:{pattern})" for pattern in listed) or "(?!)"))


# Where regular expressions stand in an agent file.
_LISTS = ("busy", "questions", "banner", "cleared", "title", "menus", "floats")
_IN_PROMPTS = ("head", "more", "above", "unless")
_IN_COMPOSER = ("line", "below", "unless")


def faults(look: Look) -> list[Fault]:
    """What the types cannot say of an agent file: kinds that there are not, regular expressions that cannot be."""
    found = [
        Fault(f"items.{kind}", "no kind of item", f"one of {', '.join(ITEM_KINDS)}")
        for kind in look.items
        if kind not in ITEM_KINDS
    ]
    for place, pattern in _places(msgspec.to_builtins(look)):
        if wrong := patterns.fault(pattern):
            found.append(Fault(place, wrong, "mend the regular expression, or put \\ before the character"))
        elif place == "composer.line" and not compiled(pattern).groups:
            found.append(Fault(place, f"no group in {pattern!r}", "write (...) around the text"))
        elif place.startswith("items.") and compiled(pattern).groups:
            found.append(Fault(place, f"a group in {pattern!r}", "write (?:...) for a group that is not looked at"))
    return found


def budgeted(data: dict[str, Any], file: str) -> dict[str, Any]:
    """The data of a person's own agent file with a time budget on each of its regular expressions."""
    made: dict[str, Any] = msgspec.to_builtins(data)
    for place, pattern in _places(data):
        holder: Any = made
        *path, last = re.findall(r"\w+", place)
        for step in path:
            holder = holder[int(step) if step.isdigit() else step]
        holder[int(last) if last.isdigit() else last] = patterns.marked(f"{file} {place}", pattern)
    return made


def _places(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each regular expression in the data of an agent file, behind its place."""
    lists = {key: data.get(key) or [] for key in _LISTS}
    lists |= {f"items.{kind}": listed for kind, listed in (data.get("items") or {}).items()}
    for key, listed in lists.items():
        yield from ((f"{key}[{i}]", pattern) for i, pattern in enumerate(listed))
    for i, prompt in enumerate(data.get("prompts") or []):
        yield from ((f"prompts[{i}].{key}", prompt[key]) for key in _IN_PROMPTS if prompt.get(key))
    composer = data.get("composer") or {}
    yield from ((f"composer.{key}", composer[key]) for key in _IN_COMPOSER if composer.get(key))
