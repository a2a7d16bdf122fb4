"""What stands beside a screen's text and is none of it: margins, a scrollbar, a menu below the prompt."""

import pytest

from fleettools import records
from fleettools.screens.agentdata import ComposerLook, Prompt
from fleettools.screens.blocks import Screen
from fleettools.screens.judge import judge
from fleettools.screens.look import Look
from fleettools.screens.patterns import Rules

LOOK = Look(
    name="any",
    aligned=True,
    scrollbar="█",
    prompts=[Prompt(head=" {0,2}> (.*)")],
    items={"error": [" {0,2}✕ "], "reply": [" {0,2}◆ "]},
)


def kinds(text: str) -> list[str]:
    return [item.kind for item in Screen(text, LOOK).items]


def test_what_is_further_in_than_the_prompts_is_quoted() -> None:
    assert kinds("> show\n\n◆ Here:\n\n  ✕ 529") == ["reply"]
    assert kinds("> show\n\n◆ Here:\n\n✕ 529") == ["reply", "error"]
    assert kinds("  > show\n\n  ◆ Here:\n\n  ✕ 529") == ["reply", "error"]
    assert [asked.text for asked in Screen("> show\n\n◆ Here:\n\n  > go", LOOK).prompts] == ["show"]


def test_a_scrollbar_is_no_text() -> None:
    rows = ["  > show", "", "  ✕ 529 again", ""]
    bare, barred = ("\n".join(rows), "\n".join(f"{row:<40}█" for row in rows))
    assert Screen(barred, LOOK).lines == [*Screen(bare, LOOK).lines, ""]
    assert Screen("a █\nb", LOOK).lines == ["a █", "b"]


def test_a_menu_below_the_prompt_leaves_the_composer_there() -> None:
    look = Look(name="any", composer=ComposerLook(frames=["line"], line="> ?(.*)$", last=True, below=" +/"))
    frame = Screen("text\n\n> /\n  /add   /ask", look).frame
    assert frame is not None and frame.top == 2
    assert Screen("text\n\n> /\nmore text", look).frame is None


STOPPED = Look(
    name="any",
    aligned=True,
    offers=["press x to retry"],
    always_busy=True,
    prompts=[Prompt(head=" {0,2}> (.*)", more="(?!)")],
    composer=ComposerLook(frames=["rules"], glyph=">"),
    items={"error": [" {0,2}✕ "], "reply": [" {0,2}◆ "]},
)
RULE = "─" * 30


# What an agent offers behind its last failure is gone once another turn has begun; stopped before it drew anything,
# that turn's prompt is back in the composer. With a sign of work from the first moment, none means a stopped turn, or
# one that begins: no mark tells which, so that is no proof of a stop.
@pytest.mark.parametrize(
    ("above", "draft", "outcome", "stopped"),
    [
        ("  > go\n  ✕ 529 (Press x to retry)", "more", "backend_error", None),
        ("  > go\n  ✕ 529", "more", "idle", True),
        ("  > go\n  ✕ 529", "", "backend_error", None),
        ("> go\n✕ 529", "more", "backend_error", None),
        ("  > go\n  ◆ Gone.\n\n  > more", "", "idle", None),
    ],
)
def test_a_turn_that_was_stopped_before_any_output(above: str, draft: str, outcome: str, stopped: bool | None) -> None:
    pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text=f"{above}\n\n{RULE}\n> {draft}\n{RULE}", agent="any")
    found = judge(pane, STOPPED, Rules())
    assert (found.outcome, found.stopped) == (outcome, stopped)


def test_a_window_that_floats_over_the_turn_ends_none() -> None:
    """A failure that shows beside it is still one; else the turn goes on where nobody can see it."""
    look = Look(
        name="any",
        floats=[r"\S {8,}esc$"],
        prompts=[Prompt(head="> (.*)")],
        composer=ComposerLook(frames=["rules"], glyph=">"),
        items={"error": ["✕ "], "reply": ["◆ "]},
    )
    window = "\n\n        Commands             esc\n        Search\n"
    for above, outcome in (("> go\n\n◆ Gone." + window, "stale"), ("> go" + window + "\n✕ 529", "backend_error")):
        pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text=f"{above}\n\n{RULE}\n>\n{RULE}", agent="any")
        assert judge(pane, look, Rules()).outcome == outcome
