"""Try what may go wrong, count what comes of it, and with `--write` put that into docs/reliability.md.

`python benchmarks/reliability.py` tries all of it, `python benchmarks/reliability.py NAME ...` only these; each row of
the table names the command that repeats it. `--share 0.1` does a tenth of everything.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import cron
import kills
import stretch
from fleet import PATIENCE
from sandbox import ROOT, wait_for

PAGE = ROOT / "docs" / "reliability.md"
MODULE = "fleettools.commands."
FUZZED = ("classify", "resolve", "correlate", "notify", "gate")


class Row(NamedTuple):
    """One row of the table."""

    what: str
    number: int
    came: str
    command: str
    seconds: float


def killed(kind: str, number: int) -> str:
    """Kills of one kind, in four runs side by side."""
    (tally,) = kills.tallies(kills.kills(number, 4, "7", (kind,)))
    return str(tally)


def silent(number: int) -> str:
    """A quiet fleet looked at from cron."""
    written = cron.looks(number)
    return f"{sum(map(len, written))} bytes written"


def refused(number: int) -> str:
    """So many fleetd started at once on one store and server."""
    with tempfile.TemporaryDirectory(prefix="one") as folder, cron.quiet_fleet(Path(folder)) as home:
        command = [sys.executable, "-P", "-m", f"{MODULE}fleetd"]
        started = [
            subprocess.Popen(command, env=home.env, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in range(number)
        ]
        try:
            wait_for(lambda: sum(one.poll() is None for one in started) <= 1, "the refusals", PATIENCE)
            statuses = Counter("at work" if one.poll() is None else f"status {one.returncode}" for one in started)
            pids = {one.pid for one in started if one.poll() is None}
            named = sum(
                f"pid {pid}".encode() in one.stderr.read()
                for one in started
                if one.poll() is not None and one.stderr
                for pid in pids
            )
        finally:
            for one in started:
                one.terminate()
                one.wait(30)
    return ", ".join(f"{count} {what}" for what, count in sorted(statuses.items())) + f"; {named} named its pid"


def left_behind(number: int) -> str:
    """fleetd killed at any moment of its start: which files and processes are left?"""
    chosen, files, processes = random.Random(7), 0, 0
    with tempfile.TemporaryDirectory(prefix="left") as folder, cron.quiet_fleet(Path(folder)) as home:
        temp = Path(folder) / "temp"
        temp.mkdir()
        for _ in range(number):
            command = [sys.executable, "-P", "-m", f"{MODULE}fleetd"]
            env = home.env | {"TMPDIR": str(temp)}
            one = subprocess.Popen(command, env=env, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chosen.uniform(0.1, 2.0))
            one.kill()
            one.wait()
            with suppress(AssertionError):
                wait_for(lambda: not _stages(folder), "the end of the stages", PATIENCE)
            files += len(list(temp.iterdir()))
            processes += len(_stages(folder))
    return f"{files} files, {processes} processes left"


def _stages(home: str) -> list[int]:
    """The processes of ours whose HOME this is."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            mine = f"HOME={home}\0".encode() in (entry / "environ").read_bytes()
            if mine and MODULE.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def fuzzed(number: int) -> str:
    """Records with bytes and fields changed at random, through every filter; between them one that must pass."""
    lines = _mutants(number)
    text = b"".join(line + b"\n" + b'{"type":"note","n":%d}\n' % n for n, line in enumerate(lines))
    statuses: Counter[str] = Counter()
    passed = 0
    for name in FUZZED:
        with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
            env = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
            args = ["--dry-run"] if name == "notify" else []
            command = [sys.executable, "-P", "-m", MODULE + name, *args]
            done = subprocess.run(command, input=text, env=env, cwd=folder, capture_output=True, timeout=600)
            statuses[f"{done.returncode}"] += 1
            passed += sum(line.startswith(b'{"type":"note"') for line in done.stdout.splitlines())
    ends = ", ".join(f"{count} ended with status {status}" for status, count in sorted(statuses.items()))
    return f"{ends}; {passed} of {number * len(FUZZED)} sound lines between them passed on"


