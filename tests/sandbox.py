"""A small fleet of its own, with home, store, tmux server, configuration and panes: to try what is printed.

%0 is the lead; %1 `api` and %2 `docs` are idle members on credential team-a, %3 `tests` on team-b shows an API error.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
AGENT = ROOT / "fleettools" / "demo" / "agent.py"
PATIENCE = 30.0  # seconds

CONFIG = """\
profiles:
  claude-a: {agent: claude, command: claude, credentialId: team-a, maxMembers: 4, priority: 10}
  claude-b: {agent: claude, command: claude, credentialId: team-b}
  codex-b: {agent: codex, command: codex}
"""

MEMBERS = (("api", "claude-a"), ("docs", "claude-a"), ("tests", "claude-b"))


class Sandbox:
    """Runs programs in the sandbox's folder with nothing but its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.socket = folder / f"tmux-{os.getuid()}" / "default"
        self.env = {
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

    def run(self, *words: str, stdin: str = "", env: dict[str, str] | None = None, timeout: float = 100) -> "Ended":
        """What a program does, by its end; whatever it started ends with it."""
        process = subprocess.Popen(
            words,
            env=self.env | (env or {}),
            cwd=self.work,
            text=True,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return Ended(process.returncode, out, err)

    def tmux(self, *words: str) -> str:
        """What tmux says on the sandbox's server."""
        ended = self.run("tmux", "-u", "-S", str(self.socket), *words)
        assert not ended.status, ended
        return ended.out

    def screen(self, pane: str) -> str:
        """What a pane shows."""
        return self.tmux("capture-pane", "-p", "-t", pane)


class Ended:
    """How a program ended, and what it wrote."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    def __repr__(self) -> str:
        return f"status {self.status}\n--- stdout\n{self.out}--- stderr\n{self.err}---"


def wait_for(true: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Look again and again until it is true; fails when it takes too long."""
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.05)


@contextmanager
def sandbox(panes: bool = True) -> Iterator[Sandbox]:
    """The sandbox, with or without tmux and its panes; nothing of it stays."""
    # Not pytest's folder: the path of a socket has to be short.
    folder = Path(tempfile.mkdtemp(prefix="fleet-"))
    box = Sandbox(folder)
    try:
        _files(box)
        if panes:
            _panes(box)
        yield box
    finally:
        if panes:
            subprocess.run(["tmux", "-S", str(box.socket), "kill-server"], capture_output=True, check=False)
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
    shown = ("-d", "-P", "-F", "#{pane_id} #{pane_pid}")
    agent = (sys.executable, "-I", str(AGENT))
    made = [box.tmux("-f", "/dev/null", "new-session", *shown, "-x", "110", "-y", "30", "-s", "work", "--", *agent)]
    for name, _ in MEMBERS:
        task = ("please run the tests",) if name == "tests" else ()
        made.append(box.tmux("new-window", *shown, "-t", "work:", "-n", name, "--", *agent, *task))
    box.tmux("set-option", "-p", "-t", "%0", "@fleet_agent", "claude")
    box.tmux("set-option", "-g", "@fleet_runs", AGENT.name)
    for number, (name, profile) in enumerate(MEMBERS, 1):
        options = {"@fleet_profile": profile, "@fleet_name": name, "@fleet_lead": "%0"}
        for option, value in options.items():
            box.tmux("set-option", "-p", "-t", f"%{number}", option, value)
    wait_for(lambda: all("❯" in box.screen(f"%{number}") for number in range(4)), "drawing the composers")
    os.kill(int(made[3].split()[1]), signal.SIGUSR1)
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
