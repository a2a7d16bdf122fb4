"""The side of fleet-notify that has time: the store, and whoever is told, so that its input waits for neither."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from fleettools import records
from fleettools.errors import BadConfig, FleetError, UsageError
from fleettools.policy.notices import news
from fleettools.policy.notices.news import Audience
from fleettools.policy.notices.outbox import Item
from fleettools.seen import Once
from fleettools.services.delivery import attempts
from fleettools.services.delivery.courier import Courier
from fleettools.services.delivery.loop import Loop, in_background
from fleettools.services.delivery.outbox import Outbox, Rules
from fleettools.services.delivery.ways import To, Way
from fleettools.services.owner import Ownership
from fleettools.services.ports import Clock, Messages
from fleettools.services.store import Store

T = TypeVar("T")

TICK = 1.0
TOGETHER = 0.05  # seconds in which what comes is told together
MOST = 10_000  # members whose last outcome is remembered
STOP_SECONDS = 8.0  # a delivery under way is ended first
RETRY = 1.0  # seconds until a store that could not be reached is tried again


class Doors(NamedTuple):
    """What the worker reaches outside through. `store` opens it; `started`: when a process began, if it lives."""

    store: Callable[[], Store]
    clock: Clock
    messages: Messages
    started: Callable[[int], str | None]
    way_of: Callable[[To], Way | None]


class Plan(NamedTuple):
    """What it is to do. `patient`: a store that cannot be reached is waited for."""

    rules: Rules
    audiences: list[Audience]
    host: str
    patient: bool
    dry_run: bool


class Worker:
    """Takes records, keeps what they ask to tell, and tells it in its own time."""

    def __init__(self, doors: Doors, plan: Plan) -> None:
        self._doors, self._plan = doors, plan
        self._loop = Loop(doors.clock)
        self._lock = threading.Lock()
        self._answered: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._said: list[bytes] = []
        self._complain = Once(doors.messages.warn)
        self._new: list[Item] = []  # with --dry-run, which keeps nothing
        self._left: int | None = None
        self._asked = 0  # how often somebody made the last count worthless
        self._fatal: BaseException | None = None
        self._last: FleetError | None = None
        self._box: Outbox | None = None
        self._courier: Courier | None = None
        self._opened, self._stopping = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    # -- called by the reading side

    def start(self) -> None:
        """Begin to work; raises Unavailable when the store cannot be opened, unless the worker is patient."""
        self._thread = in_background(self._run, "courier")
        if not self._plan.patient:
            self._opened.wait()
            self.said()

    def accept(self, record: records.Record) -> None:
        """Keep what a record asks to tell; the store has it then. Raises BadInput when one of its times is none."""
        now = self._doors.clock.now_ms()
        spenders: list[records.LeadPane] = []
        if isinstance(record, records.Nearly):
            credential = record.credential_id
            spenders = self._in_store(lambda box: box.spenders(credential))
        told = news.items_of(record, now, spenders)
        items = [*told, *news.alerts_of(record, self._plan.audiences, self._plan.host, now)]
        if isinstance(record, records.Verdict) and record.server and record.target:
            with self._lock:
                self._answered[record.server, record.target] = record.outcome
                self._answered.move_to_end((record.server, record.target))
                while len(self._answered) > MOST:
                    self._answered.popitem(last=False)
        if items:
            self._keep(items)
            self.hurry()

    def _keep(self, items: list[Item]) -> None:
        if self._plan.dry_run:
            self._new += items
        else:
            self._in_store(lambda box: box.add(items))

    def _in_store(self, work: Callable[[Outbox], T]) -> T:
        """Do the work in the thread that has the store; the patient try again until it is there."""
        while True:
            try:
                # A deadly signal ends a wait for a store that is away.
                return self._loop.call(lambda: work(self._open()), lambda: self._doors.clock.sleep(0))
            except (BadConfig, UsageError):
                raise
            except FleetError as error:
                if not self._plan.patient:
                    raise
                self._complain(f"trying again: {error}")
            self._doors.clock.sleep(RETRY)

    def said(self) -> Iterator[bytes]:
        """The records that there are to write since the last call."""
        with self._lock:
            said, self._said = self._said, []
        if self._fatal:
            raise self._fatal
        return iter(said)

    def hurry(self) -> None:
        """Look again at once, and count what is left."""
        self._asked, self._left = self._asked + 1, None
        self._loop.wake()

    def left(self) -> int | None:
        """How many items are still to be told, None while that is not known."""
        return self._left

    def failing(self) -> bool:
        """Whether the last tick failed, so that nobody knows what is left."""
        return self._last is not None

    def stop(self) -> None:
        """End after what is under way with leads; what takes longer is found and ended by the next one."""
        self._stopping.set()
        self._loop.wake()
        if self._thread and self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def check(self) -> None:
        """Raise what kept the store out of reach to the end."""
        if self._last:
            raise self._last

    # -- the thread

    def _run(self) -> None:
        """The thread that has the store: a tick, then what others ask of it, until the end."""
        while not self._stopping.is_set():
            try:
                asked, left = self._asked, self._tick()
                self._last = None
                self._complain.over()
                if asked == self._asked:
                    self._left = left
            except FleetError as error:
                self._failed(error)
            except BaseException as error:
                self._failed(error)
            if self._fatal:
                self._loop.close(self._fatal)
                self._opened.set()
                return
            self._opened.set()
            self._loop.serve(TICK)
            self._loop.serve(TOGETHER, until_woken=False)
        self._finish()

    def _finish(self) -> None:
        """Serve the leads that are being told, for a while."""
        end = self._doors.clock.monotonic() + STOP_SECONDS
        while self._courier and self._courier.is_telling() and self._doors.clock.monotonic() < end:
            self._loop.serve(TOGETHER, until_woken=False)

    def _failed(self, error: BaseException) -> None:
        """Something that waiting may mend is said and tried again; all else ends the run."""
        mendable = isinstance(error, FleetError) and not isinstance(error, BadConfig | UsageError)
        if not isinstance(error, FleetError) or not mendable or (self._box is None and not self._plan.patient):
            self._fatal = error
            return
        self._last = error
        self._complain(f"trying again: {error}")

    def _open(self) -> Outbox:
        if self._box is None:
            store, clock = self._doors.store(), self._doors.clock
            owner = Ownership(store, clock.boot(), self._doors.started)
            self._box = Outbox(store, owner, clock, self._plan.rules, self._emit, self._answer)
            doors = attempts.Doors(self._box, self._loop, clock, self._complain, self._stopping.is_set)
            self._courier = Courier(doors, self._doors.way_of, self._failed)
        return self._box

    def _tick(self) -> int:
        self._open()
        assert self._courier is not None
        if self._plan.dry_run:
            new, self._new = self._new, []
            self._emit_all(self._courier.preview(new))
            return 0
        return self._courier.tick()

    def _answer(self, server: str, member: str) -> str:
        """The last outcome of a member in the stream, "" when it was not there."""
        with self._lock:
            return self._answered.get((server, member), "")

    def _emit(self, record: records.Record) -> None:
        self._emit_all([record])

    def _emit_all(self, made: Iterable[records.Record]) -> None:
        for record in made:
            with self._lock:
                self._said.append(records.encode(record))
