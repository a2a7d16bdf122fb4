"""Who owns the right to type into a pane, and when another may take it."""

import os
import subprocess
from collections.abc import Iterator

import msgspec
import pytest

from fleettools.adapters import clock, terminals
from fleettools.adapters.memory import MemoryStore
from fleettools.policy.notices.lease import Owner
from fleettools.services.owner import PANE_SECONDS, Ownership

PANE = ("h:/s:1", "%1")


class Store(MemoryStore):
    """A store whose clock the test sets."""

    def __init__(self) -> None:
        super().__init__(print)
        self.ms = 1_000_000

    def now_ms(self) -> int:
        return self.ms


@pytest.fixture
def store() -> Store:
    return Store()


def one_of(store: Store, boot: str | None = "b") -> Ownership:
    """A process that takes part: this one, each time under another id."""
    return Ownership(store, boot, terminals.started)


@pytest.fixture(name="child")
def _child() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        try:
            yield process
        finally:
            process.kill()


def test_one_has_it_until_it_gives_it_back(store: Store) -> None:
    first, second = one_of(store), one_of(store)
    assert first.take(*PANE) and first.take(*PANE)
    assert not second.take(*PANE)
    assert second.take(PANE[0], "%2")
    second.drop(*PANE)  # of what is another's nothing is given back
    assert not second.take(*PANE)
    first.drop(*PANE)
    assert second.take(*PANE)


def test_a_living_one_has_it_for_as_long_as_any_delivery_takes_and_prolongs_it(store: Store) -> None:
    first, second = one_of(store), one_of(store)
    length = round(PANE_SECONDS * 1000)
    first.take(*PANE)
    store.ms += length - 1
    assert not second.take(*PANE)
    assert first.take(*PANE)
    store.ms += length - 1
    assert not second.take(*PANE)
    store.ms += 1
    assert second.take(*PANE)
    assert not first.take(*PANE)


def test_that_of_a_process_that_was_killed_is_taken_at_once(store: Store, child: "subprocess.Popen[bytes]") -> None:
    dying, other = one_of(store, clock.boot()), one_of(store, clock.boot())
    dying.me = Owner(id="dying", pid=child.pid, started=terminals.started(child.pid), boot=clock.boot())
    assert dying.take(*PANE) and not other.take(*PANE)
    child.kill()
    child.wait()
    assert other.take(*PANE)


OWNERS = [
    ("it lives", {}, False),
    ("another process has its number by now", {"started": "1"}, True),
    ("no process has its number", {"pid": 2**22 + 1}, True),
    ("it is another machine's, or of another boot: nobody here can tell", {"boot": "elsewhere", "started": "1"}, False),
    ("it has said no boot: nobody can tell", {"boot": None, "started": "1"}, False),
]


@pytest.mark.parametrize(("changes", "ended"), [row[1:] for row in OWNERS], ids=[row[0] for row in OWNERS])
def test_an_owner_has_ended_for_certain(store: Store, changes: dict[str, object], ended: bool) -> None:
    here = one_of(store)
    assert here.me.pid == os.getpid()
    assert here.ended(msgspec.structs.replace(here.me, **changes)) is ended


def test_where_no_boot_is_known_nobody_has_ended_for_certain(store: Store) -> None:
    here = one_of(store, boot=None)
    assert not here.ended(msgspec.structs.replace(here.me, started="1"))
