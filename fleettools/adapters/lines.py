"""Lines in, lines out: the loop of every filter, with the bad-line rule (design section 1).

Output is written before the next wait for input, so a record never sits in a buffer while the input is quiet.
"""

import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from fleettools import records
from fleettools.adapters import signals
from fleettools.adapters.streams import CHUNK, Messages, Output
from fleettools.errors import BadInput, Exit


class Line(NamedTuple):
    """One line of input as it came, its newline (if any) included; `raw` is None for a line over 16 MiB."""

    name: str
    number: int
    raw: bytes | None

    @property
    def where(self) -> str:
        return f"{self.name}:{self.number}"


class Splitter:
    """Cuts one input's chunks into lines; holds at most one unfinished line of at most 16 MiB."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = 0
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that this chunk completes; an empty chunk is the end and completes what is left."""
        if not chunk:
            return [self._line(b"")] if self._size else []
        head, newline, rest = chunk.partition(b"\n")
        if not newline:
            self._hold(chunk)
            return []
        lines = [self._line(head + b"\n")]
        *whole, tail = rest.split(b"\n")
        for raw in whole:
            self.number += 1
            lines.append(Line(self.name, self.number, raw + b"\n"))
        if tail:
            self._hold(tail)
        return lines

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > records.MAX_LINE:
            self._parts.clear()
        else:
            self._parts.append(part)

    def _line(self, end: bytes) -> Line:
        self.number += 1
        too_long = self._size + len(end) > records.MAX_LINE + 1
        raw = None if too_long else b"".join((*self._parts, end))
        self._parts.clear()
        self._size = 0
        return Line(self.name, self.number, raw)


class Input:
    """The FILE arguments of a filter in turn, `-` and none at all being standard input."""

    def __init__(self, files: Iterable[str], out: Output, messages: Messages, tick: float | None = None) -> None:
        self._files = list(files) or ["-"]
        self._out, self._messages = out, messages
        self._tick = tick
        self.unreadable = False

    def __iter__(self) -> Iterator[Line | None]:
        """Each line; None after each `tick` seconds without input. An unreadable file is said and passed over."""
        for name in self._files:
            fd = self._open(name)
            if fd is None:
                continue
            splitter = Splitter("stdin" if name == "-" else name)
            try:
                yield from self._lines(fd, splitter)
            finally:
                if fd:
                    os.close(fd)

    def _open(self, name: str) -> int | None:
        if name == "-":
            if sys.stdin is not None and os.isatty(0):
                self._messages.info("reading records from the terminal; end with ^D, or see --help")
            return 0
        try:
            return os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            self.unreadable = True
            self._messages.error(f"{name}: {error.strerror}; name a file that can be read, or - for standard input")
            return None

    def _lines(self, fd: int, splitter: Splitter) -> Iterator[Line | None]:
        while True:
            self._out.flush()
            try:
                with signals.waiting():
                    if self._tick is not None and not select.select([fd], [], [], self._tick)[0]:
                        chunk = None
                    else:
                        chunk = os.read(fd, CHUNK)
            except OSError as error:
                self.unreadable = True
                self._messages.error(f"{splitter.name}: {error.strerror}; name a file that can be read")
                return
            if chunk is None:
                yield None
                continue
            yield from splitter.feed(chunk)
            if not chunk:
                return


Handler = Callable[[bytes], Iterable[bytes]]


def pump(
    source: Input,
    out: Output,
    messages: Messages,
    consume: Mapping[str, Handler],
    *,
    strict: bool = False,
    on_tick: Callable[[], Iterable[bytes]] | None = None,
) -> Exit:
    """Run a filter: lines of a type in `consume` become what its handler yields, all others pass byte for byte.

    A handler raises BadInput for a line it cannot use: that line is said and left out, the rest goes on, and the
    answer is Exit.BAD_INPUT; with `strict` the first one ends the run. `on_tick` is called when the input is quiet.
    """
    bad = False
    for line in source:
        if line is None:
            for data in on_tick() if on_tick else ():
                out.write(data)
            continue
        try:
            for data in _answer(line, consume):
                out.write(data)
        except BadInput as error:
            bad = True
            messages.error(f"{line.where}: {error}")
            if strict:
                break
    out.flush()
    return Exit.BAD_INPUT if bad or source.unreadable else Exit.OK


def _answer(line: Line, consume: Mapping[str, Handler]) -> Iterable[bytes]:
    raw = line.raw
    if raw is None:
        raise BadInput("a line over 16 MiB", "expected one record, at most 16 MiB, on a line")
    handler = consume.get(records.kind(raw))
    return (raw,) if handler is None else handler(raw)
