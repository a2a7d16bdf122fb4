"""From an error on the screen to the incident record, and from the second error to the notice in the lead's pane."""

import os
import queue
import random
import shlex
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import IO

import msgspec
from fleet import Fleet, daemon, running
from measure import Row, command
from sandbox import CLAUDE

FAILED = os.path.join("samples", "screens", "claude", "backend_error--claude-server-500.txt")
IDLE = os.path.join("samples", "screens", "claude", "completed--cc-ok-writes-error-docs.txt")
INCIDENTS, NOTICES, INTERVAL, SWEEP = 30, 8, 1.0, 0.05


def rows() -> Iterator[Row]:
    with running(1) as fleet:
        lead = open_lead(fleet)
        quiet = [open_pair(fleet, f"q{n}", None) for n in range(INCIDENTS)]
        told = [open_pair(fleet, f"n{n}", lead) for n in range(NOTICES)]
        config = os.path.join(fleet.env["HOME"], "fleetd.yaml")
        with open(config, "w", encoding="utf-8") as file:
            names = [f"q{n}" for n in range(INCIDENTS)] + [f"n{n}" for n in range(NOTICES)]
            file.write("profiles:\n" + "".join(f"  {name}: {{agent: claude, command: claude}}\n" for name in names))
        with daemon(fleet, command("fleetd", "-c", config, "run")) as process:
            assert process.stdout is not None
            records = followed(process.stdout)
            time.sleep(6)
            took = sorted(until(records, fleet, pair, "incident") for pair in quiet)
            p99, limit = took[-1], INTERVAL + 2 * SWEEP
            figure = f"p50 {statistics.median(took):.2f} s, worst of {len(took)} {p99:.2f} s"
            yield Row("error on the screen to incident record", figure, f"p99 <= {limit:.1f} s", p99 <= limit)
            took = [until(records, fleet, pair, "delivery") for pair in told]
            p50, limit = statistics.median(took), INTERVAL + 3
            figure = f"p50 {p50:.2f} s, worst of {len(took)} {max(took):.2f} s"
            yield Row("second error to notice submitted", figure, f"p50 <= {limit:g} s", p50 <= limit)


def tmux(fleet: Fleet, *words: str) -> str:
    """What one tmux call on the fleet's server prints."""
    argv = ["tmux", "-u", "-S", fleet.socket, *words]
    return subprocess.run(argv, capture_output=True, check=True, text=True, env=fleet.env).stdout.strip()


def open_lead(fleet: Fleet) -> str:
    """A pane with a lead that takes a bracketed paste and shows what it was told; its id."""
    log = os.path.join(fleet.env["HOME"], "told")
    script = f"PYTHONPATH={shlex.quote(os.getcwd())} {shlex.join([sys.executable, str(CLAUDE), log])}"
    pane = tmux(fleet, "new-window", "-d", "-P", "-F", "#{pane_id}", script)
    tmux(fleet, "set-option", "-p", "-t", pane, "@fleet_agent", "claude")
    return pane


def open_pair(fleet: Fleet, profile: str, lead: str | None) -> list[str]:
    """Two members on one credential that fail when Enter is pressed."""
    script = f"cat {os.path.abspath(IDLE)}; read _; clear; cat {os.path.abspath(FAILED)}; exec sleep 100000"
    panes = []
    for _ in range(2):
        pane = tmux(fleet, "new-window", "-d", "-P", "-F", "#{pane_id}", script)
        tmux(fleet, "set-option", "-p", "-t", pane, "@fleet_profile", profile)
        if lead:
            tmux(fleet, "set-option", "-p", "-t", pane, "@fleet_lead", lead)
        panes.append(pane)
    return panes


def followed(stream: IO[bytes]) -> "queue.Queue[tuple[float, dict[str, object]]]":
    """Every record of the stream with the moment at which it could be read."""
    records: queue.Queue[tuple[float, dict[str, object]]] = queue.Queue()

    def read() -> None:
        for line in stream:
            records.put((time.perf_counter(), msgspec.json.decode(line)))

    threading.Thread(target=read, daemon=True).start()
    return records


def until(records: "queue.Queue[tuple[float, dict[str, object]]]", fleet: Fleet, pair: list[str], kind: str) -> float:
    """Seconds from the second member's error to the next record of a kind (a delivery only when submitted)."""
    time.sleep(random.random())
    tmux(fleet, "send-keys", "-t", pair[0], "Enter")
    time.sleep(2.2)
    start = time.perf_counter()
    tmux(fleet, "send-keys", "-t", pair[1], "Enter")
    while True:
        moment, record = records.get(timeout=30)
        if record["type"] == kind and record.get("outcome", "submitted") == "submitted":
            return moment - start
