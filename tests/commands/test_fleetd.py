"""fleetd: the whole pipe on real tmux, kept up, drained, reloaded; and nothing of it is left when it has ended."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sandbox import AGENT, Sandbox, sandbox, wait_for


class Running:
    """A fleetd, what it has written so far, and its stages."""

    def __init__(self, process: "subprocess.Popen[bytes]", box: Sandbox) -> None:
        self.process, self._box = process, box
        self.out = bytearray()
        self.err = bytearray()
        for stream, into in ((process.stdout, self.out), (process.stderr, self.err)):
            threading.Thread(target=self._collect, args=(stream, into), daemon=True).start()

    @staticmethod
    def _collect(stream: Any, into: bytearray) -> None:
        while chunk := os.read(stream.fileno(), 65536):
            into.extend(chunk)

    @property
    def said(self) -> str:
        return self.err.decode()

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in bytes(self.out).splitlines(keepends=True) if line.endswith(b"\n")]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.records if record["type"] == kind]

    def stages(self) -> dict[str, int]:
        """The running stages of this fleetd: name -> pid."""
        found = {}
        for pid in ours(self._box):
            words = cmdline(pid)
            name = next((word for word in words if word.startswith("fleettools.commands.")), "")
            if name and not name.endswith(".fleetd"):
                found[name.rpartition(".")[2]] = pid
        return found

    def wait_until_up(self, stages: int = 5) -> None:
        wait_for(lambda: len(self.stages()) == stages, f"starting {stages} stages")

    def end(self, signum: int = signal.SIGTERM) -> int:
        """End it; gives its status."""
        self.process.send_signal(signum)
        return self.process.wait(20)


def cmdline(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return []


def ours(box: Sandbox) -> list[int]:
    """The processes of fleettools that live in a sandbox, apart from what its panes run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            environ, words = (entry / "environ").read_bytes(), cmdline(int(entry.name))
            panes = any(word.endswith(("agent.py", "claude.py", "tmux")) for word in words)
            if f"HOME={box.folder}\0".encode() in environ and any("fleettools" in word for word in words) and not panes:
                found.append(int(entry.name))
    return found


@contextmanager
def fleetd(box: Sandbox, *args: str, env: dict[str, str] | None = None) -> Iterator[Running]:
    command = [sys.executable, "-P", "-m", "fleettools.commands.fleetd", *args]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=box.env | (env or {}), cwd=box.work,
    )  # fmt: skip
    running = Running(process, box)
    try:
        yield running
    finally:
        process.kill()
        process.wait()
        for pid in ours(box):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(name="box")
def _box() -> Iterator[Sandbox]:
    with sandbox() as box:
        yield box


@pytest.fixture(name="quiet")
def _quiet() -> Iterator[Sandbox]:
    """A sandbox with a tmux server and no member."""
    with sandbox(panes=False) as box:
        box.tmux("new-session", "-d", "-s", "quiet", "sleep 600")
        yield box


def fail(box: Sandbox, *panes: str) -> None:
    """Let the backend of these panes' agents fail in a turn that a person begins there."""
    for pane in panes:
        box.tmux("send-keys", "-t", pane, "go on", "Enter")
        wait_for(lambda: "❯ go on" in box.screen(pane), "the prompt")  # noqa: B023
        os.kill(int(box.tmux("display-message", "-p", "-t", pane, "#{pane_pid}")), signal.SIGUSR1)


def test_an_outage_is_said_once_and_the_lead_is_told_once(box: Sandbox) -> None:
    with fleetd(box) as running:
        running.wait_until_up()
        fail(box, "%1", "%2")
        wait_for(lambda: running.of("delivery"), "the notice")
        assert [one["credentialId"] for one in running.of("incident")] == ["team-a"]
        assert [one["outcome"] for one in running.of("delivery")] == ["submitted"]
        assert {one["type"] for one in running.records} <= {"incident", "delivery", "tmux"}
        assert "coverage: configured: none; bundled: claude-a, claude-b, codex-b; legacy: none\n" in running.said
        assert running.end() == -signal.SIGTERM
        assert not ours(box)
    assert "run fleet-list" in box.screen("%0")


