"""Where evidence begins and ends, by an agent made up for it: ✕ marks an error, • its own, ◆ a reply, ─ a turn."""

from typing import Any

import pytest

from fleettools.screens import doubts, evidence
from fleettools.screens.blocks import Screen
from fleettools.screens.doubts import Candidate, Doubt, Sign
from fleettools.screens.look import Look, Prompt

ITEMS = {"error": ["✕ "], "own": ["• "], "reply": ["◆ "], "tool": ["\\$ "], "done": ["─ "]}
RED, GREY, BLUE = "31", "38;5;246", "34"


def screen_of(*lines: str, **more: Any) -> Screen:
    """The screen of that agent, with these lines below a prompt."""
    fields = {"name": "any", "prompts": [Prompt(head="> (.*)")], "items": ITEMS} | more
    return Screen("\n".join(["> go", "", *lines]), Look(**fields))


def inked(line: str, code: str) -> str:
    return f"\x1b[{code}m{line}\x1b[39m"


def sign(*lines: str, **more: Any) -> Sign | None:
    """What speaks for the last item."""
    screen = screen_of(*lines, **more)
    return evidence.sign_of(screen, screen.telling[-1])


def doubt(*lines: str, seen_as: Sign = Sign.PLACE, **more: Any) -> Doubt | None:
    """What speaks against the last item."""
    screen = screen_of(*lines, **more)
    return doubts.doubt_of(Candidate(screen, screen.telling, len(screen.telling) - 1, seen_as))


def failed(*lines: str, notes: list[str] | None = None, **more: Any) -> list[str]:
    """The texts of the failure at the end, last first."""
    return [item.text for item in evidence.failing(screen_of(*lines, **more), notes)]


LIMIT = "Weekly limit · resets 3pm"
BELOW = ("◆ All done.", "")


# Rule: below a reply an agent's own line tells of its account when it is one short paragraph that says when a limit
# resets: of three lines and 240 letters at the most.
@pytest.mark.parametrize(
    ("lines", "found"),
    [
        pytest.param([f"• {LIMIT}"], Sign.WORDS, id="it says when the limit resets"),
        pytest.param(["• Weekly limit, as ever"], None, id="it does not"),
        pytest.param([f"• {LIMIT}", "  one", "  two"], Sign.WORDS, id="of three lines"),
        pytest.param([f"• {LIMIT}", "  one", "  two", "  three"], None, id="of four"),
        pytest.param([f"• {LIMIT}", "", "  Or so."], None, id="of two paragraphs"),
        pytest.param([f"• {LIMIT}".ljust(242, "x")], Sign.WORDS, id="of 240 letters"),
        pytest.param([f"• {LIMIT}".ljust(243, "x")], None, id="of 241"),
    ],
)
def test_an_own_line_below_a_reply_tells_of_the_account(lines: list[str], found: Sign | None) -> None:
    assert sign(*BELOW, *lines) is found


MEND = "Login expired · run /login"


@pytest.mark.parametrize(("letters", "found"), [(119, Sign.WORDS), (120, None)])
def test_a_reply_that_says_what_to_run_is_the_agents_own_when_it_is_short(letters: int, found: Sign | None) -> None:
    look = {"capabilities": ["failsAsReply"]}
    assert sign(f"◆ {MEND} ".ljust(letters + 2, "x"), **look) is found
    assert sign(f"◆ {MEND}") is None  # where no reply is ever a failure


@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param("• HTTP 503: the mill stands still", Sign.BODY, id="a status that a server answered"),
        pytest.param("• The quota resets at 5", Sign.BODY, id="a time at which a limit resets"),
        pytest.param("⟩ The quota resets at 5", None, id="the same from nobody known"),
        pytest.param("• The mill stands still", None, id="neither"),
    ],
)
def test_alone_below_the_prompt_an_own_line_is_a_failure_by(line: str, found: Sign | None) -> None:
    assert sign(line) is found
    assert sign(*BELOW, line) is None


# Rule: what a sentence says behind its 120th letter is not looked at.
@pytest.mark.parametrize(("letters", "talk"), [(105, True), (106, False)])
def test_whether_somebody_talks_about_an_error_is_told_by_how_it_begins(letters: int, talk: bool) -> None:
    assert doubts.is_talk("x" * letters + " credits means", own=True) is talk