def _mutants(number: int) -> list[bytes]:
    chosen = random.Random(7)
    ts, who = "2026-01-31T12:00:00.000Z", {"server": "h:/s:1", "target": "%1", "profile": "one", "lead": "%0"}
    sound: list[dict[str, object]] = [
        {"type": "pane", "ts": ts, **who, "agent": "claude", "text": "❯ hello\n\n● API Error: 529\n", "cols": 80},
        {"type": "verdict", "ts": ts, **who, "outcome": "backend_error", "event": "e", "at": ts, "cause": "overload"},
        {"type": "verdict", "ts": ts, **who, "outcome": "exhausted", "event": "f", "resetsAt": ts},
        {"type": "incident", "ts": ts, "id": "i", "credentialId": "one", "windowSeconds": 60,
         "coolingOffForSeconds": 60, "leads": [{"server": "h:/s:1", "target": "%0"}]},
        {"type": "tmux", "ts": ts, "server": "h:/s:1", "state": "down"},
        {"type": "spawn", "profile": "one"},
    ]  # fmt: skip
    odd = [None, -1, 1e308, "", "\x1b[31m", "\u202e", [], {}, True, "9" * 400, "%1\n", "../..", 2**70]
    made = []
    for _ in range(number):
        record = dict(chosen.choice(sound))
        for _ in range(chosen.randint(0, 3)):
            record[chosen.choice([*record, "v", "boot", "up"])] = chosen.choice(odd)
        line = bytearray(json.dumps(record, ensure_ascii=chosen.random() < 0.5).encode())
        for _ in range(chosen.choice([0, 0, 1, 4])):
            line[chosen.randrange(len(line))] = chosen.randrange(256)
        made.append(bytes(line).replace(b"\n", b" "))
    return made


def full(number: int) -> str:
    """Every folder for the journal taken by a file, and standard error full: are outages still said and told?"""
    with tempfile.TemporaryDirectory(prefix="full") as folder, kills.World(Path(folder), number) as world:
        place = Path(folder) / "state" / "fleettools"
        place.mkdir(parents=True)
        (place / "journal").write_text("in the way")
        world.errors = Path("/dev/full")
        found = []
        for n in range(number):
            world.outage(n)
            found.append(world.awaited(n))
        world.stop()
    return f"{sum(one.lost for one in found)} of {number} outages lost"


TRIED: dict[str, tuple[str, int, Callable[[int], str]]] = {
    **{
        f"kill-{kind}": (f"{kills.WORDS[kind]} within 2.5 s of an outage", 125, lambda n, kind=kind: killed(kind, n))
        for kind in kills.KINDS
    },
    "cron": ("`fleetd --once` each minute, over a restart of tmux and a midnight UTC", 60, silent),
    "second": ("fleetd started at once on one store and tmux server", 20, refused),
    "left": ("fleetd killed (KILL) within 2 s of its start", 50, left_behind),
    "full": ("outages while neither the journal nor standard error can be written", 10, full),
    "stretch": ("sample screens with a row stretched to 50 KB, 1 MB and 6 MB", 20, stretch.worst),
    "fuzz": ("records changed at random, through five filters", 3000, fuzzed),
}  # fmt: skip


def tried(name: str, share: float) -> Row:
    """Try one thing."""
    what, number, run = TRIED[name]
    number = max(4, round(number * share))
    began = time.monotonic()
    came = run(number)
    more = f" --share {share:g}" if share != 1 else ""
    return Row(what, number, came, f"python benchmarks/reliability.py {name}{more}", time.monotonic() - began)


HEAD = """\
# What was tried, and what came of it

Each row was written by the command in it, with `--write`, on {cores} cores; without a name the command writes the whole
page anew. `make test` runs short versions (tests/test_reliability.py).

A kill falls at a random moment while two members of an account fail, on real tmux, with a store and a fleetd of
its own. *Lost*: within 3 minutes the incident did not reach fleetd's standard output, or its lead was neither told nor
given up. *Printed again*: fleetd died between writing an incident and noting that it had. *Unknown*: the kill fell
into the typing of a notice, which then cannot be proved to have arrived and is not typed again; fleetd says so.

| what | how often | what came of it | seconds | day | command |
|---|---|---|---|---|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TRIED))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    for name in asked.names or TRIED:
        if name not in TRIED:
            raise SystemExit(f"reliability.py: nothing is called {name}; there are {', '.join(TRIED)}")
        row = tried(name, asked.share)
        print(f"{row.what}, {row.number} times: {row.came} ({row.seconds:.0f} s)", flush=True)
        if asked.write:
            write(name, row)


def write(name: str, row: Row) -> None:
    """Put a row into the page in place of the one that was there for it."""
    text = PAGE.read_text() if PAGE.exists() else ""
    known = {name: line for line in text.splitlines() for name in TRIED if f"reliability.py {name}`" in line
             or f"reliability.py {name} " in line}  # fmt: skip
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    known[name] = f"| {row.what} | {row.number} | {row.came} | {row.seconds:.0f} | {day} | `{row.command}` |"
    PAGE.parent.mkdir(exist_ok=True)
    rows = "".join(f"{known[each]}\n" for each in TRIED if each in known)
    PAGE.write_text(HEAD.format(cores=os.cpu_count()) + rows)


if __name__ == "__main__":
    main()
