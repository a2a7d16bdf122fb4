"""The judgement on a screen, by rule."""

import json
import re
import time
from typing import get_args

import drawing
import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens.agentfile import drawn
from fleettools.screens.blocks import Screen
from fleettools.screens.case import WHY, Earlier
from fleettools.screens.causes import rule_of
from fleettools.screens.judge import explained, judge, screen_id, weigh
from fleettools.screens.look import ComposerLook, Look, Prompt
from fleettools.screens.patterns import Kind, Own, Rules
from fleettools.screens.sgr import squeezed

CASES = [json.loads(line) for line in (drawing.SAMPLES / "index.jsonl").read_text().splitlines()]
SCORED = [case for case in CASES if not case["file"].startswith("ambiguous")]
OVERLOADED = drawing.failure("claude", "API Error: 529 Overloaded. This is a server-side issue.")
ANSWERED = drawing.reply("claude", "All done, the tests pass.")


def pane(agent: str | None, text: str | None, **fields: object) -> records.Pane:
    known = {"ts": "2026-11-30T02:00:00.000Z", "tz": "UTC"}
    return records.Pane(agent=agent, text=text, **{**known, **fields})  # type: ignore[arg-type]


def verdict(agent: str | None, text: str | None, rules: Rules = Rules(), **fields: object) -> records.Verdict:  # noqa: B008
    return judge(pane(agent, text, **fields), agentfiles.load(agent) if agent else None, rules)


def turn(seconds: float | None = None, baseline: str | None = None) -> records.Turn:
    return records.Turn(id="t1", seconds=seconds, baseline=baseline)


def own(pattern: str, key: str = "profiles.p.errorPattern") -> Kind:
    return Kind((Own(key, pattern),), bundled=False)


def loose(pattern: str) -> Kind:
    return Kind((Own("profiles.p.errorPattern", pattern, anywhere=True),), bundled=False)


@pytest.mark.parametrize("case", SCORED, ids=lambda case: case["file"])
def test_each_stored_screen_gets_its_right_verdict(case: dict[str, object]) -> None:
    path = drawing.SAMPLES / str(case["file"])
    before = path.with_suffix("").with_suffix(".baseline.txt") if path.suffix == ".txt" else path
    baseline = before.read_text() if before.exists() else None
    known = {name: case[name] for name in ("ts", "tz", "activity", "title") if case.get(name)}
    found = verdict(str(case["agent"]), path.read_text(), turn=turn(case["turnSeconds"], baseline), **known)  # type: ignore[arg-type]
    assert found.outcome in (case["outcome"], *(case.get("alsoRight") or []))  # type: ignore[misc]
    if case["cause"] and found.outcome == case["outcome"]:
        assert found.cause == case["cause"]


# A pane that has vanished or died has failed, whatever stands on it.
@pytest.mark.parametrize("fields", [{"gone": True}, {"dead": True}], ids=["vanished", "dead"])
def test_a_pane_that_is_gone_has_failed(fields: dict[str, bool]) -> None:
    found = verdict("claude", OVERLOADED if "dead" in fields else None, **fields)
    assert (found.outcome, found.reason, found.cause) == ("failed", "pane gone", None)


# What the baseline already showed is no evidence.
BASELINES = [
    ("nothing new since an old failure", OVERLOADED, OVERLOADED, "stale"),
    ("nothing new since a good end", ANSWERED, ANSWERED, "idle"),
    ("nothing new in a narrower pane", drawing.failure("claude", "API Error: 529 Overloaded, try again", 50),
     drawing.failure("claude", "API Error: 529 Overloaded, try again", 110), "stale"),
    ("an answer where a failure stood", ANSWERED, OVERLOADED, "completed"),
    ("a failure where an answer stood", OVERLOADED, ANSWERED, "backend_error"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "now", "before", "outcome"), BASELINES, ids=[row[0] for row in BASELINES])
def test_only_what_is_new_since_the_baseline_counts(name: str, now: str, before: str, outcome: str) -> None:
    assert verdict("claude", now, turn=turn(12, before)).outcome == outcome


