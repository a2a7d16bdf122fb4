"""What was met before, within bounds: so that a thing is said once, and memory does not grow with the stream."""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

MOST = 4096


class Seen(Generic[K]):
    """A set of at most `most` things; beyond that the one that was unheard of for longest is forgotten."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: dict[K, None] = {}

    def add(self, thing: K) -> bool:
        """Keep it as the one heard of last; False when it was there already."""
        new = thing not in self._kept
        if not new:
            del self._kept[thing]
        self._kept[thing] = None
        if len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        return new

    def discard(self, thing: K) -> None:
        """Forget it, if it is there."""
        self._kept.pop(thing, None)

    def __contains__(self, thing: object) -> bool:
        return thing in self._kept

    def __iter__(self) -> Iterator[K]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)
