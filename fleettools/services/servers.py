"""tmux servers that come, go, or do not answer: the `tmux` records of fleet-scrape."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from fleettools import records
from fleettools.services.ports import Clock


class Servers:
    """What is known of the servers of one socket. `is_tmux`: whether a tmux process has that pid."""

    def __init__(self, clock: Clock, is_tmux: Callable[[int], bool]) -> None:
        self._clock, self._is_tmux = clock, is_tmux
        self._state = "up"
        self._ended: set[str] = set()
        self.current: str | None = None

    @property
    def away(self) -> bool:
        """Whether the server did not answer when it was last asked."""
        return self._state != "up"

    def came(self, server: str) -> Iterator[records.Tmux]:
        """A server answers: what that says of it, and of the one before on its socket."""
        changed = self.current not in (None, server)
        if changed and self._state != "down":
            yield self._lost(str(self.current), "another server answers on its socket")
        if changed or self._state != "up":
            yield records.Tmux(**self._clock.stamp(), server=server, state="up", reason="it answers")
        self._state, self.current = "up", server

    def lost(self, reason: str, again: bool) -> Iterator[records.Tmux]:
        """The server does not answer: said when that is new, or once more."""
        if self.current is None:
            self._state = "unreachable"
            return
        record = self._lost(self.current, reason)
        if record.state != self._state or again:
            yield record
        self._state = record.state

    def ended(self, known: Iterable[str]) -> Iterator[records.Tmux]:
        """`down`, once, for each of these servers but the current one whose process is no more."""
        for server in sorted({*known} - {self.current} - self._ended):
            if not self._is_tmux(_pid(server)):
                self._ended.add(server)
                yield self._lost(server, "")

    def _lost(self, server: str, reason: str) -> records.Tmux:
        state: Literal["unreachable", "down"] = "unreachable" if self._is_tmux(_pid(server)) else "down"
        alive = state == "unreachable"
        reason = f"its process lives, but: {reason}" if alive else "no tmux process has its pid any more"
        return records.Tmux(**self._clock.stamp(), server=server, state=state, reason=reason)


def _pid(server: str) -> int:
    return int(server.rpartition(":")[2])