def test_all_writes_the_verdicts_too(box: Sandbox) -> None:
    with fleetd(box, "run", "--all") as running:
        wait_for(lambda: {one["target"] for one in running.of("verdict")} >= {"%1", "%2", "%3"}, "the verdicts")
        assert running.end(signal.SIGINT) == -signal.SIGINT
        assert not ours(box)


def test_every_incident_and_every_notice_comes_once_whichever_stage_is_killed() -> None:
    """Five accounts fail, each while another stage is killed; the members of one fail together."""
    chosen = random.Random(os.environ.get("FLEET_TEST_SEED", "7"))
    victims = ["scrape", "classify", "resolve", "correlate", "notify"]
    chosen.shuffle(victims)
    with sandbox(panes=False) as box:
        log = box.folder / "told"
        panes = _many(box, len(victims), log)
        with fleetd(box) as running:
            for number, victim in enumerate(victims):
                running.wait_until_up()
                fail(box, *panes[number])
                time.sleep(chosen.uniform(0, 1.5))
                with suppress(KeyError, ProcessLookupError):
                    os.kill(running.stages()[victim], signal.SIGKILL)
                    wait_for(lambda: f"fleet-{victim} was killed by SIGKILL" in running.said, "saying it")  # noqa: B023
            # After five kills the pause before a new start has grown to 8 s.
            wait_for(lambda: _told(running, log) == len(victims), "telling all of it", 90)
            assert running.end() == -signal.SIGTERM
            assert not ours(box)
        lines = bytes(running.out).splitlines(keepends=True)
        assert all(line.endswith(b"\n") and json.loads(line) for line in lines)
        incidents = {one["id"]: one["credentialId"] for one in running.of("incident")}
        assert sorted(one["credentialId"] for one in running.of("incident")) == [
            f"team-{number}" for number in range(len(victims))
        ]
        typed = Counter(re.findall(r"\bteam-[0-9]\b", log.read_text()))
        ends = {incidents[one["id"]]: one["outcome"] for one in running.of("delivery")}
        assert len(running.of("delivery")) == len(ends)
        for name in incidents.values():
            # The word of a delivery that was made may be lost with its maker; the delivery itself is not.
            end = ends.get(name, "submitted")
            assert typed[name] == 1 if end == "submitted" else typed[name] <= 1, (name, end, typed)
            assert end in ("submitted", "unknown")
        print(f"killed {len(victims)} stages: {len(incidents)} incidents, {sum(typed.values())} notices, {ends}")


def _told(running: Running, log: Path) -> int:
    """How many incidents were submitted to the lead or honestly given up."""
    names = {one["id"]: one["credentialId"] for one in running.of("incident")}
    told = set(re.findall(r"\bteam-[0-9]\b", log.read_text())) if log.exists() else set()
    return len(told | {names[one["id"]] for one in running.of("delivery") if one["outcome"] == "unknown"})


def _many(box: Sandbox, credentials: int, log: Path) -> list[list[str]]:
    """A lead that logs what is submitted to it, and two members on each credential."""
    names = [f"team-{number}" for number in range(credentials)]
    profiles = "\n".join(f"  p{i}: {{agent: claude, credentialId: {name}}}" for i, name in enumerate(names))
    (box.work / "fleetd.yaml").write_text(f"profiles:\n{profiles}\n")
    lead = box.claude(log, agent="claude")
    made: list[list[str]] = []
    for number in range(credentials):
        made.append([])
        for _ in range(2):
            agent = (sys.executable, "-I", str(AGENT), "work on it")
            made[-1].append(box.pane(*agent, profile=f"p{number}", lead=lead))
    wait_for(lambda: all("❯" in box.screen(pane) for pair in made for pane in pair), "drawing the composers")
    return made


def test_nothing_is_left_when_fleetd_itself_is_killed(quiet: Sandbox) -> None:
    with fleetd(quiet) as running:
        running.wait_until_up()
        assert running.end(signal.SIGKILL) == -signal.SIGKILL
        wait_for(lambda: not ours(quiet), "the end of the stages")


