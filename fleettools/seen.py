"""What was met before, within bounds: so that a thing is said once, and memory does not grow with the stream."""

from collections.abc import Callable, Hashable, Iterator
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

    def clear(self) -> None:
        """Forget all of it."""
        self._kept.clear()

    def __contains__(self, thing: object) -> bool:
        return thing in self._kept

    def __iter__(self) -> Iterator[K]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


class Once:
    """Hands a text on to `say`, the same not again before `over` was called."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: Seen[str] = Seen()

    def __call__(self, text: str) -> None:
        if self._said.add(text):
            self._say(text)

    def over(self) -> None:
        """What was wrong is over: should it come again, it is said again."""
        self._said.clear()
