"""What README prints runs; and a new user gets from a clean clone to a running fleetd."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from sandbox import AGENT, ROOT, Sandbox, sandbox, wait_for

from fleettools import records

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)


def block(holds: str) -> str:
    """The one block with these words."""
    found = [text for _, text in BLOCKS if holds in text]
    assert len(found) == 1
    return found[0]


@pytest.fixture(name="box", scope="module")
def _box() -> Iterator[Sandbox]:
    with sandbox() as box:
        yield box


def test_the_first_sentence_says_what_it_is_and_then_come_demo_and_test() -> None:
    title, first, ways, *_ = (ROOT / "README.md").read_text().split("\n\n")
    assert title == "# fleettools"
    assert first.startswith("fleettools watches coding agents in tmux")
    assert [line.split("#")[0].strip() for line in ways.splitlines()] == ["make demo", "make test"]


def test_one_pane_is_judged(box: Sandbox) -> None:
    ended = box.run("sh", "-c", block("capture-pane"))
    assert (ended.status, ended.err) == (0, "")
    verdict = json.loads(ended.out)
    assert (verdict["outcome"], verdict["cause"]) == ("backend_error", "server")


def test_a_stored_day_gives_its_incidents_every_time(box: Sandbox) -> None:
    for _ in range(2):
        ended = box.run("sh", "-c", block("< day.jsonl"))
        assert (ended.status, ended.out, ended.err) == (0, "2026-01-31T09:15:40.000Z team-a\n", "")


def test_the_cron_lines_run_and_the_look_is_silent(box: Sandbox) -> None:
    look, check = (line.split(maxsplit=5) for line in block("* * * * *").strip().splitlines())
    assert look[:5] == check[:5] == ["*"] * 5
    ended = box.run("sh", "-c", look[5], env={"LC_ALL": "", "TERM": ""})
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    ended = box.run("sh", "-c", check[5], env={"LC_ALL": "", "TERM": ""})
    assert (ended.status, ended.out.startswith("FLEET WARNING - tests failed"), ended.err) == (1, True, "")


def test_the_gate_answers(box: Sandbox) -> None:
    ended = box.run("sh", "-c", block("fleet-gate"))
    assert ended.status == 0
    assert json.loads(ended.out)["allowed"] is True


def test_a_program_judges_counts_and_asks(box: Sandbox) -> None:
    ended = box.run(sys.executable, "-P", "-c", block("import fleettools"), env={"PYTHONPATH": str(ROOT)})
    assert ended.out.splitlines() == [
        "backend_error",
        "2026-01-31T09:15:40.000Z team-a is out for 60.0 s",
        "claude-a: credential team-a is free",
    ], ended


def test_hooks_go_into_the_agents_settings(box: Sandbox) -> None:
    ended = box.run("sh", "-c", block("fleet-hook"))
    assert (ended.status, ended.out.count("fleet-hook --agent claude --post")) == (0, 5), ended.err
    assert (ROOT / "docs/hooks.md").exists()
    assert box.run("fleet-hook", "--install", "claude", "--remove").status == 0


def test_an_agent_that_is_told_the_line_reaches_the_server(box: Sandbox) -> None:
    """Each agent starts what stands last in its line, as a client of it."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    first = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    fake = box.folder / "agents" / "claude"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\nshift $(($# - 1))\necho '{first}' | $1 --read-only\n")
    fake.chmod(0o755)
    for agent in ("codex", "gemini", "opencode"):
        (fake.parent / agent).symlink_to("claude")
    env = {"PATH": f"{fake.parent}:{box.env['PATH']}"}
    shown = box.run("sh", "-c", block("mcp add"), env=env)
    assert json.loads(shown.out)["result"]["serverInfo"]["name"] == "fleettools", shown
    every = box.run("sh", str(ROOT / "samples/mcp"), env=env)
    assert (every.status, every.out.count('"serverInfo"')) == (0, 4), every


def test_failed_members_are_prompted_again_with_the_printed_section(box: Sandbox) -> None:
    own = box.folder / "resuming.yaml"
    own.write_text((box.work / "fleetd.yaml").read_text() + block("resume:"))
    ended = box.run("fleetd", "--print", "-c", str(own))
    assert (ended.status, ended.err) == (0, "") and "| fleet-resume -c" in ended.out
    ended = box.run("fleet-resume", "--dry-run", "-c", str(own))
    assert (ended.status, ended.out, ended.err) == (0, "", "")


