"""A person's own command: what its end means, and that it is never waited for too long."""

import os
import time
from pathlib import Path

import pytest
from sandbox import wait_for

from fleettools.adapters import runner


@pytest.mark.parametrize(
    ("command", "taken", "reason"),
    [
        ("cat >/dev/null", True, "the command ended with status 0"),
        ("exit 0", True, "the command ended with status 0"),  # it need not read what it is given
        ("exit 3", False, "the command ended with status 3"),
        ("no-such-program-here 2>/dev/null", False, "the command ended with status 127"),
        ("kill -9 $$", False, "the command ended with status -9"),
    ],
)
def test_a_command_has_taken_it_when_it_ends_with_0(command: str, taken: bool, reason: str) -> None:
    assert runner.run(command, b"x" * 1_000_000, {}) == runner.Answer(taken, reason)


def test_it_gets_its_input_whole_and_its_environment(tmp_path: Path) -> None:
    given = b"x" * 1_000_000
    assert runner.run(f'cat >{tmp_path}/got; printf %s "$ALERT" >{tmp_path}/env', given, {"ALERT": "a b"}).taken
    assert ((tmp_path / "got").read_bytes(), (tmp_path / "env").read_text()) == (given, "a b")


def test_one_that_hangs_is_killed_with_what_it_has_started_and_may_have_taken_it(tmp_path: Path) -> None:
    began = time.monotonic()
    answer = runner.run(f"sleep 1000 & echo $! >{tmp_path}/child; wait", b"", {}, seconds=0.5)
    assert answer == runner.Answer(False, "the command did not end within 0.5 s", maybe=True)
    assert time.monotonic() - began < 10
    child = int((tmp_path / "child").read_text())
    wait_for(lambda: not os.path.exists(f"/proc/{child}") or _is_dead(child), "the end of what it started")


def _is_dead(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "Z"
