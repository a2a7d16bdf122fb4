"""Standard output and standard error: whole records out, messages a person can act on.

Apart from lines.py, so that `--help` need not load the record types.
"""

import os
import signal
import sys

from fleettools.adapters import signals
from fleettools.errors import CannotWrite

CHUNK = 1 << 18
REMEMBERED = 4096  # messages that are not said again


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
    """Standard output, written as whole records."""

    def __init__(self, fd: int = 1) -> None:
        self._fd = fd
        self._buffer: list[bytes] = []
        self._size = 0
        self._open_line = False

    def write(self, data: bytes) -> None:
        """Queue bytes; what follows a line that came without its newline starts on a line of its own."""
        if not data:
            return
        if self._open_line:
            self._buffer.append(b"\n")
        self._open_line = not data.endswith(b"\n")
        self._buffer.append(data)
        self._size += len(data)
        if self._size > CHUNK:
            self.flush()

    def flush(self) -> None:
        """Write all that is queued; raises Killed (SIGPIPE) when the reader is gone, CannotWrite on other failures."""
        view = memoryview(b"".join(self._buffer))
        self._buffer.clear()
        self._size = 0
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except BrokenPipeError:
            raise signals.Killed(signal.SIGPIPE) from None
        except OSError as error:
            raise CannotWrite(f"standard output: {error.strerror}", "make room there, or write elsewhere") from None


class Messages:
    """Standard error: `fleet-classify: stdin:17: what; how to mend it`, once a fact."""

    def __init__(self, program: str, level: int = 0) -> None:
        self.program = program
        self.level = level  # -1 quiet, 0 normal, 1 verbose
        self._said: dict[str, None] = {}

    def error(self, text: object, *, once: bool = False) -> None:
        """What went wrong; said at any level, with `once` not if it was said before."""
        line = printable(str(text))
        if once:
            if line in self._said:
                return
            if len(self._said) == REMEMBERED:
                del self._said[next(iter(self._said))]
            self._said[line] = None
        print(f"{self.program}: {line}", file=sys.stderr, flush=True)

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
