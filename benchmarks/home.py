"""A home of its own for a run: folder, store, tmux socket, and programs that see nothing else."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0  # seconds


class Home:
    """The folder, and tmux upon the socket in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.socket = folder, folder / "tmux"
        keep = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "TZ")}
        self.env = keep | {
            "HOME": str(folder), "TMPDIR": str(folder), "XDG_STATE_HOME": f"{folder}/state", "LC_ALL": "C.UTF-8",
            "FLEET_TMUX_SOCKET": str(self.socket), "PYTHONPATH": str(ROOT), "TERM": "screen", "SHELL": "/bin/sh",
        }  # fmt: skip

    def tmux(self, *words: str) -> str:
        """What tmux says on this socket."""
        command = ["tmux", "-u", "-S", str(self.socket), "-f", "/dev/null", *words]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=60, check=True).stdout

    def screen(self, pane: str) -> str:
        """What a pane shows."""
        return self.tmux("capture-pane", "-p", "-t", pane)


def until(true: Callable[[], object], what: str) -> None:
    """Look again and again until it is true; fails when it takes too long."""
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise SystemExit(f"{what} did not happen within {PATIENCE:g} s")
        time.sleep(0.05)