# A turn of less than minTurnSeconds is typed when a pattern matches, else failed; unknown seconds are not fast.
@pytest.mark.parametrize(
    ("text", "seconds", "outcome", "path"),
    [
        (ANSWERED, 1.9, "failed", "fast"),
        (ANSWERED, 2.0, "completed", "block"),
        (ANSWERED, None, "completed", "block"),
        (OVERLOADED, 0.5, "backend_error", "fast"),
        (OVERLOADED, 5.0, "backend_error", "block"),
    ],
)
def test_a_fast_turn(text: str, seconds: float | None, outcome: str, path: str) -> None:
    found = verdict("claude", text, turn=turn(seconds))
    assert (found.outcome, found.path) == (outcome, path)


# Operators' patterns replace the bundled ones of their kind, or add to them; `none` (no patterns) leaves none.
OPERATORS = [
    ("a pattern of one's own", Rules(error=own("^⏺ All done")), ANSWERED, "backend_error", "configured"),
    ("not within the model's words", Rules(error=own("tests pass")), ANSWERED, "completed", "configured"),
    ("unless it says so", Rules(error=loose("tests pass")), ANSWERED, "backend_error", "configured"),
    ("replaces the bundled ones", Rules(error=own("never there")), OVERLOADED, "completed", "configured"),
    ("leaves the other kind alone", Rules(exhausted=own("never there")), OVERLOADED, "backend_error", "configured"),
    ("adds to them", Rules(error=Kind((Own("k", "never"),), bundled=True)), OVERLOADED, "backend_error", "configured"),
    ("none at all", Rules(error=Kind((), bundled=False)), OVERLOADED, "completed", "bundled"),
    ("absent", Rules(), OVERLOADED, "backend_error", "bundled"),
    (
        "both kinds match one line",
        Rules(error=own("529"), exhausted=own("Over")),
        OVERLOADED,
        "exhausted",
        "configured",
    ),
    ("sees the glyph", Rules(error=own(r"^⏺ API")), OVERLOADED, "backend_error", "configured"),
    ("sees only the last item", Rules(error=own("boundary test")), OVERLOADED, "completed", "configured"),
]


@pytest.mark.parametrize(
    ("rules", "text", "outcome", "coverage"), [row[1:] for row in OPERATORS], ids=[row[0] for row in OPERATORS]
)
def test_operators_patterns(rules: Rules, text: str, outcome: str, coverage: str) -> None:
    found = verdict("claude", text, rules)
    assert (found.outcome, found.coverage) == (outcome, coverage)


def test_a_pattern_without_end_costs_a_tenth_of_a_second_is_named_and_the_others_still_judge() -> None:
    text = drawing.failure("codex", "\n".join(["a" * 70 + "!"] * 12))
    slow = (Own("profiles.p.errorPattern[0]", "(a|aa)+$"), Own("profiles.p.errorPattern[1]", "a!"))
    rules = Rules(error=Kind(slow, bundled=False), exhausted=own("(a|aa)+$", "profiles.p.exhaustedPattern"))
    weigh(pane("codex", "warm"), agentfiles.load("codex"), rules)
    began = time.process_time()
    found = weigh(pane("codex", text), agentfiles.load("codex"), rules)
    assert time.process_time() - began < 0.2  # 0.1 s of budget, and room for the rest
    assert found.verdict.outcome == "backend_error" and found.verdict.pattern == "profiles.p.errorPattern[1]"
    assert "profiles.p.errorPattern[0]" in found.over and "profiles.p.exhaustedPattern" in found.over


# Rule: --explain says what became of each pattern of one's own: where it was tried, and why a match does not count.
BECAME = {
    "no match": ("codex", own("never"), drawing.failure("codex", "HTTP 503"), ": no match"),
    "a match that counts": ("codex", own("503"), drawing.failure("codex", "HTTP 503"), ": matched"),
    "in a reply": (
        "codex",
        own("usage limit"),
        drawing.reply("codex", "You've hit your usage limit."),
        "the model's words",
    ),
    "within what may be a reply": (
        "claude",
        own("API Error"),
        drawing.reply("claude", "The API Error is gone."),
        "begin",
    ),
    "in a tool's output": ("claude", own("503"), drawing._on("claude", ["⏺ Bash(curl)", "  ⎿  503"]), "this is a tool"),
}


