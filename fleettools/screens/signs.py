"""What an agent shows while a turn goes on or stands still: at work, trying again, asking, stopped."""

from fleettools import records
from fleettools.screens import causes, composer, evidence
from fleettools.screens.blocks import Screen
from fleettools.screens.case import Case, Outcome, is_long_wait
from fleettools.screens.items import WORDS, Item
from fleettools.screens.patterns import compiled
from fleettools.screens.sgr import squeezed

_BACK = r"(?i)\besc(?:ape)?[\])]?:? (?:to )?(?:go back|back|close|exit|quit|clear)\b"
_BOX = frozenset("╭┌┏▔─━")  # what a dialog's first row begins with where a frame or a rule parts it from the turn
_SHELL = r"[\w.-]+@[\w.-]+[: ][^\n]*[$#%❯](?: .*)?$|(?:bash|sh|zsh)-[\d.]+[$#](?: .*)?$|➜ +\S"


def asking(case: Case) -> Outcome | None:
    """A question of the agent's; a dialog that a person opened over a turn that has ended is none."""
    screen, look = case.screen, case.screen.look
    if screen.frame is not None:
        asked = bool(look.questions) and look.question.match(screen.frame.text)
        return Outcome("blocked", "the agent asks a person something", screen.frame.text) if asked else None
    cover = screen.cover
    if cover is None:
        return None
    if cover.kind == "editor":
        return Outcome("blocked", "an editor stands over the screen", cover.line)
    if found := _limit(case):
        return found
    if _is_named(case) or not _is_over(case):
        return Outcome("blocked", "the agent asks a person something", cover.line)
    if cover.hides or not evidence.failing(screen):
        return Outcome("stale", "a dialog that a person opened stands over the screen", cover.line)
    return None


def _is_named(case: Case) -> bool:
    """Whether the agent's file knows the dialog as a question of the agent's own."""
    screen = case.screen
    rows = screen.lines[screen.end :]
    return not _is_opened(case) and any(screen.look.question.search(line) for line in rows)


def _is_opened(case: Case) -> bool:
    """Whether a person opened the dialog: a local command stands above it, or the agent's file says so."""
    screen = case.screen
    if screen.asked and (not screen.prompts or screen.asked[-1].row > screen.prompts[-1].row):
        return True
    rows = screen.lines[screen.end :] if screen.look.menus else []
    return any(screen.look.menu.search(line) for line in rows)


def _limit(case: Case) -> Outcome | None:
    """A dialog about a used-up limit: by words of the agent's file, or one in a frame that begins by telling of it."""
    screen, look = case.screen, case.screen.look
    lines = [line for line in screen.lines[screen.end :] if WORDS.search(line)]  # a reply above may talk of limits
    words = squeezed(" ".join(lines))
    phrase = next((phrase for phrase in look.limit_dialogs if squeezed(phrase) in words), "")
    if phrase:
        line = next((each for each in lines if squeezed(phrase) in squeezed(each)), lines[0])
    elif lines and screen.lines[screen.end].lstrip()[:1] in _BOX and evidence.addresses(lines[0]):
        line = lines[0]
        rule = causes.rule_of(look, line, (True, False))
        phrase = rule.phrase if rule else ""
    if not phrase:
        return None
    since = screen.prompts[-2].after if len(screen.prompts) > 1 else screen.start
    text = " ".join(line.strip(" │┃") for line in screen.lines[since:])
    return Outcome("exhausted", "asks what to do about a limit", line, f"{look.name}: {phrase}", "quota", text=text)


def _is_over(case: Case) -> bool:
    """Whether the turn above a dialog has ended, so that a person must have opened that."""
    screen = case.screen
    if _is_opened(case):
        return True
    kinds = [item.kind for item in screen.items]
    if kinds and (kinds[-1] == "stop" or evidence.is_marked(screen)):
        return True
    if kinds and kinds[-1] in ("reply", "plain") and screen.cover and compiled(_BACK).search(screen.cover.line):
        return True  # questions are cancelled or denied; one goes back from what one has opened
    return bool(evidence.failing(screen))