@pytest.mark.parametrize("args", [["--all"], []], ids=["with records to write", "though all is quiet"])
def test_a_reader_that_is_gone_ends_it(args: list[str], quiet: Sandbox) -> None:
    read, write = os.pipe()
    command = [sys.executable, "-P", "-m", "fleettools.commands.fleetd", *args]
    process = subprocess.Popen(command, stdout=write, stderr=subprocess.DEVNULL, env=quiet.env, cwd=quiet.work)
    try:
        os.close(write)
        os.close(read)
        assert process.wait(30) == -signal.SIGPIPE
        assert not ours(quiet)
    finally:
        process.kill()
        process.wait()


def test_a_reload_takes_over_what_it_can_and_says_what_waits(quiet: Sandbox) -> None:
    config = quiet.work / "fleetd.yaml"
    with fleetd(quiet) as running:
        running.wait_until_up()
        before = running.stages()
        config.write_text("profiles: {codex-b: {agent: codex, errorPattern: oops}}\noutage: {threshold: 3}\n")
        running.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "waiting for a restart of fleetd: profiles.codex-b.errorPattern\n" in running.said, "the word")
        assert "reloaded: " in running.said
        assert "outage.threshold" in running.said
        wait_for(lambda: len(running.stages()) == 5 and not set(before.values()) & set(running.stages().values()), "it")
        config.write_text("outage: {threshold: none}\n")
        running.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "outage.threshold: expected a whole number" in running.said, "the refusal")
        assert running.process.poll() is None
        assert running.end() == -signal.SIGTERM


def test_a_bad_pattern_starts_nothing(quiet: Sandbox) -> None:
    (quiet.work / "fleetd.yaml").write_text("profiles: {codex-b: {errorPattern: '(a'}}")
    ended = quiet.run("fleetd")
    assert (ended.status, ended.out) == (78, "")
    assert ended.err == "fleetd: fleetd.yaml: profiles.codex-b.errorPattern: missing ) at 2; mend the regular " + (
        "expression, or put \\ before the character\n"
    )


def test_the_coverage_line_names_configured_bundled_and_legacy(quiet: Sandbox) -> None:
    (quiet.work / "fleetd.yaml").write_text("profiles: {a: {agent: claude}, b: {errorPattern: x}, c: {}}")
    with fleetd(quiet) as running:
        wait_for(lambda: "coverage: " in running.said, "the coverage line")
        assert running.said.startswith("fleetd: coverage: configured: b; bundled: a; legacy: c (")


