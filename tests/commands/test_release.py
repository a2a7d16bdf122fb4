"""fleet-release: a row of the store that no command can read."""

import subprocess
import sys
from pathlib import Path

from fleettools.adapters.sqlite import SqliteStore


def release(path: Path, *args: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "fleettools.commands.release", "--state", str(path), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=path.parent)
    return done.returncode, done.stderr


def test_a_row_that_cannot_be_read_is_removed_by_its_key(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "state.db"), print)
    store.put("member/h:/s:1/%1", b"{", 0)
    command = [sys.executable, "-m", "fleettools.commands.list", "--state", store.path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith('{"members":[]')
    mend = done.stderr.rpartition("; remove it with ")[2]
    assert mend == "fleet-release --row member/h:/s:1/%1\n"
    assert release(tmp_path / "state.db", *mend.split()[1:])[0] == 0
    assert store.get("member/h:/s:1/%1") == (None, 0)
    assert release(tmp_path / "state.db", *mend.split()[1:])[0] == 1
    store.close()
