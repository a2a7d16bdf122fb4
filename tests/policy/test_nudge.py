"""What a notice may say."""

import re

import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.policy.notices.news import about_of
from fleettools.policy.notices.nudge import Again, Told, notice, room, said, worker
from fleettools.records import NewsKind, NoticeItem
from fleettools.screens.judge import judge
from fleettools.screens.patterns import Rules

TOKEN = "0a1b2c3d"
NOW = 1_000_000


def about(kind: NewsKind = "incident", **more: object) -> NoticeItem:
    given = {"credential": "team-a", "profiles": ["claude-a"], "workers": ["w1"], "until_ms": NOW + 57_001} | more
    return NoticeItem(kind=kind, **given)  # type: ignore[arg-type]


# Rule: the words for each kind of item, as long as it holds and when it is over.
WORDS = {
    "an incident names credential, seconds, profiles and workers": (
        about(), False, "credential team-a cools off for 58 s, profile claude-a, worker w1, run fleet-list",
    ),
    "an incident that is over says so": (
        about(), True,
        "credential team-a is free again, its cool-off is over, profile claude-a, worker w1, run fleet-list",
    ),
    "a quarantine": (
        about("quarantine", profiles=["a", "b"]), False,
        "credential team-a is in quarantine for 58 s, profiles a b, worker w1, run fleet-list",
    ),
    "an unmapped failure": (
        about("unmapped", profiles=["p9"], workers=["%7"]), False,
        "failure of profile p9, not configured, worker %7, run fleet-list",
    ),
    "an unmapped failure without a profile": (
        about("unmapped", profiles=[], workers=[]), False, "failure without a profile, run fleet-list",
    ),
    "a ticket": (
        about("ticket", ticket="t1", outcome="backend_error"), False,
        "ticket t1, worker w1 is settled as backend error, run fleet-list",
    ),
    "a question": (about("blocked"), False, "a question waits for its answer, worker w1, run fleet-list"),
}  # fmt: skip


@pytest.mark.parametrize(("item", "over", "text"), WORDS.values(), ids=WORDS.keys())
def test_words(item: NoticeItem, over: bool, text: str) -> None:
    assert notice(TOKEN, [Told(item, over)], NOW, 400) == f"fleet notice {TOKEN}: {text}"


def test_another_account_is_named_with_the_command_that_spawns_there() -> None:
    item = Told(about("quarantine", until_ms=NOW + 3_600_000), elsewhere="claude-b")
    text = notice(TOKEN, [item], NOW, 400)
    assert text.endswith("worker w1, free is claude-b: fleet-spawn claude-b, run fleet-list")
    assert "claude-b" not in notice(TOKEN, [item._replace(over=True)], NOW, 400)
    assert "fleet-spawn" not in notice(TOKEN, [item._replace(elsewhere="; rm -rf /")], NOW, 400)


@pytest.mark.parametrize("whole", [60, 90, 150, 400, 800])
@pytest.mark.parametrize("count", [1, 2, 7, 60])
@pytest.mark.parametrize("names", [1, 40])
def test_one_line_within_what_is_shown_whole_with_token_and_essentials(whole: int, count: int, names: int) -> None:
    many = [f"worker-with-a-long-name-{n}" for n in range(names)]
    text = notice(TOKEN, [Told(about(workers=many, credential=f"team-{n}")) for n in range(count)], NOW, whole)
    assert len(text) <= min(whole, 400)
    assert TOKEN in text[:30] and text.endswith("run fleet-list")
    assert not re.search(r"[^A-Za-z0-9 ,.:%@_+-]", text)
    assert text[0] not in "/!#@"
    if whole >= 90:
        assert "team-0" in text
    told = len(re.findall(r"credential team-", text))
    more = re.search(r"and (\d+) more: run", text)
    assert told + int(more[1] if more else 0) == count


def test_items_give_up_names_before_they_are_left_out() -> None:
    items = [Told(about(credential=f"t{n}", workers=[f"w{i}" for i in range(30)])) for n in range(3)]
    text = notice(TOKEN, items, NOW, 400)
    assert all(f"credential t{n} " in text for n in range(3))
    assert "and 27 more" in text


