"""fleet-classify as a process: what it takes, what it passes on, what it says."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import drawing
import pytest

OVERLOADED = drawing.failure("claude", "API Error: 529 Overloaded")
NOW = "2026-11-30T02:00:00Z"


def run(folder: Path, *args: str, stdin: str = "", config: str | None = None) -> "subprocess.CompletedProcess[str]":
    if config is not None:
        (folder / "fleetd.yaml").write_text(config)
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("FLEET", "XDG", "TMUX"))}
    env = {**keep, "HOME": str(folder), "FLEET_NOW": NOW, "TZ": "UTC"}
    command = [sys.executable, "-m", "fleettools.commands.classify", *args]
    return subprocess.run(command, input=stdin, text=True, capture_output=True, cwd=folder, env=env, check=False)


def line(**fields: Any) -> str:
    return json.dumps({"type": "pane", "text": OVERLOADED, **fields}) + "\n"


def only(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    (found,) = done.stdout.splitlines()
    verdict: dict[str, Any] = json.loads(found)
    return verdict


def test_a_pane_becomes_a_verdict_and_keeps_what_it_does_not_know(tmp_path: Path) -> None:
    seat = {"server": "h:/s:1", "target": "%3", "pid": 7, "name": "api", "lead": "%0", "role": "member"}
    stamp = {"ts": "2026-11-30T01:00:00.000Z", "boot": "b", "up": 5.5}
    found = only(run(tmp_path, stdin=line(agent="claude", mood="blue", cols=80, **seat, **stamp)))
    assert found["type"] == "verdict" and found["outcome"] == "backend_error" and found["cause"] == "overload"
    assert found["mood"] == "blue" and "cols" not in found and "text" not in found
    assert {name: found[name] for name in (*seat, *stamp)} == {**seat, **stamp}


def test_all_else_passes_byte_for_byte_and_a_bad_line_is_said(tmp_path: Path) -> None:
    other = '{"x":1,  "type":"tmux"}\n\n'
    done = run(tmp_path, "--agent", "claude", stdin=f"{other}nonsense\n{line()}")
    assert done.stdout.startswith(other) and done.stdout.count("\n") == 3
    assert done.returncode == 65 and "stdin:3: " in done.stderr


@pytest.mark.parametrize(
    ("fields", "args", "agent"),
    [
        ({"agent": "claude", "profile": "p"}, ("--agent", "gemini"), "claude"),
        ({"profile": "p"}, ("--agent", "gemini"), "codex"),
        ({}, ("--agent", "gemini", "--profile", "p"), "codex"),
        ({"profile": "unknown"}, ("--agent", "gemini"), "gemini"),
    ],
    ids=["its own", "its profile's", "of --profile", "of --agent"],
)
def test_whose_look_a_pane_is_judged_with(
    tmp_path: Path, fields: dict[str, str], args: tuple[str, ...], agent: str
) -> None:
    done = run(tmp_path, *args, stdin=line(**fields), config="profiles: {p: {agent: codex, command: codex}}\n")
    assert only(done)["agent"] == agent


def test_an_unknown_agent_is_named_with_the_known_ones(tmp_path: Path) -> None:
    done = run(tmp_path, "--agent", "clod")
    assert done.returncode == 2 and "clod" in done.stderr and "claude, cline, codex" in done.stderr


def test_without_agent_and_pattern_coverage_is_degraded_and_that_is_said_once(tmp_path: Path) -> None:
    done = run(tmp_path, stdin=line() * 3)
    assert [json.loads(each)["coverage"] for each in done.stdout.splitlines()] == ["legacy"] * 3
    assert done.stderr.count("degraded coverage") == 1


def test_a_profile_with_patterns_is_configured_and_a_slow_one_is_named(tmp_path: Path) -> None:
    patterns = "['(a|aa)+$', {pattern: Overloaded, anywhere: true}]"
    slow = f"profiles: {{p: {{agent: claude, command: claude, errorPattern: {patterns}}}}}\n"
    text = drawing.reply("claude", "a" * 70 + "!\nOverloaded")
    found = run(tmp_path, "--profile", "p", stdin=line(text=text), config=slow)
    verdict = only(found)
    assert (verdict["coverage"], verdict["outcome"]) == ("configured", "backend_error")
    assert verdict["pattern"] == "profiles.p.errorPattern[1]"
    assert "profiles.p.errorPattern[0]" in found.stderr


def test_an_agent_file_of_ones_own_extends_or_replaces_a_bundled_one(tmp_path: Path) -> None:
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "claude.yaml").write_text("extends: claude\nstarts: [the cat is out]\nerrors: {model: [the cat]}\n")
    (agents / "parrot.yaml").write_text("items: {error: ['SQUAWK ']}\n")
    config = "agents: agents\n"
    extended = run(
        tmp_path, stdin=line(agent="claude", text=drawing.failure("claude", "The cat is out")), config=config
    )
    assert only(extended)["cause"] == "model"
    assert only(run(tmp_path, "--agent", "parrot", stdin=line(text="SQUAWK 529\n")))["outcome"] == "backend_error"


def test_a_wrong_agent_file_is_named_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "claude.yaml").write_text("itmes: {}\n")
    done = run(tmp_path, "--agent", "claude", config="agents: .\n")
    assert done.returncode == 78 and "claude.yaml" in done.stderr and "itmes" in done.stderr


def test_text_is_one_screen_a_file_and_a_baseline_makes_it_stale(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(OVERLOADED)
    (tmp_path / "b.txt").write_text(drawing.reply("claude", "Done."))
    done = run(tmp_path, "--agent", "claude", "--text", "a.txt", "b.txt")
    assert [json.loads(each)["outcome"] for each in done.stdout.splitlines()] == ["backend_error", "completed"]
    stale = run(tmp_path, "--agent", "claude", "--text", "--baseline", "a.txt", stdin=OVERLOADED)
    assert only(stale)["outcome"] == "stale"
    assert run(tmp_path, "--text", "nowhere.txt").returncode == 65


def test_explain_tells_path_item_line_and_near_miss(tmp_path: Path) -> None:
    quoted = drawing.reply("claude", "API Error: 529 Overloaded is what the log shows.")
    done = run(tmp_path, "--agent", "claude", "--text", "--explain", stdin=quoted)
    assert only(done)["outcome"] == "completed"
    assert "path block" in done.stderr and "item reply" in done.stderr and "a sentence about an error" in done.stderr
    quoted = drawing.reply("claude", "The log shows API Error: 529 Overloaded, key sk-ant-abcdefghijkl.")
    done = run(tmp_path, "--agent", "claude", "--text", "--explain", stdin=quoted)
    assert "(overload), but it does not begin with it" in done.stderr and "sk-ant-abcdefghijkl" not in done.stderr


def test_each_verdict_on_a_screen_names_its_file_and_two_files_are_two_events(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(OVERLOADED)
    done = run(tmp_path, "--agent", "claude", "--text", "a.txt", "b.txt")
    found = [json.loads(row) for row in done.stdout.splitlines()]
    assert [verdict["name"] for verdict in found] == ["a.txt", "b.txt"]
    assert found[0]["screen"] == found[1]["screen"] and found[0]["event"] != found[1]["event"]
    again = run(tmp_path, "--agent", "claude", "--text", "a.txt")
    assert json.loads(again.stdout)["event"] == found[0]["event"]
    assert "name" not in json.loads(run(tmp_path, "--agent", "claude", "--text", stdin=OVERLOADED).stdout)


def test_hostile_text_never_reaches_the_terminal_raw(tmp_path: Path) -> None:
    text = drawing.failure("claude", "API Error: 529 \u202eOverloaded \x9b31m sk-ant-REDACTED")
    done = run(tmp_path, "--agent", "claude", "--text", "--explain", stdin=text)
    assert "\u202e" not in done.stderr and "\x9b" not in done.stderr
    assert "sk-ant-abcdefghijkl" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"pane","text":"\xff"}\n',
        b'{"type":"pane","text":"a","later":"\xff"}\n',
        b'{"type":"pane","text":"a"\n',
        b'{"type":"pane","text":"a"} x\n',
        b'{"type":"pane","v":2,"text":"a"}\n',
        b'{"type":"pane","text":' + b"[" * 100_000 + b"\n",
    ],
)
def test_a_bad_pane_is_said_and_left_out(tmp_path: Path, line: bytes) -> None:
    given = b'{"type":"x"}\n' + line + b'{"type":"y"}\n'
    command = [sys.executable, "-m", "fleettools.commands.classify", "--agent", "claude"]
    done = subprocess.run(command, input=given, capture_output=True, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stdout) == (65, b'{"type":"x"}\n{"type":"y"}\n')
    assert done.stderr.startswith(b"fleet-classify: stdin:2: ") and done.stderr.count(b"\n") == 1


def test_a_line_that_says_twice_what_it_is_counts_as_the_last(tmp_path: Path) -> None:
    line = '{"type":"pane","text":"a","type":"later"}\n'
    assert run(tmp_path, "--agent", "claude", stdin=line).stdout == line


def test_a_look_in_a_profile_makes_its_panes_known_without_an_agent_file(tmp_path: Path) -> None:
    config = "profiles: {home: {look: {prompt: '^> ', busy: 'esc to stop', error: '^!! ', composer: '^> '}}}"
    text = "Home agent\n\n> do it\n!! 503 the mill stands still\n\n> "
    found = only(run(tmp_path, stdin=line(profile="home", text=text), config=config))
    assert (found["outcome"], found["cause"], found["coverage"]) == ("backend_error", "server", "configured")
    done = run(tmp_path, stdin=line(profile="home", text=text), config=config.replace("'^!! '", "'(!!'"))
    assert done.returncode == 78 and "profiles.home.look.error: missing )" in done.stderr


def test_each_failure_of_an_undescribed_agent_is_an_event_of_its_own_within_a_run(tmp_path: Path) -> None:
    texts = ("API Error: 529", "API Error: 529", "API Error: 529\nall well", "all well\nAPI Error: 529")
    panes = "".join(line(text=text, server="h:/s:1", target="%3") for text in texts)
    found = [json.loads(each) for each in run(tmp_path, stdin=panes).stdout.splitlines()]
    assert [one["outcome"] for one in found] == ["backend_error", "backend_error", "stale", "backend_error"]
    first, again, _, second = (one["event"] for one in found)
    assert first == again != second


def test_an_operators_pattern_leaves_the_models_words_alone_and_explain_says_why(tmp_path: Path) -> None:
    gone = drawing.reply("claude", "The API Error is gone.")
    config = "profiles: {p: {agent: claude, errorPattern: 'API Error'}}"
    done = run(tmp_path, "--explain", stdin=line(profile="p", text=gone), config=config)
    assert json.loads(done.stdout)["outcome"] == "completed"
    assert "profiles.p.errorPattern: tried on row" in done.stderr and "but it does not begin with that" in done.stderr
    loose = config.replace("'API Error'", "{pattern: 'API Error', anywhere: true}")
    assert only(run(tmp_path, stdin=line(profile="p", text=gone), config=loose))["outcome"] == "backend_error"
