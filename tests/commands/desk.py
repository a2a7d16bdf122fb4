"""fleettools' commands as real processes on a sandbox of a test's own, at a clock of its own, and their records."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sandbox import Sandbox, wait_for

from fleettools import records

# Earlier than any clock on which this runs: what a pane last changed never lies before it.
NOON = 1_704_110_400_000
FAIL, END, STOP = signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP
stamp = records.to_ts


class Done(NamedTuple):
    """How a command ended: its records, what it said, and its status."""

    records: list[dict[str, Any]]
    said: str
    status: int


class Desk(Sandbox):
    """`run` runs a command at `now_ms`; nothing here waits for the clock to go on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.now_ms = NOON

    def start(self, command: str, *args: str, **more: Any) -> "subprocess.Popen[str]":
        """The command as a process that is not waited for; `now` in ms fixes its clock, None leaves it alone."""
        now = more.pop("now", self.now_ms)
        clock = {} if now is None else {"FLEET_NOW": stamp(now)}
        return self.process([sys.executable, "-m", f"fleettools.commands.{command}", *args], clock, text=True, **more)

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

    def agent(self, *modes: str, **options: str) -> tuple[str, int]:
        """Another pane in which the tests' agent waits for a prompt, and works at it until a signal: its id and pid."""
        pane = self.claude(self.folder / "prompts", *(modes or ("waits",)), **options)
        return pane, self.pid(pane)

    def signal(self, pane: tuple[str, int], signum: int, shows: str) -> None:
        """Send the agent in a pane a signal and wait until its screen shows what that makes it say."""
        os.kill(pane[1], signum)
        self.until(lambda: shows in self.screen(pane[0]))

    def prompts(self) -> list[str]:
        """What was submitted to any agent."""
        log = self.folder / "prompts"
        lines = map(json.loads, log.read_text().splitlines() if log.exists() else [])
        return [line["submitted"] for line in lines if "submitted" in line]

    def until(self, holds: Callable[[], object]) -> None:
        """Wait for a condition; fails when it takes too long."""
        wait_for(holds)


def opened(folder: Path) -> Iterator[Desk]:
    """A desk, cleared away in the end."""
    desk = Desk(folder)
    try:
        yield desk
    finally:
        desk.close()
