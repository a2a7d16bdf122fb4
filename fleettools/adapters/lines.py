"""Lines in, lines out: the loop of every filter, with the rule for bad lines: said, left out, and 65 at the end.

Output is written before the next wait for input, so a record never sits in a buffer while the input is quiet.
"""

import codecs
import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from fleettools import records
from fleettools.adapters import clock, signals
from fleettools.adapters.streams import CHUNK, Messages, Output
from fleettools.errors import BadInput, Exit, FleetError, Undecodable


class Batch(NamedTuple):
    """Lines as they came, each with its newline (if any); None stands for a line over 16 MiB. `first` counts from 1."""

    name: str
    first: int
    lines: list[bytes | None]


class Splitter:
    """Cuts one input's chunks into lines; holds at most one unfinished line of at most 16 MiB."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._next = 1
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Batch:
        """The lines that this chunk completes; an empty chunk is the end and completes what is left."""
        lines: list[bytes | None] = []
        head, newline, rest = chunk.partition(b"\n")
        if newline or (not chunk and self._size):
            lines.append(self._finished(head + newline))
            *whole, head = rest.split(b"\n")
            lines += [line + b"\n" for line in whole]
        self._hold(head)
        batch = Batch(self.name, self._next, lines)
        self._next += len(lines)
        return batch

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > records.MAX_LINE:
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _finished(self, end: bytes) -> bytes | None:
        too_long = self._size + len(end) > records.MAX_LINE + 1
        line = None if too_long else b"".join((*self._parts, end))
        self._parts.clear()
        self._size = 0
        return line


class Input:
    """The FILE arguments of a filter in turn, `-` and none at all being standard input.

    `said` gives what somebody else has to write meanwhile; it is asked before each read's lines, and at each tick.
    """

    def __init__(
        self, files: Iterable[str], out: Output, messages: Messages, tick: float | None = None,
        said: Callable[[], Iterable[bytes]] = tuple,
    ) -> None:  # fmt: skip
        self._files = list(files) or ["-"]
        self._out, self._messages = out, messages
        self._tick, self._said = tick, said
        self.unreadable = False

    def __iter__(self) -> Iterator[Batch | None]:
        """The lines of each read, None every `tick` seconds. An unreadable file is said and passed over."""
        for name in self._files:
            fd = self._open(name)
            if fd is None:
                continue
            splitter = Splitter("stdin" if name == "-" else name)
            try:
                for batch in self._lines(fd, splitter):
                    self._out.take(self._said())
                    yield batch
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

    def _lines(self, fd: int, splitter: Splitter) -> Iterator[Batch | None]:
        """The batches of one input, and None for each tick, while it is read and at its end."""
        due = clock.monotonic() + (self._tick or 0)
        while True:
            self._out.flush()
            try:
                with signals.waiting():
                    wait = max(0.0, due - clock.monotonic())
                    quiet = self._tick is not None and not select.select([fd], [], [], wait)[0]
                    chunk = b"" if quiet else _read(fd)
            except OSError as error:
                self.unreadable = True
                self._messages.error(f"{splitter.name}: {error.strerror}; name a file that can be read")
                return
            if not quiet:
                yield splitter.feed(chunk)
                if not chunk:
                    return
            # Also when the input is never quiet.
            if self._tick is not None and clock.monotonic() >= due:
                due = clock.monotonic() + self._tick
                yield None


def _read(fd: int) -> bytes:
    while True:
        try:
            return os.read(fd, CHUNK)
        except BlockingIOError:  # another process that shares it made it so
            select.select([fd], [], [])


_MARKED = codecs.BOM_UTF8[0]  # so begins a line with a byte order mark; asked of each line, so no search
Handler = Callable[[bytes], Iterable[bytes]]


def pump(
    source: Input,
    out: Output,
    messages: Messages,
    consume: Mapping[str, Handler],
    *,
    strict: bool = False,
    on_tick: Callable[[], Iterable[bytes]] | None = None,
    before: Handler | None = None,
    foreign: str = "",
) -> Exit:
    """Run a filter: lines of a type in `consume` become what its handler yields, all others pass byte for byte.

    A handler raises BadInput for a line it cannot use: that line is said and left out, the rest goes on, and the
    answer is Exit.BAD_INPUT; with `strict` the first one ends the run. A line that a row of the store hinders
    (Undecodable) passes on as it came, and the answer is Exit.UNAVAILABLE. What a handler raises else ends the run
    after all that came before is written. `on_tick` is called at every tick of the input, also when it is never quiet,
    `before` with each record, whatever its type: what it yields comes before that. `foreign` is the mend for an input
    that begins with no record at all: said once, not for each line.
    """
    try:
        return _pumped(source, out, messages, consume, strict, on_tick, before, _Strange(messages, foreign))
    except FleetError:
        out.flush()
        raise


def tell(
    files: Iterable[str], messages: Messages, kinds: Iterable[type[records.Record]], add: Callable[[Any], None],
    *, strict: bool = False,
) -> Exit:  # fmt: skip
    """Hand on every record of these kinds that stands in the files, and write nothing; else it is as `pump`."""

    def handler(cls: type[records.Record]) -> Handler:
        def take(line: bytes) -> Iterable[bytes]:
            add(records.decode(line, cls))
            return ()

        return take

    consume = {str(cls.__struct_config__.tag): handler(cls) for cls in kinds}
    with open(os.devnull, "wb") as file:  # all else goes nowhere
        nowhere = Output(file.fileno())
        return pump(Input(files, nowhere, messages), nowhere, messages, consume, strict=strict)


def _pumped(
    source: Input,
    out: Output,
    messages: Messages,
    consume: Mapping[str, Handler],
    strict: bool,
    on_tick: Callable[[], Iterable[bytes]] | None,
    before: Handler | None,
    strange: "_Strange",
) -> Exit:
    """The run itself: each line is passed on, consumed, or said to be bad, in the order of the input."""
    bad = unread = False
    for batch in source:
        if batch is None:
            unread |= not _done(on_tick, b"", out, messages) if on_tick else False
            continue
        for number, raw in enumerate(batch.lines, batch.first):
            try:
                if raw is None:
                    raise BadInput("a line over 16 MiB", "expected one record, at most 16 MiB, on a line")
                plain = raw if raw[0] != _MARKED else raw.removeprefix(codecs.BOM_UTF8)
                kind = records.kind(plain)
                if strange.mend:
                    strange.over(batch.name, number, kind)
                if before:
                    for data in before(plain):
                        out.write(data)
                handler = consume.get(kind)
                if handler is None:
                    out.write(raw)
                else:
                    unread |= not _done(partial(handler, plain), raw, out, messages)
            except BadInput as error:
                bad = True
                strange.say(batch.name, number, error)
                if strict:
                    out.flush()
                    return Exit.BAD_INPUT
    out.flush()
    return Exit.BAD_INPUT if bad or source.unreadable else Exit.UNAVAILABLE if unread else Exit.OK


class _Strange:
    """Bad lines: each is said, but of those before the first record, with a `mend` for them, only the first at once.

    The first record takes `mend` away.
    """

    def __init__(self, messages: Messages, mend: str) -> None:
        self._messages, self.mend = messages, mend
        self._first = 0

    def say(self, name: str, number: int, error: BadInput) -> None:
        """Say a bad line, or keep it in mind."""
        if self.mend and not self._first:
            self._first = number
            self._messages.error(f"{name}:{number}: {error.what}; {self.mend}")
        elif not self.mend:
            self._messages.error(f"{name}:{number}: {error}")

    def over(self, name: str, number: int, kind: str) -> None:
        """A line has come that is a record, or blank: with a record, what was kept in mind is said."""
        if not kind:
            return
        if self.mend and self._first and number - self._first > 1:
            self._messages.error(f"{name}:{self._first + 1}-{number - 1}: no records either; expected JSON objects")
        self.mend = ""


def _done(work: Callable[[], Iterable[bytes]], instead: bytes, out: Output, messages: Messages) -> bool:
    """Write what the work yields; False where a row of the store hinders it: then `instead`, and it is said."""
    try:
        for data in work():
            instead = b""
            out.write(data)
    except Undecodable as error:
        messages.error(error, once=True)
        out.write(instead)
        return False
    return True
