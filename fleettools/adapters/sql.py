"""What SQLite and PostgreSQL share: the statements of the store, and what they mean.

Keys and values are bytes in both engines, so that a prefix is a range and the order is that of the bytes.
"""

from collections.abc import Callable, Iterator
from typing import Any

from fleettools.seen import Once

_GET = "SELECT value, version FROM fleet_state WHERE key = ?"
_PAGE = "SELECT key, value, version FROM fleet_state WHERE key >= ? AND key < ? ORDER BY key LIMIT 500"
_UPDATE = "UPDATE fleet_state SET value = ?, version = version + 1 WHERE key = ? AND version = ?"
_INSERT = "INSERT INTO fleet_state SELECT ?, ?, version + 1 FROM fleet_deleted {} ON CONFLICT DO NOTHING"
_RAISE = "UPDATE fleet_deleted SET version = CASE WHEN version < ? THEN ? ELSE version END"
_DELETE = "DELETE FROM fleet_state WHERE key = ? AND version = ?"

Statement = tuple[str, tuple[Any, ...]]


class SqlStore:
    """See fleettools.services.store.Store. An engine adds `_rows`, `_commit`, `now_ms` and `close`.

    A key that comes back after a delete starts above the highest version ever deleted (one number, in
    `fleet_deleted`), so that nobody who still holds the old version can overwrite the new value.
    """

    _insert_tail = "WHERE true"

    def __init__(self, warn: Callable[[object], None]) -> None:
        self._warn = warn
        self.say = Once(warn)

    def get(self, key: str) -> tuple[bytes | None, int]:
        """The value and its version, (None, 0) when there is none."""
        rows = self._rows(_GET, (_encoded(key),))
        return (bytes(rows[0][0]), rows[0][1]) if rows else (None, 0)

    def put(self, key: str, value: bytes | None, if_version: int) -> bool:
        """Set or delete the value in one transaction; False when somebody was faster."""
        name = _encoded(key)
        if if_version == 0:
            if value is None:
                return self.get(key)[1] == 0
            return self._commit((_INSERT.format(self._insert_tail), (name, value)))
        if value is None:
            # In this order: a create waits for the number, so it never reads one that a delete is about to raise.
            return self._commit((_RAISE, (if_version, if_version)), (_DELETE, (name, if_version)))
        return self._commit((_UPDATE, (value, name, if_version)))

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes, int]]:
        """Every key that starts with the prefix, in the order of their bytes, read page by page."""
        first = _encoded(prefix)
        end = _after(first)
        while rows := self._rows(_PAGE, (first, end)):
            for key, value, version in rows:
                yield bytes(key).decode("utf-8", "surrogateescape"), bytes(value), version
            first = bytes(rows[-1][0]) + b"\0"

    def _rows(self, sql: str, parameters: tuple[Any, ...]) -> list[Any]:
        """All rows of a query, read outside a transaction."""
        raise NotImplementedError

    def _commit(self, *statements: Statement) -> bool:
        """Run the statements in one transaction; False, and nothing changed, when the last one changed no row."""
        raise NotImplementedError


def _encoded(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")


def _after(prefix: bytes) -> bytes:
    """The first key beyond all that start with the prefix."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else b"\xff" * 64