@pytest.mark.parametrize(("agent", "kind", "text", "became"), BECAME.values(), ids=BECAME.keys())
def test_what_became_of_an_operators_pattern_is_explained(agent: str, kind: Kind, text: str, became: str) -> None:
    found = weigh(pane(agent, text), agentfiles.load(agent), Rules(error=kind), explain=True)
    assert any(note.startswith("profiles.p.errorPattern: tried on row") and became in note for note in found.notes)


# Rule: a reply's words are no failure whatever an operator looks for, where replies have a mark or a colour.
def test_patterns_in_words_of_failures_find_nothing_on_good_screens() -> None:
    rules = Rules(
        error=Kind((Own("e", "(?i)error|5[0-9][0-9]|overloaded"),), bundled=True),
        exhausted=Kind((Own("x", "(?i)usage limit|out of credits|quota"),), bundled=True),
    )
    wrong = []
    for case in SCORED:
        marked = str(case["agent"]) in ("codex", "gemini") or "-sgr" in str(case["file"])
        if case["outcome"] == "completed" and marked:
            path = drawing.SAMPLES / str(case["file"])
            found = verdict(str(case["agent"]), path.read_text(), rules)
            wrong += [case["file"]] if found.outcome in ("backend_error", "exhausted") else []
    assert not wrong


def test_none_means_none_without_an_agent_too() -> None:
    assert verdict(None, "API Error: 529", Rules(error=Kind((), bundled=False))).outcome == "completed"
    assert verdict(None, "API Error: 529").outcome == "backend_error"


# Without agent and pattern: the words "API Error:" in the last 20 lines, as degraded coverage.
@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("api error : 529", "backend_error"),
        ("all well", "completed"),
        ("API Error: 1\n" + "line\n" * 20, "completed"),
        ("thinking\n (esc to interrupt)", "working"),
    ],
)
def test_an_unknown_agent(text: str, outcome: str) -> None:
    found = verdict(None, text)
    assert (found.outcome, found.coverage, found.path) == (outcome, "legacy", "raw")


# The agent's own next try carries its number and cause; from hours of waiting on it is exhaustion.
RETRIES = [
    ("claude", "✻ 529 Overloaded · Retrying in 2s · attempt 4/10", "retrying", "overload", 4),
    ("claude", "✻ Session limit reached · Retrying in 1s (1:30am) · attempt 1/2", "retrying", "quota", 1),
    ("claude", "✻ Rate limited · Retrying in 3h 20m · attempt 2/10", "exhausted", "quota", 2),
    ("codex", "• Reconnecting... 2/5 (3s • esc to interrupt)", "retrying", "unknown", 2),
    ("gemini", "Attempt 3 failed: fetch failed. Retrying after 5197ms...\n\n⠙ Thinking... (esc to cancel, 9s)",
     "retrying", "network", 3),
]  # fmt: skip


@pytest.mark.parametrize(("agent", "line", "outcome", "cause", "number"), RETRIES, ids=[row[1][:30] for row in RETRIES])
def test_a_retry(agent: str, line: str, outcome: str, cause: str, number: int) -> None:
    text = drawing._on(agent, line.split("\n"))
    found = verdict(agent, text)
    assert (found.outcome, found.cause, found.attempt) == (outcome, cause, number)


def test_the_screen_is_the_last_prompt_and_its_ordinal_and_blind_to_width_and_error() -> None:
    look = agentfiles.load("claude")
    assert look is not None
    first = Screen(OVERLOADED, look)
    again = Screen(OVERLOADED.replace("❯ is size=0 handled?", "❯ is size=0\n  handled?"), look)
    twice = Screen(
        OVERLOADED.replace("\n❯ is size=0 handled?", "\n❯ is size=0 handled?\n\n⏺ No.\n\n❯ is size=0 handled?"), look
    )
    assert screen_id(first) == screen_id(again) == screen_id(Screen(ANSWERED, look))
    assert screen_id(first).endswith(":1") and screen_id(twice) == screen_id(first)[:-1] + "2"
    assert screen_id(Screen("nothing here", look)).endswith(":0")


def test_the_event_is_the_turn_else_screen_server_and_target() -> None:
    assert verdict("claude", OVERLOADED, turn=turn(9)).event == "t1"
    found = verdict("claude", OVERLOADED, server="h:/s:1", target="%4")
    assert found.event == f"{found.screen}@h:/s:1/%4"


