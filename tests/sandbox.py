"""The tests' one harness: a home, a store and a tmux server of their own, and programs that see nothing else.

`sandbox()` has a small fleet in it, to try what is printed: %0 is the lead; %1 `api` and %2 `docs` are idle members on
credential team-a, %3 `tests` on team-b shows an API error.
"""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
AGENT = ROOT / "fleettools" / "demo" / "agent.py"
CLAUDE = ROOT / "tests" / "fakes" / "claude.py"
PATIENCE = 30.0  # seconds

CONFIG = """\
profiles:
  claude-a: {agent: claude, command: claude, credentialId: team-a, maxMembers: 4, priority: 10}
  claude-b: {agent: claude, command: claude, credentialId: team-b}
  codex-b: {agent: codex, command: codex}
"""

MEMBERS = (("api", "claude-a"), ("docs", "claude-a"), ("tests", "claude-b"))

Found = TypeVar("Found")


class Sandbox:
    """Runs programs in a folder with nothing but its environment, and panes on a tmux server in it."""

    def __init__(self, folder: Path, name: str = "default", work: Path | None = None) -> None:
        self.folder, self.name = folder, name
        self.work = work or folder
        self.socket = folder / f"tmux-{os.getuid()}" / name
        keep = {key: value for key, value in os.environ.items() if key in ("LANG", "PYTHONPATH")}
        self.env = keep | {
            "PATH": f"{folder}/bin:{ROOT}/bin:{os.environ['PATH']}",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "XDG_STATE_HOME": f"{folder}/.local/state",
            "XDG_CONFIG_HOME": f"{folder}/.config",
            "TMUX_TMPDIR": str(folder),
            "FLEET_TMUX_SOCKET": str(self.socket),
            "FLEET_STATE": f"sqlite:{folder}/state.db",
            "LC_ALL": "C.UTF-8",
            "TERM": "screen",
            "SHELL": "/bin/sh",
        }

    # -- programs

    def process(self, words: Sequence[str], env: dict[str, str] | None = None, **more: Any) -> "subprocess.Popen[Any]":
        """A program that is not waited for, its three streams on pipes unless `more` says otherwise."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(words, env=self.env | (env or {}), **pipes | {"cwd": self.work} | more)

    def run(self, *words: str, stdin: str = "", env: dict[str, str] | None = None, timeout: float = 100) -> "Ended":
        """What a program does, by its end; whatever it started ends with it."""
        process = self.process(words, env, text=True, start_new_session=True)
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return Ended(process.returncode, out, err)

    # -- tmux

    def tmux(self, *words: str, check: bool = True) -> str:
        """What tmux says on the sandbox's server, its last newline off; fails when tmux does, unless told not to."""
        self.socket.parent.mkdir(mode=0o700, exist_ok=True)
        command = ["tmux", "-u", "-S", str(self.socket), "-f", "/dev/null", *words]
        done = subprocess.run(command, env=self.env, cwd=self.work, capture_output=True, text=True, timeout=30)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.rstrip("\n")

    def pane(self, *words: str, size: str = "", **options: str) -> str:
        """Another pane, in a window of its own, in which this runs; its id. `options` are its @fleet_... ones.

        A `size` in columns and rows, as 40x14, takes a session of its own.
        """
        columns, _, rows = (size or "110x30").partition("x")
        alone = size or not self.server_pid
        place = ["new-session", "-x", columns, "-y", rows] if alone else ["new-window"]
        pane = self.tmux(*place, "-d", "-P", "-F", "#{pane_id}", "-c", str(self.work), "--", *words)
        for option, value in options.items():
            self.tmux("set-option", "-p", "-t", pane, f"@fleet_{option}", value)
        return pane

    def claude(self, log: Path, *modes: str, **options: str) -> str:
        """Another pane in which the tests' agent has drawn itself; what it is given goes to the log."""
        pane = self.pane(sys.executable, str(CLAUDE), str(log), *modes, **options)
        ends = ("for shortcuts", "to interrupt", "╰")
        wait_for(lambda: any(end in self.screen(pane) for end in ends), "drawing the agent")
        return pane

    def pid(self, pane: str) -> int:
        """The process of a pane."""
        return int(self.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))

    def screen(self, pane: str) -> str:
        """What a pane shows."""
        return self.tmux("capture-pane", "-p", "-t", pane)

    @property
    def server_pid(self) -> int:
        """The tmux server, which need not answer for this; 0 when none runs."""
        with socket.socket(socket.AF_UNIX) as asked:
            try:
                asked.connect(str(self.socket))
            except OSError:
                return 0
            return int(struct.unpack("3i", asked.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])

    @property
    def identity(self) -> str:
        """The tmux server as records name it."""
        return f"{os.uname().nodename}:{self.socket}:{self.server_pid}"

    def close(self) -> None:
        """End the tmux server, even a stopped one, and with it what its panes run."""
        if pid := self.server_pid:
            os.kill(pid, signal.SIGCONT)
            self.tmux("kill-server", check=False)


