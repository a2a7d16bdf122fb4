"""fleet-list: one JSON object in a pipe, tables on a terminal, and the state of every member in both."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from typing import Any

import pytest
from desk import Desk, stamp

from fleettools.adapters.stores import open_store

CONFIG = """\
profiles:
  a-one: {credentialId: team-a, maxMembers: 3}
  a-two: {credentialId: team-a}
  b: {credentialId: team-b}
"""
SERVER = "h:/s:1"


@pytest.fixture
def fleet(desk: Desk) -> Desk:
    """A desk with three profiles on two credentials."""
    (desk.folder / "fleetd.yaml").write_text(CONFIG)
    return desk


def verdict(desk: Desk, target: str, profile: str, outcome: str, **more: Any) -> dict:
    """A verdict of now about a member."""
    ts = stamp(desk.now_ms)
    who = {"server": SERVER, "target": target, "pid": 7, "name": f"n{target[1:]}", "profile": profile, "role": "member"}
    what = {"outcome": outcome, "reason": f"it is {outcome}", "screen": f"s{target[1:]}:1", "cause": "unknown"}
    return {"type": "verdict", "ts": ts, "at": ts, **who, **what, **more}


def feed(desk: Desk, *verdicts: dict) -> None:
    desk.pipe(list(verdicts), "resolve", "correlate")


def shown(desk: Desk, *args: str) -> dict:
    """The one object that it prints in a pipe."""
    done = desk.run("list", *args)
    assert (done.status, done.said) == (0, "")
    (view,) = done.records
    assert list(view) == ["members", "profiles", "healthCoverage"]
    return view


def drawn(desk: Desk, command: str, *args: str, columns: int = 120, env: dict | None = None) -> str:
    """What it writes to a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    words = [sys.executable, "-m", f"fleettools.commands.{command}", *args]
    env = desk.env | {"TERM": "xterm", "FLEET_NOW": stamp(desk.now_ms)} | (env or {})
    process = subprocess.Popen(words, env=env, cwd=desk.folder, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:  # how Linux says that the other side has closed
        pass
    finally:
        os.close(ours)
        process.kill()
    process.wait(timeout=20)
    return text.decode().replace("\r\n", "\n")


def test_an_outage_shows_on_its_members_and_profiles_and_is_over_by_time(fleet: Desk) -> None:
    feed(fleet, verdict(fleet, "%1", "a-one", "backend_error"), verdict(fleet, "%2", "a-two", "backend_error"))
    feed(fleet, verdict(fleet, "%3", "b", "completed"))
    fleet.now_ms += 18_000
    view = shown(fleet)
    assert [(m["target"], m["state"], m["credentialId"], m.get("failureReason")) for m in view["members"]] == [
        ("%1", "backend_error", "team-a", "it is backend_error"),
        ("%2", "backend_error", "team-a", "it is backend_error"),
        ("%3", "done", "team-b", None),
    ]
    for name in ("a-one", "a-two"):
        profile = view["profiles"][name]
        assert (profile["free"], profile["credentialId"], profile["coolingOffForSeconds"]) == (0, "team-a", 42)
        assert "quarantinedForSeconds" not in profile
        assert len(profile["coolOff"]["events"]) == 2
    assert view["profiles"]["b"] == {"free": None, "credentialId": "team-b"}
    fleet.now_ms += 42_000
    later = shown(fleet)
    assert later["profiles"]["a-one"] == {"free": 2, "credentialId": "team-a"}
    assert later["healthCoverage"] == view["healthCoverage"] == "detection-only"


def test_the_reason_goes_when_the_member_is_reinstated(fleet: Desk) -> None:
    feed(fleet, verdict(fleet, "%1", "a-one", "failed"))
    assert shown(fleet)["members"][0]["failureReason"] == "it is failed"
    fleet.now_ms += 1000
    feed(fleet, verdict(fleet, "%1", "a-one", "working", screen="other:1"))
    assert "failureReason" not in shown(fleet)["members"][0]


def test_released_members_are_shown_with_all_only(fleet: Desk) -> None:
    feed(fleet, verdict(fleet, "%1", "a-one", "completed"))
    assert fleet.run("release", "n1").status == 0
    assert shown(fleet)["members"] == []
    assert [m["state"] for m in shown(fleet, "--all")["members"]] == ["released"]


def test_a_status_line_gets_one_short_text(fleet: Desk) -> None:
    feed(fleet, verdict(fleet, "%1", "a-one", "backend_error"), verdict(fleet, "%2", "a-two", "backend_error"))
    feed(fleet, verdict(fleet, "%3", "b", "completed"))
    out, said = fleet.start("list", "--status").communicate(timeout=30)
    text = "#[fg=green]1 ok#[default] #[fg=red]2 failed#[default] #[fg=red]team-a 60s#[default]\n"
    assert (out, said) == (text, "")
    assert fleet.run("list", "--status", "--all").status == 2


HEARTBEATS = [
    ({"pid": 7, "beat_ms": -5000}, "running"),
    ({"pid": 7, "beat_ms": -61_000}, "silent"),
    ({"pid": 0, "beat_ms": -5000}, "stopped"),
    ({"pid": 0, "beat_ms": -5000, "once": True}, "once"),
]


@pytest.mark.parametrize(("beat", "state"), HEARTBEATS)
def test_a_fleetd_that_was_seen_is_shown_with_how_it_is(desk: Desk, beat: dict, state: str) -> None:
    store = open_store(desk.env["FLEET_STATE"], lambda _: None)
    kept = beat | {"beat_ms": desk.now_ms + beat["beat_ms"]}
    store.put("daemon/h//tmp/tmux-1/default", json.dumps(kept).encode(), 0)
    store.close()
    (view,) = desk.run("list").records
    (one,) = view["daemons"]
    assert (one["host"], one["socket"], one["state"]) == ("h", "/tmp/tmux-1/default", state)
    assert one["ageSeconds"] == -beat["beat_ms"] // 1000
    assert f"fleetd on /tmp/tmux-1/default: {state}, seen " in drawn(desk, "list", env={"NO_COLOR": "1"})


def test_an_empty_fleet_is_an_object_too(desk: Desk) -> None:
    assert shown(desk) == {"members": [], "profiles": {}, "healthCoverage": "detection-only"}


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_a_terminal_gets_tables_that_keep_the_reason_at_any_width(fleet: Desk, columns: int) -> None:
    reason = "the backend said that it is overloaded and that one should try again in a while"
    feed(fleet, verdict(fleet, "%1", "a-one", "backend_error", reason=reason), verdict(fleet, "%2", "b", "working"))
    fleet.now_ms += 75_000
    text = drawn(fleet, "list", columns=columns, env={"NO_COLOR": "1"})
    lines = text.splitlines()
    assert max(map(len, lines)) <= columns
    (row,) = [line for line in lines if line.startswith("n1")]
    assert row.split()[:4] == ["n1", "%1", "backend_error", "1m15s"]
    said = " ".join(text.split())
    for word in reason.split():
        assert word in said
    assert "health: detection-only" in said


def test_names_give_way_before_the_reason_does(fleet: Desk) -> None:
    feed(fleet, verdict(fleet, "%1", "a-one", "failed", name="a-worker-with-a-very-long-name-7", reason="it is failed"))
    text = drawn(fleet, "list", columns=60, env={"NO_COLOR": "1"})
    (row,) = [line for line in text.splitlines() if "%1" in line]
    assert row.startswith("a-w")
    assert "…" in row.split()[0]
    assert row.split()[0].endswith("7")
    assert row.endswith("it is failed")


def test_names_are_whole_where_the_reason_stands_below(fleet: Desk) -> None:
    """They gave way so that it might stand beside them; when even that is too little, they have their place again."""
    feed(fleet, verdict(fleet, "%1", "a-one", "backend_error", name="a-worker-of-some-name", reason="word " * 8))
    text = drawn(fleet, "list", columns=70, env={"NO_COLOR": "1"})
    assert "a-worker-of-some-name  %1" in text
    assert "\n  word word" in text


def test_a_column_in_which_nobody_has_anything_is_left_out(fleet: Desk) -> None:
    feed(fleet, verdict(fleet, "%1", "a-one", "failed", name=None))
    text = drawn(fleet, "list", env={"NO_COLOR": "1"})
    assert text.splitlines()[0].split() == ["pane", "state", "age", "profile", "credential", "reason"]


def test_json_brings_the_object_back_on_a_terminal(fleet: Desk) -> None:
    feed(fleet, verdict(fleet, "%1", "a-one", "failed", reason="a\u202eb"))
    text = drawn(fleet, "list", "--json")
    assert json.loads(text)["members"][0]["failureReason"] == "a\u202eb"
    assert "\u202e" not in text


def test_what_a_pane_said_cannot_draw_on_the_terminal(fleet: Desk) -> None:
    hostile = "bad \x1b[2J\u202e[red]x[/red]\nnext"
    feed(fleet, verdict(fleet, "%1", "a-one", "failed", reason=hostile))
    text = drawn(fleet, "list", env={"NO_COLOR": "1"})
    assert r"bad \x1b[2J\u202e[red]x[/red]\nnext" in text
    assert "\x1b[2J" not in text
    assert "\u202e" not in text


def test_colour_is_off_under_no_color(fleet: Desk) -> None:
    feed(fleet, verdict(fleet, "%1", "a-one", "failed"))
    assert "\x1b[31m" in drawn(fleet, "list", env={"TERM": "xterm-256color"})
    assert "\x1b[31m" not in drawn(fleet, "list", env={"TERM": "xterm-256color", "NO_COLOR": "1"})


def test_watch_draws_over_what_it_drew(fleet: Desk) -> None:
    feed(fleet, verdict(fleet, "%1", "a-one", "working"))
    words = [sys.executable, "-m", "fleettools.commands.list", "--watch", "0.2"]
    fleet.tmux("new-session", "-d", "-x", "110", "-y", "30", "-c", str(fleet.folder), "--", *words)
    fleet.until(lambda: "busy" in fleet.screen("%0"))
    feed(fleet, verdict(fleet, "%1", "a-one", "failed"))
    fleet.until(lambda: "it is failed" in fleet.screen("%0"))
    screen = fleet.screen("%0")
    assert "busy" not in screen
    assert screen.count("member") == 1  # its heading


def test_watch_in_a_pipe_is_a_line_each_time_until_the_reader_goes(fleet: Desk) -> None:
    process = fleet.start("list", "--watch", "0.1", stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        assert [json.loads(line)["members"] for line in lines] == [[], [], []]
        process.stdout.close()
        assert process.wait(timeout=30) == -13
    finally:
        process.kill()