def test_at_is_the_earlier_of_ts_and_activity() -> None:
    assert verdict("claude", OVERLOADED, activity="2026-11-30T01:59:00.000Z").at == "2026-11-30T01:59:00.000Z"
    assert verdict("claude", OVERLOADED, activity="2026-11-30T02:00:09.000Z").at == "2026-11-30T02:00:00.000Z"


def test_a_limit_says_when_it_resets() -> None:
    found = [
        verdict("claude", drawing.failure("claude", f"You've hit your session limit · resets {when} (Europe/Berlin)"))
        for when in ("7am", "2:59am")
    ]
    assert [(one.resets_at, one.passed) for one in found] == [("2026-11-30T06:00:00.000Z", None), (None, True)]


NOTICE = (
    "fleettools: credential team-a cools off for 45 s after backend errors on api, docs; run fleet-list [ft:3fa9c1]"
)


@pytest.mark.parametrize("agent", sorted(drawing.STYLES))
def test_a_notice_of_fleettools_own_is_no_failure(agent: str) -> None:
    for text in (NOTICE, f"{NOTICE}\nusage limit reached, API Error: 529"):
        assert verdict(agent, drawing.reply(agent, f"I was told this:\n\n{text}")).outcome == "completed"


@pytest.mark.parametrize("agent", agentfiles.names())
def test_the_reason_of_a_failure_names_its_cause_in_words_that_are_no_failure_themselves(agent: str) -> None:
    assert set(WHY) == set(get_args(records.Cause))
    assert verdict("claude", OVERLOADED).reason.startswith(WHY["overload"])
    look = agentfiles.load(agent)
    assert look and rule_of(look, "529 Overloaded", (True, True))
    reasons = [f"{why}, says the agent as its last item" for why in WHY.values()]
    assert not [said for said in reasons if rule_of(look, said, (True, True)) or look.begins(squeezed(said))]


@pytest.mark.parametrize("agent", [None, *agentfiles.names()])
@pytest.mark.parametrize("text", ["", "\n \n\n", "\x1b[2m \x1b[0m\n"])
def test_an_empty_screen_ends_no_turn(agent: str, text: str) -> None:
    """A redraw or a screen that was cleared must not settle a ticket."""
    assert verdict(agent, text).outcome == "idle"
    assert verdict(agent, text, turn=turn(30.0)).outcome == "stale"
    assert verdict(agent, text, turn=turn(30.0, OVERLOADED)).outcome == "stale"


# Rule: `block` is what the turn drew, blind to width, spinner, remarks and composer; absent while it drew nothing.
def test_the_block_is_what_the_turn_itself_drew() -> None:
    text = "Both limits are off by one, and the second is never read again by anyone."
    wide, narrow = (verdict("claude", drawing.reply("claude", text, width)) for width in (100, 50))
    assert wide.block and wide.block == narrow.block
    assert verdict("claude", drawing.reply("claude", text + " Not so.")).block != wide.block
    typing = drawing.reply("claude", text).replace("❯\xa0", "❯ and the third?").replace("❯ \n", "❯ and the third?\n")
    assert verdict("claude", typing).block == wide.block
    busy = drawing._on("claude", [f"⏺ {text}", "", "✻ Sailing… (12s · esc to interrupt)"])
    assert (verdict("claude", busy).outcome, verdict("claude", busy).block) == ("working", wide.block)
    assert verdict("claude", drawing._on("claude", ["✻ Sailing… (2s · esc to interrupt)"])).block is None


# Rule: an end without the agent's own mark is not proved; a worded failure, a mark and a vanished pane need no proof.
PROOFS = [
    ("a reply and the mark of the end", drawing.reply("claude", "All done."), None, None),
    ("a reply alone", drawing._on("claude", ["⏺ All done."]), None, False),
    ("too fast", drawing.reply("claude", "All done."), 0.5, False),
    ("a worded failure", OVERLOADED, None, None),
    ("a sign of work", drawing._on("claude", ["✻ Sailing… (2s · esc to interrupt)"]), None, None),
]


@pytest.mark.parametrize(("text", "seconds", "proved"), [row[1:] for row in PROOFS], ids=[row[0] for row in PROOFS])
def test_an_end_that_is_only_inferred_says_so(text: str, seconds: float | None, proved: bool | None) -> None:
    assert verdict("claude", text, turn=turn(seconds)).proved is proved


