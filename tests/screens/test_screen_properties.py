"""What never changes a verdict: width, chrome, a quotation, colours; and nothing at all crashes it."""

import json
import re

import drawing
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens.judge import judge
from fleettools.screens.patterns import Rules
from fleettools.screens.scrub import scrubbed
from fleettools.screens.typed import composer, holds

AGENTS = st.sampled_from(sorted(drawing.STYLES))
MARKS = st.sampled_from(["- ", "1. ", "  ", "| ", ""])
ANY_TEXT = st.one_of(st.text(max_size=400), st.binary(max_size=400).map(lambda raw: raw.decode("utf-8", "replace")))
WIDTHS = st.integers(min_value=48, max_value=180)
WORDINGS = [json.loads(line) for line in (drawing.SAMPLES / "wordings.jsonl").read_text().splitlines()]
MESSAGES = [wording for wording in WORDINGS if "phrase" in wording]
TURNED = [
    case
    for case in map(json.loads, (drawing.SAMPLES / "index.jsonl").read_text().splitlines())
    if not case["file"].startswith("ambiguous")
]
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def verdict(agent: str, text: str, baseline: str | None = None, seconds: float | None = None) -> records.Verdict:
    turn = records.Turn(id="t", seconds=seconds, baseline=baseline)
    pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text=text, tz="UTC", agent=agent, turn=turn)
    return judge(pane, agentfiles.load(agent), Rules())


def own(agent: str, message: str) -> str:
    return f"API Error: {message}" if agent == "claude" else message


def of_case(case: dict[str, object], text: str) -> records.Verdict:
    name = str(case["file"])
    baseline = drawing.SAMPLES / name.replace(".txt", ".baseline.txt")
    before = baseline.read_text() if baseline.exists() else None
    return verdict(str(case["agent"]), text, before, case["turnSeconds"])  # type: ignore[arg-type]


@FEW
@given(AGENTS, st.sampled_from(MESSAGES), WIDTHS)
def test_a_failure_is_one_at_any_width(agent: str, message: dict[str, str], width: int) -> None:
    found = verdict(agent, drawing.failure(agent, own(agent, message["text"]), width))
    assert found.outcome in ("backend_error", "exhausted")


@pytest.mark.parametrize("agent", sorted(drawing.STYLES))
def test_every_wording_is_a_failure_of_its_own_and_none_in_a_report(agent: str) -> None:
    for message, width in ((message, width) for message in MESSAGES for width in (60, 120)):
        said = own(agent, message["text"])
        assert verdict(agent, drawing.failure(agent, said, width)).outcome in ("backend_error", "exhausted"), said
        assert verdict(agent, drawing.reply(agent, f"The log holds:\n\n{said}", width)).outcome == "completed", said


@FEW
@given(
    AGENTS,
    st.lists(st.sampled_from(MESSAGES), min_size=1, max_size=4),
    WIDTHS,
    st.sampled_from(["- ", "1. ", "  ", "| ", ""]),
)
def test_quoted_errors_inside_a_reply_are_none_at_any_width(
    agent: str, messages: list[dict[str, str]], width: int, mark: str
) -> None:
    quoted = "\n".join(mark + own(agent, message["text"]) for message in messages)
    assert verdict(agent, drawing.reply(agent, f"The log holds:\n\n{quoted}", width)).outcome == "completed"


@FEW
@given(AGENTS, st.sampled_from(MESSAGES), st.integers(0, 30), st.integers(0, 5))
def test_blank_lines_above_and_below_change_nothing(
    agent: str, message: dict[str, str], above: int, below: int
) -> None:
    text = drawing.failure(agent, own(agent, message["text"]))
    plain, padded = verdict(agent, text), verdict(agent, "\n" * above + text + "\n" * below)
    assert (plain.outcome, plain.cause, plain.screen) == (padded.outcome, padded.cause, padded.screen)


@pytest.mark.parametrize("case", [c for c in TURNED if "-sgr" in c["file"]], ids=lambda case: case["file"])
def test_a_screen_without_its_colours_gives_the_same_verdict(case: dict[str, object]) -> None:
    text = (drawing.SAMPLES / str(case["file"])).read_text()
    coloured, bare = of_case(case, text), of_case(case, re.sub(r"\x1b\[[0-9;]*m", "", text))
    assert coloured.outcome == bare.outcome == case["outcome"]
    assert (coloured.cause, coloured.screen) == (bare.cause, bare.screen)


@FEW
@given(st.sampled_from(TURNED), st.sampled_from(["38;5;211", "31", "38;2;10;200;10", "1", "2", "48;5;16"]))
def test_one_colour_for_everything_tells_nothing(case: dict[str, object], code: str) -> None:
    text = (drawing.SAMPLES / str(case["file"])).read_text()
    if "\x1b" in text:
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    if case["agent"] == "opencode":
        return  # there a bar's colour is what a failure is drawn with
    painted = "\n".join(f"\x1b[{code}m{line}\x1b[0m" for line in text.split("\n"))
    found = of_case(case, painted)
    assert found.outcome in (case["outcome"], *(case.get("alsoRight") or []))  # type: ignore[misc]


@FEW
@given(
    AGENTS, st.one_of(st.text(max_size=400), st.binary(max_size=400).map(lambda raw: raw.decode("utf-8", "replace")))
)
def test_no_text_at_all_crashes_it(agent: str, text: str) -> None:
    look = agentfiles.load(agent)
    assert look is not None
    verdict(agent, text, baseline=text[::-1], seconds=1.0)
    composer(text, look)
    assert holds(text, look, "a-token-that-is-not-there-0") == "none"
    scrubbed(text)


@FEW
@given(st.sampled_from(TURNED), st.data())
def test_a_mangled_screen_does_not_crash_it(case: dict[str, object], data: st.DataObject) -> None:
    text = (drawing.SAMPLES / str(case["file"])).read_text()
    cut = data.draw(st.integers(0, len(text)))
    of_case(case, text[cut:])
    of_case(case, text[:cut] + data.draw(st.text(alphabet="\x1b[m38;5╭│╰┃─❯›> \n", max_size=30)) + text[cut:])
