"""What becomes of the records that come out of the pipe: news is printed, once, and the journal is kept."""

from collections.abc import Callable, Iterable

from fleettools import records
from fleettools.adapters import clock
from fleettools.adapters.journal import Journal
from fleettools.adapters.lines import Splitter
from fleettools.adapters.streams import Messages, Output
from fleettools.errors import BadInput
from fleettools.policy import journal, watched
from fleettools.policy.watched import Seat
from fleettools.services.ledger import Ledger

SEEN_FOR = 75.0  # seconds for which a pane counts as watched; fleet-scrape sends each one every 30 s
SETTLES = 5.0  # seconds between two looks at what is watched
FIRST = 1.0  # the same until something was said
COMES = 20.0  # seconds within which the first look has come through the pipe, however busy the machine


class Outlet:
    """Takes what the last stage writes, in chunks, and writes whole lines."""

    def __init__(
        self, out: Output, messages: Messages, ledger: Ledger, diary: "Diary", everything: bool, prints: Iterable[str]
    ) -> None:
        self._out, self._messages, self._ledger, self._diary = out, messages, ledger, diary
        self._everything, self._prints = everything, frozenset(prints)
        self._seats: dict[tuple[str | None, str | None], tuple[float, Seat]] = {}
        self.broken = False
        self.held: list[bytes] = []
        self.fresh()

    def fresh(self) -> None:
        """Begin with another pipe: a line that the last one did not finish is dropped."""
        self._splitter = Splitter("the pipe")

    def take(self, chunk: bytes) -> None:
        """Write what is news of the lines that this completes, flush it, journal it, and only then call it printed."""
        if self.broken or not chunk:
            return
        printed: list[bytes] = []
        ends: list[str] = []
        for line in self._splitter.feed(chunk).lines:
            try:
                self._line(line, printed, ends)
            except BadInput as error:
                self._messages.error(f"the pipe: {error}")
        try:
            self._out.flush()
        except BaseException:
            self.broken = True  # what drains after this has nowhere to go
            raise
        self._diary.write()
        self._ledger.wrote(printed, ends)

    def _line(self, line: bytes | None, printed: list[bytes], ends: list[str]) -> None:
        """What becomes of a line: seen, kept in the journal, printed or held; what was printed before is left out."""
        kind = "" if line is None else records.kind(line)
        if line is None or not kind:
            return
        news = kind in records.PRINTED
        if kind in records.SAID_AGAIN:
            if self._ledger.is_printed(line) or line in printed:
                return
            printed.append(line)
        if kind == "verdict":
            head = records.decode(line, records.Heading)
            self._see(head)
            end = journal.end_of(head)
            if end and not self._ledger.is_known(end) and end not in ends:
                ends.append(end)
                self._diary.add(head.ts, line)
        elif news:
            self._diary.add(records.decode(line, records.Heading).ts, line)
        if self._everything or (news and kind in self._prints):
            self._out.write(line)
        elif news:
            self.held.append(line)

    def release(self) -> None:
        """Write the news that was held back after all."""
        for line in self.held:
            self._out.write(line)
        self._out.flush()

    def _see(self, verdict: records.Heading) -> None:
        seat, place = watched.seat_of(verdict), (verdict.server, verdict.target)
        if seat is None:
            self._seats.pop(place, None)
        else:
            self._seats[place] = clock.monotonic(), seat

    def seats(self) -> list[Seat]:
        """Who is watched just now."""
        oldest = clock.monotonic() - SEEN_FOR
        self._seats = {place: (at, seat) for place, (at, seat) in self._seats.items() if at >= oldest}
        return [seat for _, seat in self._seats.values()]


class Diary:
    """Keeps the journal: `days` of it, 0 for none; what the disk does not take is said once."""

    def __init__(self, door: Journal, days: Callable[[], int], messages: Messages) -> None:
        self._door, self._days, self._messages = door, days, messages
        self._lines: list[tuple[str, bytes]] = []
        self._swept = ""

    def add(self, ts: str, line: bytes) -> None:
        """A line for the day of `ts`, which `write` will write; raises BadInput when that is no time."""
        name = journal.file_of(ts)
        if self._days():
            self._lines.append((name, line))

    def write(self) -> None:
        """Append what was added, and delete what is too old."""
        lines, self._lines = self._lines, []
        try:
            for name, line in lines:
                self._door.add(name, line)
            if lines and self._swept != lines[-1][0]:
                self._swept = lines[-1][0]
                self._door.remove(journal.outdated(self._door.names(), clock.now_ms(), self._days()))
        except OSError as error:
            text = f"the journal lacks records: {error}; make room, or set journal.days: 0"
            self._messages.warn(text, once=True)


class Watched:
    """Says what is watched, and what makes silence mean nothing: at first, and when it has changed."""

    def __init__(self, outlet: Outlet, alerts: Callable[[], bool], messages: Messages) -> None:
        self._outlet, self._alerts, self._messages = outlet, alerts, messages
        self._due = clock.monotonic() + FIRST
        self._empty_until = clock.monotonic() + COMES
        self._summary = ""
        self._faults: list[str] = []
        self._arrived = 0

    def faults(self) -> list[str]:
        """Why nobody would hear of a failure."""
        return watched.faults(self._outlet.seats(), self._alerts())

    def wait(self) -> float:
        """Seconds until it is time to look."""
        return max(0.0, self._due - clock.monotonic())

    def look(self) -> None:
        """Say what has changed, when it is time to look."""
        if self.wait() > 0:
            return
        known, arrived = bool(self._summary or self._faults), len(self._outlet.seats())
        self._due = clock.monotonic() + (SETTLES if known else FIRST)
        if not arrived and clock.monotonic() < self._empty_until:
            return
        if not known and arrived != self._arrived:  # the first ones are still coming in
            self._arrived = arrived
            return
        faults, summary = self.faults(), watched.summary(self._outlet.seats())
        for text in faults:
            if text not in self._faults:
                self._messages.warn(text)
        if summary != self._summary and not (faults and not self._outlet.seats()):
            self._messages.info(summary)
        self._faults, self._summary = faults, summary
