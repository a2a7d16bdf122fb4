"""The store in a SQLite file: private, hard to break, and plain about what is wrong."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
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


def stored(path: Path) -> bytes:
    """A store with a row in it, as a process that ended leaves it."""
    store = SqliteStore(str(path), print)
    store.put("a", b"1", 0)
    store.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda sound: bytes(100) + sound[100:], id="zeros over its head"),
        pytest.param(lambda sound: b"\0\xa5" * 8 + sound[16:], id="noise over its head"),
        pytest.param(lambda sound: sound[:1000], id="cut within the first page"),
        pytest.param(lambda sound: sound[:100] + b"\xff" * (len(sound) - 100), id="noise behind the head"),
    ],
)
def test_a_damaged_store_is_moved_aside_and_said_and_never_deleted(
    path: Path, warnings: list[str], damage: Callable[[bytes], bytes]
) -> None:
    damaged = damage(stored(path))
    path.write_bytes(damaged)
    path.with_name("state.db-wal").write_bytes(b"log")
    store = SqliteStore(str(path), lambda text: warnings.append(str(text)))
    assert store.put("b", b"1", 0)
    assert (store.get("a"), store.get("b")) == ((None, 0), (b"1", 1))
    (aside,) = [p for p in path.parent.glob("state.db.corrupt-*") if not p.name.endswith(("-wal", "-shm"))]
    assert aside.read_bytes() == damaged
    (warning,) = warnings
    assert str(path) in warning and str(aside) in warning
    store.close()


def database(*statements: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with sqlite3.connect(path) as connection:
            for sql in statements:
                connection.execute(sql)
        connection.close()

    return make


FOREIGN = [
    pytest.param(lambda path: path.write_text("profiles:\n  a: {agent: claude}\n"), id="a configuration"),
    pytest.param(
        lambda path: path.write_text("CREATE TABLE fleet_state (key BLOB);\n"), id="text that names our table"
    ),
    pytest.param(lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 9), id="a picture"),
    pytest.param(database("CREATE TABLE ships (name TEXT)"), id="another program's database"),
    pytest.param(database("PRAGMA application_id = 7"), id="another program's, still without a table"),
    pytest.param(database("PRAGMA user_version = 3"), id="one of another format without our table"),
    pytest.param(
        lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 8000), id="a damaged one of nobody knows"
    ),
]


@pytest.mark.parametrize("make", FOREIGN)
@pytest.mark.parametrize("view", [False, True], ids=["to write", "a view"])
def test_a_file_that_never_was_a_store_is_refused_and_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], None], view: bool
) -> None:
    path = tmp_path / "theirs"
    make(path)
    path.chmod(0o644)
    before = path.read_bytes()
    with pytest.raises(Unavailable, match="theirs is no store of fleettools, and is left as it is; name another file"):
        SqliteStore(str(path), print, view=view)
    assert (path.read_bytes(), modes(tmp_path)) == (before, {"theirs": "0o644"})


def test_a_file_that_becomes_somebody_elses_while_it_is_open_is_left_alone(store: SqliteStore, path: Path) -> None:
    store.put("a", b"1", 0)
    store.close()
    for file in path.parent.iterdir():
        file.unlink()
    path.write_text("now a text\n")
    with pytest.raises(Unavailable, match="no store of fleettools"):
        store.put("b", b"1", 0)
    assert path.read_text() == "now a text\n"


def test_an_empty_database_becomes_a_store_and_so_does_a_store_of_the_first_release(
    tmp_path: Path, warnings: list[str]
) -> None:
    database("CREATE TABLE x (y)", "DROP TABLE x", "VACUUM")(tmp_path / "fresh.db")
    tables = [
        "CREATE TABLE fleet_state (key BLOB PRIMARY KEY, value BLOB NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE fleet_deleted (version INTEGER NOT NULL)",
        "INSERT INTO fleet_deleted VALUES (0)",
        "INSERT INTO fleet_state VALUES (CAST('a' AS BLOB), CAST('old' AS BLOB), 1)",
        "PRAGMA user_version = 1",
    ]
    database(*tables)(tmp_path / "first.db")
    for name, held in (("fresh.db", (None, 0)), ("first.db", (b"old", 1))):
        store = SqliteStore(str(tmp_path / name), lambda text: warnings.append(str(text)))
        assert store.get("a") == held
        assert store.put("b", b"1", 0)
        store.close()
    assert warnings == []


@pytest.mark.parametrize("open_meanwhile", [False, True])
def test_a_store_cut_to_nothing_is_said(
    path: Path, warnings: list[str], store: SqliteStore, open_meanwhile: bool
) -> None:
    store.put("a", b"1", 0)
    if not open_meanwhile:
        store.close()
    os.truncate(path, 0)
    other = SqliteStore(str(path), lambda text: warnings.append(str(text)))
    assert other.get("a") == (None, 0)
    assert warnings == [f"{path} was empty, perhaps cut to nothing; starting with an empty store"]
    assert other.put("b", b"2", 0)
    assert (store.get("a"), store.get("b")) == ((None, 0), (b"2", 1))
    other.close()


def test_one_that_notices_itself_that_its_store_was_cut_to_nothing_says_so(
    path: Path, warnings: list[str], store: SqliteStore
) -> None:
    for n in range(100):
        store.put(f"a/{n}", b"x" * 4000, 0)
    assert store._connection is not None
    store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.truncate(path, 0)
    assert store.put("b", b"2", 0)
    assert store.get("b") == (b"2", 1)
    assert warnings == [f"{path} was empty, perhaps cut to nothing; starting with an empty store"]


# -- views


def test_a_view_of_no_store_is_empty_and_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "later" / "state.db"
    view = SqliteStore(str(path), print, view=True)
    assert (view.get("a"), list(view.scan(""))) == ((None, 0), [])
    assert list(tmp_path.iterdir()) == []
    store = SqliteStore(str(path), print)
    store.put("a", b"1", 0)
    assert view.get("a") == (b"1", 1)
    view.close()
    store.close()


def test_a_view_writes_and_mends_nothing(path: Path, warnings: list[str]) -> None:
    sound = stored(path)
    view = SqliteStore(str(path), print, view=True)
    with pytest.raises(CannotWrite, match="readonly"):
        view.put("a", b"2", 1)
    view.close()
    path.write_bytes(sound[:100] + b"\xff" * 8000)
    with pytest.raises(Unavailable, match=r"is damaged .*; any command that writes moves it aside"):
        SqliteStore(str(path), print, view=True).get("a")
    os.truncate(path, 0)
    view = SqliteStore(str(path), lambda text: warnings.append(str(text)), view=True)
    assert (view.get("a"), list(view.scan(""))) == ((None, 0), [])
    assert warnings == [f"{path} is empty, perhaps cut to nothing"]
    assert path.stat().st_size == 0
    view.close()


VIEW = """
import os, sys, urllib.parse
from fleettools.adapters.sqlite import SqliteStore
from fleettools.errors import FleetError
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for view in (True, False):
    try:
        store = SqliteStore(sys.argv[1], print, view=view)
        print(store.get("a"))
        store.put("a", b"2", 1)
    except FleetError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("in_use", [False, True], ids=["at rest", "in use"])
def test_somebody_else_may_look_at_a_store_that_he_may_not_write(in_use: bool) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # pytest's own are root's
        path = Path(folder) / "state.db"
        store = SqliteStore(str(path), print)
        store.put("a", b"1", 0)
        if not in_use:
            store.close()
        Path(folder).chmod(0o755)
        for file in Path(folder).iterdir():
            file.chmod(0o644)
        done = subprocess.run([sys.executable, "-c", VIEW, path], capture_output=True, text=True, timeout=60, cwd="/")
        lines = done.stdout.splitlines()
        assert lines[:2] == ["(b'1', 1)", lines[1]] and lines[1].startswith("CannotWrite"), done
        assert lines[-1].startswith(("Unavailable", "CannotWrite")) and "writable" in lines[-1], done
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
