"""Agent files of one's own: every mistake at once with its place, and a time budget for every pattern."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.errors import BadConfig
from fleettools.screens import judge
from fleettools.screens.patterns import Rules

BAD = """\
itmes: {error: [x]}
items:
  errors: ['x']
  error: ['(', '(a)b', 'a{999999999}']
busy: on
prompts: [{heed: '^> '}]
composer: &c {line: '['}
composer: {glyph: '>'}
errors: {quota: !!str none}
extends: parrott
"""
FAULTS = [
    "busy: on is true or false in YAML 1.1",
    "composer: an anchor (&c)",
    "composer: named twice, in lines 7 and 8",
    "errors.quota: a tag (tag:yaml.org,2002:str)",
    "extends: parrott is no bundled agent",
    "itmes: unknown key; did you mean items?",
    "prompts[0].heed: unknown key; did you mean head?",
    "prompts[0].head: missing",
    "items.errors: no kind of item; one of ",
    "items.error[0]: missing )",
    "items.error[1]: a group in '(a)b'; write (?:...)",
    "items.error[2]: a repetition of more than 1000 times",
]


def test_every_mistake_in_a_file_is_said_at_once_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "parrot.yaml"
    path.write_text(BAD)
    with pytest.raises(BadConfig) as caught:
        agentfiles.load("parrot", str(tmp_path))
    said = [str(error).removeprefix(f"{path}: ") for error in (caught.value, *caught.value.also)]
    assert [fault for fault in FAULTS if not any(line.startswith(fault) for line in said)] == []
    assert not any("fleetd.yaml(5)" in line for line in said)
    assert [str(error) for error in agentfiles.faults(str(tmp_path))] == [f"{path}: {line}" for line in said]


@pytest.mark.parametrize("text", ["- a\n", "hello\n", "a: [\n"], ids=["a list", "a text", "no YAML"])
def test_a_file_that_holds_no_mapping_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "parrot.yaml").write_text(text)
    with pytest.raises(BadConfig, match=r"parrot\.yaml"):
        agentfiles.load("parrot", str(tmp_path))


SLOW = "(?:a|aa)+$"
SLOW_PLACES = [
    f"items: {{own: ['{SLOW}'], error: ['SQUAWK ']}}",
    f"items: {{error: ['SQUAWK ']}}\nprompts: [{{head: '({SLOW})'}}]",
]


@pytest.mark.parametrize("look", SLOW_PLACES, ids=["an item", "a prompt"])
def test_a_pattern_that_runs_for_ever_is_cut_short_and_named(tmp_path: Path, look: str) -> None:
    (tmp_path / "parrot.yaml").write_text(look + "\ncomposer: {frames: [line], glyph: '>', line: '^> ?(.*)'}\n")
    (tmp_path / "fleetd.yaml").write_text("agents: .\n")
    text = "\n".join(["a" * 60 + "!"] * 20 + ["SQUAWK 529 overloaded", "> "])
    command = [sys.executable, "-m", "fleettools.commands.classify", "--agent", "parrot", "-c", "fleetd.yaml"]
    line = json.dumps({"type": "pane", "text": text})
    done = subprocess.run(command, input=line, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0
    assert "parrot.yaml" in done.stderr and "ran out of its time" in done.stderr
    assert json.loads(done.stdout)["type"] == "verdict"


def test_other_patterns_of_the_file_still_judge(tmp_path: Path) -> None:
    (tmp_path / "parrot.yaml").write_text(f"items: {{error: ['SQUAWK ']}}\nbanner: ['{SLOW}']\n")
    look = agentfiles.load("parrot", str(tmp_path))
    pane = records.Pane(ts="2026-01-31T12:00:00.000Z", agent="parrot", text="a" * 60 + "!\nSQUAWK 529 overloaded\n")
    assert judge.judge(pane, look, Rules()).outcome == "backend_error"


def test_a_question_of_a_person_s_own_file_is_found_on_a_screen_without_a_composer(tmp_path: Path) -> None:
    (tmp_path / "parrot.yaml").write_text("prompts: [{head: '> (.*)'}]\nquestions: ['^Shall I']\n")
    look = agentfiles.load("parrot", str(tmp_path))
    pane = records.Pane(ts="2026-01-31T12:00:00.000Z", agent="parrot", text="> fly\n\nShall I fly?\n")
    assert judge.judge(pane, look, Rules()).outcome == "blocked"


SAMPLES = Path(__file__).parent.parent.parent / "samples/screens"
ROWS = [json.loads(row) for row in (SAMPLES / "index.jsonl").read_text().splitlines()]
FIRST = {(row["agent"], row["outcome"] in records.ENDINGS): row for row in reversed(ROWS)}
SIZE = 50_000


def stretched(text: str) -> dict[str, str]:
    """The screen, made long where it hurts: at the longest line of its last two thirds."""
    lines = text.rstrip("\n").split("\n")
    at = max(range(len(lines)), key=lambda i: len(lines[i]) if i > len(lines) // 3 else 0)
    line, before, after = lines[at], lines[:at], lines[at + 1 :]
    word = max(line.split() or ["x"], key=len)
    return {
        "a word repeated": "\n".join([*before, line + f" {word}" * (SIZE // (len(word) + 1)), *after]),
        "a word without end": "\n".join([*before, line + word * (SIZE // len(word)), *after]),
        "blank coloured lines": "\n".join([*before, line, *["\x1b[31m   \x1b[0m"] * (SIZE // 13), *after]),
        "a line repeated": "\n".join([*before, *[line] * (SIZE // (len(line) + 1)), *after]),
        "many turns": "\n".join([text.rstrip("\n")] * (SIZE // len(text))),
    }


def seconds(agent: str, text: str) -> float:
    pane = records.Pane(ts="2026-01-31T12:00:00.000Z", agent=agent, text=text, tz="UTC")
    start = time.process_time()
    judge.judge(pane, agentfiles.load(agent), Rules())
    return time.process_time() - start


@pytest.mark.parametrize("key", FIRST, ids=lambda key: f"{key[0]}, {'ended' if key[1] else 'going on'}")
def test_no_screen_takes_twenty_times_as_long_as_a_plain_one_of_its_size(key: tuple[str, bool]) -> None:
    """The bundled patterns are linear, so they need no budget."""
    agent = key[0]
    if agentfiles.load(agent) is None:
        pytest.skip(f"no file describes {agent}")
    plain = "plain words stand here and there\n" * (SIZE // 33)
    least = min(seconds(agent, plain) for _ in range(3))
    text = (SAMPLES / FIRST[key]["file"]).read_text()
    slow = {name: min(seconds(agent, long) for _ in range(2)) for name, long in stretched(text).items()}
    assert {name: took / least for name, took in slow.items() if took > 20 * least} == {}


@pytest.mark.parametrize("agent", agentfiles.names())
def test_a_bundled_file_would_pass_as_a_person_s_own(tmp_path: Path, agent: str) -> None:
    text = Path(agentfiles.BUNDLED, f"{agent}.yaml").read_text()
    (tmp_path / f"{agent}.yaml").write_text(text)
    assert [str(error) for error in agentfiles.faults(str(tmp_path))] == []


def test_so_is_one_of_a_look_in_a_profile(tmp_path: Path) -> None:
    (tmp_path / "fleetd.yaml").write_text(f"profiles: {{home: {{look: {{prompt: '^> ', error: '{SLOW}'}}}}}}\n")
    text = "\n".join(["> go", *["a" * 60 + "!"] * 20])
    command = [sys.executable, "-m", "fleettools.commands.classify", "--profile", "home", "-c", "fleetd.yaml"]
    line = json.dumps({"type": "pane", "text": text})
    done = subprocess.run(command, input=line, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0
    assert "profiles.home.look.error ran out of its time" in done.stderr
    assert json.loads(done.stdout)["type"] == "verdict"
