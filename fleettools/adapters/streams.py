"""Standard output and standard error: whole records out, messages a person can act on.

Apart from lines.py, so that `--help` need not load the record types.
"""

import os
import re
import select
import signal
import sys
from collections.abc import Callable, Iterable

from fleettools.adapters import signals
from fleettools.errors import CannotWrite
from fleettools.seen import Seen

CHUNK = 1 << 18
BACKLOG = 1 << 16  # bytes of messages that wait for a slow standard error
PAUSE = 0.05  # seconds for standard error to get ready, before its messages wait


def guard() -> None:
    """Occupy the standard descriptors that came closed, lest a file opened later be read as input or written to.

    Reading the one, and writing to the others, still fails as on a closed descriptor.
    """
    for fd, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(fd)
        except OSError:
            # The lowest free number, which is this one.
            os.open(os.devnull, mode)


class Output:
    """Standard output, written as whole records; `draw` makes of each line what a person at a terminal is shown."""

    def __init__(self, fd: int = 1, draw: Callable[[bytes], bytes] | None = None) -> None:
        self._fd = fd
        self._draw = draw
        self._buffer: list[bytes] = []
        self._size = 0
        self._open_line = False

    def write(self, data: bytes) -> None:
        """Queue bytes; what follows a line that came without its newline starts on a line of its own."""
        if not data:
            return
        if self._draw:
            data = b"".join(map(self._draw, re.findall(rb"[^\n]*\n|[^\n]+", data)))
        if self._open_line:
            self._buffer.append(b"\n")
        self._open_line = not data.endswith(b"\n")
        self._buffer.append(data)
        self._size += len(data)
        if self._size > CHUNK:
            self.flush()

    def take(self, lines: Iterable[bytes]) -> None:
        """Queue several."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write all that is queued; raises Killed (SIGPIPE) when the reader is gone, CannotWrite on other failures."""
        view = memoryview(b"".join(self._buffer))
        self._buffer.clear()
        self._size = 0
        try:
            while view:
                try:
                    view = view[os.write(self._fd, view) :]
                except BlockingIOError:  # another process that shares it made it so
                    with signals.waiting():
                        select.select([], [self._fd], [])
        except BrokenPipeError:
            raise signals.Killed(signal.SIGPIPE) from None
        except OSError as error:
            raise CannotWrite(f"standard output: {error.strerror}", "make room there, or write elsewhere") from None


class _Stderr:
    """Standard error, which may be closed, full or slow without the work noticing: then messages wait, or are lost."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._stuck = False
        self._lost = 0

    def say(self, line: str) -> None:
        """Write a line, or keep it for later where it would have to be waited for."""
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        data = line.encode(encoding, "backslashreplace")
        if len(self._waiting) + len(data) > BACKLOG:
            self._lost += 1
        else:
            self._waiting += data
        self.drain(0 if self._stuck else PAUSE)

    def drain(self, seconds: float) -> None:
        """Write what waits; the time is how long it may take until standard error is ready for more."""
        while self._waiting:
            try:
                self._stuck = not select.select([], [2], [], seconds)[1]
                if self._stuck:
                    return
                # A pipe that is ready takes so much at once without waiting.
                del self._waiting[: os.write(2, self._waiting[: select.PIPE_BUF])]
            except BlockingIOError:
                self._stuck = True
                return
            except (OSError, ValueError):  # closed, or its disk is full: there is nobody to tell
                self._waiting.clear()
            if self._lost and not self._waiting:
                self._waiting += b"(%d messages were lost: standard error took no more)\n" % self._lost
                self._lost = 0


_stderr = _Stderr()


def last_words() -> None:
    """Before the process ends: give standard error a second to take what waits."""
    _stderr.drain(1.0)


class Messages:
    """Standard error: `fleet-classify: stdin:17: what; how to mend it`, once a fact."""

    def __init__(self, program: str, level: int = 0) -> None:
        self.program = program
        self.level = level  # -1 quiet, 0 normal, 1 verbose
        self._said: Seen[str] = Seen()

    def error(self, text: object, *, once: bool = False) -> None:
        """What went wrong; said at any level, with `once` not if it was said before."""
        line = printable(str(text))
        if once and not self._said.add(line):
            return
        _stderr.say(f"{self.program}: {line}\n")

    def warn(self, text: object, *, once: bool = False) -> None:
        """What a person should know though the work goes on; said at any level."""
        self.error(f"WARN {text}", once=once)

    def info(self, text: object) -> None:
        """What is good to know; not said with -q."""
        if self.level >= 0:
            self.error(text)

    def debug(self, text: object) -> None:
        """What helps to find a mistake; said with -v."""
        if self.level > 0:
            self.error(text)


def printable(text: str) -> str:
    """The text on one line, its control, bidi, zero-width and other non-printing characters escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
