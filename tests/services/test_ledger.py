"""A fleetd's place in the store, over restarts and while the store does not answer."""

from collections.abc import Callable
from typing import Any

import pytest

from fleettools.adapters.memory import MemoryStore
from fleettools.errors import Unavailable
from fleettools.policy import heartbeat
from fleettools.policy.heartbeat import DaemonState
from fleettools.services.ledger import Ledger
from fleettools.services.store import Store, read

DAEMON = "build:/tmp/s"
LINE = b'{"type":"incident","id":"one"}\n'


class Clock:
    """Seconds that go on when told to."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def monotonic(self) -> float:
        return self.seconds


class Said(list[str]):
    """Messages, kept."""

    def warn(self, text: object, *, once: bool = False) -> None:
        if not (once and str(text) in self):
            self.append(str(text))


class Shared(MemoryStore):
    """A store that outlives those who close it, and can be out of reach."""

    reachable = True

    def opened(self) -> Store:
        if not self.reachable:
            raise Unavailable("out of reach", "wait")
        return self


@pytest.fixture(name="desk")
def _desk() -> tuple[Shared, Clock, Said, Callable[[], Ledger]]:
    clock, said = Clock(), Said()
    store = Shared(said.warn)
    doors: Any = (clock, said)
    return store, clock, said, lambda: Ledger(DAEMON, store.opened, *doors)


Desk = tuple[Shared, Clock, Said, Callable[[], Ledger]]


def state(store: Shared) -> DaemonState:
    found = read(store, heartbeat.daemon_key(DAEMON), DaemonState)
    assert found is not None
    return found


def test_what_one_fleetd_has_printed_the_next_one_knows(desk: Desk) -> None:
    store, _, _, ledger = desk
    first = ledger()
    first.begin(7, False)
    assert not first.is_printed(LINE)
    first.wrote([LINE], ["end"])
    assert first.is_printed(LINE) and first.is_known("end")
    second = ledger()
    assert second.begin(8, False).pid == 7, "it was killed, since it did not say that it ended"
    assert second.is_printed(LINE) and second.is_known("end")
    assert not second.is_printed(LINE.replace(b"one", b"two"))
    second.stop()
    assert state(store).pid == 0


def test_what_the_store_did_not_take_is_kept_for_the_next_sign_of_life_and_said_once(desk: Desk) -> None:
    store, clock, said, ledger = desk
    mine = ledger()
    mine.begin(7, False)
    store.reachable = False
    mine.wrote([LINE], [])
    clock.seconds += heartbeat.BEAT_S
    mine.beat()
    assert mine.is_printed(LINE)
    assert len(said) == 1 and "out of reach" in said[0]
    store.reachable = True
    mine.beat()
    assert not state(store).printed, "not before it is due"
    clock.seconds += heartbeat.BEAT_S
    mine.beat()
    assert list(state(store).printed) == [heartbeat.mark(LINE)]


def test_an_end_that_still_shows_on_its_pane_is_not_forgotten_for_newer_ones(desk: Desk) -> None:
    mine = desk[3]()
    mine.begin(7, False)
    mine.wrote([], ["old", "gone"])
    for number in range(heartbeat.MOST_ENDS - 1):
        assert mine.is_known("old")
        mine.wrote([], [str(number)])
    assert mine.is_known("old") and not mine.is_known("gone")


def test_a_store_that_cannot_be_opened_at_the_start_is_an_error(desk: Desk) -> None:
    store, _, _, ledger = desk
    store.reachable = False
    with pytest.raises(Unavailable):
        ledger().begin(7, False)