def covered(case: Case) -> Outcome | None:
    """Something that a person opened hides the turn's end."""
    cover = case.screen.cover
    if cover is not None and cover.kind == "popup" and cover.hides and _footer_sign(case) is None:
        return Outcome("stale", "a list that a person opened may hide the turn's end", cover.line)
    window = case.screen.window
    if window and _footer_sign(case) is None and not evidence.failing(case.screen):
        return Outcome("stale", "a window floats over the turn", window.title)
    return None


def busy_line(case: Case) -> str | None:
    """The line that shows that the agent is at work."""
    if not case.busy:
        case.busy.append(_busy_line(case))
    return case.busy[0]


def _busy_line(case: Case) -> str | None:
    screen, look = case.screen, case.screen.look
    if (line := _footer_sign(case)) is not None:
        return line
    items = screen.telling
    if items and items[-1].kind == "busy":
        return items[-1].lines[0]
    if look.streams and screen.frame is None and screen.lines and not screen.fresh and not left(case):
        return items[-1].lines[-1] if items else screen.lines[-1]
    return None


def _footer_sign(case: Case) -> str | None:
    """The line in the composer or below it that shows work."""
    screen, look = case.screen, case.screen.look
    if not look.busy:
        return None
    rows = screen.footer if screen.frame else screen.lines[screen.end :]
    return next((line for line in rows if look.busy_sign.search(line)), None)


def working(case: Case) -> Outcome | None:
    """The agent is at work."""
    line = busy_line(case)
    return Outcome("working", "the agent is at work", line) if line is not None else None


def retrying(case: Case) -> Outcome | None:
    """The agent's own next try; exhausted when it waits for hours."""
    busy = busy_line(case)
    if case.screen.look.signs_below and busy is None:
        return None  # words of a reply could stand there
    run = _trying(case)
    if not run and busy is None:
        return None
    text = " ".join(item.text for item in reversed(run[:3]))
    line = run[0].lines[0] if run else ""
    if not run and busy is not None:
        text = line = _footer_words(case, busy)
    if not text:
        return None
    cause, pattern = causes.cause_of(case.screen.look, text)
    number = evidence.attempt(text)
    if is_long_wait(text):
        cause = cause if cause in ("quota", "credits") else "quota"
        return Outcome("exhausted", "the agent would wait for long", line, pattern, cause, number, text)
    if run:
        line = next((each for each in run[0].lines if case.screen.look.is_retry(squeezed(each))), line)
    return Outcome("retrying", "the agent tries again by itself", line, pattern, cause, number, text)


def _trying(case: Case) -> list[Item]:
    """The items that tell of the agent's next try, last first: its words, and the errors above them."""
    look, items = case.screen.look, case.screen.telling
    if items and items[-1].kind == "busy":
        if look.is_retry(items[-1].words):
            return [items[-1]]
        items = items[:-1]
    if not items or not (items[-1].kind == "retry" or _says_retry(case, items[-1])):
        return []
    run = [items[-1]]
    for item in reversed(items[:-1]):
        if item.kind not in ("error", "retry") and not (look.tail and item.kind == "plain"):
            break
        run.append(item)
    return run


def _says_retry(case: Case, item: Item) -> bool:
    return item.kind in ("error", "own", "notice") and case.screen.look.is_retry(item.words)


def _footer_words(case: Case, busy: str) -> str:
    """What stands in the footer from the sign of work on, when it names a next try or a cause; else ""."""
    footer, look = case.screen.footer, case.screen.look
    if busy not in footer:
        return ""
    words = " ".join(row.strip() for row in footer[footer.index(busy) :])
    return words if look.is_retry(squeezed(words)) or causes.cause_of(look, words)[0] != "unknown" else ""


def begun_anew(case: Case) -> Outcome | None:
    """A person has begun a conversation anew, and no turn has followed."""
    line = case.screen.anew
    return (
        Outcome("idle", "a person began a conversation anew", line, pattern=records.CLEARED, stopped=True)
        if line
        else None
    )


