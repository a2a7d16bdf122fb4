"""What speaks against a failure of the agent's own: each doubt with a screen on which it alone is raised."""

import drawing
import pytest

from fleettools.adapters import agentfiles
from fleettools.screens import doubts, evidence
from fleettools.screens.blocks import Screen
from fleettools.screens.doubts import DOUBTS, Candidate, Doubt, Sign
from fleettools.screens.look import Look

RED = "38;5;211"


def look_of(agent: str) -> Look:
    look = agentfiles.load(agent)
    assert look is not None
    return look


def inked(line: str, code: str) -> str:
    return f"\x1b[{code}m{line}\x1b[39m"


# Rule beside each doubt; what is drawn below the prompt of the agent's sample.
DOUBTED = {
    Doubt.RETRY: ("codex", ["■ stream lost, retrying in 5s"]),
    Doubt.PARAGRAPHS: ("claude", ["⏺ API Error: 529 Overloaded", "", "  The log holds nothing else."]),
    Doubt.TALK: ("claude", ["⏺ API Error: 529 is what the log ends with"]),
    Doubt.TOOL: ("copilot", [" ✗ Edit src/a.cs", "   └ no such file"]),
    Doubt.INTRODUCED: ("claude", ["⏺ The last line is:", "  ⎿  You've hit your session limit"]),
    Doubt.END_OF_REPLY: ("amp", ["  The job failed.", "", "  Error: 529 Overloaded"]),
    Doubt.COLOUR: ("claude", [f"{inked('⏺ API Error: 529 Overloaded', '38;5;153')}", inked("x", RED)][:1]),
    Doubt.PRINTED_AGAIN: ("codex", ["codex", "Done.", "tokens used", "1,234", "again", "ERROR: 529"]),
}


@pytest.mark.parametrize("doubt", list(Doubt), ids=lambda doubt: doubt.value)
def test_each_doubt_keeps_an_item_from_being_a_failure(doubt: Doubt) -> None:
    agent, lines = DOUBTED[doubt]
    text = drawing._on(agent, lines)
    if agent == "codex" and doubt is Doubt.PRINTED_AGAIN:
        text = "\n".join(["OpenAI Codex v0.1", "user", "go", *lines])
    screen = Screen(inked("red", RED) + "\n" + text if "\x1b" in text else text, look_of(agent))
    notes: list[str] = []
    assert evidence.failing(screen, notes) == []
    assert any(note.endswith(doubt.value) for note in notes), (notes, [item.kind for item in screen.telling])


def test_the_doubts_are_all_asked_and_each_has_a_reason() -> None:
    assert [doubt for doubt, _ in DOUBTS] == list(Doubt)


def test_no_doubt_is_raised_about_a_plain_failure() -> None:
    screen = Screen(drawing.failure("codex", "HTTP 503"), look_of("codex"))
    case = Candidate(screen, screen.telling, len(screen.telling) - 1, Sign.PLACE)
    assert doubts.doubt_of(case) is None


def test_several_paragraphs_that_all_burn_are_one_failure_of_the_agents_own() -> None:
    """As Claude Code draws what its safeguards say; in the colour of replies they are a reply."""
    burning = [inked("⏺ API Error: this message was flagged.", RED), "", inked("  Try another model.", RED)]
    plain = ["⏺ API Error: this message was flagged.", "", "  Try another model."]
    for lines, failures in ((burning, 1), (plain, 0)):
        text = drawing._on("claude", lines)
        screen = Screen(inked("✻ a cool word", "38;5;39") + "\n" + text, look_of("claude"))
        assert len(evidence.failing(screen)) == failures, lines
