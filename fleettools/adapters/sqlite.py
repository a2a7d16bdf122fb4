"""The store in a SQLite file: the only module that knows SQLite."""

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from fleettools.adapters import clock
from fleettools.adapters.sql import SqlStore, Statement
from fleettools.errors import CannotWrite, FleetError, Unavailable, UsageError
from fleettools.moments import Moment

T = TypeVar("T")

PATIENCE = 5.0  # seconds to wait for another process
FORMAT = 1

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_UNWRITABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR)

_TABLES = (
    "CREATE TABLE IF NOT EXISTS fleet_state"
    " (key BLOB PRIMARY KEY, value BLOB NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS fleet_deleted (version INTEGER NOT NULL)",
    "INSERT INTO fleet_deleted SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM fleet_deleted)",
)


class SqliteStore(SqlStore):
    """See fleettools.services.store.Store. Raises Unavailable, or CannotWrite when the disk takes nothing more.

    A file that is no database is moved aside, which `warn` is told; a file that was removed or replaced while it
    was open is opened anew.
    """

    def __init__(self, path: str, warn: Callable[[object], None]) -> None:
        if not path:
            raise UsageError("--state sqlite: names no file", "write sqlite:PATH")
        self.path = os.path.abspath(path)
        self._warn = warn
        self._file: tuple[int, int] | None = None
        self._connection: sqlite3.Connection | None = None
        self._run(lambda connection: None, write=False)

    def now_ms(self) -> int:
        return clock.now_ms()

    def moment(self) -> Moment:
        return clock.moment()

    def placed(self, made: Moment) -> Moment:
        here = clock.moment()
        return here.plus(made.since(here))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _rows(self, sql: str, parameters: tuple[Any, ...]) -> list[Any]:
        return self._run(lambda connection: connection.execute(sql, parameters).fetchall(), write=False)

    def _commit(self, *statements: Statement) -> bool:
        return self._run(lambda connection: _transaction(connection, statements), write=True)

    def _run(self, work: Callable[[sqlite3.Connection], T], *, write: bool) -> T:
        for attempt in (1, 2):
            try:
                return work(self._opened())
            except sqlite3.Error as error:
                code = _code(error)
                self.close()
                if code not in _CORRUPT or attempt == 2:
                    raise self._failure(error, write) from None
                self._move_aside(str(error))
        raise AssertionError("the second attempt returns or raises")

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None and self._file == _identity(self.path):
            return self._connection
        self.close()
        try:
            _prepare(self.path)
        except OSError as error:
            raise self._unusable(error) from None
        self._file = _identity(self.path)
        # Autocommit: every transaction is begun by hand, as IMMEDIATE.
        self._connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        _make_ready(self._connection, self._foreign)
        return self._connection

    def _move_aside(self, why: str) -> None:
        """Rename the file and what belongs to it, once, however many processes find it corrupt at the same time."""
        import fcntl

        folder = os.open(os.path.dirname(self.path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            if self._file != _identity(self.path):
                return
            aside = _unused(f"{self.path}.corrupt-{clock.now_ms()}")
            for end in ("-wal", "-shm", ""):
                with suppress(FileNotFoundError):
                    os.rename(self.path + end, aside + end)
        except OSError as error:
            raise self._unusable(error) from None
        finally:
            os.close(folder)
        self._warn(f"{self.path} was no usable database ({why}) and is now {aside}; starting with an empty store")

    def _failure(self, error: sqlite3.Error, write: bool) -> FleetError:
        code = _code(error)
        if code in _BUSY:
            what = f"{self.path} has been locked by another process for {PATIENCE:.0f} s"
            return Unavailable(what, "see who holds it (fuser), or try again")
        if write and code in _UNWRITABLE:
            mend = "make room there or make it writable; nothing that was stored is lost"
            return CannotWrite(f"{self.path}: {error}", mend)
        return Unavailable(f"{self.path}: {error}", "check the file, or use another --state")

    def _unusable(self, error: OSError) -> FleetError:
        return Unavailable(f"{error.filename or self.path}: {error.strerror}", "mend that, or use another --state")

    def _foreign(self, version: int) -> NoReturn:
        what = f"{self.path} has format {version}, this fleettools knows {FORMAT}"
        raise Unavailable(what, "use the fleettools that made it, or another --state")


def _prepare(path: str) -> None:
    """Make the folder (0700) and the file (0600), whatever the umask; what is there already must be a plain file."""
    _make_folder(os.path.dirname(path))
    try:
        # SQLite gives -wal and -shm the mode of this file.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        os.chmod(path, 0o600)
        return
    except FileExistsError:
        mode = os.lstat(path).st_mode
    if not stat.S_ISREG(mode):
        kind = "a symbolic link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "no plain file"
        raise Unavailable(f"{path} is {kind}", "name a file of its own with --state")
    if mode & 0o077:
        with suppress(PermissionError):
            os.chmod(path, 0o600)


def _make_folder(folder: str) -> None:
    if os.path.isdir(folder):
        return
    _make_folder(os.path.dirname(folder))
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
        os.chmod(folder, 0o700)


def _make_ready(connection: sqlite3.Connection, foreign: Callable[[int], NoReturn]) -> None:
    """Create the tables and switch to WAL unless an earlier open did; the format number says that both are done."""
    deadline = clock.monotonic() + PATIENCE
    while True:
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, FORMAT):
                foreign(version)
            if version == 0:
                _set_up(connection)
            # After a power cut the last moments may be missing (the panes are gone then too), the file is sound.
            connection.execute("PRAGMA synchronous = NORMAL")
            return
        except sqlite3.OperationalError as error:
            # The busy timeout covers neither the switch to WAL nor the first write to a new file.
            if _code(error) not in _BUSY or clock.monotonic() > deadline:
                raise
            clock.sleep(0.02)


def _set_up(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    _transaction(connection, [(sql, ()) for sql in (*_TABLES, f"PRAGMA user_version = {FORMAT}")], must_change=False)


def _transaction(
    connection: sqlite3.Connection, statements: "tuple[Statement, ...] | list[Statement]", must_change: bool = True
) -> bool:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for sql, parameters in statements:
            changed = connection.execute(sql, parameters).rowcount
        done = not must_change or changed == 1
        connection.execute("COMMIT" if done else "ROLLBACK")
        return done
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _code(error: sqlite3.Error) -> int:
    """The primary result code; the bits above it only say more."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _unused(path: str) -> str:
    number, candidate = 1, path
    while os.path.lexists(candidate):
        number, candidate = number + 1, f"{path}.{number}"
    return candidate
