"""Processes joined by pipes, in a process group of their own: started, watched and ended together."""

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from types import TracebackType
from typing import IO, NamedTuple

from fleettools.adapters import clock, signals
from fleettools.adapters.streams import CHUNK

LAST_CHANCE = 1.0  # seconds between TERM and KILL
EXPLAIN = 0.5  # seconds
TICK = 0.05


class StageEnd(NamedTuple):
    """A stage that has ended, with its exit status (negative: the signal that killed it)."""

    name: str
    status: int

    def __str__(self) -> str:
        if self.status < 0:
            return f"{self.name} was killed by {signal.Signals(-self.status).name}"
        return f"{self.name} ended with status {self.status}"


class Bell:
    """Wakes a wait when a child has ended or a reload is asked for (HUP), which would else wait for output."""

    def __init__(self) -> None:
        self.reload = False

    def __enter__(self) -> "Bell":
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before = signal.signal(signal.SIGCHLD, lambda *_: None), signal.signal(signal.SIGHUP, self._hup)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        signal.set_wakeup_fd(-1)
        for signum, handler in zip((signal.SIGCHLD, signal.SIGHUP), self._before, strict=True):
            signal.signal(signum, handler)
        os.close(self._read)
        os.close(self._write)

    def _hup(self, *_: object) -> None:
        self.reload = True

    def fileno(self) -> int:
        """For select."""
        return self._read

    def silence(self) -> None:
        """Forget that it rang."""
        try:
            while os.read(self._read, 512):
                pass
        except BlockingIOError:
            return


class Pipe:
    """The stages of one pipe, `name: command` in their order, which all write to the same standard error.

    `handed`: an option, and the content of a file without a name that each stage is given as its value: what nobody
    has to remove cannot outlive whoever is killed.
    """

    def __init__(
        self, stages: Mapping[str, list[str]], env: Mapping[str, str], handed: tuple[str, bytes],
        errors: IO[bytes] | None = None,
    ) -> None:  # fmt: skip
        self._stages = stages
        self._env = env
        self._handed = handed
        self._errors = errors
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._output = -1
        self._group = 0
        self.statuses: dict[str, int] = {}

    def start(self) -> None:
        """Start every stage, the first one with nothing on its standard input; raises OSError."""
        source: int = subprocess.DEVNULL
        self._group = 0
        self.statuses = {}
        try:
            for name, command in self._stages.items():
                made = self._running[name] = self._started(command, source)
                self._group = self._group or made.pid
                if source >= 0:
                    os.close(source)
                assert made.stdout
                source = os.dup(made.stdout.fileno())
                made.stdout.close()
        except BaseException:
            self._kill()
            raise
        finally:
            self._output = source

    def _started(self, command: list[str], source: int) -> "subprocess.Popen[bytes]":
        """A stage that reads from `source` and has the handed configuration in a file of its own."""
        option, content = self._handed
        # A file for each: where /dev/fd shares the place in a file, one stage's reading would be another's end.
        with tempfile.TemporaryFile() as file:
            file.write(content)
            file.seek(0)
            return subprocess.Popen(
                [*command, option, f"/dev/fd/{file.fileno()}"],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=self._env,
                pass_fds=(file.fileno(),),
                process_group=self._group,
                preexec_fn=None if self._group else _die_with_parent,
            )

    def wait(self, bell: Bell, reader: int, seconds: float | None) -> bytes | None:
        """What the last stage wrote, None when there was nothing within the time or the bell rang.

        Raises Killed: SIGPIPE as soon as nobody reads the file descriptor `reader` any more, however quiet it is.
        """
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        poll.register(bell, select.POLLIN)
        poll.register(reader, 0)
        with signals.waiting():
            ready = dict(poll.poll(None if seconds is None else seconds * 1000))
        if ready.get(reader, 0) & (select.POLLERR | select.POLLHUP):
            raise signals.Killed(signal.SIGPIPE)
        bell.silence()
        return os.read(self._output, CHUNK) if self._output in ready else None

    def reap(self) -> bool:
        """Take leave of the stages that have ended; whether any has."""
        for name, process in list(self._running.items()):
            if process.poll() is not None:
                self.statuses[name] = process.returncode
                del self._running[name]
        return len(self._running) < len(self._stages)

    def first_end(self) -> StageEnd:
        """The stage that ended first as far as can be told: one that a neighbour's end would not explain, if any.

        A neighbour may be found ended before the one that it followed; that one gets EXPLAIN seconds to be found.
        """
        deadline = clock.monotonic() + EXPLAIN
        while all(_follows(status) for status in self.statuses.values()) and clock.monotonic() < deadline:
            clock.sleep(TICK)
            self.reap()
        ends = [StageEnd(name, status) for name, status in self.statuses.items()]
        return min(ends, key=lambda end: _follows(end.status))

    def finish(self, take: Callable[[bytes], None], seconds: float) -> None:
        """End the first stage and let the others drain into `take`; after so many seconds end them all."""
        if self._output < 0:
            return
        try:
            first = next(iter(self._stages))
            if first in self._running:
                self._running[first].terminate()
            self._drain(take, seconds)
            self._signal(signal.SIGTERM)
            self._drain(take, LAST_CHANCE)
        finally:
            self._kill()

    def drain(self, take: Callable[[bytes], None]) -> None:
        """Read until every stage has ended by itself; raises Killed."""
        self._drain(take, None, signals.waiting)

    def _drain(
        self,
        take: Callable[[bytes], None],
        seconds: float | None,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Hand on what the last stage writes, until all have ended or the time is over, then what is left."""
        deadline = None if seconds is None else clock.monotonic() + seconds
        at_end = False
        while self._runs() and (deadline is None or clock.monotonic() < deadline):
            with waiting():
                ready = select.select([] if at_end else [self._output], [], [], TICK)[0]
            if ready:
                chunk = os.read(self._output, CHUNK)
                at_end = not chunk
                take(chunk)
        while not at_end and select.select([self._output], [], [], 0)[0] and (chunk := os.read(self._output, CHUNK)):
            take(chunk)

    def _runs(self) -> bool:
        self.reap()
        return bool(self._running)

    def _signal(self, signum: int) -> None:
        for process in self._running.values():
            process.send_signal(signum)

    def _kill(self) -> None:
        if self._group:
            with suppress(ProcessLookupError):
                os.killpg(self._group, signal.SIGKILL)
        for process in self._running.values():
            process.wait()
        self.reap()
        if self._output >= 0:
            os.close(self._output)
            self._output = -1


def _follows(status: int) -> bool:
    """Whether a stage ends so when the one before or behind it has ended."""
    return status in (0, -signal.SIGPIPE)


def _die_with_parent() -> None:
    """Runs in the first stage: when fleetd itself is killed, the source dries up and the others end behind it."""
    if sys.platform == "linux":
        import ctypes

        set_death_signal = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGTERM)
