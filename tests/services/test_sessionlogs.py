"""Logs of sessions become signals of the panes in which the sessions run: real files, and processes handed in."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fleettools import records
from fleettools.adapters import agentfiles, sessionlogs
from fleettools.adapters.terminals import Process
from fleettools.services.ports import Seated
from fleettools.services.sessionlogs import SessionLogs

NOW = records.to_ms("2026-11-30T12:00:00.000Z")
ONE, TWO = Seated("h:/s:1", "%1", "codex", 11), Seated("h:/s:1", "%2", "codex", 12)


class Running(NamedTuple):
    cwd: str
    began_ms: int
    env: Mapping[str, str]


class Door:
    """Real files; processes as the test says."""

    def __init__(self, **running: Running) -> None:
        self._running = {int(name[1:]): one for name, one in running.items()}
        self.head, self.lines = sessionlogs.head, sessionlogs.lines

    def running(self, pid: int) -> Running | None:
        return self._running.get(pid)

    def files(self, folder: str, pattern: str) -> list[sessionlogs.LogFile]:
        return [file._replace(written_ms=NOW) for file in sessionlogs.files(folder, pattern)]


def stamp(after: float = 0) -> dict[str, Any]:
    return {"ts": records.to_ts(NOW + round(after * 1000)), "boot": "b", "up": 1000.0 + after}


def row(kind: str, after: float = 0, **payload: object) -> str:
    ts = records.to_ts(NOW + round(after * 1000))
    return json.dumps({"timestamp": ts, "type": "event_msg", "payload": {"type": kind, **payload}}) + "\n"


def log(home: Path, name: str, cwd: str = "/work", began: float = -60) -> Path:
    path = home / ".codex" / "sessions" / "2026" / "11" / "30" / f"rollout-{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    ts = records.to_ts(NOW + round(began * 1000))
    meta = {"timestamp": ts, "type": "session_meta", "payload": {"id": name, "timestamp": ts, "cwd": cwd}}
    path.write_text(json.dumps(meta) + "\n")
    return path


def started(home: Path, before: float = 90, cwd: str = "/work", **env: str) -> Running:
    return Running(cwd, NOW - round(before * 1000), {"HOME": str(home), **env})


class Terminals:
    """Nothing tells who is in the foreground: then the pane's own process is the agent."""

    def sweep(self, pids: object) -> dict[int, list[Any]]:
        return {}


def logs(door: Door, terminals: Any = None) -> SessionLogs:
    return SessionLogs(door, terminals or Terminals(), agentfiles.load, "/nowhere")


def test_what_is_appended_is_said_once_with_the_time_at_which_it_happened(tmp_path: Path) -> None:
    path, reader = log(tmp_path, "s"), logs(Door(p11=started(tmp_path)))
    assert list(reader.read([ONE], stamp())) == []
    with path.open("a") as file:
        file.write(row("task_started", 1, turn_id="u"))
        file.write(
            row("task_complete", 2, turn_id="u", error={"message": "x", "codex_error_info": "unauthorized"})[:-9]
        )
    (begun,) = reader.read([ONE], stamp(3))
    assert (begun.said, begun.session, begun.prompt, begun.target, begun.source) == ("begin", "s", "u", "%1", "log")
    assert begun.ts == records.to_ts(NOW + 1000) and begun.up == 1001.0
    with path.open("a") as file:
        file.write(
            row("task_complete", 2, turn_id="u", error={"message": "x", "codex_error_info": "unauthorized"})[-9:]
        )
    (failed,) = reader.read([ONE], stamp(4))
    assert (failed.said, failed.cause, failed.text) == ("failure", "auth", "x")
    assert list(reader.read([ONE], stamp(5))) == []


def test_a_reader_that_begins_anew_says_the_last_ten_minutes_again_under_the_same_ids(tmp_path: Path) -> None:
    path, door = log(tmp_path, "s", began=-1000), Door(p11=started(tmp_path, 2000))
    with path.open("a") as file:
        for after in (-700, -500, -1):
            file.write(row("task_complete", after))
    said = [list(logs(door).read([ONE], stamp())) for _ in range(2)]
    assert [one.ts for one in said[0]] == [records.to_ts(NOW - 500_000), records.to_ts(NOW - 1000)]
    assert [one.id for one in said[0]] == [one.id for one in said[1]]


