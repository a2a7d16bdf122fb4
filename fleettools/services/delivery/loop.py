"""The one thread that touches the store: others hand it what they want done there, and wait for the answer."""

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from fleettools.services.ports import Clock

T = TypeVar("T")
PATIENCE = 0.2  # seconds between two looks whether anybody still serves


class Loop:
    """Calls from many threads, carried out one after the other by the thread that serves."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._woken = False
        self._over: BaseException | None = None

    def call(self, what: Callable[[], T], idle: Callable[[], None] = lambda: None) -> T:
        """What `what` gives when the serving thread has called it; raises what it raises, or what ended that thread.

        `idle` is called now and then while that takes long, and may raise.
        """
        answer: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()

        def carry_out() -> None:
            try:
                answer.put((True, what()))
            except Exception as error:
                answer.put((False, error))

        self._asked.put(carry_out)
        while True:
            try:
                good, value = answer.get(timeout=PATIENCE)
            except queue.Empty:
                if self._over:
                    raise self._over from None
                idle()
                continue
            if not good:
                raise value
            return value  # type: ignore[no-any-return]

    def wake(self) -> None:
        """End the wait of the serving thread."""
        self._asked.put(self._wake)

    def _wake(self) -> None:
        self._woken = True

    def serve(self, seconds: float, until_woken: bool = True) -> None:
        """Carry out what is asked, for so long or until woken."""
        end = self._clock.monotonic() + seconds
        while not (self._woken and until_woken):
            try:
                asked = self._asked.get(timeout=max(0.0, end - self._clock.monotonic()))
            except queue.Empty:
                break
            asked()
        self._woken = self._woken and not until_woken

    def close(self, error: BaseException) -> None:
        """Nobody serves any more: who waits is told this."""
        self._over = error


def in_background(what: Callable[[], None], name: str) -> threading.Thread:
    """Start a thread that does not keep the process alive."""
    thread = threading.Thread(target=what, name=name, daemon=True)
    thread.start()
    return thread
