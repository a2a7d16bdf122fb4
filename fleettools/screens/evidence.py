"""Is the last thing that the agent drew its own failure, or a quotation of one?

Something has to speak for a failure (`Sign`: its place, its colour, its words, what a server answered), and no doubt
(`DOUBTS`) against it: then it is the agent's own. Each doubt is noted for --explain.
"""

from fleettools.screens import causes
from fleettools.screens.blocks import Screen
from fleettools.screens.doubts import Candidate, Doubt, Sign, doubt_of, is_printed
from fleettools.screens.items import Item
from fleettools.screens.look import Look
from fleettools.screens.patterns import compiled
from fleettools.screens.scrub import scrubbed
from fleettools.screens.sgr import squeezed

_ATTEMPT = (
    r"attempt#?(\d+)",
    r"reconnecting\D{0,6}(\d+)/\d",
    r"第(\d+)",
    r"retr\D{0,24}?(\d+)(?:/|of)\d",
)
# Whom only an agent speaks to about its account, and what it tells a person to do so that it works again.
_ADDRESSED = (
    r"(?i)\W*(?:you(?:['’]ve| have) (?:hit|reached|used|exceeded|run out)"
    r"|you['’]?re out of|we(?:['’]re| are) experiencing)"
)
_MEND = (
    r"(?i)^[^\d\W].* · (?:please )?(?:run|use|fix|check|set|try|see) [`'\"]?(?:/[a-z][\w-]+|gcloud |aws |az |"
    r"external |the environment variable|[a-z]+_[a-z]+_[a-z_]+)"
)
_RESETS = r"(?i)^[^\W\d].*[·∙•] ?resets? (?:at |in |on )?(?:\d|[a-z]{3,9} \d)"  # behind the agent's own dot
_WHEN = r"(?i)\breset\w* (?:at |in |on )?\d|\|\d{10}\b"
_NEARLY = r"\b\d{1,3}(?:\.\d+)? ?%"  # so much of a limit is used, or left
# What an agent remarks on besides its turn; and what says that the turn goes on all the same.
_OTHERS = (
    r"(?i)\b(?:mcp|hooks?|skills?|plugins?|extensions?|updated?s?|telemetry|lsp|deprecated|version|tips?|auto mode|"
    r"config(?:uration)?|metadata|compacted|automatically switched|fall(?:s|ing|en)? back|fallback|"
    r"now using|approaching)\b"
)
MODELS = frozenset({"reply", "tool", "done"})

_LISTED = r"\s*(?:[-*•] |\d+[.)] )"


def drawn(screen: Screen) -> list[Item]:
    """What the turn itself drew: neither signs of work nor remarks, which come and go."""
    return [item for item in screen.telling if item.kind not in ("busy", "retry", "notice", "local")]


def is_marked(screen: Screen) -> bool:
    """Whether the agent's own mark of a turn's end stands below all that the turn drew."""
    last = next((item.kind for item in reversed(screen.items) if item.kind not in ("chrome", "notice")), "")
    return last in ("done", "end")


def is_earned(screen: Screen) -> bool:
    """Whether the model did something below the prompt: said something, or called a tool."""
    return _earned_row(screen) < len(screen.lines)


def _earned_row(screen: Screen) -> int:
    """The row of the first item that the model did, past the last row without one."""
    if screen.earned_row is None:  # asked of every remark of a run: a thousand of them are looked at once
        look = screen.look
        bare = look.bare_replies or not look.items.get("reply") or not screen.prompts
        done = (item.row for item in screen.telling if _is_the_models(screen, item, bare))
        screen.earned_row = next(done, len(screen.lines))
    return screen.earned_row


def _is_the_models(screen: Screen, item: Item, bare: bool) -> bool:
    if item.kind in ("plain", "error") and bare and not screen.burns(item):
        return True
    return item.kind in MODELS or (item.kind == "error" and is_printed(screen, item))


def failing(screen: Screen, notes: list[str] | None = None) -> list[Item]:
    """The items at the block's end that are the agent's own failure, last first; empty when there is none."""
    items = [item for item in screen.telling if item.kind != "busy"]
    at = len(items) - 1
    while at > 0 and _is_remark(screen, items[at]):
        at -= 1
    trailing: list[Item] = []
    if screen.look.tail:
        while at > 0 and items[at].kind == "plain" and sign_of(screen, items[at]) is None:
            trailing.append(items[at])
            at -= 1
        if at < 0 or sign_of(screen, items[at]) is None:
            return []
    run: list[Item] = []
    doubt: Doubt | None = None
    while at >= 0 and (sign := sign_of(screen, items[at])) is not None:
        if run and items[at].kind == "notice":
            break  # a remark above a failure is none of it
        doubt = doubt_of(Candidate(screen, items, at, sign))
        if doubt is not None:
            _note(notes, items[at], doubt.value)
            if doubt is Doubt.COLOUR and not run and at > 0 and screen.burns(items[at - 1]):
                at -= 1  # a remark on the failure above it
                continue
            break
        run.append(items[at])
        at -= 1
    if not run or doubt is Doubt.INTRODUCED or (screen.look.bare_replies and at >= 0 and items[at].kind == "error"):
        return []  # a run of lines that begins with a quotation is one
    run = trailing + run
    confirm = screen.look.confirm
    if confirm and not _confirmed(confirm, run):
        _note(notes, run[-1], "not followed by what the agent says after its failures")
        return []
    return run


