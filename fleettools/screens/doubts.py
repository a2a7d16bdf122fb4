"""What speaks against a failure of the agent's own: that it is a quotation, a tool's output, the end of a reply."""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from fleettools.screens import causes
from fleettools.screens.blocks import Screen
from fleettools.screens.items import WORDS, Item
from fleettools.screens.patterns import compiled

# The error's name is the subject of a sentence, or stands beside its place in a log: somebody talks about it.
_PROSE = (
    r"(?:error:? ?\(?\d{3}\)?(?! (?:the|this|that|your?|our|we|an?|no)\b)[\w ]{0,30}?"
    r"|limit(?: reached)?|overloaded|timed out|error|expired|exceeded|quota|credits|"
    r"too low|disconnected|unavailable|failed|completion|login)[\"'`»”’)\]]* "
    r"(?:(?:is|was|were|are)\b(?! (?:used|exce|exha|too|not|temp|curr|req|inv|exp|at cap|over|down|unav|dis|rest|block"
    r"|lim|reach|hit|inact|depl|spent|gone|susp|den|miss|wrong|fail|offl|full|cap|charg|filt|flag|set to \$))"
    r"|means|meant|appears?\b|came\b|comes\b|stands\b|shows? up|occurs?\b|occurred(?! while| during|\.? *$)|happen"
    r"|indicates|tells us|dominates|line \d|lines \d|in (?:the |app|your )?\w*\.?logs?\b|\(\d+ (?:times|lines|hits))"
)
# Words of somebody who looked at a log, and of no message of an agent's own.
_TALK = (
    *(" is the ", " is what ", " is by far", " is only ", " is just ", " is one of ", " the log", "most frequent"),
    *(".log ", ".log,", ".log.", ".log:", " by far ", "our side", " i have ", " i found ", " i added ", " i see "),
    *(" i saw ", " i will ", " i fixed ", " i checked ", " the pane ", " the screen ", " the transcript "),
    *(" the test ", " the report ", " the script "),
)


class Sign(Enum):
    """What speaks for a failure of the agent's own."""

    PLACE = "stands where only failures do"
    COLOUR = "is drawn in the colour of failures"
    WORDS = "begins as the agent's failures do"
    BODY = "carries what a server answered"


class Doubt(Enum):
    """What speaks against a failure of the agent's own."""

    RETRY = "the agent tries again by itself"
    PARAGRAPHS = "a reply of several paragraphs"
    TALK = "a sentence about an error"
    TOOL = "a tool and what it printed"
    INTRODUCED = "introduced by the reply above it"
    END_OF_REPLY = "may be the end of the reply above it"
    COLOUR = "not in a colour of failures"
    PRINTED_AGAIN = "stands in the last message, printed again below the end of the turn"


class Candidate(NamedTuple):
    """An item that may be the agent's own failure, with what stands above it and what speaks for it."""

    screen: Screen
    items: list[Item]
    at: int
    sign: Sign

    @property
    def item(self) -> Item:
        """The item itself."""
        return self.items[self.at]

    @property
    def before(self) -> Item | None:
        """The item above it in the block."""
        return self.items[self.at - 1] if self.at else None

    @property
    def bare(self) -> bool:
        """Whether it may as well be a paragraph of a reply."""
        return self.screen.look.bare_replies

    @property
    def follows_words(self) -> bool:
        """Whether the model's words stand right above it, where it could be one of them."""
        if self.sign is Sign.COLOUR or not (self.bare or self.item.kind == "own"):
            return False
        return self.before is not None and self.before.kind in ("plain", "reply")


def _retry(case: Candidate) -> bool:
    return case.screen.look.is_retry(case.item.words)


def _paragraphs(case: Candidate) -> bool:
    if case.item.kind != "reply" or case.item.paragraphs == 1 or case.sign is Sign.COLOUR:
        return False
    return not case.screen.burns(case.item) and not causes.has_request_id(case.item.text)


def _talk(case: Candidate) -> bool:
    if case.item.kind == "error" and not case.bare:
        return False
    return is_talk(case.item.text, case.item.kind == "own" or case.sign is Sign.COLOUR)


def _tool(case: Candidate) -> bool:
    return case.item.kind == "error" and is_printed(case.screen, case.item)


def is_printed(screen: Screen, item: Item) -> bool:
    """Whether an item ends as a tool's output does."""
    return item.lines[-1].lstrip()[:1] in tuple(screen.look.borders)


def _introduced(case: Candidate) -> bool:
    return case.follows_words and case.before is not None and case.before.text.endswith((":", "："))


def _end_of_reply(case: Candidate) -> bool:
    if not case.follows_words or not case.bare or case.screen.look.marks_replies or case.screen.coloured:
        return False
    if case.before is not None and case.before.kind == "reply" and _glyph(case.before) == _glyph(case.item):
        return False  # an item of its own
    return case.before is not None and case.before.text.endswith((".", "!", "。"))


def _glyph(item: Item) -> str:
    """What a line begins with that is no word, and how far in; "" without it."""
    line = item.lines[0]
    match = WORDS.search(line)
    return line[: match.start()].rstrip() if match else line


def _colour(case: Candidate) -> bool:
    look, item = case.screen.look, case.item
    if item.kind == "own" or look.bars or look.is_reply_coloured(item.words):
        return False
    return not case.screen.warm(item)


def _printed_again(case: Candidate) -> bool:
    """Whether text of no kind stands between the end of the turn and here, in a run without a composer."""
    if case.screen.frame or case.bare:
        return False
    above = case.items[: case.at]
    ends = [at for at, item in enumerate(above) if item.kind == "done"]
    below = above[ends[-1] + 1 :] if ends else []
    return any(item.kind == "plain" for item in below) or bool(ends and len(above[ends[-1]].lines) > 2)


DOUBTS: tuple[tuple[Doubt, Callable[[Candidate], bool]], ...] = (
    (Doubt.RETRY, _retry),
    (Doubt.PARAGRAPHS, _paragraphs),
    (Doubt.TALK, _talk),
    (Doubt.TOOL, _tool),
    (Doubt.INTRODUCED, _introduced),
    (Doubt.END_OF_REPLY, _end_of_reply),
    (Doubt.COLOUR, _colour),
    (Doubt.PRINTED_AGAIN, _printed_again),
)


def doubt_of(case: Candidate) -> Doubt | None:
    """The first doubt about a candidate, None when there is none."""
    return next((doubt for doubt, speaks in DOUBTS if speaks(case)), None)


def is_talk(text: str, own: bool) -> bool:
    """Whether somebody talks about an error; an agent's own messages may do so in other words."""
    lower = f" {text.lower()} "
    said = lower.rpartition(" · ")[0] or lower  # what an agent tells a person to do, behind its own dot, is no talk
    for words in () if own else _TALK:  # asked of every candidate; a generator costs more than the search
        if words in said:
            return True
    return bool(compiled(_PROSE).search(lower[:120]))
