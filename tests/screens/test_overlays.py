"""What a person types or opens over a settled screen changes neither its verdict nor its event, or makes it stale."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import drawing
import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens.blocks import Screen
from fleettools.screens.judge import judge
from fleettools.screens.look import Look
from fleettools.screens.patterns import Rules
from fleettools.screens.typed import composer

RULE = "─" * 78
LIST = ["  ❯ /add-dir      Add a working directory", "    /agents       Manage agents", "    /branch       Branch off"]
FILES = ["  + src/lexer.rs", "  + src/limits.rs", "  + docs/limits.md"]
CODEX_LIST = ["› /model         choose a model", "  /permissions   choose what is allowed", "  /vim     toggle it", ""]
MENTIONS = [
    *("  Files, plugins and skills", "", "  Type to search mentions", "› Image Gen     Make images     Skill"),
    *("  Reviewer      Find bugs       Skill", "", "  enter/tab insert · esc close · ↑/↓ select", ""),
]
PICKER = ["  Select Model and Effort", "", "› 1. one    (current)", "  2. two", "", "  enter select · esc back"]
PAGE = [
    "▔" * 78,
    "  Settings",
    "",
    "    Theme             dark",
    "    Bell     on",
    "",
    "  Esc to go back · ↑↓ to move",
]
HINT = [" " * 56 + "◐ medium · /effort"]
BELOW = ["   /about     Show the version", "   /agents    Manage agents", "   /clear     Begin anew", "   (1/40)"]
SETTLED = ("completed", "backend_error", "exhausted", "idle")


class Shown:
    """A sample, cut at its composer: what stands above, the composer's own rows, and what stands below."""

    def __init__(self, text: str, look: Look) -> None:
        screen, rows = Screen(text, look), text.rstrip().split("\n")
        frame = screen.frame
        self.framed = frame is not None and screen.cover is None
        top, bottom = (screen.skipped + frame.top, screen.skipped + frame.bottom) if frame else (0, 0)
        self.above, self.composer, self.below = rows[:top], rows[top:bottom], rows[bottom:]

    def typed(self, words: str) -> list[str]:
        """The composer with words in it: behind its glyph, or in its first free row."""
        at = 1 if len(self.composer) > 1 else 0
        row = screen_line(self.composer[at])
        glyph = next((sign for sign in row if sign in "❯›>*!│┃▌→"), "")
        if glyph in ("│", "┃"):
            inner = next((sign for sign in row[1:] if sign in "❯›>*→"), "")
            shown = f"{row[: row.index(glyph)]}{glyph} {inner} {words}".ljust(len(row) - 1) + glyph * (glyph == "│")
        else:
            shown = f"{row[: row.index(glyph)]}{glyph} {words}" if glyph else words
        return [*self.composer[:at], shown, *self.composer[at + 1 :]]


def screen_line(raw: str) -> str:
    from fleettools.screens.sgr import lines_of

    return (lines_of(raw) or [""])[0]


def draft(shown: Shown) -> list[str]:
    return [*shown.above, *shown.typed("and then the docs"), *shown.below]


def list_above(words: str, rows: list[str]) -> Callable[[Shown], list[str]]:
    """A list that covers the last rows above the composer, as far as there are blank ones, and pushes up the rest."""

    def laid(shown: Shown) -> list[str]:
        above = list(shown.above)
        while above and not above[-1].strip():
            above.pop()
        return [*above, *[""] * 4, *rows, *shown.typed(words), *shown.below]

    return laid


def list_hiding(words: str, rows: list[str]) -> Callable[[Shown], list[str]]:
    """The same over a full screen: it hides the last rows of the turn."""

    def laid(shown: Shown) -> list[str]:
        return [*shown.above[: -len(rows)], *rows, *shown.typed(words), *shown.below]

    return laid


def list_below(words: str) -> Callable[[Shown], list[str]]:
    return lambda shown: [*shown.above, *shown.typed(words), *BELOW, *shown.below[:1]]


def hint(shown: Shown) -> list[str]:
    above = shown.above[:-1] if shown.above and not shown.above[-1].strip() else shown.above
    return [*above, "", *HINT, *shown.composer, *shown.below]


def page(rows: list[str]) -> Callable[[Shown], list[str]]:
    return lambda shown: [*shown.above, *rows]


OVERLAYS: dict[str, dict[str, Callable[[Shown], list[str]]]] = {
    "claude": {
        "a draft": draft, "a list of commands": list_above("/", LIST), "a list of files": list_above("@", FILES),
        "a list over the turn": list_hiding("/", LIST), "a hint": hint, "a page of settings": page(PAGE),
    },
    "codex": {
        "a draft": draft, "a list of commands": list_above("/", CODEX_LIST), "mentions": list_above("@", MENTIONS),
        "a list over the turn": list_hiding("/", CODEX_LIST), "a picker": page(PICKER),
    },
    "gemini": {"a draft": draft, "a list of commands": list_below("/"), "a list of files": list_below("@")},
    "qwen": {"a draft": draft},
    "copilot": {"a draft": draft},
    "opencode": {"a draft": draft},
    "kimi": {"a draft": draft},
}  # fmt: skip


def verdict(agent: str, text: str, look: Look) -> records.Verdict:
    pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text=text, tz="UTC", agent=agent, server="h:/s:1", target="%1")
    return judge(pane, look, Rules())


