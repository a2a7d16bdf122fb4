"""fleet-scrape looks at the panes of a real tmux server."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sandbox import wait_for
from server import Server, running

from fleettools.adapters.stores import open_store
from fleettools.policy.members.roster import MemberState, member_key
from fleettools.policy.members.turns import TurnState
from fleettools.records import to_ms
from fleettools.services.store import Store


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(tmp_path) as server:
        yield server


def scrape(server: Server, *words: str, status: int = 0) -> list[dict[str, Any]]:
    done = server.run("scrape", "-L", server.name, *words)
    assert done.returncode == status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def shown(server: Server, text: str, **options: str) -> str:
    pane = server.pane(f"echo {text}; exec sleep 100", **options)
    wait_for(lambda: text in server.screen(pane))
    return pane


def store(server: Server) -> Store:
    return open_store(server.env["FLEET_STATE"], print)


def test_members_and_leads_come_with_what_their_options_say(server: Server) -> None:
    lead = shown(server, "I-lead", agent="claude")
    member = shown(server, "I-work", profile="p", name="w1", lead=lead, agent="codex")
    shown(server, "I-am-nothing")
    found = {record["target"]: record for record in scrape(server)}
    assert set(found) == {lead, member}
    assert {k: found[member][k] for k in ("type", "server", "profile", "name", "lead", "agent", "role")} == {
        "type": "pane", "server": server.identity, "profile": "p", "name": "w1", "lead": lead, "agent": "codex",
        "role": "member",
    }  # fmt: skip
    assert (found[lead]["role"], found[lead]["agent"]) == ("lead", "claude")
    assert found[member]["text"].startswith("I-work\n")
    assert found[member]["pid"] > 0 and found[member]["cols"] == 120 and found[member]["rows"] == 30
    assert found[member]["activity"].endswith(".000Z") and found[member]["tz"]
    assert len(scrape(server, "--all")) == 4
    assert [record["target"] for record in scrape(server, "-t", lead)] == [lead]


def test_a_pane_whose_options_name_no_agent_takes_it_from_its_program(server: Server, tmp_path: Path) -> None:
    """Behind an interpreter that is the script's name, so that such a member is judged by its agent's look."""
    script = tmp_path / "qwen"
    script.write_text(f"#!{sys.executable}\nprint('I-am-ready', flush=True)\ninput()\n")
    script.chmod(0o755)
    pane = server.pane(f"exec {script}", profile="p")
    wait_for(lambda: "I-am-ready" in server.screen(pane))
    (record,) = scrape(server)
    assert (record["profile"], record["agent"], record["role"]) == ("p", "qwen", "member")


def test_a_neighbour_in_the_window_takes_the_activity_away(server: Server) -> None:
    pane = shown(server, "alone", profile="p")
    server.tmux("split-window", "-d", "-t", pane, "exec sleep 100")
    (record,) = scrape(server)
    assert "activity" not in record


def test_a_lead_that_does_not_exist_is_warned_of_and_left_out(server: Server) -> None:
    pane = shown(server, "x", profile="p", lead="%999")
    done = server.run("scrape", "-L", server.name)
    assert "lead" not in json.loads(done.stdout)
    assert f"WARN {pane}: its lead %999 does not exist".encode() in done.stderr


def test_panes_rules_make_members_and_an_empty_option_opts_out(server: Server) -> None:
    (server.folder / "fleetd.yaml").write_text(
        "profiles: {p: {agent: codex}}\npanes: [{session: 's*', command: sleep, profile: p, lead: 's:0.0'}]\n"
    )
    shown(server, "in")
    out = shown(server, "out", profile="")
    own = shown(server, "own", profile="q", agent="claude")
    lead = server.tmux("display-message", "-p", "-t", "s:0.0", "#{pane_id}")
    found = {record["target"]: record for record in scrape(server)}
    assert out not in found
    assert (found[own]["profile"], found[own]["agent"]) == ("q", "claude")
    assert {r["lead"] for r in found.values() if r["profile"] == "p" and r["target"] != lead} == {lead}
    assert all(r["agent"] == "codex" for r in found.values() if r["profile"] == "p")


def test_an_unknown_pane_is_a_clear_error(server: Server) -> None:
    done = server.run("scrape", "-L", server.name, "-t", "%999")
    assert (done.returncode, done.stdout) == (69, b"")
    assert b"no pane %999" in done.stderr and str(server.socket).encode() in done.stderr


def test_no_server_is_69_with_socket_and_mend(server: Server) -> None:
    server.tmux("kill-server")
    done = server.run("scrape", "-L", server.name)
    assert (done.returncode, done.stdout) == (69, b"")
    assert done.stderr.decode() == (
        f"fleet-scrape: tmux on {server.socket}: no server is running; start tmux, or name its socket with -S or -L\n"
    )


def member(server: Server, target: str, **more: Any) -> MemberState:
    given = {"server": server.identity, "target": target, "state": "busy", "since_ms": 1, "joined_ms": 1} | more
    return msgspec.convert(given, MemberState)


def put(server: Server, state: MemberState) -> None:
    opened = store(server)
    assert opened.put(member_key(state.server, state.target), msgspec.json.encode(state), 0)
    opened.close()


def test_the_turn_of_the_last_ticket_comes_along(server: Server) -> None:
    pane, other = shown(server, "x", profile="p"), shown(server, "y", profile="p")
    turn = TurnState(event="t1", ticket="t1", began_ms=1, delivered_at_ms=int(time.time() * 1000) - 5000, baseline="b")
    put(server, member(server, pane, turn=turn))
    put(server, member(server, other, turn=TurnState(event="e", began_ms=1)))
    found = {record["target"]: record for record in scrape(server)}
    assert (found[pane]["turn"]["id"], found[pane]["turn"]["baseline"]) == ("t1", "b")
    assert 0 <= found[pane]["turn"]["seconds"] <= 60
    assert "turn" not in found[other]


def test_a_store_that_cannot_be_read_does_not_blind_it(server: Server) -> None:
    shown(server, "x", profile="p")
    (server.folder / "state.db").mkdir()
    done = server.run("scrape", "-L", server.name)
    assert done.returncode == 0 and json.loads(done.stdout)["profile"] == "p"
    assert b"WARN going on without turns" in done.stderr


class Follow:
    """fleet-scrape --follow, its records so far."""

    def __init__(self, server: Server, *words: str) -> None:
        self.out = server.folder / "out"
        self.file = self.out.open("wb")
        self.process = server.command(
            "scrape", "-L", server.name, "--follow", "--interval", "0.1", *words,
            stdout=self.file, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def records(self, kind: str = "pane") -> list[dict[str, Any]]:
        lines = self.out.read_bytes().split(b"\n")[:-1]
        return [record for record in map(json.loads, lines) if record["type"] == kind]

    def __enter__(self) -> "Follow":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.file.close()


def test_followed_panes_come_when_they_change_and_once_when_they_vanish(server: Server) -> None:
    quiet, pane = shown(server, "quiet", profile="p"), shown(server, "x", profile="p", name="w")
    with Follow(server) as follow:
        wait_for(lambda: len(follow.records()) == 2)
        server.tmux("send-keys", "-t", pane, "typed")
        wait_for(lambda: any("typed" in r["text"] for r in follow.records()))
        server.tmux("kill-pane", "-t", pane)
        wait_for(lambda: any(r.get("gone") for r in follow.records()))
        server.tmux("send-keys", "-t", quiet, "later")  # several sweeps after it
        wait_for(lambda: any("later" in r["text"] for r in follow.records() if "text" in r))
        last = [r for r in follow.records() if r.get("gone")]
        assert [(r["target"], r["name"], "text" in r) for r in last] == [(pane, "w", False)]
        assert len([r for r in follow.records() if r["target"] == quiet and "later" not in r["text"]]) <= 2


def test_a_quiet_pane_comes_once_more_to_prove_what_it_shows(server: Server) -> None:
    quiet = shown(server, "quiet", profile="p")
    with Follow(server) as follow:
        first, again = wait_for(lambda: len(follow.records()) == 2 and follow.records())
        assert (first["target"], again["text"]) == (quiet, first["text"])
        assert again["up"] - first["up"] >= 2.0


def test_changed_is_the_look_that_first_showed_the_text(server: Server) -> None:
    pane = shown(server, "x", profile="p")
    with Follow(server) as follow:
        wait_for(lambda: follow.records())
        server.tmux("send-keys", "-t", pane, "typed")
        seen = wait_for(lambda: [r for r in follow.records() if "typed" in r["text"]])[0]
        server.tmux("select-pane", "-t", pane, "-T", "another title")
        titled = wait_for(lambda: [r for r in follow.records() if r["title"] == "another title"])[0]
    assert "changed" not in follow.records()[0]
    assert seen["changed"] == seen["ts"] == titled["changed"] < titled["ts"]


def test_what_is_drawn_between_the_list_and_the_look_is_not_dated_before_it(server: Server) -> None:
    """The activity of the list is that of before; read with it, an error just drawn would look old."""
    pane = server.pane("read -r x; echo error-$x; exec sleep 100", profile="p")
    shim = server.folder / "bin" / "tmux"
    shim.parent.mkdir()
    real = shutil.which("tmux")
    keys = f"{real} -L {server.name} send-keys -t {pane} now Enter"
    shown = f"until {real} -L {server.name} capture-pane -p -t {pane} | grep -q error-now; do sleep 0.05; done"
    shim.write_text(f'#!/bin/sh\ncase "$*" in *source-file*) sleep 2; {keys}; {shown};; esac\nexec {real} "$@"\n')
    shim.chmod(0o755)
    server.env["PATH"] = f"{shim.parent}:{server.env['PATH']}"
    asked = int(time.time())
    (record,) = scrape(server)
    assert "error-now" in record["text"]
    assert to_ms(record["activity"]) // 1000 >= asked + 2


def test_a_member_that_is_marked_no_more_is_said_when_nobody_saw_it_for_ten_seconds(server: Server) -> None:
    lately, before = shown(server, "x"), shown(server, "y")
    for pane, seconds in ((lately, 1), (before, 11)):
        pid = int(server.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))
        looked = {"ms": int(time.time() * 1000) - 1000 * seconds}
        put(server, member(server, pane, pid=pid, looked=looked))
    found = [(r["target"], r["unmarked"], "text" in r) for r in scrape(server)]
    assert found == [(before, True, False)]


def test_a_member_that_vanished_while_nobody_looked_is_gone(server: Server) -> None:
    put(server, member(server, "%998", pid=7, profile="p"))
    put(server, member(server, "%997", pid=8, state="released"))
    assert [(r["target"], r["pid"], r["gone"]) for r in scrape(server)] == [("%998", 7, True)]


def test_a_server_that_ends_is_down_and_its_successor_up(server: Server) -> None:
    shown(server, "x", profile="p")
    before = server.identity
    with Follow(server) as follow:
        wait_for(lambda: follow.records())
        server.tmux("kill-server")
        wait_for(lambda: [r for r in follow.records("tmux") if r["state"] == "down"])
        assert {r["server"] for r in follow.records("tmux")} == {before}
        server.start()
        shown(server, "y", profile="p")
        wait_for(lambda: any(r["server"] == server.identity and "y" in r["text"] for r in follow.records()))
        assert [r["state"] for r in follow.records("tmux") if r["server"] == server.identity] == ["up"]
        assert not [r for r in follow.records() if r.get("gone")]


def test_a_server_that_ended_while_nobody_looked_is_down(server: Server) -> None:
    shown(server, "x", profile="p")
    process = subprocess.Popen(["true"])
    process.wait()
    old = f"{server.identity.rpartition(':')[0]}:{process.pid}"
    put(server, msgspec.structs.replace(member(server, "%1"), server=old))
    found = scrape(server)
    assert [(r["server"], r["state"]) for r in found if r["type"] == "tmux"] == [(old, "down")]


def test_a_stopped_server_is_unreachable_and_not_down(server: Server) -> None:
    shown(server, "x", profile="p")
    pid = int(server.tmux("display-message", "-p", "#{pid}"))
    with Follow(server) as follow:
        wait_for(lambda: follow.records())
        os.kill(pid, signal.SIGSTOP)
        try:
            wait_for(lambda: follow.records("tmux"))
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_for(lambda: [r for r in follow.records("tmux") if r["state"] == "up"])
        assert [r["state"] for r in follow.records("tmux")] == ["unreachable", "up"]


def test_it_ends_when_its_reader_is_gone_though_all_is_quiet(server: Server) -> None:
    shown(server, "x", profile="p")
    process = server.command("scrape", "-L", server.name, "--follow", "--interval", "0.1")
    try:
        assert process.stdout and process.stdout.readline()
        process.stdout.close()
        assert process.wait(20) == -signal.SIGPIPE
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stderr):
            assert stream
            stream.close()


def test_what_an_agent_writes_into_its_sessions_log_comes_as_signals_of_its_pane(
    server: Server, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    agent = tmp_path / "codex"
    agent.write_text("#!/bin/sh\necho ready; while :; do sleep 1; done\n")
    agent.chmod(0o755)
    pane = server.pane(f"cd {work} && exec {agent}", profile="p", agent="codex")
    wait_for(lambda: "ready" in server.screen(pane))
    day = tmp_path / ".codex" / "sessions" / "2026" / "11" / "30"
    day.mkdir(parents=True)
    ts = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    error = {"message": "exceeded retry limit", "codex_error_info": {"other": {"http_status_code": 429}}}
    rows = [
        {"timestamp": ts, "type": "session_meta", "payload": {"id": "s", "timestamp": ts, "cwd": str(work)}},
        {"timestamp": ts, "type": "event_msg", "payload": {"type": "task_complete", "turn_id": "u", "error": error}},
    ]
    (day / "rollout-s.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    said = [record for record in scrape(server) if record["type"] == "signal"]
    assert [(one["target"], one["said"], one["cause"], one["source"]) for one in said] == [
        (pane, "failure", "rate_limit", "log")
    ]
    assert [one["id"] for one in scrape(server) if one["type"] == "signal"] == [said[0]["id"]], "the same word again"
