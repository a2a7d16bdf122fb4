"""The side of fleet-notify that waits for tmux and the store, in a thread, so that its input never does."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fleettools import records
from fleettools.adapters import clock
from fleettools.adapters.tmux import Tmux
from fleettools.errors import BadConfig, FleetError, UsageError
from fleettools.policy.notices import nudge, outbox
from fleettools.policy.notices.outbox import Item
from fleettools.services.delivery.courier import Courier
from fleettools.services.delivery.ways import CommandWay, PaneWay, is_ours

if TYPE_CHECKING:
    from fleettools.cli import Context
    from fleettools.services.store import Store

TICK = 1.0
MOST = 10_000  # items and members that are remembered until the store has them
STOP_SECONDS = 8.0  # an injection under way is ended first


class Worker:
    """Takes records at once, and tells the leads in its own time."""

    def __init__(
        self,
        ctx: "Context",
        state_url: str | None,
        chosen: Tmux | None,
        command: str | None,
        dry_run: bool,
        patient: bool,
    ) -> None:
        self._ctx, self._state_url, self._chosen, self._dry_run = ctx, state_url, chosen, dry_run
        self._patient = patient
        self._config = ctx.config()
        self._opened = threading.Event()
        self._stop, self._wake = threading.Event(), threading.Event()
        self._way = CommandWay(command) if command else PaneWay(self._config, self._pause)
        self._lock = threading.Lock()
        self._inbox: OrderedDict[tuple[str, str, str], Item] = OrderedDict()
        self._answered: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._said: list[bytes] = []
        self._complained: set[str] = set()
        self._left: int | None = None
        self._fatal: BaseException | None = None
        self._last: FleetError | None = None
        self._courier: Courier | None = None
        self._store: Store | None = None
        self._thread = threading.Thread(target=self._run, name="courier", daemon=True)

    # -- called by the reading side

    def start(self) -> None:
        """Begin to work; raises Unavailable when the store cannot be opened, unless the worker is patient."""
        self._thread.start()
        if not self._patient:
            self._opened.wait()
            self.said()

    def accept(self, record: records.Record) -> None:
        """Keep what a record asks to tell; raises ValueError when one of its times is none."""
        items = outbox.items_of(record, clock.now_ms())
        with self._lock:
            if isinstance(record, records.Verdict) and record.server and record.target:
                self._answered[record.server, record.target] = record.outcome
                self._answered.move_to_end((record.server, record.target))
            for item in items:
                self._inbox.setdefault((item.id, item.server, item.target), item)
                self._left = None
            while len(self._inbox) > MOST:
                (lost, _, target), _ = self._inbox.popitem(last=False)
                self._complain(f"{lost} for {target} is lost: the store has taken nothing for too long")
            while len(self._answered) > MOST:
                self._answered.popitem(last=False)
        if items:
            self._wake.set()

    def said(self) -> Iterator[bytes]:
        """The records that there are to write since the last call."""
        with self._lock:
            said, self._said = self._said, []
        if self._fatal:
            raise self._fatal
        return iter(said)

    def hurry(self) -> None:
        """Look again at once, and count what is left."""
        with self._lock:
            self._left = None
        self._wake.set()

    def left(self) -> int | None:
        """How many items are still to be told, None while that is not known."""
        return self._left

    def failing(self) -> bool:
        """Whether the last tick failed, so that nobody knows what is left."""
        return self._last is not None

    def stop(self) -> None:
        """End after what is under way."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def check(self) -> None:
        """Raise what kept the store or tmux out of reach to the end."""
        if self._last:
            raise self._last

    # -- the thread

    def _pause(self, seconds: float) -> None:
        # Not clock.sleep: signals are for the main thread, and an injection under way goes on to its end.
        threading.Event().wait(seconds)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                left = self._tick()
                self._last = None
                self._complained.clear()
                with self._lock:
                    self._left = left if not self._inbox else None
            except (BadConfig, UsageError) as error:
                self._fatal = error
                return
            except FleetError as error:
                if self._store is None and not self._patient:
                    self._fatal = error
                    return
                self._last = error
                self._complain(f"trying again: {error}")
            except BaseException as error:
                self._fatal = error
                return
            finally:
                self._opened.set()
            self._wake.wait(TICK)
            if self._wake.is_set() and not self._stop.is_set():
                self._stop.wait(0.05)  # what comes together is told together

    def _tick(self) -> int:
        if self._store is None:
            self._store = self._ctx.store(self._state_url, patient=True)
            self._opened.set()
        if self._courier is None:
            notify = self._config.notify
            self._courier = Courier(
                self._store, self._way, lambda server: is_ours(server, self._chosen), notify.attempts,
                notify.reminders, self._emit, self._answer, self._complain,
            )  # fmt: skip
        self._way.fresh()
        if self._dry_run:
            return self._show(self._courier)
        self._keep(self._courier)
        return self._courier.tick()

    def _keep(self, courier: Courier) -> None:
        """Move what came into the store; what it does not take stays here."""
        with self._lock:
            items = list(self._inbox.items())
        for key, item in items:
            courier.add([item])
            with self._lock:
                self._inbox.pop(key, None)

    def _answer(self, server: str, member: str) -> str:
        """The last outcome of a member in the stream, "" when it was not there."""
        with self._lock:
            return self._answered.get((server, member), "")

    def _emit(self, record: records.Record) -> None:
        with self._lock:
            self._said.append(records.encode(record))

    def _complain(self, text: str) -> None:
        if text not in self._complained:
            self._complained.add(text)
            self._ctx.messages.warn(text)

    def _show(self, courier: Courier) -> int:
        """Say for each lead what would be typed, and why now or why not."""
        with self._lock:
            items, self._inbox = list(self._inbox.values()), OrderedDict()
        for (server, target), told, reasons, unready in courier.preview(items):
            now = courier.now_ms()
            room = self._way.room(server, target) if not unready else nudge.LONGEST
            text = nudge.notice("00000000", [(item.facts, over) for item, over in told], now, room) if told else None
            now_too, reason = bool(told) and not unready, unready or "; ".join(reasons) or "due"
            ids = [item.id for item, _ in told] or None
            about: dict[str, Any] = {
                "server": server,
                "target": target,
                "ids": ids,
                "now": now_too,
                "reason": reason,
                "text": text,
            }
            self._emit(records.Notice(**clock.stamp(), **about))
        return 0
