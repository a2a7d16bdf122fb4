"""The store in a SQLite file: private, hard to break, and plain about what is wrong."""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleettools.adapters import sqlite
from fleettools.adapters.sqlite import SqliteStore
from fleettools.errors import CannotWrite, Unavailable, UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder" / "state.db"


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def store(path: Path, warnings: list[str]) -> Iterator[SqliteStore]:
    opened = SqliteStore(str(path), lambda text: warnings.append(str(text)))
    yield opened
    opened.close()


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(path.stat().st_mode & 0o777) for path in folder.iterdir()}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777], ids=oct)
def test_folder_and_files_are_private_whatever_the_umask(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = SqliteStore(str(path), print)
        store.put("a", b"1", 0)
    finally:
        os.umask(before)
    assert modes(path.parent) == {"state.db": "0o600", "state.db-wal": "0o600", "state.db-shm": "0o600"}
    assert modes(path.parent.parent) == {"folder": "0o700"}
    store.close()


def test_a_file_that_others_can_read_is_made_private(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.touch(0o644)
    SqliteStore(str(path), print).close()
    assert modes(path.parent)["state.db"] == "0o600"


def test_writes_go_to_a_write_ahead_log(store: SqliteStore, path: Path) -> None:
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize(
    "damage", [b"this is no database, it is a text of some length\n" * 100, b"SQLite format 3\0" + b"\xff" * 8000]
)
def test_a_corrupt_file_is_moved_aside_and_said_and_never_deleted(
    path: Path, warnings: list[str], damage: bytes
) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    path.with_name("state.db-wal").write_bytes(b"log")
    store = SqliteStore(str(path), lambda text: warnings.append(str(text)))
    assert store.put("a", b"1", 0)
    assert store.get("a") == (b"1", 1)
    (aside,) = [p for p in path.parent.glob("state.db.corrupt-*") if not p.name.endswith(("-wal", "-shm"))]
    assert aside.read_bytes() == damage
    (warning,) = warnings
    assert str(path) in warning and str(aside) in warning
    store.close()


def test_a_file_that_breaks_while_it_is_open_is_moved_aside_too(
    store: SqliteStore, path: Path, warnings: list[str]
) -> None:
    for n in range(2000):
        store.put(f"k/{n}", b"x" * 200, 0)
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    assert list(store.scan("k/")) == []
    assert len(warnings) == 1
    assert store.put("k/new", b"1", 0)


def test_a_file_that_was_removed_is_opened_anew(store: SqliteStore, path: Path) -> None:
    store.put("a", b"1", 0)
    for file in path.parent.iterdir():
        file.unlink()
    other = SqliteStore(str(path), print)
    other.put("b", b"2", 0)
    assert store.get("a") == (None, 0)
    assert store.get("b") == (b"2", 1)
    other.close()


@pytest.mark.parametrize("kind", ["folder", "link", "fifo"])
def test_what_is_no_plain_file_is_refused(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(path.parent / "elsewhere.db")
    with pytest.raises(Unavailable, match=f"{path} is (a folder|a symbolic link|no plain file); name a file"):
        SqliteStore(str(path), print)
    assert not (path.parent / "elsewhere.db").exists()


def test_a_folder_that_cannot_be_made_is_an_error_with_its_name() -> None:
    with pytest.raises(Unavailable, match="/proc/none: No such file or directory"):
        SqliteStore("/proc/none/state.db", print)


def test_a_url_without_a_path_is_a_mistake_of_usage() -> None:
    with pytest.raises(UsageError, match="names no file"):
        SqliteStore("", print)


def test_a_file_of_a_later_format_is_left_alone(store: SqliteStore, path: Path) -> None:
    store.put("a", b"1", 0)
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(Unavailable, match="has format 99"):
        SqliteStore(str(path), print)
    assert path.exists()


def test_a_full_database_is_an_error_that_loses_nothing(store: SqliteStore, path: Path) -> None:
    store.put("a", b"old", 0)
    assert store._connection is not None
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(CannotWrite, match="full"):
        store.put("b", b"x" * 100_000, 0)
    assert store.get("a") == (b"old", 1)
    assert store.get("b") == (None, 0)
    assert store.put("b", b"small", 0)


LIMITED = """
import resource, sys
from fleettools.adapters.sqlite import SqliteStore
from fleettools.errors import CannotWrite
store = SqliteStore(sys.argv[1], print)
store.put("a", b"old", 0)
resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, resource.RLIM_INFINITY))
try:
    for n in range(50):
        store.put(f"k/{n}", b"x" * 4000, 0)
except CannotWrite as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept = len(list(store.scan("k/")))
print(store.get("a"), 0 < kept < 50, store.put("last", b"1", 0))
"""


def test_a_disk_that_takes_no_more_loses_nothing_that_was_stored(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True, timeout=60)
    said, after = done.stdout.splitlines()
    assert said.startswith(str(path)) and said.endswith("nothing that was stored is lost")
    assert after == "(b'old', 1) True True"


def test_a_brief_lock_is_waited_out(store: SqliteStore, path: Path) -> None:
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    order: list[str] = []

    def release() -> None:
        order.append("released")
        holder.execute("COMMIT")

    timer = threading.Timer(0.5, release)
    timer.start()
    assert store.put("a", b"1", 0)
    assert order == ["released"]
    timer.join()
    holder.close()


def test_a_lock_that_stays_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE", 0.2)
    store = SqliteStore(str(path), print)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked by another process"):
        store.put("a", b"1", 0)
    assert store.get("a") == (None, 0)
    holder.execute("COMMIT")
    holder.close()
    assert store.put("a", b"1", 0)
    store.close()
