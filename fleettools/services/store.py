"""The store: keys with JSON values, changed only by compare-and-set. One contract, three engines.

What must change together lives under one key: `member/<server>/<target>`, `ticket/<id>`, `credential/<id>`,
`outbox/<item>/<server>/<target>`. Policy is a pure step on one value; `change` commits it and retries on conflict.
"""

import shlex
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import msgspec

from fleettools.errors import Undecodable
from fleettools.moments import Moment

T = TypeVar("T")
A = TypeVar("A")
F = TypeVar("F")


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

    def moment(self) -> Moment:
        """Now on the store's clock, to tell what is over; with this machine's boot unless the clock is a server's."""

    def placed(self, made: Moment) -> Moment:
        """When a record was made, on the store's clock: that clock less the record's age. In memory, the record's own.

        The age is measured by this machine's clocks: by the one of this boot if the record is of it.
        """

    def say(self, what: str) -> None:
        """Tell the person what is wrong with the store, the same once."""

    def close(self) -> None:
        """Let go of files and connections."""


def read(store: Store, key: str, shape: type[T]) -> T | None:
    """The value under a key; raises Undecodable when something else than `shape` is stored there."""
    return _decoded(key, store.get(key)[0], shape)


def read_all(store: Store, prefix: str, shape: type[T]) -> Iterator[tuple[str, T]]:
    """Every value under a prefix with its key; one that is no `shape` is said and passed over."""
    for key, value, _ in store.scan(prefix):
        try:
            decoded = _decoded(key, value, shape)
        except Undecodable as error:
            store.say(str(error))
            continue
        assert decoded is not None
        yield key, decoded


def change(store: Store, key: str, shape: type[T], step: Callable[[T | None], tuple[T | None, A]]) -> A:
    """Commit a pure step: it gets the value (None: absent) and gives the next one (None: delete) and an answer.

    The step runs again when another process changed the key meanwhile. A step that gives back the very object it
    was given (or an equal one) writes nothing. Raises Undecodable as `read` does.
    """
    return change_knowing(store, key, shape, lambda: None, lambda before, _: step(before))


def change_knowing(
    store: Store, key: str, shape: type[T], gather: Callable[[], F], step: Callable[[T | None, F], tuple[T | None, A]]
) -> A:
    """Commit a pure step that needs more than the value: `gather` looks it up, each time after the value was read.

    So the step may take it that what was gathered is no older than the value.
    """
    while True:
        value, version = store.get(key)
        before = _decoded(key, value, shape)
        after, answer = step(before, gather())
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
        mend = f"remove it with fleet-release --row {shlex.quote(key)}"
        raise Undecodable(what, mend) from None
