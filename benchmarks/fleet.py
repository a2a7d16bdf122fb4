"""The tests' sandbox with many quiet panes, and what a process tree costs."""

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))
from sandbox import Sandbox

PATIENCE = 60.0  # seconds
SCREEN = os.path.join("samples", "screens", "claude", "completed--cc-ok-writes-error-docs.txt")


class Fleet(NamedTuple):
    """The socket of a running server, the ids of its panes, and a private environment for commands."""

    socket: str
    panes: list[str]
    env: dict[str, str]


@contextmanager
def running(count: int, profile: str = "one") -> Iterator[Fleet]:
    """`count` panes, a window each, that show an agent's screen and wait; ended afterwards."""
    with tempfile.TemporaryDirectory(prefix="fleet") as folder:
        box = Sandbox(Path(folder))
        show = f"cat {os.path.abspath(SCREEN)}; exec sleep 100000"
        script = "".join(
            f'new-window -d "{show}"\nset-option -p -t %{n} @fleet_profile {profile}\n' for n in range(count)
        )
        (box.folder / "panes").write_text(script)
        try:
            box.tmux("new-session", "-d", "-x", "110", "-y", "40", show)
            box.tmux("source-file", str(box.folder / "panes"))
            box.tmux("kill-pane", "-t", f"%{count}")
            yield Fleet(str(box.socket), [f"%{n}" for n in range(count)], box.env)
        finally:
            box.close()


def server_pid(fleet: Fleet) -> int:
    """The process of the fleet's tmux server."""
    asked = ["tmux", "-S", fleet.socket, "display-message", "-p", "#{pid}"]
    return int(subprocess.run(asked, capture_output=True, check=True, env=fleet.env).stdout)


def tree(pid: int) -> list[int]:
    """A process and all that descend from it."""
    found = [pid]
    for process in found:
        try:
            with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
        except OSError:
            continue
    return found


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and of its children that have ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            after_name = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, after_name[11:15])) / os.sysconf("SC_CLK_TCK")


def pss_mib(pid: int) -> float:
    """Proportional memory of a process, in MiB."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024
    except OSError:
        return 0.0


@contextmanager
def daemon(fleet: Fleet, argv: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A long-running command over the fleet, its records on a pipe; asked to end afterwards."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=fleet.env) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def token() -> str:
    """A name that nothing else has."""
    return f"bench-{uuid.uuid4().hex[:8]}"