def test_a_person_who_stops_a_turn_is_told_from_a_pane_without_one() -> None:
    text = drawing._on("claude", ["⏺ I look.", "", "  ⎿  Interrupted · What should Claude do instead?"])
    assert (verdict("claude", text).outcome, verdict("claude", text).stopped) == ("idle", True)
    assert verdict("claude", "").stopped is None


def test_at_is_the_look_that_first_showed_the_text_and_says_when_nothing_tells() -> None:
    seen = verdict("claude", OVERLOADED, changed="2026-11-30T01:58:00.000Z", activity="2026-11-30T01:59:00.000Z")
    assert (seen.at, seen.undated) == ("2026-11-30T01:58:00.000Z", None)
    assert verdict("claude", OVERLOADED, activity="2026-11-30T01:59:00.000Z").undated is None
    assert verdict("claude", OVERLOADED).undated is True


def test_a_pane_that_is_a_member_no_more_is_stale() -> None:
    found = verdict("claude", None, unmarked=True)
    assert (found.outcome, found.unmarked) == ("stale", True)


# Rule: of an agent that nobody described each failure is an event of its own; the same one seen again is no new one.
def test_the_failures_of_an_unknown_agent_are_counted_within_a_run() -> None:
    looks = [
        ("$ agent\nworking", "completed", "legacy:0"),
        ("$ agent\nworking\nAPI Error: 529", "backend_error", "legacy:1"),
        ("$ agent\nworking\nAPI Error: 529", "backend_error", "legacy:1"),
        ("$ agent\nworking\nAPI Error: 529\nsecond try\nall well", "stale", "legacy:1"),
        ("working\nAPI Error: 529\nsecond try\nall well\nthird\nAPI Error: 529", "backend_error", "legacy:2"),
        ("third\nAPI Error: 529\nfourth\nAPI Error: 529", "backend_error", "legacy:3"),
        ("\n".join(f"line {i}" for i in range(30)), "completed", "legacy:3"),
    ]
    earlier = None
    for text, outcome, screen in looks:
        found = weigh(pane(None, text), None, Rules(), earlier=earlier)
        assert (found.verdict.outcome, found.verdict.screen) == (outcome, screen), text
        earlier = Earlier(text, found.failures)


HOME = drawn("home", prompt="^> ", busy="esc to stop", error="^!! ", composer="^> ")
DRAWN = {
    "at work": ("> do it\nhm ... esc to stop\n", "working", None),
    "a reply": ("> do it\nAll done.\n\n> ", "completed", None),
    "a failure of its own": ("> do it\n!! 503 the mill stands still\n\n> ", "backend_error", "server"),
    "one that a reply introduces": ("> do it\nIt said:\n!! 503 the mill stands still\n\n> ", "completed", None),
    "the failure of an older turn": ("> do it\n!! 503\n> again\nAll done.\n> and more", "completed", None),
}


# Rule: a few keys of a profile make an agent that no file describes a full member.
@pytest.mark.parametrize(("text", "outcome", "cause"), DRAWN.values(), ids=DRAWN.keys())
def test_a_look_of_a_profile_is_judged_as_an_agents_file_is(text: str, outcome: str, cause: str | None) -> None:
    found = judge(pane(None, f"Home agent\n\n{text}", profile="home"), HOME, Rules(drawn=True))
    assert (found.outcome, found.cause, found.coverage) == (outcome, cause, "configured")
    assert found.screen and found.screen.endswith(":1")


MADE_UP = Look(
    name="any",
    prompts=[Prompt(head="> (.*)", starts=["> "])],
    composer=ComposerLook(frames=["rules"], glyph=">"),
    items={"error": ["✕ "], "own": ["• "], "reply": ["◆ "], "tool": [r"\$ "]},
    retrying=["trying again"],
)
LONG_DAY = [
    *(
        "a banner",
        "",
        "",
        "> zero",
        "",
        "> one",
        "",
        "◆ One.",
        "",
        "> two",
        "",
        "◆ A",
        "",
        "◆ B",
        "",
        "$ c",
        "",
        "◆ D",
        "",
    ),
    *("✕ 529 overloaded, resets in 3 hours", "", "─" * 30, "> ", "─" * 30),
]


