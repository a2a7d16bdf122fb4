"""A store that lives as long as the process: for replaying a stored stream, and for tests."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

from fleettools.adapters import clock
from fleettools.moments import Moment
from fleettools.seen import Once


class MemoryStore:
    """See fleettools.services.store.Store."""

    def __init__(self, warn: Callable[[object], None]) -> None:
        self.say = Once(warn)
        self._values: dict[str, tuple[bytes, int]] = {}
        self._keys: list[str] = []
        self._deleted = 0  # the highest version ever deleted: a key that comes back starts above it

    def get(self, key: str) -> tuple[bytes | None, int]:
        """The value and its version, (None, 0) when there is none."""
        return self._values.get(key, (None, 0))

    def put(self, key: str, value: bytes | None, if_version: int) -> bool:
        """Set the value if the version is still that one; there is nobody who could be faster."""
        if self._values.get(key, (None, 0))[1] != if_version:
            return False
        if value is None:
            if self._values.pop(key, None):
                del self._keys[bisect_left(self._keys, key)]
                self._deleted = max(self._deleted, if_version)
            return True
        if key not in self._values:
            insort(self._keys, key)
        self._values[key] = (value, (if_version or self._deleted) + 1)
        return True

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes, int]]:
        """Every key that starts with the prefix, in their order; what is deleted meanwhile is left out."""
        first = bisect_left(self._keys, prefix)
        for key in self._keys[first:].copy():
            if not key.startswith(prefix):
                return
            if key in self._values:
                yield key, *self._values[key]

    def now_ms(self) -> int:
        """This machine's clock."""
        return clock.now_ms()

    def moment(self) -> Moment:
        """Now on this machine's clocks."""
        return clock.moment()

    def placed(self, made: Moment) -> Moment:
        """The record's own moment: a replay goes by the clock of its records."""
        return made

    def close(self) -> None:
        """Does nothing: what it holds ends with it."""
