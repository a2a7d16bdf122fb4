"""What an operator's own patterns see: the lines of the last thing that the agent drew, not the model's words."""

from fleettools import records
from fleettools.screens import causes, evidence
from fleettools.screens.case import Case, Outcome
from fleettools.screens.doubts import Candidate, Doubt, Sign, doubt_of
from fleettools.screens.items import Item
from fleettools.screens.patterns import Hit, Own

_SPEAKING = frozenset({"error", "own", "notice"})  # kinds in which no line is the model's


def failure(case: Case) -> Outcome | None:
    """The failure that an operator's pattern finds in the block's last item, where that could be the agent's own."""
    items = [item for item in case.screen.telling if item.kind != "busy"]
    for at in range(len(items) - 1, -1, -1):
        for kind, own in _kinds(case):
            for pattern, hit in case.search.hits(own, items[at].lines):
                if _counts(case, items, at, pattern, hit) and hit:
                    return found(case, kind, pattern, hit.line, items[at].lines)
        if items[at].kind not in ("own", "notice", "done"):
            break  # below anything but remarks an older failure is over
    return None


def anywhere(case: Case, lines: list[str], legacy: tuple[Own, ...]) -> Outcome | None:
    """The failure that a pattern finds in the lines of an agent that nobody described; `legacy` is looked for, too."""
    for kind, own in (*_kinds(case), ("backend_error", legacy)):
        for pattern, hit in case.search.hits(own, lines):
            case.note(f"{pattern.key}: tried on {len(lines)} lines; {'matched' if hit else 'no match'}")
            if hit:
                return found(case, kind, pattern, hit.line, lines)
    return None


def _kinds(case: Case) -> tuple[tuple[records.Outcome, tuple[Own, ...]], ...]:
    return ("exhausted", case.rules.exhausted.own), ("backend_error", case.rules.error.own)


def found(case: Case, kind: records.Outcome, pattern: Own, line: str, lines: list[str]) -> Outcome:
    """The outcome of a pattern that matched a line; the cause is what the agent's wordings say of all the lines."""
    text = "\n".join(lines)
    cause = causes.cause_of(case.screen.look, text)[0]
    if (kind == "exhausted") != (cause in ("quota", "credits")):
        cause = "unknown"
    return Outcome(kind, f"matches {pattern.key}", line, pattern.key, cause, text=text)


def _counts(case: Case, items: list[Item], at: int, pattern: Own, hit: Hit | None) -> bool:
    """Whether a match is the agent's own failure; what became of the pattern is noted."""
    item = items[at]
    where = f"{pattern.key}: tried on row {item.row + 1}"
    if hit is None:
        case.note(f"{where}: no match")
        return False
    against = "" if pattern.anywhere else _against(case, items, at, hit)
    case.note(f"{where}: matched" + (f", but {against}" if against else ""))
    return not against


def _against(case: Case, items: list[Item], at: int, hit: Hit) -> str:
    """What speaks against a match as a failure of the agent's own, "" when nothing does."""
    screen, item = case.screen, items[at]
    if item.kind not in (*_SPEAKING, "reply", "plain"):
        return f"this is a {item.kind}"
    if item.kind == "reply" and not screen.look.fails_as_reply:
        return "these are the model's words"
    if item.kind != "error" and evidence.is_aside(screen.look, item):
        return "it is about something else than the turn"
    sign = evidence.sign_of(screen, items[at])
    if sign is None and item.kind not in _SPEAKING and (hit.number or hit.column > item.column):
        return "it does not begin with that"
    sign = sign or Sign.WORDS
    doubt = doubt_of(Candidate(screen, items, at, sign))
    return "" if doubt in (None, Doubt.RETRY) else doubt.value