# Rule: a session is that of the agent started last before it, in its folder.
OWNERS = {
    "the only one there": ({"p11": (90, "/work")}, -60, "%1"),
    "another folder": ({"p11": (90, "/other")}, -60, None),
    "one taken up again": ({"p11": (30, "/work")}, -60, None),
    "the earlier of two": ({"p11": (90, "/work"), "p12": (30, "/work")}, -60, "%1"),
    "the later of two": ({"p11": (90, "/work"), "p12": (70, "/work")}, -60, "%2"),
}


@pytest.mark.parametrize(("processes", "began", "target"), OWNERS.values(), ids=OWNERS.keys())
def test_whose_session_it_is(processes: dict, began: float, target: str | None, tmp_path: Path) -> None:
    path = log(tmp_path, "s", began=began)
    with path.open("a") as file:
        file.write(row("task_complete"))
    door = Door(**{name: started(tmp_path, before, cwd) for name, (before, cwd) in processes.items()})
    assert [one.target for one in logs(door).read([ONE, TWO], stamp())] == ([target] if target else [])


def test_the_folder_is_the_one_that_the_process_itself_names(tmp_path: Path) -> None:
    path = log(tmp_path / "moved", "s")
    with path.open("a") as file:
        file.write(row("task_complete"))
    named = started(tmp_path, CODEX_HOME=str(tmp_path / "moved" / ".codex"))
    assert [one.said for one in logs(Door(p11=named)).read([ONE], stamp())] == ["end"]


@pytest.mark.parametrize("junk", [b"", b"{\n", b"[]\n", b"\xff\n", b'{"type":"session_meta"}\n', b"[" * 9000 + b"\n"])
def test_what_is_no_log_says_nothing(junk: bytes, tmp_path: Path) -> None:
    path = log(tmp_path, "s")
    path.write_bytes(junk + row("task_complete").encode())
    assert list(logs(Door(p11=started(tmp_path))).read([ONE], stamp())) == []


PLACES: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a device without end": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to("/nowhere"),
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("put", PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("read_before", [False, True])
def test_what_is_no_file_in_a_logs_place_keeps_nobody_waiting(
    put: Callable[[Path], object], read_before: bool, tmp_path: Path
) -> None:
    path, reader = log(tmp_path, "s"), logs(Door(p11=started(tmp_path)))
    if read_before:
        assert list(reader.read([ONE], stamp())) == []
    path.unlink()
    put(path)
    assert list(reader.read([ONE], stamp())) == []
    assert (sessionlogs.head(str(path)), sessionlogs.lines(str(path), 7)) == (b"", ([], 7))


def test_a_line_without_end_is_passed_over_and_what_follows_is_read(tmp_path: Path) -> None:
    path, reader = log(tmp_path, "s"), logs(Door(p11=started(tmp_path)))
    assert list(reader.read([ONE], stamp())) == []
    with path.open("a") as file:
        file.write(row("x", text="\r" + "y" * (3 << 20)))
        file.write(row("task_complete", 1, turn_id="u"))
    said = [one.said for after in range(2, 8) for one in reader.read([ONE], stamp(after))]
    assert said == ["end"]
    with path.open("ab") as file:
        file.truncate(1 << 40)  # a terabyte of nothing
    assert [one for after in range(8, 11) for one in reader.read([ONE], stamp(after))] == []


def test_an_agent_behind_a_shell_is_the_process_that_counts(tmp_path: Path) -> None:
    class Foreground:
        def sweep(self, pids: object) -> dict[int, list[Process]]:
            return {11: [Process(99, frozenset({11}), "S", True, ("/usr/bin/codex",))]}

    path = log(tmp_path, "s")
    with path.open("a") as file:
        file.write(row("task_complete"))
    door = Door(p11=started(tmp_path, cwd="/home"), p99=started(tmp_path))
    assert [one.target for one in logs(door, Foreground()).read([ONE], stamp())] == ["%1"]


def test_an_agent_without_logs_of_its_own_is_left_alone(tmp_path: Path) -> None:
    assert list(logs(Door(p11=started(tmp_path))).read([ONE._replace(agent="claude")], stamp())) == []


def test_this_process_is_known_by_its_folder_its_begin_and_its_environment() -> None:
    found = sessionlogs.running(os.getpid())
    assert found is not None and found.cwd == os.getcwd() and found.env["PATH"]
    assert sessionlogs.running(2**22) is None
