"""fleet-health on a real store and tmux server: its line, its status, its figures, and its silence."""

import json
import subprocess
from pathlib import Path

from desk import Desk, stamp
from msgspec import json as msgjson

from fleettools.adapters.stores import open_store
from fleettools.policy.heartbeat import DaemonState, daemon_key


def beat(desk: Desk) -> None:
    """fleetd's sign of life, a second ago."""
    import os

    key = daemon_key(f"{os.uname().nodename}:{desk.env['FLEET_TMUX_SOCKET']}")
    store = open_store(desk.env["FLEET_STATE"], lambda _: None)
    store.put(key, msgjson.encode(DaemonState(beat_ms=desk.now_ms - 1000, pid=7)), store.get(key)[1])
    store.close()


def check(desk: Desk, *args: str) -> tuple[int, str]:
    process = desk.start("health", *args, stdin=subprocess.DEVNULL)
    out, said = process.communicate(timeout=60)
    assert said == ""
    return process.returncode, out


def failed(desk: Desk, profile: str, *targets: str) -> None:
    ts = stamp(desk.now_ms)
    rows = [
        {"type": "verdict", "ts": ts, "at": ts, "server": "h:/s:1", "target": target, "pid": 7, "profile": profile,
         "role": "member", "outcome": "backend_error", "reason": "it is out", "screen": f"s{target[1:]}:1",
         "cause": "overload"}
        for target in targets
    ]  # fmt: skip
    desk.pipe(rows, "resolve", "correlate")


def test_all_is_well_and_with_q_nothing_is_printed(desk: Desk) -> None:
    beat(desk)
    status, line = check(desk)
    assert (status, line.count("\n")) == (0, 1)
    assert line.startswith("FLEET OK - 0 members, every credential free | ")
    assert check(desk, "-q") == (0, "")


def test_the_answer_is_an_object_when_asked_for(desk: Desk) -> None:
    status, out = check(desk, "--json")
    made = json.loads(out)
    assert (status, made["status"]) == (1, "WARNING")
    assert made["findings"] == [{"status": "WARNING", "text": "fleetd has never run here"}]
    assert {figure["name"] for figure in made["figures"]} >= {"members"}
    beat(desk)
    assert check(desk, "--json", "-q") == (0, "")
    status, out = check(desk, "--json", "-c", "nowhere.yaml")
    assert (status, json.loads(out)["status"]) == (3, "UNKNOWN")


def test_failures_are_said_with_their_status(desk: Desk) -> None:
    beat(desk)
    failed(desk, "one", "%1", "%2")
    status, line = check(desk, "-q")
    assert status == 2  # the one credential that there is cools off
    assert "one cools off for 60 s" in line
    assert "%1 failed: it is out" in line
    desk.now_ms += 61_000
    beat(desk)
    status, line = check(desk)
    assert status == 2  # nobody answers for the members' tmux server
    assert "cools off" not in line


def test_the_figures_are_written_whole(desk: Desk, tmp_path: Path) -> None:
    beat(desk)
    place = tmp_path / "fleet.prom"
    place.write_text("old")
    failed(desk, "one", "%1")
    check(desk, "-q", "--metrics", str(place))
    assert 'fleet_members{state="backend_error"} 1\n' in place.read_text()
    assert place.read_text().endswith("# EOF\n")
    assert [path.name for path in tmp_path.glob("fleet.prom*")] == ["fleet.prom"]


def test_what_cannot_be_told_is_unknown_and_said_on_standard_output(desk: Desk) -> None:
    status, line = check(desk, "--state", "sqlite:/dev/null/x.db")
    assert status == 3
    assert line.startswith("FLEET UNKNOWN - /dev/null/x.db: ")
    (desk.folder / "fleetd.yaml").write_text("outage: [")
    assert check(desk)[0] == 3


def test_it_takes_what_a_terminal_would_read_amiss_apart(desk: Desk) -> None:
    beat(desk)
    ts = stamp(desk.now_ms)
    row = {"type": "verdict", "ts": ts, "at": ts, "server": "h:/s:1", "target": "%1", "profile": "p", "role": "member",
           "outcome": "failed", "reason": "a\x1b[2J|b\nc", "screen": "s:1"}  # fmt: skip
    desk.pipe([json.loads(json.dumps(row))], "resolve")
    _, line = check(desk)
    assert r"a\x1b[2J/b\nc" in line
    assert (line.count("\n"), line.count("|")) == (1, 1)
