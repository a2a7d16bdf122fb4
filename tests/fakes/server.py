"""A tmux server for one test or one module, with nothing of this machine's in it."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

AGENT = Path(__file__).parent / "agent.py"
DEADLINE = 30.0


class Server:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"fleettest-{uuid.uuid4().hex[:8]}"
        sockets = folder / "s"
        sockets.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TMUX", "FLEET", "XDG"))}
        self.env = kept | {
            "HOME": str(folder),
            "TMUX_TMPDIR": str(sockets),
            "XDG_STATE_HOME": str(folder / "state"),
            "FLEET_STATE": str(folder / "state.db"),
        }
        self.socket = str(sockets / f"tmux-{os.getuid()}" / self.name)

    def tmux(self, *words: str, check: bool = True) -> str:
        command = ["tmux", "-u", "-L", self.name, "-f", "/dev/null", *words]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=30)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.rstrip("\n")

    def start(self) -> None:
        self.tmux("new-session", "-d", "-s", "s", "-x", "120", "-y", "30", "exec sleep 1000")
        self.tmux("set-option", "-g", "remain-on-exit", "on")

    def pane(self, command: str, **options: str) -> str:
        pane = self.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", command)
        for name, value in options.items():
            self.tmux("set-option", "-p", "-t", pane, f"@fleet_{name}", value)
        return pane

    def agent(self, log: Path, *modes: str, **options: str) -> str:
        command = " ".join(["exec", sys.executable, "-S", str(AGENT), str(log), *modes])
        return self.pane(command, **{"agent": "claude", "runs": AGENT.name} | options)

    def screen(self, pane: str) -> str:
        return self.tmux("capture-pane", "-p", "-t", pane)

    @property
    def identity(self) -> str:
        pid = self.tmux("display-message", "-p", "#{pid}")
        return f"{os.uname().nodename}:{self.socket}:{pid}"

    def command(self, stem: str, *words: str, **more: Any) -> "subprocess.Popen[bytes]":
        env = self.env | more.pop("env", {})
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [sys.executable, "-m", f"fleettools.commands.{stem}", *words]
        return subprocess.Popen(command, env=env, cwd=self.folder, **streams | more)

    def run(self, stem: str, *words: str, stdin: bytes = b"", **more: Any) -> "subprocess.CompletedProcess[bytes]":
        process = self.command(stem, *words, **more)
        try:
            out, err = process.communicate(stdin, timeout=90)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    server.start()
    pid = int(server.tmux("display-message", "-p", "#{pid}"))
    try:
        yield server
    finally:
        server.tmux("kill-server", check=False)
        subprocess.run(["kill", "-CONT", str(pid)], stderr=subprocess.DEVNULL, check=False)


def until(condition: Callable[[], Any], what: str = "the condition") -> Any:
    """The first true answer; fails after 30 seconds."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come true within {DEADLINE:g} s")
