"""The contract of the store, for every engine."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fleettools.adapters import clock
from fleettools.adapters.stores import open_store
from fleettools.errors import Undecodable
from fleettools.moments import Moment
from fleettools.services.store import Store, change, change_knowing, read, read_all


class Count(msgspec.Struct):
    n: int = 0


def silent(text: object) -> None:
    raise AssertionError(text)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        found: str = request.getfixturevalue("postgres_url")
        return found
    return "memory:" if request.param == "memory" else f"sqlite:{tmp_path}/state/state.db"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = open_store(url, silent)
    yield opened
    opened.close()


def test_a_key_that_is_not_there_has_version_0(store: Store) -> None:
    assert store.get("ticket/1") == (None, 0)


def test_versions_count_from_1(store: Store) -> None:
    assert store.put("a", b'{"n":1}', 0)
    assert store.get("a") == (b'{"n":1}', 1)
    assert store.put("a", b'{"n":2}', 1)
    assert store.get("a") == (b'{"n":2}', 2)


@pytest.mark.parametrize("version", [0, 2, 7])
def test_a_put_for_another_version_changes_nothing(store: Store, version: int) -> None:
    store.put("a", b"1", 0)
    assert not store.put("a", b"2", version)
    assert not store.put("a", None, version)
    assert store.get("a") == (b"1", 1)


def test_a_put_on_a_missing_key_that_should_be_there_changes_nothing(store: Store) -> None:
    assert not store.put("a", b"1", 1)
    assert not store.put("a", None, 1)
    assert store.get("a") == (None, 0)
    assert store.put("a", None, 0)


def test_putting_nothing_deletes(store: Store) -> None:
    store.put("a", b"1", 0)
    assert store.put("a", None, 1)
    assert store.get("a") == (None, 0)
    assert list(store.scan("")) == []


def test_a_key_that_came_back_is_not_taken_for_the_old_one(store: Store) -> None:
    store.put("a", b"old", 0)
    assert store.put("a", b"old", 1)
    store.put("a", None, 2)
    store.put("a", b"new", 0)
    assert not store.put("a", b"late", 1)
    assert not store.put("a", b"late", 2)
    value, version = store.get("a")
    assert value == b"new" and version > 2
    assert store.put("a", b"next", version)


def test_scan_gives_exactly_the_prefix_in_the_order_of_bytes(store: Store) -> None:
    keys = [
        "member/b",
        "member/a",
        "member/Z",
        "member/é",
        "member/￿x",
        "member/😀",
        "member",
        "member0",
        "memberé",
        "n",
    ]
    for key in keys:
        store.put(key, key.encode(), 0)
    found = list(store.scan("member/"))
    assert found == sorted(((k, k.encode(), 1) for k in keys if k.startswith("member/")), key=lambda row: row[1])
    assert [key for key, _, _ in store.scan("")] == sorted(keys, key=str.encode)


@pytest.mark.parametrize("key", ["a%b_c", "a'b", "a\\b", "a*?[b]", "host:/tmp/x y:1/%5", "nul\0key", "é\udcff"])
def test_no_character_of_a_key_means_anything(store: Store, key: str) -> None:
    store.put("axbxc", b"0", 0)
    store.put(key, b"1", 0)
    assert store.get(key) == (b"1", 1)
    assert list(store.scan(key)) == [(key, b"1", 1)]


def test_a_long_scan_gives_every_key_once(store: Store) -> None:
    keys = [f"k/{n:04}" for n in range(1203)]
    for key in reversed(keys):
        store.put(key, b"v", 0)
    assert [key for key, _, _ in store.scan("k/")] == keys


def test_writing_during_a_scan_is_allowed(store: Store) -> None:
    for n in range(20):
        store.put(f"k/{n:02}", b"v", 0)
    for key, _, version in store.scan("k/"):
        assert store.put(key, None, version)
    assert list(store.scan("k/")) == []


def test_large_values_come_back_whole(store: Store) -> None:
    value = bytes(range(256)) * 8192
    store.put("big", value, 0)
    assert store.get("big") == (value, 1)


def test_the_clock_runs_in_milliseconds(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLEET_NOW", raising=False)
    first = store.now_ms()
    assert first > 1_700_000_000_000
    assert store.now_ms() >= first
    monkeypatch.setenv("FLEET_NOW", "2026-01-31T12:00:00.250Z")
    assert store.now_ms() == 1_769_860_800_250


def test_a_record_is_placed_on_the_store_s_clock(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its age is measured on the clock of its boot if that is this one, else on this machine's wall clock."""
    monkeypatch.delenv("FLEET_NOW", raising=False)
    here = Moment(1_000_000, "here", 50_000)
    monkeypatch.setattr(clock, "moment", lambda: here)
    monkeypatch.setattr(clock, "now_ms", lambda: here.ms)
    store = open_store(url, silent)
    hour = 3_600_000
    stepped = Moment(1_000_000 - hour, "here", 40_000)  # 10 s old; the wall clock was set an hour ahead since
    elsewhere = Moment(1_000_000 - 7000, "there", 9)
    if url == "memory:":
        assert (store.placed(stepped), store.placed(elsewhere)) == (stepped, elsewhere)
    elif url.startswith("sqlite"):
        assert store.moment() == here
        assert store.placed(stepped) == Moment(990_000, "here", 40_000)
        assert store.placed(elsewhere) == Moment(993_000, "here", 43_000)
    else:
        now = store.moment()
        assert now.boot is None and now.ms > 1_700_000_000_000
        placed = store.placed(stepped)
        assert placed.boot is None and 9_900 < now.ms - placed.ms <= 10_000
        assert store.placed(elsewhere).ms - placed.ms == 3_000
    store.close()


