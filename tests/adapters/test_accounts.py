"""What a process, and the files of its agent, say of its account: read where they can be, and no error where not."""

import subprocess
import sys
from pathlib import Path

import pytest

from fleettools.adapters import accounts


def test_the_environment_is_that_of_the_process() -> None:
    env = {"CLAUDE_CONFIG_DIR": "/a b", "ODD": "x=y"}
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=env)
    try:
        assert accounts.environment(child.pid).items() >= env.items()
        assert accounts.lives(child.pid)
    finally:
        child.communicate(b"\n", timeout=20)
    assert accounts.environment(child.pid) == {}
    assert not accounts.lives(child.pid)


FILES = [
    ("an object", b'{"a": {"b": "c"}}', {"a": {"b": "c"}}),
    ("no JSON", b"{", None),
    ("no text", b"\xff", None),
    ("nested without end", b"[" * 100_000, None),
    ("nothing", b"", None),
]


@pytest.mark.parametrize(("data", "value"), [row[1:] for row in FILES], ids=[row[0] for row in FILES])
def test_a_file_is_read_or_says_nothing(data: bytes, value: object, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_bytes(data)
    assert accounts.read(str(tmp_path / "f.json")) == value


def test_what_is_no_file_or_too_large_says_nothing(tmp_path: Path) -> None:
    assert accounts.read(str(tmp_path)) is None
    assert accounts.read(str(tmp_path / "none")) is None
    with open(tmp_path / "large", "wb") as file:
        file.truncate(accounts.MAX_SIZE + 1)
    assert accounts.read(str(tmp_path / "large")) is None