@cache
def settled(agent: str) -> list[tuple[str, str]]:
    cases = map(json.loads, (drawing.SAMPLES / "index.jsonl").read_text().splitlines())
    found = []
    for case in cases:
        path = drawing.SAMPLES / case["file"]
        plain = not path.with_suffix("").with_suffix(".baseline.txt").exists() and not case["file"].startswith("ambig")
        if case["agent"] == agent and case.get("outcome") in SETTLED and plain:
            found.append((case["file"], path.read_text()))
    return found


@pytest.mark.parametrize(
    ("agent", "name"), [(agent, name) for agent, overlays in OVERLAYS.items() for name in overlays]
)
def test_a_settled_screen_under_it_keeps_its_outcome_and_event_or_is_stale(agent: str, name: str) -> None:
    look = agentfiles.load(agent)
    assert look is not None
    seen, wrong = 0, []
    for file, text in settled(agent):
        shown = Shown(text, look)
        before = verdict(agent, text, look)
        if not shown.framed or before.outcome not in SETTLED or composer(text, look).state != "empty":
            continue
        after = verdict(agent, "\n".join(OVERLAYS[agent][name](shown)), look)
        seen += 1
        same = (after.outcome, after.event) == (before.outcome, before.event)
        held = after.outcome == "working" and after.reason and after.reason.startswith("a draft stands")
        if not same and after.outcome != "stale" and not held:
            wrong.append((file, before.outcome, after.outcome, after.reason))
    assert seen > 5 and not wrong, (seen, len(wrong), wrong[:5])


def test_a_dialog_of_the_agents_own_is_a_question_whatever_its_words() -> None:
    body = drawing._on("claude", ["⏺ I look at it.", "", "⏺ Bash(ls)"]).split("─" * 20)[0].rstrip("\n")
    dialog = ["", RULE, " Etwas Neues", "", " ❯ 1. Ja", "   2. Nein", "", " Esc to cancel · Tab to amend"]
    look = agentfiles.load("claude")
    assert look is not None
    assert verdict("claude", "\n".join([body, *dialog]), look).outcome == "blocked"


def test_a_dialog_that_floats_over_the_last_turn_hides_its_prompt_and_leaves_its_failure() -> None:
    look = agentfiles.load("opencode")
    assert look is not None
    for file, outcome in (
        ("backend_error--opencode-e401.txt", "backend_error"),
        ("completed--opencode-ok.txt", "stale"),
    ):
        found = verdict("opencode", floated(drawing.SAMPLES / "opencode" / file, look), look)
        assert found.outcome == outcome and found.screen and found.screen.endswith(":0")


def floated(path: Path, look: Look) -> str:
    """A screen with a dialog that floats over its last turn."""
    text = path.read_text()
    plain = [screen_line(row) for row in text.split("\n")]
    at = Screen(text, look).prompts[-1].row
    for row, words in enumerate(
        ["Commands".ljust(40) + "esc", "", "Search", "", "Share session", "Rename session"], at - 1
    ):
        plain[row] = f"{plain[row][:26]:<26}    {words}" if words else plain[row]
    return "\n".join(plain)


# Rule: a dialog about a used-up limit is exhaustion: by the words of the agent's file, or when it begins by telling a
# person what became of the account; what a reply above it says, or a command that it asks about, does not count.
OUT = "■ Your workspace is out of credits. Ask your workspace owner to refill in order to continue."
KEYS = "  Press enter to confirm or esc to go back"
CHOICES = ["", "› 1. Yes", "  2. No", "", KEYS]
LIMITS = {
    "of the agent's file": ([OUT, "", "  You've reached your workspace credit limit", *CHOICES], "exhausted"),
    "of no file, in a box": (
        ["• I look.", "", "─" * 40, "  You've used up your weekly limit. More?", *CHOICES],
        "exhausted",
    ),
    "a reply above a list": (["• You've used up your weekly limit.", "", "  Pick one", *CHOICES], "stale"),
    "not used up yet": (
        ["• Done.", "", "  Approaching rate limits", "  Switch to a smaller model?", *CHOICES],
        "blocked",
    ),
    "in a command": (["• I look.", "", "  Would you like to run: echo usage limit", *CHOICES], "blocked"),
    "in a reply": (
        ["• It says: request a limit increase.", "", "  Would you like to run the tests?", *CHOICES],
        "blocked",
    ),
}


@pytest.mark.parametrize(("lines", "outcome"), LIMITS.values(), ids=LIMITS.keys())
def test_a_dialog_about_a_limit(lines: list[str], outcome: str) -> None:
    screen = "\n".join(
        ["› list the parts", "", "• Three parts.", "", "─ Worked for 12s ───", "", "› go on", "", *lines]
    )
    pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text=screen, tz="UTC", agent="codex")
    assert judge(pane, agentfiles.load("codex"), Rules()).outcome == outcome


def test_a_page_that_a_person_opened_may_leave_a_row_below_its_rule() -> None:
    body = drawing._on("pi", [" Hi."]).split("─" * 20)[0].rstrip("\n").split("\n")
    page = ["─" * 72, "", "Only showing models from configured providers.", "", ">", "", "→ ✓ gpt-5 [lab]", "  (1/92)"]
    look = agentfiles.load("pi")
    assert look is not None
    assert verdict("pi", "\n".join([*body, *page]), look).outcome == "stale"
