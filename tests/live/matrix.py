"""The matrix: agents x failures x situations, each cell tried on the real agent and judged by the real pipe."""

import queue
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from live import lab, namespace
from live.cells import Cell, cells, sessions
from live.lab import Agent, Pane, Pipe
from live.situations import Result, Trial
from sandbox import Sandbox

SIDE_BY_SIDE = 6  # panes at once: so many as two cores take
PROFILE = "  {0}: {{agent: {0}, command: {0}, credentialId: {0}}}\n"


class Installed(NamedTuple):
    """A release of an agent that can be started: its version, and the PATH that finds it."""

    agent: Agent
    version: str
    path: str


class World(NamedTuple):
    """A home, a tmux server, and the pipe over all of its panes."""

    box: Sandbox
    pipe: Pipe


@contextmanager
def world(profiles: str, kept: Path, stages: lab.Stages = lab.STAGES) -> Iterator[World]:
    """A world for panes of these profiles; nothing of it stays but what the pipe wrote, in `kept`."""
    folder = namespace.folder()
    box = Sandbox(folder, "live", work=folder / "fleet")
    box.env = lab.fleet_env(box)
    for place in (box.work, box.socket.parent):
        place.mkdir(mode=0o700)
    (box.work / "fleetd.yaml").write_text(profiles)
    pipe = Pipe(box, kept / "records.jsonl", stages)
    try:
        box.tmux("new-session", "-d", "-s", "keep", "sleep", "1000000")
        pipe.start()
        yield World(box, pipe)
    finally:
        pipe.stop()
        box.close()


def run(
    installed: list[Installed], full: bool, kept: Path, told: Callable[[Result], None], only: str = ""
) -> list[Result]:
    """Try every cell of every agent, many panes at once; `told` hears of each result as it comes.

    `only` keeps the cells whose name holds it.
    """
    asked = [cell for cell in cells(full) if only in str(cell)]
    waiting: queue.SimpleQueue[tuple[Installed, list[Cell]]] = queue.SimpleQueue()
    dealt = [sessions([cell for cell in asked if cell.situation not in one.agent.without]) for one in installed]
    for round_ in zip_longest(*dealt):  # agent by agent, so that all are at work from the beginning
        for one, session in zip(installed, round_, strict=True):
            if session:
                waiting.put((one, session))
    results: list[Result] = []
    lock = threading.Lock()

    def heard(result: Result) -> None:
        with lock:
            results.append(result)
            told(result)

    profiles = "profiles:\n" + "".join(PROFILE.format(one.agent.name) for one in installed)
    with world(profiles, kept) as here:

        def work(number: int) -> None:
            time.sleep(3 * number)  # starting an agent is what costs most
            while True:
                try:
                    one, session = waiting.get_nowait()
                except queue.Empty:
                    return
                _session(here, one, session, heard)

        workers = [threading.Thread(target=work, args=(number,)) for number in range(SIDE_BY_SIDE)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return results


def _session(here: World, one: Installed, session: list[Cell], heard: Callable[[Result], None]) -> None:
    folder = Path(tempfile.mkdtemp(prefix=f"{one.agent.name}-", dir=here.box.folder))
    pane = Pane(here.box, one.agent, folder, one.path, profile=one.agent.name, name=folder.name)
    trial, left = Trial(pane, here.pipe, one.version), list(session)
    try:
        if not trial.open():
            for cell in session:
                heard(trial.lost(cell, "it did not get to its first prompt"))
            return
        while left:
            heard(trial.run(left[0]))
            left.pop(0)
    except Exception:
        for cell in left:
            heard(trial.lost(cell, traceback.format_exc(limit=-3)))
    finally:
        pane.end()