def test_a_supervisor_hears_when_it_is_ready_alive_and_stopping(quiet: Sandbox) -> None:
    path = str(quiet.folder / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
        door.bind(path)
        door.settimeout(30)
        with fleetd(quiet, env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"}) as running:
            assert door.recv(4096).startswith(b"READY=1")
            assert [door.recv(4096) for _ in range(3)] == [b"WATCHDOG=1"] * 3
            running.process.terminate()
            heard = b""
            while heard != b"STOPPING=1":
                heard = door.recv(4096)


def test_once_says_a_fault_when_it_is_new_and_then_is_silent(quiet: Sandbox) -> None:
    ended = quiet.run("fleetd", "--once")
    assert (ended.status, ended.out) == (0, "")
    assert ended.err.startswith("fleetd: WARN watching nothing: ")
    ended = quiet.run("fleetd", "--once")
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    (quiet.work / "fleetd.yaml").write_text("profiles: {c: {}}")
    assert quiet.run("fleetd", "--once").err.startswith("fleetd: WARN coverage: configured: none; bundled: none; ")
    assert not quiet.run("fleetd", "--once").err


def test_once_says_a_lead_that_is_gone_once(box: Sandbox) -> None:
    for number in (1, 2, 3):
        box.tmux("set-option", "-p", "-t", f"%{number}", "@fleet_lead", "%9")
    ended = box.run("fleetd", "--once")
    assert "fleet-scrape: WARN " in ended.err and "%9" in ended.err
    assert "fleetd: WARN nobody is told of a failure: " in ended.err
    ended = box.run("fleetd", "--once")
    assert (ended.status, ended.out, ended.err) == (0, "", "")


def test_once_without_a_tmux_server_is_silent_unless_there_was_one(box: Sandbox) -> None:
    nobody = {"FLEET_TMUX_SOCKET": str(box.folder / "nobody")}
    ended = box.run("fleetd", "--once", env=nobody)
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    assert box.run("fleetd", "--once").status == 0
    box.tmux("kill-server")
    ended = box.run("fleetd", "--once")
    assert [json.loads(line)["state"] for line in ended.out.splitlines()] == ["down"]
    assert "no server is running" in ended.err
    ended = box.run("fleetd", "--once")
    assert (ended.status, ended.out, ended.err) == (0, "", "")


def test_once_says_an_outage_and_delivers_it(box: Sandbox) -> None:
    fail(box, "%1", "%2")
    wait_for(lambda: all("API Error" in box.screen(pane) for pane in ("%1", "%2")), "the errors")
    ended = box.run("fleetd", "--once")
    assert ended.status == 0, ended
    assert [json.loads(line)["type"] for line in ended.out.splitlines()] == ["incident", "delivery"]
    assert not box.run("fleetd", "--once").out


def test_a_second_fleetd_is_refused_with_the_pid_of_the_first(quiet: Sandbox) -> None:
    with fleetd(quiet) as running:
        running.wait_until_up()
        for args in ((), ("--once",)):
            ended = quiet.run("fleetd", *args)
            assert (ended.status, ended.out) == (75, "")
            assert ended.err == (
                f"fleetd: another fleetd (pid {running.process.pid}) is at work on this store and tmux server; "
                "let it finish, or stop it\n"
            )


@pytest.mark.parametrize(
    ("socket", "status"), [("tmux.sock", 75), ("other.sock", 0)], ids=["the same server", "another server"]
)
def test_once_knows_another_fleetd_however_its_store_and_server_are_named(
    socket: str, status: int, quiet: Sandbox
) -> None:
    place = quiet.folder / "tmux.sock"
    place.symlink_to(quiet.socket)
    with fleetd(quiet, "--state", str(quiet.folder / "state.db"), "-S", str(quiet.socket)) as running:
        running.wait_until_up()
        ended = quiet.run("fleetd", "--once", env={"FLEET_TMUX_SOCKET": str(quiet.folder / socket)})
        assert ended.status == status, ended


URLS = [
    ("postgresql://me:hunter2@h:1/x", False), ("postgresql://me:a@hunter2@h/x", False),
    ("postgresql://h/x?password=hunter2", False), ("postgresql://h/x?sslpassword=hunter2", False),
    ("postgresql://me@h:5432/x", True), ("sqlite:/tmp/s.db", True),
]  # fmt: skip


@pytest.mark.parametrize(("url", "stays"), URLS)
def test_the_printed_line_holds_no_password(url: str, stays: bool, box: Sandbox) -> None:
    ended = box.run("fleetd", "--print", "--state", url)
    assert ended.status == 0
    assert "hunter2" not in ended.out + ended.err
    assert (f"--state {url}" in ended.out) is stays
    assert ("put the URL into FLEET_STATE first" in ended.err) is not stays


def test_the_printed_line_does_the_same_in_a_shell(box: Sandbox) -> None:
    line = box.run("fleetd", "--print").out
    assert [part.split()[0] for part in line.split(" | ")] == [
        "fleet-scrape", "fleet-classify", "fleet-resolve", "fleet-correlate", "fleet-notify", "fleetd",
    ]  # fmt: skip
    shell = subprocess.Popen(
        ["/bin/sh", "-c", line], stdout=subprocess.PIPE, env=box.env, cwd=box.work, start_new_session=True
    )
    try:
        fail(box, "%1", "%2")
        assert shell.stdout
        kinds: list[str] = []
        while "delivery" not in kinds:
            kinds.append(json.loads(shell.stdout.readline())["type"])
        assert kinds.count("incident") == 1
        assert set(kinds) <= {"incident", "delivery", "tmux"}
        told = {"verdict": 3, "incident": 1, "delivery": 1}  # the journal has them right after they are printed
        wait_for(lambda: Counter(one["type"] for one in journal(box)) == told, "the journal's lines")
        assert "(pid " in box.run("fleetd").err
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    assert not box.run("fleetd", "--once").out


def journal(box: Sandbox) -> list[dict[str, Any]]:
    """What the journal holds, in its order."""
    files = sorted((box.folder / ".local/state/fleettools/journal").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_the_journal_has_each_end_of_a_turn_and_all_news_once(box: Sandbox) -> None:
    with fleetd(box) as running:
        running.wait_until_up()
        fail(box, "%1", "%2")
        wait_for(lambda: running.of("delivery"), "the notice")
        os.kill(running.stages()["classify"], signal.SIGKILL)
        wait_for(lambda: "the whole pipe starts again" in running.said, "the new start")
        running.wait_until_up()
        running.end()
    assert not box.run("fleetd", "--once").out
    kinds = Counter((one["type"], one.get("target"), one.get("outcome")) for one in journal(box))
    assert kinds.pop(("incident", None, None)) == 1
    assert kinds.pop(("delivery", "%0", "submitted")) == 1
    assert kinds == {("verdict", f"%{number}", "backend_error"): 1 for number in (1, 2, 3)}
    folder = box.folder / ".local/state/fleettools/journal"
    assert [path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())] == [0o700, 0o600]


def test_no_journal_is_kept_when_nobody_wants_one(box: Sandbox) -> None:
    (box.work / "fleetd.yaml").write_text("journal: {days: 0}")
    assert box.run("fleetd", "--once").status == 0
    assert not journal(box)


CHECKS = [
    (
        "an agent nobody described",
        "profiles: {a: {agent: cluade}}",
        78,
        "FAULT  profiles.a.agent: no agent file describes cluade; did you mean claude?",
    ),
    (
        "a folder that is missing",
        "profiles: {a: {agent: claude, cwd: /nowhere}}",
        0,
        "WARN   profiles.a.cwd: /nowhere is no folder",
    ),
    (
        "a command that is missing",
        "profiles: {a: {command: nosuchprogram -x, errorPattern: x}}",
        0,
        "WARN   profiles.a.command: nosuchprogram is not on the PATH",
    ),
    ("legacy coverage", "profiles: {a: {}}", 0, "WARN   profiles.a: its failures are judged by one old rule alone"),
    (
        "a lead that no pane matches",
        "panes: [{session: quiet, profile: a, lead: 'lead:0'}]\nprofiles: {a: {agent: claude}}",
        0,
        "WARN   panes[0].lead: no pane is lead:0",
    ),
    (
        "a credential that nobody spends",
        "credentials: {team-x: {}}\nprofiles: {team-y: {agent: claude}}",
        0,
        "WARN   credentials.team-x: no profile spends it; did you mean team-y?",
    ),
    (
        "a mistake in the configuration",
        "outage: {treshold: 2}",
        78,
        "FAULT  fleetd.yaml: outage.treshold: unknown key; did you mean threshold?",
    ),
    (
        "a key with its value, type and default",
        "outage: {threshold: 4}",
        0,
        "outage.threshold: 4  (whole number at least 1; default 2; a change holds on a reload)",
    ),
    (
        "an agent file of one's own that is wrong",
        "agents: own",
        78,
        "FAULT  own/mine.yaml: colour: unknown key; did you mean replyColoured",
    ),
    ("a key that waits for a restart", "state: 'memory:'", 0, "a change holds after a restart"),
    (
        "a rule that takes every pane",
        "panes: [{profile: a}]\nprofiles: {a: {agent: claude}}",
        0,
        "WARN   panes[0]: it has no glob, so every pane is a member; if that is not meant, give it a session",
    ),
    ("a member without a profile", "panes: [{session: '*'}]", 0, "%0: it has no profile, so its failures are unmapped"),
    (
        "a member whose profile nobody configured",
        "panes: [{session: '*', profile: b}]\nprofiles: {a: {agent: claude}}",
        78,
        "%0: nobody configured its profile b, so its failures are unmapped; add it to profiles (there are a)",
    ),
]


@pytest.mark.parametrize(("config", "status", "says"), [pytest.param(*case[1:], id=case[0]) for case in CHECKS])
def test_check_says_what_is_wrong_with_its_mend(config: str, status: int, says: str, quiet: Sandbox) -> None:
    (quiet.work / "fleetd.yaml").write_text(config)
    (quiet.work / "own").mkdir()
    (quiet.work / "own" / "mine.yaml").write_text("colour: red\n")
    ended = quiet.run("fleetd", "check")
    assert ended.status == status, ended
    assert says in ended.out


def test_an_agent_file_that_is_wrong_starts_nothing(quiet: Sandbox) -> None:
    (quiet.work / "fleetd.yaml").write_text("agents: own")
    (quiet.work / "own").mkdir()
    for name in ("one", "two"):
        (quiet.work / "own" / f"{name}.yaml").write_text("colour: red\n")
    for args in ((), ("--once",)):
        ended = quiet.run("fleetd", *args)
        assert (ended.status, ended.out) == (78, ""), ended
        assert "own/one.yaml" in ended.err and "own/two.yaml" in ended.err


def test_check_finds_a_lead_that_inherits_a_profile_and_a_state_folder_that_is_open(box: Sandbox) -> None:
    box.tmux("set-option", "-g", "@fleet_profile", "claude-a")
    box.folder.chmod(0o755)
    (box.folder / "state.db").touch(0o644)
    ended = box.run("fleetd", "check", "-q")
    assert "WARN   %0 is a lead and inherits the profile claude-a, so it is watched as a member; if that" in ended.out
    assert f"WARN   state: {box.folder} is open to others (mode 755)" in ended.out
    assert "ok     tmux " in ended.out
    assert ended.status == 0


@pytest.mark.parametrize(
    "state",
    [
        "postgresql://me:hunter2@127.0.0.1:1/fleet",
        "postgresql://me:a@hunter2@127.0.0.1:1/fleet",
        "postgresql://me@127.0.0.1:1/fleet?password=hunter2",
        "postgresql://127.0.0.1:1/fleet?user=me&password=hunter2",
    ],
)
def test_check_shows_no_secret(quiet: Sandbox, state: str) -> None:
    (quiet.work / "fleetd.yaml").write_text("profiles: {a: {agent: claude, env: {KEY: hunter2}}}")
    ended = quiet.run("fleetd", "check", "--state", state)
    assert ended.status in (2, 69)
    assert "hunter2" not in ended.out + ended.err


def test_the_demo_shows_it_all_and_leaves_nothing() -> None:
    with sandbox(panes=False) as box:
        began = time.monotonic()
        ended = box.run("fleetd", "demo")
        assert time.monotonic() - began < 60
        assert ended.status == 0, ended
        shown = [json.loads(line) for line in ended.out.splitlines()]
        assert [record["type"] for record in shown if record["type"] != "verdict"] == ["incident", "delivery"]
        assert {r["name"]: r["outcome"] for r in shown if r["type"] == "verdict"} == {
            "ada": "backend_error", "bob": "backend_error", "cleo": "completed"
        }  # fmt: skip
        assert "team-a cools off until" in ended.err
        assert "told: %0" in ended.err
        assert "❯ fleet notice " in ended.err
        assert "claude-a: credential team-a is cooling off" in ended.err
        assert not ours(box)
        assert not list(box.folder.glob("tmux-*/fleetd-demo-*"))
        assert not list(box.folder.rglob("fleetd-*.lock"))


def test_the_demo_cleans_up_after_an_interrupt() -> None:
    with sandbox(panes=False) as box, fleetd(box, "demo") as running:
        wait_for(lambda: "coverage" in running.said, "the demo's start")
        assert running.end(signal.SIGINT) == -signal.SIGINT
        assert not ours(box)
        assert not list(box.folder.glob("tmux-*/fleetd-demo-*"))
