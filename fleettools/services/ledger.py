"""A fleetd's own place in the store: its signs of life, and what it has printed, kept over restarts and kills."""

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TypeVar

from fleettools.errors import FleetError
from fleettools.policy import heartbeat
from fleettools.policy.heartbeat import DaemonState
from fleettools.services.ports import Clock, Messages
from fleettools.services.store import Store, change

A = TypeVar("A")


class Ledger:
    """What one daemon, `host:socket path`, has printed, in memory and in the store.

    The store is opened anew for each change: it may be restarted or moved aside at any time, and what it does not take
    is tried again with the next sign of life.
    """

    def __init__(self, daemon: str, store: Callable[[], Store], clock: Clock, messages: Messages) -> None:
        self._key, self._open, self._clock, self._messages = heartbeat.daemon_key(daemon), store, clock, messages
        self._printed: set[str] = set()
        self._ends: dict[str, None] = {}
        self._owed: list[str] = []
        self._due = 0.0

    def begin(self, pid: int, once: bool) -> DaemonState:
        """Take up what an earlier fleetd left, which is the answer; raises Unavailable."""

        def step(state: DaemonState | None, now_ms: int) -> tuple[DaemonState, DaemonState]:
            return heartbeat.started(state, pid, once, now_ms), state or DaemonState()

        before = self._change(step)
        self._printed = set(before.printed)
        self._ends = dict.fromkeys(before.ends)
        self._due = self._clock.monotonic() + heartbeat.BEAT_S
        return before

    def is_printed(self, line: bytes) -> bool:
        """Whether this very line was flushed before, by this process or one before it."""
        return heartbeat.mark(line) in self._printed

    def is_known(self, end: str) -> bool:
        """Whether the journal has this end of a turn; one that is seen again stays known for longer."""
        if end not in self._ends:
            return False
        self._ends[end] = self._ends.pop(end)
        return True

    def wrote(self, lines: Iterable[bytes], ends: Iterable[str]) -> None:
        """These lines were flushed, and these ends of turns are in the journal."""
        marks = [heartbeat.mark(line) for line in lines]
        self._printed.update(marks)
        new = [end for end in ends if end not in self._ends]
        self._ends |= dict.fromkeys(new)
        for end in list(self._ends)[: max(0, len(self._ends) - heartbeat.MOST_ENDS)]:
            del self._ends[end]
        self._owed += marks
        if marks or new:
            self._settle()

    def beat(self) -> None:
        """Give a sign of life when one is due."""
        if self._clock.monotonic() >= self._due:
            self._settle()

    def stop(self) -> None:
        """Say that the end was meant."""
        self._settle()
        self._try(lambda state, now_ms: (heartbeat.stopped(state, now_ms), None))

    def looked(self, faults: list[str], server: bool) -> None:
        """What a look of --once found wrong, and whether there was a tmux server."""
        self._try(lambda state, _: (heartbeat.looked(state, faults, server), None))

    def _settle(self) -> None:
        marks, ends = list(self._owed), list(self._ends)
        self._due = self._clock.monotonic() + heartbeat.BEAT_S
        if self._try(lambda state, now_ms: (heartbeat.printed(state, marks, now_ms, ends), None)):
            del self._owed[: len(marks)]

    def _try(self, step: Callable[[DaemonState | None, int], tuple[DaemonState, None]]) -> bool:
        try:
            self._change(step)
        except FleetError as error:
            self._messages.warn(f"going on, though no store keeps what was printed: {error}", once=True)
            return False
        return True

    def _change(self, step: Callable[[DaemonState | None, int], tuple[DaemonState, A]]) -> A:
        with closing(self._open()) as store:
            now_ms = store.now_ms()
            return change(store, self._key, DaemonState, lambda state: step(state, now_ms))
