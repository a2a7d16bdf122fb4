"""Which failure is tried in which situation: pure. Each failure has two situations and each situation two failures."""

from typing import NamedTuple

from live.failures import FAILURES

# What a turn is in when its backend fails; the second word of each says what is drawn over it, or what follows it.
FAILING = ("first", "later", "tool", "draft", "popup", "resize", "clear", "esc", "question", "long")
QUOTING = ("quote-reply", "quote-tool", "quote-prompt")
SITUATIONS = FAILING + QUOTING

SAID = {
    "first": "the first turn of a session",
    "later": "a later turn",
    "tool": "after a tool call",
    "draft": "then a draft in the composer",
    "popup": "then a popup, opened and closed",
    "resize": "then another width",
    "clear": "then /clear",
    "esc": "Esc while it goes on",
    "question": "after a permission question",
    "long": "while a long reply streams",
    "quote-reply": "quoted by a reply",
    "quote-tool": "quoted by a tool",
    "quote-prompt": "quoted by the prompt",
}

# Only what goes on can be stopped; only what fails in a stream fails while one is drawn.
GOES_ON = ("500", "503", "529", "429-minute", "429-capacity", "hang", "proxy", "cut-before", "refused")
IN_STREAM = ("cut-middle", "in-stream")

CHOSEN: dict[str, tuple[str, str]] = {
    "500": ("first", "tool"),
    "503": ("later", "draft"),
    "529": ("later", "esc"),
    "429-minute": ("draft", "clear"),
    "429-plan": ("first", "popup"),
    "429-capacity": ("later", "resize"),
    "401": ("first", "question"),
    "402": ("tool", "resize"),
    "403": ("popup", "clear"),
    "too-long": ("later", "popup"),
    "safeguards": ("later", "tool"),
    "credits": ("draft", "question"),
    "proxy": ("later", "resize"),
    "refused": ("first", "later"),
    "cut-before": ("tool", "clear"),
    "cut-middle": ("later", "long"),
    "hang": ("esc", "later"),
    "in-stream": ("later", "long"),
    "recovers": ("first", "later"),
}
QUOTED = {"quote-reply": ("529", "429-plan"), "quote-tool": ("500", "401"), "quote-prompt": ("529", "credits")}


class Cell(NamedTuple):
    """One failure in one situation."""

    failure: str
    situation: str

    def __str__(self) -> str:
        return f"{self.failure} {self.situation}"


def fits(failure: str, situation: str) -> bool:
    """Whether a failure can be met in a situation at all."""
    if situation == "esc":
        return failure in GOES_ON
    if situation == "long":
        return failure in IN_STREAM
    if situation in QUOTING:
        return bool(FAILURES[failure].said) and failure not in ("safeguards", "recovers", "in-stream")
    return failure != "hang" or situation in ("first", "later", "tool", "question")


def cells(full: bool = False) -> list[Cell]:
    """The cells of a run, in the order in which they are tried; all there are when it is a full one."""
    if full:
        return [
            Cell(failure, situation) for failure in FAILURES for situation in SITUATIONS if fits(failure, situation)
        ]
    chosen = [Cell(failure, situation) for failure, pair in CHOSEN.items() for situation in pair]
    return chosen + [Cell(failure, situation) for situation, pair in QUOTED.items() for failure in pair]


def sessions(asked: list[Cell], most: int = 9) -> list[list[Cell]]:
    """The cells as sessions of an agent: what needs a session's first turn begins one, the rest is dealt out evenly."""
    first = [[cell] for cell in asked if cell.situation == "first"]
    rest = [cell for cell in asked if cell.situation != "first"]
    while len(first) * (most - 1) < len(rest):
        first.append([])
    for number, cell in enumerate(rest):
        first[number % len(first)].append(cell)
    return [session for session in first if session]