class Ended:
    """How a program ended, and what it wrote."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    def __repr__(self) -> str:
        return f"status {self.status}\n--- stdout\n{self.out}--- stderr\n{self.err}---"


def wait_for(true: Callable[[], Found], what: str = "it", patience: float = PATIENCE) -> Found:
    """Look again and again until it is true; gives the first true answer, fails when it takes too long."""
    deadline = time.monotonic() + patience
    while not (found := true()):
        assert time.monotonic() < deadline, f"{what} did not happen within {patience:g} s"
        time.sleep(0.05)
    return found


@contextmanager
def sandbox(panes: bool = True) -> Iterator[Sandbox]:
    """The sandbox, with or without tmux and its panes; nothing of it stays."""
    # Not pytest's folder: the path of a socket has to be short.
    folder = Path(tempfile.mkdtemp(prefix="fleet-"))
    box = Sandbox(folder, work=folder / "work")
    try:
        _files(box)
        if panes:
            _panes(box)
        yield box
    finally:
        box.close()
        shutil.rmtree(folder, ignore_errors=True)


def _files(box: Sandbox) -> None:
    for place in (box.work, box.folder / "bin", box.socket.parent):
        place.mkdir(mode=0o700)
    (box.work / "fleetd.yaml").write_text(CONFIG)
    (box.work / "samples").symlink_to(ROOT / "samples")
    (box.work / "day.jsonl").write_text("".join(day()))
    (box.work / "screen.txt").write_text(SCREEN)
    for name in ("claude", "codex"):
        program = box.folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -I {AGENT} "$@"\n')
        program.chmod(0o755)


def _panes(box: Sandbox) -> None:
    agent = (sys.executable, "-I", str(AGENT))
    box.tmux("new-session", "-d", "-x", "110", "-y", "30", "-s", "work", "--", *agent)
    box.tmux("set-option", "-p", "-t", "%0", "@fleet_agent", "claude")
    box.tmux("set-option", "-g", "@fleet_runs", AGENT.name)
    for name, profile in MEMBERS:
        task = ("please run the tests",) if name == "tests" else ()
        box.pane(*agent, *task, profile=profile, name=name, lead="%0")
    wait_for(lambda: all("❯" in box.screen(f"%{number}") for number in range(4)), "drawing the composers")
    os.kill(box.pid("%3"), signal.SIGUSR1)
    wait_for(lambda: "API Error" in box.screen("%3"), "drawing the error")


def day() -> Iterator[str]:
    """Verdicts of a day: two members on team-a fail within a minute, one on team-b alone."""
    rows = (
        ("09:14:02.000", "%1", "api", "claude-a", "completed"),
        ("09:15:05.000", "%1", "api", "claude-a", "backend_error"),
        ("09:15:40.000", "%2", "docs", "claude-a", "backend_error"),
        ("09:16:10.000", "%3", "tests", "claude-b", "backend_error"),
        ("11:30:00.000", "%3", "tests", "claude-b", "completed"),
    )
    for number, (at, target, name, profile, outcome) in enumerate(rows):
        ts = f"2026-01-31T{at}Z"
        who = {"server": "host:/tmp/tmux-1000/default:4711", "target": target, "name": name, "profile": profile}
        what = {"outcome": outcome, "event": f"turn-{number}", "at": ts}
        cause = {"cause": "overload"} if outcome == "backend_error" else {}
        yield json.dumps({"type": "verdict", "v": 1, "ts": ts, **who, **what, **cause}) + "\n"


SCREEN = """\
 ▐▛███▜▌   Claude Code v2.1.197
▝▜█████▛▘  ~/work/app
  ▘▘ ▝▝

❯ please run the tests

● API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}

✻ Cooked for 7s

────────────────────────────────────────────────────────────────────────────────
❯\u00a0
────────────────────────────────────────────────────────────────────────────────
  ? for shortcuts
"""
