"""A tmux server, a store and a clock of a test's own, and fleettools' commands as real processes upon them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

CLAUDE = Path(__file__).with_name("claude.py")
# Earlier than any clock on which this runs: what a pane last changed never lies before it.
NOON = 1_704_110_400_000
PATIENCE = 30.0


class Done(NamedTuple):
    """How a command ended: its records, what it said, and its status."""

    records: list[dict[str, Any]]
    said: str
    status: int


class Desk:
    """`run` runs a command at `now_ms`; nothing here waits for the clock to go on."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name, self.now_ms = folder, name, NOON
        keep = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "PYTHONPATH")}
        self.env = keep | {
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "FLEET_STATE": f"sqlite:{folder}/state.db",
            "TMUX_TMPDIR": str(folder),
            "FLEET_TMUX_SOCKET": str(folder / f"tmux-{os.getuid()}" / name),
        }

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-u", "-L", self.name, "-f", "/dev/null", *words]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=20, check=True)
        return done.stdout.strip()

    def start(self, command: str, *args: str, **more: Any) -> "subprocess.Popen[str]":
        """The command as a process that is not waited for; `now` in ms fixes its clock, None leaves it alone."""
        now = more.pop("now", self.now_ms)
        clock = {} if now is None else {"FLEET_NOW": stamp(now)}
        words = [sys.executable, "-m", f"fleettools.commands.{command}", *args]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
        return subprocess.Popen(words, env=self.env | clock, text=True, cwd=self.folder, **pipes)

    def run(self, command: str, *args: str, stdin: str = "", **more: Any) -> Done:
        """The command, to its end."""
        process = self.start(command, *args, **more)
        out, said = process.communicate(stdin, timeout=60)
        return Done([json.loads(line) for line in out.splitlines() if line], said, process.returncode)

    def pipe(self, records: list[dict[str, Any]], *commands: str) -> list[dict[str, Any]]:
        """What comes out of several filters; each has to end well."""
        for command in commands:
            done = self.run(command, stdin="".join(json.dumps(record) + "\n" for record in records))
            assert done.status == 0, done.said
            records = done.records
        return records

    def look(self, *commands: str) -> list[dict[str, Any]]:
        """One sweep over all panes, through classify and these filters."""
        done = self.run("scrape")
        assert done.status == 0, done.said
        return self.pipe(done.records, "classify", *commands)

    def agent(self, *how: str, **options: str) -> tuple[str, int]:
        """Another pane in which a fake agent waits for a prompt: its id and pid."""
        log = self.folder / "prompts"
        words = [sys.executable, str(CLAUDE), str(log), *how]
        shown = ["-d", "-P", "-F", "#{pane_id} #{pane_pid}", "-c", str(self.folder)]
        place = ["new-window"] if self._up() else ["new-session", "-x", "110", "-y", "30"]
        pane, pid = self.tmux(*place, *shown, "--", *words).split()
        self.tmux("set-option", "-g", "remain-on-exit", "off")
        for option, value in options.items():
            self.tmux("set-option", "-p", "-t", pane, f"@fleet_{option}", value)
        self.until(lambda: "for shortcuts" in self.screen(pane))
        return pane, int(pid)

    def _up(self) -> bool:
        return Path(self.env["FLEET_TMUX_SOCKET"]).exists()

    def screen(self, pane: str) -> str:
        return self.tmux("capture-pane", "-p", "-t", pane)

    def signal(self, pane: tuple[str, int], signum: int, shows: str) -> None:
        """Send the agent in a pane a signal and wait until its screen shows what that makes it say."""
        os.kill(pane[1], signum)
        self.until(lambda: shows in self.screen(pane[0]))

    def prompts(self) -> list[str]:
        """What was submitted to any agent."""
        log = self.folder / "prompts"
        return log.read_text().splitlines() if log.exists() else []

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for a condition; fails after PATIENCE seconds."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.05)


def stamp(ms: int) -> str:
    from fleettools import records

    return records.to_ts(ms)


def opened(folder: Path) -> Iterator[Desk]:
    """A desk, cleared away in the end."""
    desk = Desk(folder, f"fleettest-{os.getpid()}-{os.urandom(3).hex()}")
    try:
        yield desk
    finally:
        socket = desk.env["FLEET_TMUX_SOCKET"]
        if os.path.exists(socket):
            subprocess.run(["tmux", "-S", socket, "kill-server"], env=desk.env, capture_output=True, timeout=20)


FAIL, END, STOP = signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP
