"""How one agent draws its screen: what a file under fleettools/agents/ says (fleettools(7) lists the keys).

Wordings (`errors`, `starts`, `placeholders`, ...) are plain phrases: case, white space, wrapping and the shape of
apostrophes and dots do not count, `*` stands for a few words, and a bare number must stand alone (`429`). Places
(`prompts`, `items`, ...) are regular expressions over one physical line without its colours, from its first column on.
"""

import re
from functools import cached_property
from typing import Annotated

import msgspec

from fleettools.screens.agentdata import (
    ITEM_KINDS,
    AccountSource,
    Capability,
    ComposerLook,
    Hooks,
    Log,
    Prompt,
    Seen,
    Wordings,
)
from fleettools.screens.patterns import any_of, compiled
from fleettools.screens.phrases import MARKS, Rule, holds, parts_of, past, rules_of
from fleettools.screens.sgr import squeezed


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
    mcp: list[str] = []  # the words that register an MCP server with the agent, whose program comes last
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
        errors = [*rules_of("backend_error", own.errors), *rules_of("backend_error", common.errors)]
        return (
            *rules_of("exhausted", own.exhausted),
            *rules_of("exhausted", common.exhausted),
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
        return tuple(
            (parts_of(phrase.removesuffix("*")), phrase.endswith("*")) for phrase in (*self.marks, *self.starts)
        )

    @cached_property
    def _first_starts(self) -> tuple[str, ...]:
        return tuple(parts[0] for parts, _ in self._starts)

    def begins(self, words: str) -> bool:
        """Whether the squeezed words begin with one of `marks` or `starts`; only a `*` at its end lets words follow."""
        if not words.startswith(self._first_starts):  # most words: one question in place of one for each
            return False
        for parts, more in self._starts:
            at = past(parts, words) if words.startswith(parts[0]) else -1
            if at >= 0 and (more or words[at : at + 1] in MARKS):
                return True
        return False

    @cached_property
    def _reply_coloured(self) -> tuple[tuple[str, ...], ...]:
        return tuple(parts_of(phrase) for phrase in self.reply_coloured)

    def is_reply_coloured(self, words: str) -> bool:
        """Whether the squeezed words begin with one of `reply_coloured`."""
        return any(words.startswith(parts[0]) and holds(parts, words) for parts in self._reply_coloured)

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
        return tuple(parts_of(phrase) for phrase in (*self.retrying, *self.backends.retrying))

    def is_retry(self, words: str) -> bool:
        """Whether the squeezed words say that the agent tries again by itself."""
        for parts in self.retries:  # noqa: SIM110  # asked of every item; a generator costs more than the search
            if parts[0] in words and holds(parts, words):
                return True
        return False