def test_what_failed_in_the_last_hour_is_one_line(box: Sandbox) -> None:
    journal = box.folder / ".local/state/fleettools/journal"
    journal.mkdir(parents=True, exist_ok=True)
    now = time.time()
    rows = [
        {"type": "verdict", "ts": records.to_ts(round((now - age) * 1000)), "name": name, "outcome": how, "reason": "r"}
        for age, name, how in ((4000, "old", "failed"), (3000, "new", "failed"), (60, "good", "completed"))
    ]
    (journal / "2026-01-31.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = box.run("sh", "-c", block("fleettools/journal/*.jsonl"))
    lines = ended.out.splitlines()
    assert f"{rows[1]['ts']} new failed: r" in lines, ended
    assert not [line for line in lines if " old " in line or " good " in line]
    (way,) = re.findall(r"`(\.ts \| sub.*fromdateiso8601)`", README)
    ended = box.run("jq", "-r", f"({way}) - (now | floor) < -2900", stdin=json.dumps(rows[1]))
    assert ended.out == "true\n", ended


def test_several_machines_share_a_store_that_the_extra_reaches(box: Sandbox) -> None:
    """What installs it is tried in test_install.py."""
    text = block("FLEET_STATE")
    (line,) = [line for line in text.splitlines() if line.startswith("export")]
    ended = box.run("sh", "-c", f"{line.replace('db.example.org', '127.0.0.1:1')}\nfleet-list")
    assert ended.status == 69
    assert "port 1 failed" in ended.err


def test_what_one_machine_watches_another_sees(box: Sandbox, postgres_url: str, tmp_path: Path) -> None:
    _, export, start = block("FLEET_STATE").strip().splitlines()
    export = export.replace("postgresql://fleet@db.example.org/fleet", shlex.quote(postgres_url))
    process = box.process(["sh", "-c", f"{export}\nexec {start}"], start_new_session=True)
    other = {"HOME": str(tmp_path), "TMUX_TMPDIR": str(tmp_path), "FLEET_TMUX_SOCKET": ""}

    def seen() -> set[str]:
        shown = box.run("sh", "-c", f"{export}\nfleet-list", env=other)
        return {member["target"] for member in json.loads(shown.out)["members"]} if shown.status == 0 else set()

    try:
        wait_for(lambda: seen() == {"%1", "%2", "%3"}, "its members on the other machine")
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_the_view_is_what_a_terminal_shows(box: Sandbox) -> None:
    box.run("sh", "-c", "fleet-scrape | fleet-classify | fleet-resolve > /dev/null")
    shown = block("$ fleet-list").splitlines()
    assert shown[0] == "$ fleet-list"
    ended = box.run("script", "-qec", "stty cols 80; fleet-list", "/dev/null", env={"NO_COLOR": "1"})
    drawn = [re.sub(r"\d+s", "0s", line.rstrip()) for line in ended.out.replace("\r", "").splitlines()]
    for line in shown[1:]:
        words = line.split()
        assert words == ["..."] or any(each.split() == words for each in drawn), (line, drawn)


def test_the_picture_is_drawn_from_the_stored_run(box: Sandbox) -> None:
    """TZ=UTC fleet-timeline --svg docs/timeline.svg samples/run.jsonl"""
    assert "](docs/timeline.svg)" in README
    ended = box.run("fleet-timeline", "--svg", "-", str(ROOT / "samples/run.jsonl"), env={"TZ": "UTC"})
    assert ended.out == (ROOT / "docs/timeline.svg").read_text()


class Listener(ThreadingHTTPServer):
    """Takes what is posted to it, as ntfy does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Posted)
        self.posted: list[tuple[str, str, str]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Posted(BaseHTTPRequestHandler):
    """Keeps path, title and text."""

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        assert isinstance(self.server, Listener)
        self.server.posted.append((self.path, self.headers.get("Title", ""), text))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def agents(box: Sandbox) -> dict[str, list[int]]:
    """Six agents that nobody marked, of two accounts: the processes by account."""
    program = box.folder / "agents" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -I\n{AGENT.read_text()}")
    program.chmod(0o755)
    found: dict[str, list[int]] = {"one": [], "two": []}
    for number in range(6):
        account = ("one", "two")[number % 2]
        (box.folder / account).mkdir(exist_ok=True)
        (box.folder / account / ".claude.json").write_text(json.dumps({"oauthAccount": {"accountUuid": account}}))
        place = (
            ["new-window", "-t", "six:"]
            if number
            else ["-f", "/dev/null", "new-session", "-x", "110", "-y", "30", "-s", "six"]
        )
        env = ["-e", f"CLAUDE_CONFIG_DIR={box.folder}/{account}"]
        shown = ["-d", "-P", "-F", "#{pane_id} #{pane_pid}"]
        pane, pid = box.tmux(*place, *shown, *env, "--", str(program), "please run the tests").split()
        wait_for(lambda pane=pane: "❯" in box.screen(pane), "drawing the composer")
        found[account].append(int(pid))
    return found


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_three_commands_lead_from_running_panes_to_an_alert() -> None:
    """As printed, but for the address: one of two accounts fails, and a listener on this machine hears of it."""
    commands = block("fleetd init")
    assert len(commands.strip().splitlines()) == 3
    with sandbox(panes=False) as box, contextmanager(cloned)(box) as clone, Listener() as listener:
        try:
            found = agents(box)
            address = f"ntfy=http://127.0.0.1:{listener.server_port}/a-name-nobody-guesses"
            script = commands.replace("https://ntfy.sh/a-name-nobody-guesses", address)
            path = "/usr/local/bin:/usr/bin:/bin"
            process = subprocess.Popen(
                ["bash", "-c", f"exec 2>&1; {script}"], cwd=clone, env=box.env | {"PATH": path}, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            said: list[str] = []
            threading.Thread(target=lambda: [said.append(line) for line in process.stdout or ()], daemon=True).start()
            wait_for(lambda: any("watching: claude-" in line for line in said), f"watching {said}")
            assert any(line.startswith("6 agents on 2 credentials") for line in said), said
            for pid in found["one"]:
                os.kill(pid, signal.SIGUSR1)
            wait_for(lambda: listener.posted, f"the alert {said}")
            path, title, text = listener.posted[0]
            assert (path, title.startswith("fleet incident")) == ("/a-name-nobody-guesses", True)
            assert "cools off" in text
            assert "claude-" in text
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=30)


def test_every_block_is_tried_here() -> None:
    assert len(BLOCKS) == 12


@pytest.fixture(name="clone")
def _clone(box: Sandbox) -> Iterator[Path]:
    yield from cloned(box)


def cloned(box: Sandbox) -> Iterator[Path]:
    """A clean clone, with this environment's packages in place of what set-up would install."""
    place = box.folder / "fleettools"
    subprocess.run(["git", "clone", "-q", ROOT, place], check=True, capture_output=True)
    (place / ".venv/bin").mkdir(parents=True)
    python = place / ".venv/bin/python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (place / ".venv/.ready").touch()
    yield place
    shutil.rmtree(place)


TRANSCRIPT = """\
$ make -s -C ~/fleettools demo 2>&1 | tail -n 1
fleetd: that was all, in ... s; the tmux server and its files are gone
$ export PATH=~/fleettools/bin:$PATH; mkdir ~/mine; cd ~/mine
$ fleet-gate --profile team-a > /dev/null
fleet-gate: team-a: credential team-a is free
$ tmux set-option -p -t %1 @fleet_profile mine
$ printf 'profiles:\\n  mine: {agent: clade, credentialId: team-a}\\n' > fleetd.yaml
$ fleetd check -q
...1 fault...
configuration fleetd.yaml
FAULT  profiles.mine.agent: no agent file describes clade; did you mean claude?
...
$ sed -i s/clade/claude/ fleetd.yaml
$ fleetd check -q | grep -c FAULT
0
$ fleet-scrape -t %1 | fleet-classify | jq -r .outcome
idle
$ timeout -s TERM 9 fleetd 2>&1 | head -n 1
fleetd: coverage: configured: none; bundled: mine; legacy: none
"""


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_a_new_user_gets_from_a_clean_clone_to_a_running_fleetd(box: Sandbox, clone: Path) -> None:
    """A transcript: each command in one shell, and what it prints, `...` standing for anything."""
    steps = re.split(r"^\$ ", TRANSCRIPT, flags=re.MULTILINE)[1:]
    script = "".join(f"echo '<<<{i}'\n{step.partition(chr(10))[0]}\n" for i, step in enumerate(steps))
    ended = box.run(
        "bash", "-c", f"exec 2>&1\n{script}", env={"PATH": f"{box.folder}/bin:/usr/local/bin:/usr/bin:/bin"}
    )
    said = re.split(r"^<<<\d+\n", ended.out, flags=re.MULTILINE)[1:]
    assert len(said) == len(steps)
    for step, got in zip(steps, said, strict=True):
        command, _, wanted = step.partition("\n")
        pattern = ".*?".join(map(re.escape, wanted.split("...")))
        assert re.fullmatch(pattern, got, re.DOTALL), f"{command}\nprinted:\n{got}"