def test_explain_says_what_was_judged_and_what_came_of_it() -> None:
    found = weigh(pane("any", "\n".join(LONG_DAY)), MADE_UP, Rules(), explain=True)
    found.over = ["profiles.p.errorPattern"]
    assert explained(found) == [
        "exhausted: the account's plan is used up, says the agent as its last item",
        f"path block, coverage unseen, screen {found.verdict.screen}",
        "line ✕ 529 overloaded, resets in 3 hours",
        "rule any: 529",
        "cause quota",
        "resets at 2026-11-30T05:00:00.000Z",
        "composer rows 22 to 24; last prompt row 10",
        "item reply, row 14: ◆ B",
        "item tool, row 16: $ c",
        "item reply, row 18: ◆ D",
        "item error, row 20: ✕ 529 overloaded, resets in 3 hours",
        "profiles.p.errorPattern ran out of its time",
    ]


def test_nothing_is_explained_unless_it_is_asked_for() -> None:
    found = weigh(pane("any", "\n".join(LONG_DAY)), MADE_UP, Rules())
    assert (found.notes, found.failures) == ([], 0)


def test_explain_says_from_which_row_on_something_lies_over_the_screen() -> None:
    page = ["", "▔" * 78, "  Settings", "", "    Theme     dark", "", "  Esc to go back · ↑↓ to move"]
    rows = [*ANSWERED.rstrip("\n").split("\n")[:-4], *page]
    notes = weigh(pane("claude", "\n".join(rows)), agentfiles.load("claude"), Rules(), explain=True).notes
    assert f"a dialog lies over it from row {rows.index(page[1]) + 1} on" in notes


# Rule: when a limit resets is read beside a failure; a few seconds count only beside a next try.
@pytest.mark.parametrize(
    ("line", "more", "resets_at", "rolled"),
    [
        pytest.param("✕ quota exceeded, resets in 3 hours", {}, "2026-11-30T05:00", None, id="a span"),
        pytest.param("✕ quota exceeded, resets 1am", {}, "2026-12-01T01:00", True, id="a time that has passed today"),
        pytest.param(
            "✕ quota exceeded, resets 1am",
            {"changed": "2026-11-30T02:00:00.000Z"}, "2026-12-01T01:00", None,
            id="the same on a screen whose age is known",
        ),
        pytest.param("✕ overloaded, resets in 30 s", {}, None, None, id="seconds beside a failure"),
        pytest.param("✕ overloaded, trying again, resets in 30 s", {}, "2026-11-30T02:00:30", None, id="beside a try"),
    ],
)  # fmt: skip
def test_a_failure_has_its_reset(line: str, more: dict[str, str], resets_at: str | None, rolled: bool | None) -> None:
    found = judge(pane("any", f"> go\n\n{line}\n\n{'─' * 30}\n> \n{'─' * 30}", **more), MADE_UP, Rules())
    assert (found.resets_at and found.resets_at[: len(resets_at or "")], found.rolled) == (resets_at, rolled)


def made_up(*lines: str) -> str:
    """The made-up agent's screen with these lines below a prompt."""
    return "\n".join(["> go", "", *lines, "", "─" * 30, "> ", "─" * 30])


@pytest.mark.parametrize(("letters", "outcome"), [(15, "backend_error"), (16, "stale")])
def test_a_line_that_a_narrower_pane_cuts_short_is_the_same_when_much_of_it_is_left(letters: int, outcome: str) -> None:
    before, now = (made_up(f"◆ {'x' * length}", "", "✕ 529 overloaded") for length in (20, letters))
    assert judge(pane("any", now, turn=turn(12, before)), MADE_UP, Rules()).outcome == outcome


def test_what_grows_and_shrinks_with_the_pane_is_nothing_that_a_turn_drew() -> None:
    blocks = {judge(pane("any", made_up(f"◆ A table {'─' * width} of it")), MADE_UP, Rules()).block for width in (5, 9)}
    assert len(blocks) == 1 and None not in blocks


def test_the_end_of_an_agent_that_nobody_knows_is_not_proved() -> None:
    found = verdict(None, "hello")
    assert (found.outcome, found.proved) == ("completed", False)


def test_a_screen_is_named_by_16_hex_digits_and_the_ordinal_of_its_prompt() -> None:
    assert re.fullmatch(r"[0-9a-f]{16}:2", screen_id(Screen(made_up("◆ Done.", "", "> go", "", "◆ Done."), MADE_UP)))