def empty(case: Case) -> Outcome | None:
    """Nothing is on the screen: before the agent has drawn, in the middle of a redraw, or after a clear."""
    if case.screen.prompts or case.screen.telling:
        return None
    if case.screen.fresh:
        return Outcome("idle", "no turn yet", pattern=records.CLEARED, stopped=True)
    if case.pane.turn or case.screen.asked:
        return Outcome("stale", "nothing is on the screen that would tell of the turn")
    return Outcome("idle", "nothing is on the screen")


def stopped(case: Case) -> Outcome | None:
    """A person stopped the turn, there was none, or the agent has left to the shell."""
    screen = case.screen
    items = screen.telling
    at = next((at for at in range(len(items) - 1, -1, -1) if items[at].kind == "stop"), -1)
    if at >= 0 and not any(_is_work(case, item) for item in items[at + 1 :]):
        return Outcome("idle", "a person stopped the turn", items[at].lines[0], stopped=True)
    if not items and screen.prompts and any(item.kind == "end" for item in screen.items):
        return Outcome("idle", "the turn ended and nothing was drawn in it", stopped=True)
    if screen.fresh and not (items and items[-1].kind == "error"):
        return Outcome("idle", "no turn yet", pattern=records.CLEARED, stopped=True)
    if _is_offer_gone(case, items):
        return Outcome("idle", "a person stopped the turn; its prompt stands in the composer again", stopped=True)
    if screen.prompts and not screen.items and screen.frame and screen.look.always_busy:
        # No mark of the agent's: right after Enter it may not have drawn its sign of work yet.
        return Outcome("idle", "the agent has drawn nothing: a person stopped the turn, or it begins")
    line = left(case)
    return Outcome("idle", "the agent has left to the shell", line) if line else None


def _is_offer_gone(case: Case, items: list[Item]) -> bool:
    """Whether the agent no longer offers what it offers behind its last failure, and a prompt waits to be sent."""
    screen = case.screen
    if not screen.look.offers or not screen.frame or not screen.margin or not items or items[-1].kind != "error":
        return False
    if any(squeezed(offer) in items[-1].words for offer in screen.look.offers):
        return False
    return composer.state(screen.frame, screen.look.composer).state == "draft"


def _is_work(case: Case, item: Item) -> bool:
    """Whether an item below a stop shows that the turn went on."""
    return item.kind in ("reply", "tool", "busy", "retry", "error") and not case.screen.burns(item)


def left(case: Case) -> str:
    """The shell's prompt at the foot of the screen, "" when none is there."""
    lines = case.screen.lines
    last = lines[-1] if lines else ""
    return last if compiled(_SHELL).match(last) and not case.screen.look.head.match(last) else ""


def unearned(case: Case) -> Outcome | None:
    """Nothing of the model's is there yet, and no mark of an end."""
    screen, shown = case.screen, case.screen.telling
    if _is_strange(screen, shown):
        return Outcome("stale", "nothing on the screen is the agent's", shown[-1].lines[0])
    if evidence.is_earned(screen) or any(item.kind in ("end", "done") for item in screen.items):
        return None
    line = shown[-1].lines[0] if shown else ""
    if not screen.prompts:
        return Outcome("stale", "remarks alone tell too little of a turn that has scrolled away", line)
    if any(item.kind == "plain" for item in shown):
        return Outcome("stale", "what nobody knows stands where the turn should", line)
    return Outcome("working", "nothing of the model's stands below the prompt yet", line)


def _is_strange(screen: Screen, shown: list[Item]) -> bool:
    """Whether neither composer nor prompt nor any item of an agent that has them is there."""
    seen = screen.frame or screen.cover or screen.prompts or screen.look.streams or screen.look.bare_replies
    return not seen and bool(shown) and all(item.kind == "plain" for item in shown)


def unfinished(case: Case) -> Outcome | None:
    """While a draft stands in its composer, some agent shows no sign of work: only the missing end mark tells."""
    screen = case.screen
    if not screen.prompts or evidence.is_marked(screen) or evidence.drawn(screen)[-1:] == []:
        return None
    state = composer.state(screen.frame, screen.look.composer)
    if state.state != "draft" or state.text[:1] in composer.COMMANDS or not screen.marked_above:
        return None
    return Outcome("working", "a draft stands in the composer, and the end of the turn is not marked as others are")
