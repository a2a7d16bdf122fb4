"""The store in a SQLite file: the only module that knows SQLite."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from fleettools.adapters import clock, storefile
from fleettools.adapters.sql import SqlStore, Statement
from fleettools.adapters.storefile import APPLICATION, FORMAT, Whose
from fleettools.errors import CannotWrite, FleetError, Unavailable, UsageError
from fleettools.moments import Moment

T = TypeVar("T")

PATIENCE = 5.0  # seconds to wait for another process

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_UNWRITABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR)

_TABLES = (
    "CREATE TABLE IF NOT EXISTS fleet_state"
    " (key BLOB PRIMARY KEY, value BLOB NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS fleet_deleted (version INTEGER NOT NULL)",
    "INSERT INTO fleet_deleted SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM fleet_deleted)",
)
_UNOPENED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_LOOK_AGAIN = (0, 0)  # no file's identity
_BLANK = (Whose.NOBODYS, Whose.EMPTY, Whose.FRESH)
_MARKS = (f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {FORMAT}")


class SqliteStore(SqlStore):
    """See fleettools.services.store.Store. Raises Unavailable, or CannotWrite when the disk takes nothing more.

    A store that is damaged is moved aside, which `warn` is told; a file that never was one is left as it is. A file
    that was removed or replaced while it was open is opened anew. With `view` nothing is made, mended or written: no
    file is an empty store, and a damaged one is Unavailable.
    """

    def __init__(self, path: str, warn: Callable[[object], None], *, view: bool = False) -> None:
        super().__init__(warn)
        if not path:
            raise UsageError("--state sqlite: names no file", "write sqlite:PATH")
        if "\0" in path:
            raise UsageError("--state sqlite: a path with a NUL character", "name a file")
        try:
            self.path = os.path.abspath(path)
        except OSError as error:  # the working directory is gone
            raise Unavailable(f"{path}: {error.strerror}", "name the file from / on, or change directory") from None
        self._view = view
        self._file: tuple[int, int] | None = None
        self._connection: sqlite3.Connection | None = None
        self._run(lambda connection: None, write=False)

    def now_ms(self) -> int:
        """This machine's clock."""
        return clock.now_ms()

    def moment(self) -> Moment:
        """Now on this machine's clocks."""
        return clock.moment()

    def placed(self, made: Moment) -> Moment:
        """The record's moment on this machine's clock, by its age."""
        here = clock.moment()
        return here.plus(made.since(here))

    def close(self) -> None:
        """Close the file; it is opened anew when something is asked."""
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
                broken = _code(error) in _CORRUPT
                self.close()
                if not broken or attempt == 2:
                    raise self._failure(error, write) from None
                self._set_aside(str(error))
        raise AssertionError("the second attempt returns or raises")

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None and self._file == storefile.identity(self.path):
            return self._connection
        self.close()
        try:
            self._connection = self._to_read() if self._view else self._to_write()
        except OSError as error:
            raise self._unusable(error) from None
        return self._connection

    def _to_write(self) -> sqlite3.Connection:
        """The store, made when there is none, private, and in the format of this code."""
        storefile.make_folder(os.path.dirname(self.path))
        if storefile.look(self.path) in _BLANK:
            with storefile.alone(self.path):
                self._begin()
        if storefile.look(self.path) is Whose.FOREIGN:
            raise self._foreign()
        storefile.make_private(self.path)
        self._file = storefile.identity(self.path)
        # Autocommit: every transaction is begun by hand, as IMMEDIATE.
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        self._checked(connection)
        # After a power cut the last moments may be missing (the panes are gone then too), the file is sound.
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def _begin(self) -> None:
        """Make the store, unless another process did while this one waited for its turn."""
        whose = storefile.look(self.path)
        if whose not in _BLANK:
            return
        if whose is Whose.EMPTY:
            self._warn(f"{self.path} was empty, perhaps cut to nothing; starting with an empty store")
            # A log that stayed beside it would be played into the new store.
            if os.path.exists(self.path + "-wal"):
                storefile.move_aside(self.path)
        # Made under another name: at its own it is whole from the first moment.
        with storefile.made(self.path) as draft:
            connection = sqlite3.connect(draft, timeout=PATIENCE, isolation_level=None)
            try:
                _transaction(connection, [(sql, ()) for sql in (*_TABLES, *_MARKS)], must_change=False)
                connection.execute("PRAGMA journal_mode = WAL")
            finally:
                connection.close()

    def _checked(self, connection: sqlite3.Connection) -> None:
        """The format is the one this code knows, and writes go to a log."""
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != FORMAT:
            connection.close()
            what = f"{self.path} has format {version}, this fleettools knows {FORMAT}"
            raise Unavailable(what, "use the fleettools that made it, or another --state")
        deadline = clock.monotonic() + PATIENCE
        while not self._view and connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # The busy timeout does not cover the switch.
                if _code(error) not in _BUSY or clock.monotonic() > deadline:
                    raise
                clock.sleep(0.02)

    def _to_read(self) -> sqlite3.Connection:
        """The store as it stands, an empty one in memory where there is none; nothing is made beside it."""
        whose = storefile.look(self.path)
        if whose is Whose.FOREIGN:
            raise self._foreign()
        self._file = storefile.identity(self.path)
        if whose is not Whose.OURS:
            if whose is Whose.EMPTY:
                self.say(f"{self.path} is empty, perhaps cut to nothing")
            self._file = None if self._file is None else _LOOK_AGAIN
            connection = sqlite3.connect(":memory:", isolation_level=None)
            _transaction(connection, [(sql, ()) for sql in _TABLES], must_change=False)
        else:
            connection = self._read_only("mode=ro")
            try:
                self._checked(connection)
            except sqlite3.OperationalError as error:
                connection.close()
                if _code(error) not in _UNOPENED or os.path.exists(self.path + "-wal"):
                    raise
                # Nothing can be made beside it, and no log stands there: the file is all there is.
                self._file = _LOOK_AGAIN
                connection = self._read_only("immutable=1")
                self._checked(connection)
        connection.execute("PRAGMA query_only = 1")
        return connection

    def _read_only(self, how: str) -> sqlite3.Connection:
        from urllib.parse import quote

        return sqlite3.connect(f"file:{quote(self.path)}?{how}", uri=True, timeout=PATIENCE, isolation_level=None)

    def _set_aside(self, why: str) -> None:
        """Move the damaged store aside, once, however many processes find it so at the same time."""
        if self._view:
            mend = "any command that writes moves it aside and starts anew; or use another --state"
            raise Unavailable(f"{self.path} is damaged ({why})", mend)
        try:
            with storefile.alone(self.path):
                if self._file != storefile.identity(self.path):
                    return
                whose = storefile.look(self.path)
                if whose is Whose.FOREIGN:
                    raise self._foreign()
                if whose is not Whose.OURS:
                    return
                aside = storefile.move_aside(self.path)
        except OSError as error:
            raise self._unusable(error) from None
        self._warn(f"{self.path} was no usable database ({why}) and is now {aside}; starting with an empty store")

    def _failure(self, error: sqlite3.Error, write: bool) -> FleetError:
        """What an error of SQLite means for a person: wait, make room, make it readable, or look at the file."""
        code = _code(error)
        if code in _BUSY:
            what = f"{self.path} has been locked by another process for {PATIENCE:.0f} s"
            return Unavailable(what, "see who holds it (fuser), or try again")
        if write and code in _UNWRITABLE:
            mend = "make room there or make it writable; nothing that was stored is lost"
            return CannotWrite(f"{self.path}: {error}", mend)
        if code in _UNOPENED:
            mend = "make the file and its folder readable and writable for this user, or use another --state"
            return Unavailable(f"{self.path} cannot be opened ({error})", mend)
        return Unavailable(f"{self.path}: {error}", "check the file, or use another --state")

    def _unusable(self, error: OSError) -> FleetError:
        return Unavailable(f"{error.filename or self.path}: {error.strerror}", "mend that, or use another --state")

    def _foreign(self) -> FleetError:
        what = f"{self.path} is no store of fleettools, and is left as it is"
        return Unavailable(what, "name another file with --state, or move this one away")


def _transaction(
    connection: sqlite3.Connection, statements: "tuple[Statement, ...] | list[Statement]", must_change: bool = True
) -> bool:
    """Run the statements as one; False, and nothing changed, when the last one had to change a row and did not."""
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
