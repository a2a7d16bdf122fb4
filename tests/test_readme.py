"""What README prints runs; and a new user gets from a clean clone to a running fleetd."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox import ROOT, Sandbox, sandbox

BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def block(holds: str) -> str:
    """The one block with these words."""
    found = [text for _, text in BLOCKS if holds in text]
    assert len(found) == 1
    return found[0]


@pytest.fixture(name="box", scope="module")
def _box() -> Iterator[Sandbox]:
    with sandbox() as box:
        yield box


def test_the_first_sentence_says_what_it_is_and_then_come_demo_and_test() -> None:
    title, first, ways, *_ = (ROOT / "README.md").read_text().split("\n\n")
    assert title == "# fleettools"
    assert first.startswith("fleettools watches coding agents in tmux")
    assert [line.split("#")[0].strip() for line in ways.splitlines()] == ["make demo", "make test"]


def test_one_pane_is_judged(box: Sandbox) -> None:
    ended = box.run("sh", "-c", block("capture-pane"))
    assert (ended.status, ended.err) == (0, "")
    verdict = json.loads(ended.out)
    assert (verdict["outcome"], verdict["cause"]) == ("backend_error", "server")


def test_a_stored_day_gives_its_incidents_every_time(box: Sandbox) -> None:
    for _ in range(2):
        ended = box.run("sh", "-c", block("day.jsonl"))
        assert (ended.status, ended.out, ended.err) == (0, "2026-01-31T09:15:40.000Z team-a\n", "")


def test_the_cron_line_runs_and_is_silent(box: Sandbox) -> None:
    *when, command = block("* * * * *").strip().split(maxsplit=5)
    assert when == ["*"] * 5
    ended = box.run("sh", "-c", command, env={"LC_ALL": "", "TERM": ""})
    assert (ended.status, ended.out, ended.err) == (0, "", "")


def test_the_gate_answers(box: Sandbox) -> None:
    ended = box.run("sh", "-c", block("fleet-gate"))
    assert ended.status == 0
    assert json.loads(ended.out)["allowed"] is True


def test_every_block_is_tried_here() -> None:
    assert len(BLOCKS) == 4


@pytest.fixture(name="clone")
def _clone(box: Sandbox) -> Iterator[Path]:
    """A clean clone, with this environment's packages in place of what set-up would install."""
    place = box.folder / "fleettools"
    subprocess.run(["git", "clone", "-q", ROOT, place], check=True, capture_output=True)
    (place / ".venv/bin").mkdir(parents=True)
    python = place / ".venv/bin/python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (place / ".venv/.ready").touch()
    yield place
    shutil.rmtree(place)


TRANSCRIPT = """\
$ make -s -C ~/fleettools demo 2>&1 | tail -n 1
fleetd: that was all, in ... s; the tmux server and its files are gone
$ export PATH=~/fleettools/bin:$PATH; mkdir ~/mine; cd ~/mine
$ fleet-gate --profile team-a > /dev/null
fleet-gate: team-a: credential team-a is free
$ tmux set-option -p -t %1 @fleet_profile mine
$ printf 'profiles:\\n  mine: {agent: clade, credentialId: team-a}\\n' > fleetd.yaml
$ fleetd check -q
...1 fault...
configuration fleetd.yaml
FAULT  profiles.mine.agent: no agent file describes clade; did you mean claude?
...
$ sed -i s/clade/claude/ fleetd.yaml
$ fleetd check -q | grep -c FAULT
0
$ fleet-scrape -t %1 | fleet-classify | jq -r .outcome
idle
$ timeout -s TERM 4 fleetd
fleetd: coverage: configured: none; bundled: mine; legacy: none
...
"""


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_a_new_user_gets_from_a_clean_clone_to_a_running_fleetd(box: Sandbox, clone: Path) -> None:
    """A transcript: each command in one shell, and what it prints, `...` standing for anything."""
    steps = re.split(r"^\$ ", TRANSCRIPT, flags=re.MULTILINE)[1:]
    script = "".join(f"echo '<<<{i}'\n{step.partition(chr(10))[0]}\n" for i, step in enumerate(steps))
    ended = box.run(
        "bash", "-c", f"exec 2>&1\n{script}", env={"PATH": f"{box.folder}/bin:/usr/local/bin:/usr/bin:/bin"}
    )
    said = re.split(r"^<<<\d+\n", ended.out, flags=re.MULTILINE)[1:]
    assert len(said) == len(steps)
    for step, got in zip(steps, said, strict=True):
        command, _, wanted = step.partition("\n")
        pattern = ".*?".join(map(re.escape, wanted.split("...")))
        assert re.fullmatch(pattern, got, re.DOTALL), f"{command}\nprinted:\n{got}"
