"""fleettools' commands as real processes beside a tmux server of a test's or module's own, and the bytes they write."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox import Sandbox


class Server(Sandbox):
    """A sandbox whose server has to be named to a command, and whose dead panes stay."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "named")
        del self.env["FLEET_TMUX_SOCKET"]
        self.env["FLEET_STATE"] = str(folder / "state.db")

    def start(self) -> None:
        self.tmux("new-session", "-d", "-s", "s", "-x", "120", "-y", "30", "exec sleep 1000")
        self.tmux("set-option", "-g", "remain-on-exit", "on")

    def lead(self, log: Path, *modes: str, **options: str) -> str:
        """A pane of an agent that has ended a turn."""
        return self.claude(log, "greeted", *modes, **{"agent": "claude"} | options)

    def command(self, stem: str, *words: str, **more: Any) -> "subprocess.Popen[bytes]":
        return self.process([sys.executable, "-m", f"fleettools.commands.{stem}", *words], **more)

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
    try:
        yield server
    finally:
        server.close()
