"""`import fleettools` says what the commands say, names its errors and is typed; test_man tries fleettools(3)."""

import json
import logging
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sandbox import SCREEN, day

import fleettools
from fleettools import BadConfig, BadInput, Gate, UsageError, api, correlate, errors, judge, records, verdicts

TS = "2026-01-31T12:00:00.000Z"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
RESETS = "❯ go\n\n● You've hit your session limit · resets 3pm (UTC)\n"
CONFIG = """\
profiles:
  claude-a: {agent: claude, credentialId: team-a, priority: 2}
  claude-b: {agent: claude, credentialId: team-b, errorPattern: '^FLOP'}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a working folder of the test's own, in which nothing is configured."""
    for name in ("FLEET_CONFIG", "FLEET_STATE", "FLEET_NOW", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def configured(home: Path) -> Path:
    """The same with two profiles."""
    (home / "fleetd.yaml").write_text(CONFIG)
    return home


def command(name: str, *args: str, stdin: str = "") -> list[dict[str, Any]]:
    """What the command writes."""
    words = [sys.executable, "-m", f"fleettools.commands.{name}", *args]
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=60, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def plain(record: msgspec.Struct, *without: str) -> dict[str, Any]:
    """The record as JSON has it, less what differs from call to call."""
    made: dict[str, Any] = msgspec.to_builtins(record)
    return {key: value for key, value in made.items() if key not in ("boot", "up", *without)}


def fails(at: int, target: str, **more: Any) -> dict[str, Any]:
    """A verdict on a failed turn, so many seconds after noon."""
    ts = records.to_ts(records.to_ms(TS) + 1000 * at)
    who = {"server": "h:/s:1", "target": target, "profile": "claude-a", "event": f"{target}@{at}"}
    return {"type": "verdict", "ts": ts, "outcome": "backend_error", "cause": "overload", "at": ts, **who, **more}


# -- the same answers as those of the commands


def test_a_screen_gets_the_verdict_that_the_command_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_NOW", TS)
    (given,) = command("classify", "--text", "--agent", "claude", stdin=SCREEN)
    assert plain(judge(SCREEN, agent="claude")) == given


@pytest.mark.parametrize(
    "at", [NOON, NOON.astimezone(timezone(timedelta(hours=5))), TS, "2026-01-31T17:00:00+05:00"], ids=str
)
def test_the_moment_of_a_look_is_a_datetime_or_a_text_and_dates_the_verdict(at: datetime | str) -> None:
    verdict = judge(RESETS, agent="claude", at=at)
    assert (verdict.ts, verdict.outcome, verdict.resets_at) == (TS, "exhausted", "2026-01-31T15:00:00.000Z")


def test_a_clock_time_is_read_in_the_zone_that_is_given() -> None:
    screen = RESETS.replace(" (UTC)", "")
    for zone, at, reset in (("Asia/Kolkata", "07", "09:30"), ("America/Bogota", "17", "20:00")):
        verdict = judge(screen, agent="claude", at=f"2026-01-31T{at}:00:00Z", tz=zone)
        assert verdict.resets_at == f"2026-01-31T{reset}:00.000Z"


def test_what_the_baseline_showed_is_no_evidence() -> None:
    assert judge(SCREEN, agent="claude", baseline=SCREEN).outcome == "stale"


def test_a_profile_brings_its_agent_and_its_patterns(configured: Path) -> None:
    verdict = judge("❯ go\n\n● FLOP went it\n", profile="claude-b")
    assert (verdict.profile, verdict.agent, verdict.coverage) == ("claude-b", "claude", "configured")
    other = configured / "other.yaml"
    other.write_text(CONFIG.replace("claude-b", "claude-c"))
    assert judge("", profile="claude-c", config=other).profile == "claude-c"


def test_panes_come_in_any_form_and_what_is_no_pane_is_passed_over() -> None:
    pane = fleettools.Pane(ts=TS, text=SCREEN, agent="claude", target="%1")
    line = records.encode(pane)
    verdict = judge(SCREEN, agent="claude", at=TS)
    tmux = fleettools.Tmux(ts=TS, server="h:/s:1", state="up")
    forms = [pane, msgspec.to_builtins(pane), line, line.decode(), "\ufeff" + line.decode(), verdict, tmux, "", "\n"]
    found = list(verdicts([*forms, {"type": "something new"}]))
    assert [each.outcome for each in found] == ["backend_error"] * 6
    assert plain(found[0]) == plain(found[1]) == plain(found[4])
    assert found[5] == verdict
    assert next(verdicts([pane], profile="a")).profile == "a"
    assert pane.profile is None


def test_a_mapping_may_hold_datetimes() -> None:
    look = {"type": "pane", "ts": NOON, "activity": NOON - timedelta(seconds=30), "text": RESETS, "agent": "claude"}
    (verdict,) = verdicts([look])
    assert (verdict.at, verdict.undated) == ("2026-01-31T11:59:30Z", None)
    assert verdict.resets_at == "2026-01-31T15:00:00.000Z"


def test_a_run_keeps_what_a_pane_of_an_unknown_agent_showed_before() -> None:
    look = {"type": "pane", "server": "h:/s:1", "target": "%1", "ts": TS, "text": "API Error: overloaded"}
    for profile in (None, "own"):
        found = list(verdicts([look, look, look | {"text": look["text"] + "\nfine\n"}], profile=profile))
        given = command("classify", *(["--profile", profile] if profile else []), stdin=f"{json.dumps(look)}\n" * 2)
        assert [each.screen for each in found[:2]] == [each["screen"] for each in given]
        assert len({each.screen for each in found}) == 1


def test_verdicts_are_counted_as_the_command_counts_them(configured: Path) -> None:
    stream = [fails(0, "%1"), fails(5, "%2"), fails(6, "%3", profile="strange"), fails(200, "%3", outcome="exhausted")]
    lines = [json.dumps(record) for record in stream]
    given = command("correlate", "--state", "memory:", stdin="\n".join(lines))
    found = [plain(each) for each in correlate(lines, state="memory:")]
    assert found == [{"v": 1, **record} for record in given]
    kinds = [type(each).__name__ for each in correlate(stream, state="memory:")]
    assert kinds.count("Incident") == kinds.count("Quarantine") == kinds.count("Unmapped") == 1
    assert kinds.count("Ended") == 2


NUMBERS: list[tuple[dict[str, Any], int]] = [
    ({}, 1),
    ({"threshold": 3}, 0),
    ({"threshold": 1}, 1),
    ({"window": 4}, 0),
    ({"window": 5}, 1),
    ({"cool_off": 7.5}, 1),
]


@pytest.mark.parametrize(("numbers", "incidents"), NUMBERS, ids=str)
def test_the_numbers_are_those_that_are_given(numbers: dict[str, Any], incidents: int) -> None:
    found = list(correlate([fails(0, "%1"), fails(5, "%2")], state="memory:", **numbers))
    seen = [each for each in found if isinstance(each, fleettools.Incident)]
    assert len(seen) == incidents
    assert {each.cooling_off_for_seconds for each in seen} <= {numbers.get("cool_off", 60)}


def test_an_open_file_is_a_stream(home: Path) -> None:
    (home / "day.jsonl").write_text("".join(day()))
    with open("day.jsonl") as stream:
        kinds = [type(each).__name__ for each in correlate(stream, state="memory:")]
    assert kinds == ["Verdict", "Verdict", "Verdict", "Incident", "Verdict", "Verdict"]


# -- the store


def failing_now(*targets: str) -> list[dict[str, Any]]:
    now = records.to_ts(round(datetime.now(UTC).timestamp() * 1000))
    return [fails(0, target) | {"ts": now, "at": now} for target in targets]


def test_what_is_counted_shuts_the_gate_for_every_thread_and_for_the_command(configured: Path) -> None:
    state = configured / "own.db"
    gate = Gate(state)
    assert gate.ask("claude-a")
    (*_, incident) = correlate(failing_now("%1", "%2"), state=state)
    assert isinstance(incident, fleettools.Incident)
    answers: list[fleettools.Decision] = []
    thread = threading.Thread(target=lambda: answers.append(gate.ask("claude-a")))
    thread.start()
    thread.join()
    (refusal,) = answers
    assert not refusal
    assert 0 < (refusal.cooling_off_for_seconds or 0) <= 60
    assert refusal.reason.startswith("claude-a: credential team-a is cooling off for another ")
    assert gate.ask("claude-b")
    assert gate.choose().profile == gate.choose(policy="least-loaded").profile == "claude-b"
    assert not gate.choose(["claude-a"])
    (given,) = command("gate", "--state", str(state), "--profile", "claude-b")
    assert plain(gate.ask("claude-b"), "ts") == {"v": 1} | {
        k: v for k, v in given.items() if k not in ("ts", "boot", "up")
    }


def test_the_store_is_the_one_that_the_commands_take(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> set[str]:
        assert Gate().ask("a")
        return {str(path.relative_to(home)) for path in home.rglob("*.db")}

    assert made() == {".local/state/fleettools/state.db"}
    (home / "fleetd.yaml").write_text("state: configured.db\n")
    assert "configured.db" in made()
    monkeypatch.setenv("FLEET_STATE", "sqlite:environment.db")
    assert "environment.db" in made()


def test_what_a_program_leaves_behind_the_next_one_says() -> None:
    """Its caller takes the verdicts and goes away before it has seen the incident."""
    first = correlate(failing_now("%1", "%2"), state="own.db")
    seen = [next(first), next(first)]
    assert [each.event for each in seen if isinstance(each, fleettools.Verdict)] == ["%1@0", "%2@0"]
    incident = next(first)
    assert isinstance(incident, fleettools.Incident)
    assert list(correlate([], state="own.db")) == []  # not before 10 s: the first one may still be at it
    first.close()  # type: ignore[attr-defined]


def test_a_gate_may_fail_open() -> None:
    with pytest.raises(fleettools.Unavailable):
        Gate("/proc/no/such.db").ask("a")
    decision = Gate("/proc/no/such.db", fail_open=True).ask("a")
    assert decision and "allowed by --fail-open" in decision.reason


# -- what does not fit


def named(**fields: object) -> Callable[[], object]:
    """Has a pane of these fields judged."""
    return lambda: list(verdicts([{"type": "pane", **fields}]))


USAGE: list[tuple[str, Callable[[], object], str]] = [
    ("an agent", lambda: judge("", agent="nobody"), "agent nobody: no such agent; one of agy, aider"),
    ("a profile", lambda: verdicts([], profile="x", config="two.yaml"), "profile x is not configured; one of claude-a"),
    ("bytes", lambda: judge(b""), "screen: expected a text, got bytes; decode it"),  # type: ignore[arg-type]
    ("one text", lambda: verdicts("{}"), "panes: expected several records, got one; put it in a list"),
    ("one record", lambda: correlate(fails(0, "%1")), "verdicts: expected several records, got one; put it in a list"),
    ("no threshold", lambda: correlate([], threshold=0), "threshold: 0 errors; one error is the least"),
    ("no window", lambda: correlate([], window=float("nan")), "window: nan is no number of seconds; give 0 or more"),
    ("no cool-off", lambda: correlate([], cool_off=-1), "cool_off: -1 is no number of seconds; give 0 or more"),
    ("a store", lambda: list(correlate([], state="mysql:x")), "mysql: is no store; use sqlite:PATH"),
    ("a policy", lambda: Gate(policy="best"), "policy: 'best' is none; one of priority, least-loaded"),
    ("a policy later", lambda: Gate().choose(policy="best"), "policy: 'best' is none; one of priority, least-loaded"),
]
INPUT: list[tuple[str, Callable[[], object], str]] = [
    ("no zone", lambda: judge("", at=datetime(2026, 1, 31)), "at: 2026-01-31T00:00:00 has no time zone; give it one"),
    ("no time", lambda: judge("", at="noon"), "at: noon is no time .*; write a time such as"),
    ("no record", lambda: list(verdicts(["", "{"])), "panes, number 2: not JSON .*; expected one JSON object"),
    ("no UTF-8", lambda: list(verdicts(['"\udcff"'])), "panes, number 1: not UTF-8 .*; expected one JSON object"),
    ("no value", named(text=object()), "panes, number 1: not a record .*; give a record, a mapping of plain values"),
    ("no field", named(target="7"), "panes, number 1: not a pane record .*a pane id such as %12.*; see fleet-records"),
    ("a naive pane", named(ts=datetime(2026, 1, 31)), "panes, number 1: not a pane record .*a time such as.*; see"),
    (
        "later",
        lambda: list(correlate([{"type": "verdict", "v": 2}], state="memory:")),
        "verdicts, number 1: .*; update",
    ),
]
CONFIGURED: list[tuple[str, Callable[[], object], str]] = [
    ("no file", lambda: Gate(config="gone.yaml"), "gone.yaml: No such file or directory; name a file"),
    ("a mistake", lambda: judge("", config="wrong.yaml"), "profils: .*did you mean profiles"),
]
WRONG = [
    pytest.param(call, kind, words, id=name)
    for kind, rows in ((UsageError, USAGE), (BadInput, INPUT), (BadConfig, CONFIGURED))
    for name, call, words in rows
]


@pytest.mark.parametrize(("call", "kind", "words"), WRONG)
def test_what_does_not_fit_is_an_error_of_ours_that_says_the_mend(
    call: Callable[[], object], kind: type[Exception], words: str, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (home / "two.yaml").write_text(CONFIG)
    (home / "wrong.yaml").write_text("profils: {}\n")
    with pytest.raises(kind, match=words) as caught:
        call()
    assert isinstance(caught.value, fleettools.FleetError)
    assert caught.value.mend
    assert capfd.readouterr() == ("", "")


def test_what_a_person_should_know_is_logged_where_somebody_listens(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger("fleettools")
    panes = [{"type": "pane", "text": "x", "agent": "some\x1b[2Jone"}] * 3
    logger.propagate = False
    try:
        list(verdicts(panes))
        assert (capfd.readouterr(), caplog.text) == (("", ""), "")
    finally:
        logger.propagate = True
    list(verdicts(panes))
    (row,) = caplog.records
    assert (row.name, row.levelname) == ("fleettools", "WARNING")
    assert row.message.startswith(
        r"degraded coverage for panes without a profile: no agent file describes some\x1b[2Jone"
    )


# -- the names and their types


def test_every_record_and_what_stands_in_one_is_offered() -> None:
    kinds = {each.__name__: each for each in records.TYPES.values()}
    inner = {"Turn", "Worker", "LeadPane", "Usage", "NoticeItem", "Record"}
    raised = {"FleetError", "UsageError", "BadInput", "BadConfig", "Unavailable", "CannotWrite"}
    assert set(fleettools.__all__) == {*kinds, *inner, *raised, "judge", "verdicts", "correlate", "Gate", "News"}
    assert fleettools.__all__ == sorted(fleettools.__all__)
    assert set(fleettools.__all__) <= set(dir(fleettools))
    for name in fleettools.__all__:
        homes = [home for home in (api, records, errors) if hasattr(home, name)]
        assert getattr(fleettools, name) is getattr(homes[0], name)
    with pytest.raises(AttributeError, match="module 'fleettools' has no attribute 'Verdikt'"):
        _ = fleettools.Verdikt  # type: ignore[attr-defined]


PROGRAM = """\
from datetime import UTC, datetime
import fleettools

verdict = fleettools.judge("", agent="claude", at=datetime.now(UTC))
outcome: str = verdict.outcome
panes = [fleettools.Pane(ts=verdict.ts, text="")]
for news in fleettools.correlate(fleettools.verdicts(panes), threshold=3, state="memory:"):
    if isinstance(news, fleettools.Incident | fleettools.Quarantine):
        print(news.credential_id, [worker.target for worker in news.targets])
decision: fleettools.Decision = fleettools.Gate("memory:").ask("claude-a")
"""
MISTAKES = """\
import fleettools

fleettools.judge("", agnet="claude")
number: int = fleettools.judge("").outcome
fleettools.Verdikt
fleettools.judge("", at=3)
"""


def test_a_strict_type_checker_takes_a_program_and_finds_its_mistakes(home: Path) -> None:
    (home / "program.py").write_text(PROGRAM)
    (home / "mistakes.py").write_text(MISTAKES)
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=cache"]
    words += ["program.py", "mistakes.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=110, check=False)
    found = re.findall(r"^(\S+): error: .*\[(\S+)\]$", done.stdout, re.MULTILINE)
    places = [f"mistakes.py:{line}" for line in (3, 4, 5, 6)]
    assert found == list(zip(places, ("call-arg", "assignment", "attr-defined", "arg-type"), strict=True)), done
