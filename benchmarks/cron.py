"""A quiet fleet looked at by `fleetd --once` each minute for an hour: is anything said, so that cron would mail it?

`python benchmarks/cron.py --runs 60` has a clock of its own go from half an hour before a midnight in UTC to half an
hour after it, and starts tmux anew between two looks.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fleet import PATIENCE
from sandbox import AGENT, Sandbox, wait_for


@contextmanager
def quiet_fleet(folder: Path) -> Iterator["Cron"]:
    """A lead and two members that have done nothing yet, and what cron would run upon them."""
    (folder / "fleetd.yaml").write_text("profiles:\n  claude-a: {agent: claude, credentialId: team-a}\n")
    cron = Cron(folder)
    try:
        cron.start()
        yield cron
    finally:
        cron.close()


class Cron(Sandbox):
    """The panes, and one look at them at a time of the caller's."""

    def start(self) -> None:
        """A tmux server with the panes."""
        agent = (sys.executable, "-I", str(AGENT))
        lead = self.pane(*agent, agent="claude")
        members = [self.pane(*agent, profile="claude-a", name=f"worker-{number}", lead=lead) for number in (1, 2)]
        panes = [lead, *members]
        wait_for(lambda: all("for shortcuts" in self.screen(pane) for pane in panes), "drawing the agents", PATIENCE)

    def restart(self) -> None:
        """End the tmux server, and start another with the same panes."""
        pid = self.server_pid
        self.tmux("kill-server")
        wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the tmux server")
        self.start()

    def look(self, now: datetime) -> bytes:
        """What cron would mail: all that a look writes, and its status when that is not 0."""
        command = [sys.executable, "-P", "-m", "fleettools.commands.fleetd", "--once"]
        env = {"FLEET_NOW": now.isoformat().replace("+00:00", "Z")}
        process = self.process(command, env, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        written = process.communicate(timeout=120)[0]
        return written + (b"status %d\n" % process.returncode if process.returncode else b"")


def looks(runs: int) -> list[bytes]:
    """What each of so many looks wrote, a minute apart around a midnight; tmux is started anew at a third of them."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    first = today + timedelta(days=2) - timedelta(minutes=runs // 2)
    written = []
    with tempfile.TemporaryDirectory(prefix="cron") as folder, quiet_fleet(Path(folder)) as cron:
        for run in range(runs):
            if run == runs // 3:
                cron.restart()
            written.append(cron.look(first + timedelta(minutes=run)))
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    runs = parser.parse_args().runs
    began = time.monotonic()
    written = looks(runs)
    for number, data in enumerate(written):
        if data:
            print(f"look {number}: {data.decode(errors='replace')}", end="")
    print(f"{runs} looks in {time.monotonic() - began:.0f} s wrote {sum(map(len, written))} bytes")


if __name__ == "__main__":
    main()