@pytest.mark.parametrize(
    ("name", "target", "called"),
    [
        ("w1", "%3", "w1"),
        ("rm -rf /", "%3", "%3"),
        ("$(reboot)", "%3", "%3"),
        ("/clear", "%3", "%3"),
        ("a\u202eb", "%3", "%3"),
        ("x" * 65, "%3", "%3"),
        (None, "%3", "%3"),
        ("a b", "lead", "lead"),
        ("a;b", "x y", None),
    ],
)
def test_only_plain_names_and_pane_ids_are_said(name: str | None, target: str, called: str | None) -> None:
    assert worker(name, target) == called


def test_what_a_hostile_record_says_does_not_come_through() -> None:
    hostile = ["API Error: 529 overloaded", "`id`", "x\ny"]
    record = records.Incident(
        ts="2026-01-01T00:00:00Z", id="i", credential_id="c", window_seconds=60, cooling_off_for_seconds=60,
        profiles=hostile, targets=[records.Worker(server="s", target="%1", name=name) for name in hostile],
    )  # fmt: skip
    found = about_of(record)
    assert found
    text = notice(TOKEN, [Told(found)], records.to_ms(record.ts), 400)
    assert text == f"fleet notice {TOKEN}: credential c cools off for 60 s, workers %1 %1 %1, run fleet-list"


@pytest.mark.parametrize("agent", agentfiles.names())
def test_a_notice_holds_none_of_the_wordings_that_an_agent_fails_with(agent: str) -> None:
    look = agentfiles.load(agent)
    assert look
    groups = (look.errors, look.exhausted, look.backends.errors, look.backends.exhausted)
    phrases = [*look.starts, *(phrase for group in groups for one in group.values() for phrase in one)]
    assert phrases
    words = " ".join(notice(TOKEN, [Told(item, over)], NOW, 400).lower() for item, over, _ in WORDS.values())
    for phrase in phrases:
        parts = [part for part in phrase.lower().split("*") if part.strip()]
        assert not all(part.strip() in words for part in parts), phrase


@pytest.mark.parametrize("agent", agentfiles.names())
def test_a_notice_on_the_screen_is_no_failure(agent: str) -> None:
    for item, over, _ in WORDS.values():
        text = notice(TOKEN, [Told(item, over)], NOW, 400)
        for line in (text, f"⏺ {text}", f"❯ {text}", f"> {text}", f"• {text}", f"✦ {text}", f"  ┃  {text}"):
            pane = records.Pane(ts="2026-01-01T00:00:00Z", text=line, agent=agent)
            assert judge(pane, agentfiles.load(agent), Rules()).outcome not in ("backend_error", "exhausted"), line


@pytest.mark.parametrize(
    ("whole", "cols", "rows", "length"),
    [
        (800, 110, 40, 720),
        (150, 110, 40, 150),
        (800, 50, 16, 288),
        (800, 34, 24, 172),
        (800, 30, 8, 80),
        (40, 9, 3, 40),
    ],
)
def test_a_small_pane_has_room_for_less(whole: int, cols: int, rows: int, length: int) -> None:
    assert room(whole, cols, rows) == length


# Rule: what only people are told, and how what has happened before is said.
MORE: dict[str, tuple[Told, str]] = {
    "an end, with how long it lasted": (
        Told(about("ended", seconds=61.0, why="time")),
        "credential team-a is free again after 1 min 1 s, its time is over",
    ),
    "an end by a person": (
        Told(about("ended", seconds=7500.4, why="released")),
        "credential team-a is free again after 2 h 5 min, a person has lifted it",
    ),
    "most of a plan is used up": (
        Told(about("nearly", window="5h", used_percent=80.4, resets_ms=3_600_000)),
        "credential team-a has used 80 % of its 5h window, until 01:00 UTC",
    ),
    "one member's failure": (
        Told(about("failed", outcome="backend_error", cause="rate_limit")),
        "worker w1 failed, backend error of cause rate limit, profile claude-a",
    ),
    "an incident that follows on others": (
        Told(about(), again=Again(3, 720_000)),
        "credential team-a cools off for 58 s again, 3 times since 00:12 UTC, profile claude-a, worker w1",
    ),
    "an incident because the first one to try has failed": (
        Told(about(again=True)), "credential team-a cools off for 58 s again, profile claude-a, worker w1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("told", "text"), MORE.values(), ids=MORE.keys())
def test_what_people_are_told(told: Told, text: str) -> None:
    assert said(told, NOW) == text
