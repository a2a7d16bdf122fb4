"""The store: keys with JSON values, changed only by compare-and-set. One contract, three engines.

What must change together lives under one key: `member/<server>/<target>`, `ticket/<id>`, `credential/<id>`,
`outbox/<item>/<server>/<target>`. Policy is a pure step on one value; `change` commits it and retries on conflict.
"""

import os
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import msgspec

from fleettools.errors import Unavailable, UsageError

T = TypeVar("T")
A = TypeVar("A")


class Store(Protocol):
    """What an engine offers. Versions count from 1 for each key; 0 stands for a key that is not there."""

    def get(self, key: str) -> tuple[bytes | None, int]:
        """The value and its version, (None, 0) when there is none."""

    def put(self, key: str, value: bytes | None, if_version: int) -> bool:
        """Set the value (None deletes it) if the version is still that one; False when somebody was faster."""

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes, int]]:
        """Every key that starts with the prefix, in the order of their bytes, with value and version."""

    def now_ms(self) -> int:
        """The store's clock: this machine's, or for a shared store the server's."""

    def close(self) -> None:
        """Let go of files and connections."""


def read(store: Store, key: str, shape: type[T]) -> T | None:
    """The value under a key; raises Unavailable when something else than `shape` is stored there."""
    return _decoded(key, store.get(key)[0], shape)


def read_all(store: Store, prefix: str, shape: type[T]) -> Iterator[tuple[str, T]]:
    """Every value under a prefix with its key."""
    for key, value, _ in store.scan(prefix):
        decoded = _decoded(key, value, shape)
        assert decoded is not None
        yield key, decoded


def change(store: Store, key: str, shape: type[T], step: Callable[[T | None], tuple[T | None, A]]) -> A:
    """Commit a pure step: it gets the value (None: absent) and gives the next one (None: delete) and an answer.

    The step runs again when another process changed the key meanwhile. A step that gives back the very object it
    was given (or an equal one) writes nothing.
    """
    while True:
        value, version = store.get(key)
        before = _decoded(key, value, shape)
        after, answer = step(before)
        encoded = None if after is None else msgspec.json.encode(after)
        if encoded == value or store.put(key, encoded, version):
            return answer


def _decoded(key: str, value: bytes | None, shape: type[T]) -> T | None:
    if value is None:
        return None
    try:
        return msgspec.json.decode(value, type=shape)
    except msgspec.DecodeError as error:
        what = f"{key}: the store holds something else ({error})"
        raise Unavailable(what, "remove it, or use another --state") from None


def default_path() -> str:
    """`$XDG_STATE_HOME/fleettools/state.db`, or the same below ~/.local/state."""
    home = os.environ.get("XDG_STATE_HOME", "")
    home = home if os.path.isabs(home) else os.path.expanduser("~/.local/state")
    if not os.path.isabs(home):
        raise UsageError("neither XDG_STATE_HOME nor HOME says where state goes", "set one, or give --state")
    return os.path.join(home, "fleettools", "state.db")


def open_store(url: str | None, warn: Callable[[object], None]) -> Store:
    """The store that `--state`, `$FLEET_STATE` or the default names; raises Unavailable, UsageError for a bad URL."""
    from fleettools.config import foreign_store

    url = url or os.environ.get("FLEET_STATE") or default_path()
    if foreign := foreign_store(url):
        mend = f"use sqlite:PATH, a bare path, memory: or postgresql://...; ./{url} would be a file of that name"
        raise UsageError(f"--state {foreign} is no store", mend if "/" not in url else mend.partition("; ")[0])
    scheme, colon, rest = url.partition(":")
    if scheme == "memory" and colon:
        from fleettools.adapters.memory import MemoryStore

        return MemoryStore()
    if scheme in ("postgresql", "postgres") and colon:
        from fleettools.adapters.postgres import PostgresStore

        return PostgresStore(url)
    from fleettools.adapters.sqlite import SqliteStore

    return SqliteStore(os.path.expanduser(rest if scheme == "sqlite" and colon else url), warn)