def _note(notes: list[str] | None, item: Item, why: str) -> None:
    if notes is not None:  # writing them costs more than the judgement
        notes.append(f"{_shown(item)}: {why}")


def sign_of(screen: Screen, item: Item) -> Sign | None:
    """What speaks for an item as a failure of the agent's own, None when nothing does."""
    look = screen.look
    if item.kind == "error":
        return Sign.PLACE
    if item.kind not in ("own", "reply", "plain", "notice"):
        return None
    if item.kind == "notice" and not _is_alone(screen, item):
        return None
    if look.begins(item.opening) or (item.kind == "own" and look.begins(item.first)):
        return Sign.WORDS
    if (item.kind in ("own", "plain") or (item.kind == "reply" and look.fails_as_reply)) and screen.burns(item):
        sign: Sign | None = Sign.COLOUR
    else:
        sign = _told(screen, item)
    return None if sign and is_aside(look, item) else sign


def _is_alone(screen: Screen, item: Item) -> bool:
    """Whether nothing of the model's stands between the prompt and an item."""
    return bool(screen.prompts) and item.row <= _earned_row(screen)


def _told(screen: Screen, item: Item) -> Sign | None:
    """What an item's text says for it, where neither its place nor its colour does."""
    look = screen.look
    if item.kind == "reply" and not look.fails_as_reply:
        return None
    if item.kind in ("reply", "plain") and screen.coloured and screen.colourful:
        return None
    if item.kind == "plain" and look.bare_replies:
        return None
    text = item.text
    head = text[:60]
    code = causes.status_of(head)
    if causes.has_body(text) and (code or causes.BODY.search(head)):
        return None if item.kind == "reply" and text.startswith("{") else Sign.BODY  # a model may answer with JSON
    if item.kind == "reply" or (item.kind == "own" and compiled(_RESETS).match(text)):
        return Sign.WORDS if _is_addressed(screen, item) else None
    alone = _is_alone(screen, item)
    if alone and (code or (item.kind == "own" and compiled(_WHEN).search(text))):
        return Sign.BODY
    known = alone and item.kind == "notice" and causes.rule_of(look, text, (True, True))
    return Sign.WORDS if known else None


def _is_addressed(screen: Screen, item: Item) -> bool:
    """Whether one short paragraph tells a person about the account, when a limit resets, or what to run."""
    text = item.text
    if item.paragraphs > 1 or len(item.lines) > 3 or len(text) > 240:
        return False
    if any(compiled(_LISTED).match(line[item.column :]) for line in item.lines):
        return False
    if (compiled(_MEND).search(text) and len(text) < 120) or compiled(_RESETS).match(text):
        return True
    return addresses(text) and causes.rule_of(screen.look, text, (True, True)) is not None


def addresses(text: str) -> bool:
    """Whether a text begins by telling a person what became of the account: "You've hit your ..."."""
    return bool(compiled(_ADDRESSED).match(text))


def _is_remark(screen: Screen, item: Item) -> bool:
    """Whether an item neither ends a turn nor is the model's: what a failure may stand above."""
    return item.kind in ("notice", "own") and sign_of(screen, item) is None


def is_aside(look: Look, item: Item) -> bool:
    """Whether a message is about something else than the turn: how much of a limit is used, a hook, an update."""
    text = item.text
    if item.kind in ("own", "notice", "plain") and any(phrase in item.words for phrase in look.innocent):
        return True
    return bool(compiled(_NEARLY).search(text[:120]) or compiled(_OTHERS).search(text[:120]))


def _confirmed(phrases: list[str], run: list[Item]) -> bool:
    words = "".join(item.words for item in reversed(run))
    return any(squeezed(phrase) in words for phrase in phrases)


def decide(screen: Screen, run: list[Item], bundled: tuple[bool, bool]) -> causes.Finding:
    """What a failure means; `bundled`: whether the agent's wordings of exhaustion, and of errors, count."""
    text = " ".join(item.text for item in reversed(run))
    kind, cause, pattern = causes.decide(screen.look, text, bundled)
    lines = [line for item in reversed(run) for line in item.lines]
    return causes.Finding(kind, cause, pattern, causes.line_of(screen.look, lines, text, bundled), text)


def near_misses(screen: Screen) -> list[str]:
    """For a person: the last items that hold a failure's wording and are none, and why, where no doubt says it."""
    notes = []
    items = screen.telling
    for at, item in list(enumerate(items))[-4:]:
        rule = causes.rule_of(screen.look, item.text, (True, True))
        if rule is None or sign_of(screen, items[at]) is not None:
            continue
        known = item.kind in ("tool", "notice", "done", "end", "stop")
        why = f"this is a {item.kind}" if known else "it does not begin with it"
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