UNENDED = {kind: heads for kind, heads in ITEMS.items() if kind != "done"}
BARE = {"items": UNENDED, "capabilities": ["bareReplies"]}


# Rule: only where a reply carries no mark may a line be the end of the reply above it, and there only where neither the
# agent's look nor a colour tells one paragraph from the next.
@pytest.mark.parametrize(
    ("look", "ink", "found"),
    [
        pytest.param(BARE, "", Doubt.END_OF_REPLY, id="nothing tells them apart"),
        pytest.param(BARE | {"items": ITEMS}, "", None, id="the agent marks the end of a turn"),
        pytest.param(BARE, RED, None, id="a colour does"),
        pytest.param({"items": UNENDED}, "", None, id="replies carry a mark"),
    ],
)
def test_a_line_may_be_the_end_of_the_reply_above_it(look: dict[str, Any], ink: str, found: Doubt | None) -> None:
    line = inked("✕ 529 Overloaded", ink) if ink else "✕ 529 Overloaded"
    assert doubt("The job has failed.", "", line, **look) is found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param("• 503", Doubt.INTRODUCED, id="an own line"),
        pytest.param("✕ 503", None, id="an error in its place"),
        pytest.param("⟩ 503", None, id="a line of no kind"),
    ],
)
def test_a_reply_introduces_what_could_be_its_own(line: str, found: Doubt | None) -> None:
    assert doubt("◆ The last line is:", "", line, seen_as=Sign.BODY) is found


DONE = "─ Worked for 3 s"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        pytest.param([DONE], None, id="nothing below the end of the turn"),
        pytest.param([DONE, "  3 files"], None, id="two lines of it"),
        pytest.param([DONE, "  3 files", "  again"], Doubt.PRINTED_AGAIN, id="more than two"),
        pytest.param([DONE, "  3 files", "  again", "", DONE], None, id="more than two of an earlier one"),
        pytest.param([DONE, "", "again"], Doubt.PRINTED_AGAIN, id="text of no kind below it"),
        pytest.param(["before", "", DONE], None, id="text of no kind above it"),
    ],
)
def test_without_a_composer_a_failure_below_text_behind_the_turns_end_is_printed_again(
    lines: list[str], found: Doubt | None
) -> None:
    assert doubt("◆ Done.", "", *lines, "", "✕ 529 Overloaded") is found


BURNT, COLD, PLAIN = inked("✕ 529 Overloaded", RED), inked("✕ see the log", GREY), inked("◆ I look", BLUE)


def test_a_remark_in_no_colour_of_failures_leaves_the_failure_above_it_one() -> None:
    assert failed(PLAIN, "", BURNT, "", COLD) == ["529 Overloaded"]
    assert failed(PLAIN, "", COLD) == []
    # Between two failures it is no remark on the last one: that one alone counts.
    assert failed(PLAIN, "", BURNT, "", COLD, "", inked("✕ 503 gone", RED)) == ["503 gone"]


def test_a_remark_leaves_nothing_that_is_not_in_a_colour_of_failures_above_it() -> None:
    own = inked("• Quota gone, resets at 5", GREY)
    assert failed(BURNT, "", own, "", COLD) == []


def test_a_failure_that_is_not_followed_by_what_confirms_it_is_named_with_that() -> None:
    notes: list[str] = []
    assert failed("✕ 529 Overloaded", confirm=["please retry"], notes=notes) == []
    assert len(notes) == 1 and "529 Overloaded" in notes[0] and "not followed by" in notes[0]
    assert failed("✕ 529 Overloaded", "  Please retry later.", confirm=["please retry"]) != []


@pytest.mark.parametrize("known", [{"errors": {"server": ["the mill"]}}, {"exhausted": {"quota": ["the mill"]}}])
def test_words_of_either_kind_of_failure_in_a_tools_output_are_named(known: dict[str, Any]) -> None:
    (note,) = evidence.near_misses(screen_of("$ cat log", "  the mill stands still", **known))
    assert "holds 'the mill'" in note and "this is a tool" in note