def test_what_a_step_has_to_know_is_gathered_after_each_reading(store: Store) -> None:
    change(store, "c", Count, lambda old: (Count(n=1), None))
    seen: list[tuple[int, int]] = []

    def gather() -> int:
        if not seen:  # somebody is faster once
            change(store, "c", Count, lambda old: (Count(n=2), None))
        return len(seen)

    def step(old: Count | None, known: int) -> tuple[Count | None, None]:
        assert old is not None
        seen.append((old.n, known))
        return Count(n=old.n + 10), None

    change_knowing(store, "c", Count, gather, step)
    assert seen == [(1, 0), (2, 1)]
    assert read(store, "c", Count) == Count(n=12)


def test_change_commits_a_step_and_an_unchanged_value_writes_nothing(store: Store) -> None:
    answers = [change(store, "c", Count, lambda old: (Count(n=(old.n if old else 0) + 1), old)) for _ in range(3)]
    assert answers == [None, Count(n=1), Count(n=2)]
    change(store, "c", Count, lambda old: (old, None))
    assert store.get("c") == (b'{"n":3}', 3)
    assert list(read_all(store, "c", Count)) == [("c", Count(n=3))]
    change(store, "c", Count, lambda old: (None, None))
    assert read(store, "c", Count) is None


def test_change_runs_the_step_again_when_somebody_was_faster(store: Store) -> None:
    seen: list[int | None] = []

    def step(old: Count | None) -> tuple[Count, None]:
        seen.append(old.n if old else None)
        if len(seen) == 1:
            store.put("c", b'{"n":10}', 0)
        return Count(n=(old.n if old else 0) + 1), None

    change(store, "c", Count, step)
    assert seen == [None, 10]
    assert read(store, "c", Count) == Count(n=11)


def test_something_else_in_the_store_is_an_error_that_names_the_key_and_what_removes_it(store: Store) -> None:
    store.put("c d", b'{"n":"x"}', 0)
    with pytest.raises(Undecodable, match=r"^c d: the store holds something else .* fleet-release --row 'c d'$"):
        read(store, "c d", Count)


def test_one_row_that_cannot_be_read_is_said_once_and_the_others_are_read(url: str) -> None:
    said: list[str] = []
    store = open_store(url, lambda text: said.append(str(text)))
    for key, value in (("c/1", b'{"n":1}'), ("c/2", b"\xff{"), ("c/3", b'{"n":3}')):
        store.put(key, value, 0)
    for _ in range(2):
        assert list(read_all(store, "c/", Count)) == [("c/1", Count(n=1)), ("c/3", Count(n=3))]
    (line,) = said
    assert line.startswith("c/2: ") and line.endswith("fleet-release --row c/2")
    store.close()


WRITER = """
import sys, msgspec
from fleettools.adapters.stores import open_store
from fleettools.services.store import change

class Count(msgspec.Struct):
    n: int = 0

url, times = sys.argv[1], int(sys.argv[2])
store = open_store(url, lambda text: sys.exit(f"warned: {text}"))
for _ in range(times):
    change(store, "count", Count, lambda old: (Count(n=(old.n if old else 0) + 1), None))
"""


def run_writers(url: str, processes: int, times: int) -> list[str]:
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, url, str(times)], stderr=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    try:
        return [process.communicate(timeout=100)[1] for process in started]
    finally:
        for process in started:
            process.kill()


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
def test_writers_in_several_processes_lose_no_update(url: str) -> None:
    assert run_writers(url, processes=4, times=100) == [""] * 4
    store = open_store(url, silent)
    assert read(store, "count", Count) == Count(n=400)
    store.close()


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("round", range(3))
def test_many_processes_may_open_a_new_store_at_once(url: str, round: int) -> None:
    assert run_writers(url, processes=8, times=1) == [""] * 8
    store = open_store(url, silent)
    assert read(store, "count", Count) == Count(n=8)
    store.close()


@pytest.mark.parametrize(("url", "engine"), [("sqlite", "SqliteStore"), ("memory", "MemoryStore")], indirect=["url"])
def test_the_url_says_which_engine(store: Store, engine: str) -> None:
    assert type(store).__name__ == engine
