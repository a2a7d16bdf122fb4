"""Is the last thing that the agent drew its own failure, or a quotation of one?

What tells them apart: position (an item of its own, at its head, the last of the turn), glyph, structure (one
paragraph, no verb after the error's name) and colour. Each doubt is noted for --explain.
"""

from typing import NamedTuple

from fleettools.screens.blocks import Screen
from fleettools.screens.items import BARE, Item
from fleettools.screens.look import Look, Rule, compiled, said
from fleettools.screens.scrub import scrubbed
from fleettools.screens.sgr import squeezed

# The error's name is the subject of a sentence, or stands beside its place in a log: somebody talks about it.
_PROSE = (
    r"(?:error:? ?\(?\d{3}\)?[\w ]{0,30}?|limit(?: reached)?|overloaded|timed out|error|expired|exceeded|quota|credits|"
    r"too low|disconnected|unavailable|failed|completion|login)[\"'`»”’)\]]* "
    r"(?:(?:is|was|were|are)\b(?! (?:used|exce|exha|too|not|temp|curr|req|inv|exp|at cap|over|down|unav|dis|rest|block"
    r"|lim|reach|hit|inact|depl|spent|gone|susp|den|miss|wrong|fail|offl|full|cap|set to \$))"
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
_ATTEMPT = (
    r"attempt#?(\d+)",
    r"reconnecting\D{0,6}(\d+)/\d",
    r"第(\d+)",
    r"retr\D{0,24}?(\d+)(?:/|of)\d",
)


REMEMBERED = 500
_INTRODUCED = "introduced by the reply above it"


class Finding(NamedTuple):
    """Evidence of a failure: its kind and cause, the rule that saw it, the deciding line, all its words."""

    kind: str
    cause: str
    pattern: str
    line: str
    text: str


def significant(screen: Screen) -> list[Item]:
    """The items of the block that say something, in order."""
    if screen.telling is None:
        screen.telling = [item for item in screen.items if item.kind not in BARE]
    return screen.telling


def drawn(screen: Screen) -> list[Item]:
    """What the turn itself drew: neither signs of work nor remarks, which come and go."""
    return [item for item in significant(screen) if item.kind not in ("busy", "retry", "notice")]


def is_marked(screen: Screen) -> bool:
    """Whether the agent's own mark of a turn's end stands below all that the turn drew."""
    kinds = [item.kind for item in screen.items if item.kind not in ("chrome", "notice")]
    return bool(kinds) and kinds[-1] in ("done", "end")


def failing(screen: Screen, notes: list[str]) -> list[Item]:
    """The items at the block's end that are the agent's own failure, last first; empty when there is none."""
    items = [item for item in significant(screen) if item.kind != "busy"]
    at = len(items) - 1
    trailing: list[Item] = []
    while at > 0 and items[at].kind == "notice":
        at -= 1
    if screen.look.tail:
        while at > 0 and items[at].kind == "plain":
            trailing.append(items[at])
            at -= 1
        if at < 0 or items[at].kind != "error":
            return []
    run: list[Item] = []
    doubt: str | None = ""
    while at >= 0 and (doubt := _doubts(screen, items, at, notes)) == "":
        run.append(items[at])
        at -= 1
    if not run or doubt == _INTRODUCED or (screen.look.shared and at >= 0 and items[at].kind == "error"):
        return []  # a run of lines that begins with a quotation is one
    run = trailing + run
    confirm = screen.look.confirm
    if confirm and not _confirmed(confirm, run):
        notes.append(f"{_shown(run[-1])}: not followed by what the agent says after its failures")
        return []
    return run


def _confirmed(phrases: list[str], run: list[Item]) -> bool:
    words = "".join(item.words for item in reversed(run))
    return any(squeezed(phrase) in words for phrase in phrases)


def _doubts(screen: Screen, items: list[Item], at: int, notes: list[str]) -> str | None:
    """What speaks against a failure of the agent's own: "" when nothing does, None when nothing speaks for one."""
    item, look = items[at], screen.look
    if item.kind not in ("error", "own", "reply", "plain"):
        return None
    doubt = _doubt(screen, item, items[at - 1] if at else None, look)
    if doubt == "" and _is_printed_again(screen, items[:at]):
        doubt = "stands in the last message, printed again below the end of the turn"
    if doubt:
        notes.append(f"{_shown(item)}: {doubt}")
    return doubt


def _is_printed_again(screen: Screen, before: list[Item]) -> bool:
    """Whether text of no kind stands between the end of the turn and here, in a run without a composer."""
    if screen.frame or screen.look.shared:
        return False
    ends = [at for at, item in enumerate(before) if item.kind == "done"]
    below = before[ends[-1] + 1 :] if ends else []
    return any(item.kind == "plain" for item in below) or bool(ends and len(before[ends[-1]].lines) > 2)


def _doubt(screen: Screen, item: Item, before: Item | None, look: Look) -> str | None:
    """Why an item is no failure of the agent's own; "" when it is one, None when nothing in it looks like one."""
    bare = item.kind == "error" and not look.shared
    if not _begins(item, look):
        return None
    if look.is_retry(item.words):
        return "the agent tries again by itself"
    if item.kind == "reply" and item.paragraphs > 1:
        return "a reply of several paragraphs"
    if not bare and _is_talk(item.text, item.kind == "own"):
        return "a sentence about an error"
    if item.kind == "error" and item.lines[-1].lstrip()[:1] in ("│", "└"):
        return "a tool and what it printed"
    if (look.shared or item.kind == "own") and before and before.kind in ("plain", "reply"):
        if before.text.endswith((":", "：")):
            return _INTRODUCED
        if look.shared and before.text.endswith((".", "!", "。")) and not look.marks_replies and not screen.coloured:
            return "may be the end of the reply above it"
    if item.kind != "own" and not look.bars and not screen.warm(item) and not look.is_reply_coloured(item.words):
        return "not in a colour of failures"
    return ""


def _is_talk(text: str, own: bool) -> bool:
    """Whether somebody talks about an error; an agent's own messages may do so in other words."""
    lower = f" {text.lower()} "
    for words in () if own else _TALK:  # asked of every candidate; a generator costs more than the search
        if words in lower:
            return True
    return bool(compiled(_PROSE).search(lower[:120]))


def _begins(item: Item, look: Look) -> bool:
    """Whether an item stands where only failures do, or begins as one."""
    return item.kind == "error" or look.begins(item.opening) or (item.kind == "own" and look.begins(item.first))


def decide(look: Look, run: list[Item], bundled: tuple[bool, bool]) -> Finding | None:
    """What a failure means by the agent's wordings; `bundled`: whether those of exhaustion, and of errors, count."""
    text = " ".join(item.text for item in reversed(run))
    rule = rule_of(look, text, bundled)
    if rule is not None:
        return Finding(rule.kind, rule.cause, f"{look.name}: {rule.phrase}", _line(look, run, rule), text)
    if not bundled[1]:
        return None
    return Finding("backend_error", "unknown", f"{look.name}: a failure of its own", run[-1].lines[0], text)


def rule_of(look: Look, text: str, bundled: tuple[bool, bool]) -> Rule | None:
    """The wording that decides what a text means; the last REMEMBERED texts are not searched twice."""
    key = (text, *bundled)
    if key not in look.found:
        if len(look.found) >= REMEMBERED:
            look.found.clear()
        look.found[key] = _rule(look, _judged(look, text), bundled)
    return look.found[key]


def _judged(look: Look, text: str) -> str:
    words = said(text)
    for phrase in look.innocent:
        words = words.replace(phrase, "")
    return words


def _rule(look: Look, words: str, bundled: tuple[bool, bool]) -> Rule | None:
    for first, rule in look.firsts:
        if first not in words or not bundled[rule.kind != "exhausted"] or not rule.within(words):
            continue
        if rule.cause != "quota" or not look.is_momentary(words):
            return rule
    return None


def _line(look: Look, run: list[Item], rule: Rule) -> str:
    """The first physical line that says as much as the whole, else the first line."""
    if len(run) == 1 and len(run[0].lines) == 1:
        return run[0].lines[0]
    for item in reversed(run):
        for line in item.lines:
            words = said(line)
            if rule.within(words):
                return line
            if any(other.within(words) for other in look.by_cause[rule.kind, rule.cause]):
                return line
    return run[-1].lines[0]


def cause_of(look: Look, text: str) -> tuple[str, str]:
    """The cause that wordings name in a text, `unknown` when none does, and the rule."""
    rule = rule_of(look, text, (True, True))
    return (rule.cause, f"{look.name}: {rule.phrase}") if rule else ("unknown", f"{look.name}: retrying")


def near_misses(screen: Screen) -> list[str]:
    """For a person: the last items that hold a failure's wording and are none, and why, where no doubt says it."""
    notes = []
    for item in significant(screen)[-4:]:
        rule = rule_of(screen.look, item.text, (True, True))
        if rule is None:
            continue
        if item.kind in ("tool", "notice", "done", "end", "stop"):
            why = f"this is a {item.kind}"
        elif not _begins(item, screen.look):
            why = "it does not begin with it"
        else:
            continue
        notes.append(f"{_shown(item)}: holds {rule.phrase!r} ({rule.cause}), but {why}")
    return notes


def attempt(text: str) -> int | None:
    """The number of the try that a retry line names."""
    words = squeezed(text)
    for pattern in _ATTEMPT:
        if match := compiled(pattern).search(words):
            return int(match[1][:9])
    return None


def _shown(item: Item) -> str:
    return f"{item.kind} {scrubbed(item.lines[0].strip())[:60]!r}"
