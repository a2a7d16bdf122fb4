"""Runs tests/cases: one file a rule of the command line, with what goes in and what comes out."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

FOLDER = Path(__file__).parent / "cases"
SECTIONS = {"stdin", "stdout", "stderr", "exit", "env"}


class Case(NamedTuple):
    """A command, and what it is given and has to answer, by section."""

    command: list[str]
    sections: dict[str, str]


def parsed(text: str) -> list[Case]:
    head, *parts = re.split(r"^--- (.+)\n", text, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    assert all(name in SECTIONS or name.startswith("file ") for name in sections)
    return [Case(shlex.split(line[2:]), sections) for line in head.splitlines() if line.startswith("$ ")]


def sent(text: str) -> bytes:
    """A section as bytes: `\\xff` is that byte, `\\c` takes the newline after it away."""
    data = re.sub(r"\\c\n", "", text).encode()
    return re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), data)


def same(wanted: str, got: str) -> bool:
    """Whether they are equal, `...` standing for any text within a line."""
    return re.fullmatch("[^\n]*".join(map(re.escape, wanted.split("..."))), got) is not None


CASES = [
    pytest.param(case, id=f"{path.stem.replace('-', ' ')}: {shlex.join(case.command)}")
    for path in sorted(FOLDER.glob("*.case"))
    for case in parsed(path.read_text())
]


@pytest.mark.parametrize("case", CASES)
def test_a_case_comes_out_as_it_is_written(case: Case, tmp_path: Path) -> None:
    program, *args = case.command
    for name, content in case.sections.items():
        if name.startswith("file "):
            (tmp_path / name.removeprefix("file ")).write_bytes(sent(content))
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TMUX_TMPDIR": str(tmp_path), "LC_ALL": "C.UTF-8"}
    env |= dict(line.split("=", 1) for line in case.sections.get("env", "").splitlines())
    done = subprocess.run(
        [sys.executable, "-P", "-m", f"fleettools.commands.{program.removeprefix('fleet-')}", *args],
        input=sent(case.sections.get("stdin", "")),
        capture_output=True,
        cwd=tmp_path,
        env=env,
        timeout=60,
    )
    wanted = {name: case.sections.get(name, "").replace("{program}", program) for name in ("stdout", "stderr")}
    got = {"stdout": done.stdout.decode(), "stderr": done.stderr.decode()}
    assert done.returncode == int(case.sections.get("exit", "0")), got
    for name, text in wanted.items():
        text = re.sub(r"\\c\n", "", text)
        assert same(text, got[name]), f"{name}: wanted\n{text}\ngot\n{got[name]}"


def test_every_case_has_a_command() -> None:
    assert len(CASES) > 20
    assert all(parsed(path.read_text()) for path in FOLDER.glob("*.case"))
