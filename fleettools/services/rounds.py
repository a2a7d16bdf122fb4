"""The side of fleet-resume that has time: it takes a step each second in a thread, so that its input never waits."""

import threading
from collections.abc import Callable

from fleettools import records
from fleettools.errors import BadConfig, FleetError, NotNow, Unknown, UsageError
from fleettools.seen import Once
from fleettools.services.delivery.loop import in_background
from fleettools.services.ports import Messages
from fleettools.services.resumer import Resumer

TICK = 1.0  # seconds between two steps
STOP_SECONDS = 12.0  # a prompt that is being typed is ended first


class Rounds:
    """Steps through the rounds of all credentials until stopped. `make` is called in the thread that uses the store."""

    def __init__(self, make: Callable[[], Resumer], credential: str | None, messages: Messages) -> None:
        self._make, self._credential = make, credential
        self._stopping, self._lock = threading.Event(), threading.Lock()
        self._woken, self._opened = threading.Event(), threading.Event()
        self._said: list[bytes] = []
        self._left: int | None = None
        self._fatal: BaseException | None = None
        self._complain = Once(messages.warn)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to work; raises what keeps the store from being opened."""
        self._thread = in_background(self._run, "rounds")
        self._opened.wait()
        if self._fatal:
            raise self._fatal

    def hurry(self) -> None:
        """Take the next step at once, and count what is left anew."""
        self._left = None
        self._woken.set()

    def said(self) -> list[bytes]:
        """The records that there are to write since the last call; raises what ended the work."""
        with self._lock:
            said, self._said = self._said, []
        if self._fatal and not said:
            raise self._fatal
        return said

    def left(self) -> int | None:
        """How many rounds are not over, None while that is not known."""
        return self._left

    def stop(self) -> None:
        """End after what is being typed."""
        self._stopping.set()
        self._woken.set()
        if self._thread and self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        """The thread of the rounds: every TICK, and at once when a record came; a store that is away is tried again."""
        resumer: Resumer | None = None
        while not self._stopping.is_set():
            self._woken.clear()
            try:
                resumer = resumer or self._make()
                self._opened.set()
                self._begin(resumer)
                made, left = resumer.tick()
                with self._lock:
                    self._said += [records.encode(record) for record in made]
                self._left = left
                self._complain.over()
            except BaseException as error:
                if (
                    not isinstance(error, FleetError)
                    or isinstance(error, BadConfig | NotNow | Unknown | UsageError)
                    or resumer is None
                ):
                    self._fatal = error
                    self._opened.set()
                    return
                self._complain(f"trying again: {error}")
            self._woken.wait(TICK)

    def _begin(self, resumer: Resumer) -> None:
        if self._credential is not None:
            resumer.begin(self._credential)
            self._credential = None
