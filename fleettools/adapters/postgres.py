"""The store in PostgreSQL, for fleets on several machines: the only module that knows psycopg."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from fleettools.adapters import clock
from fleettools.adapters.sql import SqlStore, Statement
from fleettools.errors import CannotWrite, FleetError, Unavailable, UsageError
from fleettools.moments import Moment

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

ANCHOR_MS = 60_000
PATIENCE = 5.0  # seconds for a connection, and for a statement
GIVE_UP = 300.0  # seconds for a lost server to come back, where somebody waits for it

# The lock keeps first opens apart: IF NOT EXISTS alone fails when two create the same table at once.
_TABLES = (
    "SELECT pg_advisory_xact_lock(7305511)",
    "CREATE TABLE IF NOT EXISTS fleet_state (key BYTEA PRIMARY KEY, value BYTEA NOT NULL, version BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS fleet_deleted (version BIGINT NOT NULL)",
    "INSERT INTO fleet_deleted SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM fleet_deleted)",
)
_SETTINGS = (
    "SELECT set_config('statement_timeout', %(patience)s, false), set_config('lock_timeout', %(patience)s, false),"
    " set_config('default_transaction_read_only', %(view)s, false)"
)
# The columns of both tables, where a plain name finds them.
_COLUMNS = (
    "SELECT c.relname, string_agg(a.attname || ' ' || format_type(a.atttypid, NULL), ', ' ORDER BY a.attnum)"
    " FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
    " WHERE c.oid IN (to_regclass('fleet_state'), to_regclass('fleet_deleted')) GROUP BY c.relname"
)
_OURS = {"fleet_state": "key bytea, value bytea, version bigint", "fleet_deleted": "version bigint"}
_CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"


class PostgresStore(SqlStore):
    """See fleettools.services.store.Store. Raises Unavailable, or CannotWrite when the server's disk is full.

    A lost connection is made again; where `patient`, a lost server is waited for, which `warn` is told. When the answer
    to a commit is lost with it, `put` may say False though it was done: who then reads the key again sees what holds.
    No message shows the password. Tables of that name which are not ours are left as they are. With `view` nothing is
    made or written: no tables are an empty store.
    """

    _insert_tail = "FOR SHARE"

    def __init__(self, url: str, warn: Callable[[object], None], *, view: bool = False, patient: bool = False) -> None:
        super().__init__(warn)
        self._view, self._patient = view, patient
        self._driver = _driver()
        self._url = url
        self._place, self._password = self._parsed()
        self._connection: psycopg.Connection[Any] | None = None
        self._anchor: tuple[Moment, Moment] | None = None  # the server's clock and this machine's at one moment
        try:
            self._connection = self._connected()
        except self._driver.Error as error:
            raise self._failure(error) from None

    def now_ms(self) -> int:
        """The server's clock, which all machines share; a fixed clock is fixed for it, too."""
        return clock.now_ms() if os.environ.get("FLEET_NOW") else int(self._rows(_CLOCK, ())[0][0])

    def moment(self) -> Moment:
        """Now on the server's clock, of no machine's boot."""
        return Moment(self.now_ms())

    def placed(self, made: Moment) -> Moment:
        """The record's moment on the server's clock, by the record's age on this machine."""
        # Asked once a minute: asked each time, the way to the server would move two records apart.
        if self._anchor is None or not 0 <= clock.moment().since(self._anchor[1]) < ANCHOR_MS:
            self._anchor = self.moment(), clock.moment()
        there, here = self._anchor
        return there.plus(made.since(here))

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _rows(self, sql: str, parameters: tuple[Any, ...]) -> list[Any]:
        def work(connection: "psycopg.Connection[Any]") -> list[Any]:
            try:
                return connection.execute(_marked(sql), parameters).fetchall()
            except self._driver.errors.UndefinedTable:
                if self._view:
                    return []
                raise

        return self._run(work)

    def _commit(self, *statements: Statement) -> bool:
        def work(connection: "psycopg.Connection[Any]") -> bool:
            with connection.transaction() as transaction:
                for sql, parameters in statements:
                    changed = connection.execute(_marked(sql), parameters).rowcount
                if changed != 1:
                    raise self._driver.Rollback(transaction)
            return changed == 1

        return self._run(work)

    def _run(self, work: "Callable[[psycopg.Connection[Any]], T]") -> T:
        """Do the work on a connection that lives: a cut one is made again, and the patient wait for a lost server."""
        lost_at, pause = 0.0, 0.1
        while True:
            known = self._connection is not None
            try:
                if self._connection is None:
                    self._connection = self._connected()
                answer = work(self._connection)
            except self._driver.Error as error:
                if self._connection is not None and not self._connection.closed:
                    raise self._failure(error) from None
                self._connection = None
                if known:  # cut, but perhaps only the connection
                    continue
                lost_at = lost_at or clock.monotonic()
                if not self._patient or clock.monotonic() - lost_at > GIVE_UP:
                    raise self._failure(error) from None
                if pause == 0.1:
                    self._warn(f"{self._shown(error)}; waiting for the server, and what is read waits with it")
                clock.sleep(pause)
                pause = min(2 * pause, 5.0)
                continue
            if lost_at:
                self._warn(f"{self._place} is back after {clock.monotonic() - lost_at:.0f} s")
            return answer

    def _connected(self) -> "psycopg.Connection[Any]":
        """A fresh connection with its time limits, to a server that holds a store of ours."""
        limits = {"connect_timeout": int(PATIENCE), "tcp_user_timeout": int(2000 * PATIENCE)}
        fresh: psycopg.Connection[Any] = self._driver.connect(
            self._url, autocommit=True, application_name="fleettools", **limits
        )
        try:
            fresh.execute(_SETTINGS, {"patience": f"{PATIENCE}s", "view": str(self._view).lower()})
            self._checked(fresh)
        except BaseException:
            fresh.close()
            raise
        return fresh

    def _checked(self, fresh: "psycopg.Connection[Any]") -> None:
        """Our tables are there, made now unless this is a view; raises Unavailable when others stand in their place."""
        found = dict(fresh.execute(_COLUMNS).fetchall())
        if not found and not self._view:
            with fresh.transaction():
                for sql in _TABLES:
                    fresh.execute(sql)
        elif found and found != _OURS:
            what = f"{self._place}: its tables {' and '.join(sorted(found))} are not those of fleettools"
            raise Unavailable(
                f"{what}, and are left as they are", "name another database, or a schema with search_path"
            )

    def _shown(self, error: "psycopg.Error") -> str:
        text = " ".join(str(error).split())
        return f"{self._place}: {text.replace(self._password, '***') if self._password else text}"

    def _failure(self, error: "psycopg.Error") -> FleetError:
        if isinstance(error, self._driver.errors.DiskFull):
            return CannotWrite(self._shown(error), "make room there; nothing that was stored is lost")
        if isinstance(error, (self._driver.errors.QueryCanceled, self._driver.errors.LockNotAvailable)):
            what = f"{self._place} has kept a statement waiting for {PATIENCE:.0f} s"
            return Unavailable(what, "see pg_stat_activity for who holds a lock, or try again")
        return Unavailable(self._shown(error), "check the server and the URL, or use another --state")

    def _parsed(self) -> tuple[str, str]:
        """The server and database as messages name them, and the password that they must not show."""
        user = self._url.partition("://")[2].partition("?")[0].rpartition("@")[0]
        try:
            parts = self._driver.conninfo.conninfo_to_dict(self._url)
        except self._driver.Error:
            # Its message quotes parts of the URL, and a misplaced @ makes the password one of them.
            raise self._no_url() from None
        # libpq takes the first of these for the end of the password, and would name the rest as host or database.
        if "/" in user or "@" in user:
            raise self._no_url()
        place = f"postgresql://{parts.get('host') or ''}/{parts.get('dbname') or ''}"
        return place, str(parts.get("password") or "")

    def _no_url(self) -> UsageError:
        what = "--state is no URL of PostgreSQL"
        return UsageError(what, "write postgresql://USER@HOST/DATABASE, special characters as %XX")


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        what = f"--state postgresql: needs psycopg ({error})"
        raise Unavailable(what, "pip install 'psycopg[binary]', or pipx inject fleettools 'psycopg[binary]'") from None
    return psycopg


def _marked(sql: str) -> Any:
    """The statement with the parameter marks of psycopg."""
    return sql.replace("?", "%s")
