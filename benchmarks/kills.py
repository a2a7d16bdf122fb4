"""Kill stages, fleetd or all of it at random moments of real runs: is every incident said, every lead told, and once?

`python benchmarks/kills.py --kills 500 --stores 4 --seed 7` kills 125 times in each of four runs side by side, each
with a tmux server, a store and a fleetd of its own. `--kind stage|fleetd|all|term` tries one kind alone.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import fleet
from fleet import PATIENCE
from sandbox import Sandbox, wait_for

KINDS = ("stage", "fleetd", "all", "term")
WORDS = {
    "stage": "one stage killed (KILL)",
    "fleetd": "fleetd alone killed (KILL)",
    "all": "fleetd and its stages killed at once (KILL)",
    "term": "fleetd stopped (TERM)",
}
MOMENTS = 2.5  # seconds after the failure within which the kill falls
LOST = 180.0  # seconds after which what has not come counts as lost: fleetd alone may pause for 30 before a new start


class Kill(NamedTuple):
    """One kill, and what came of the outage in which it fell: how often each was seen, and how long it all took."""

    kind: str
    moment: float
    incidents: int = 0
    printed: int = 0
    told: int = 0
    unknown: bool = False
    seconds: float = 0.0

    @property
    def lost(self) -> bool:
        """Whether the incident did not reach standard output, or the lead was neither told nor honestly given up."""
        return not self.printed or not (self.told or self.unknown)


class World(Sandbox):
    """A tmux server with a lead and two members, a store, and a fleetd that is started again whenever it has ended."""

    def __init__(self, folder: Path, rounds: int) -> None:
        super().__init__(folder)
        self.log, self.out, self.errors = folder / "told", folder / "out.jsonl", folder / "err"
        profiles = "".join(f"  p{n}: {{agent: claude, credentialId: team-{n}}}\n" for n in range(rounds))
        (folder / "fleetd.yaml").write_text(f"profiles:\n{profiles}")
        self.daemon: subprocess.Popen[bytes] | None = None
        self._members: dict[str, int] = {}

    def __enter__(self) -> "World":
        lead = self.claude(self.log, agent="claude")
        for _ in range(2):
            pane = self.claude(self.folder / "work", "waits", lead=lead)
            self._members[pane] = self.pid(pane)
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.daemon:
            self.daemon.wait()
        self.close()

    def start(self) -> None:
        """Start fleetd, unless it runs."""
        if self.daemon and self.daemon.poll() is None:
            return
        command = [sys.executable, "-P", "-m", "fleettools.commands.fleetd"]
        with self.out.open("ab") as out, open(self.errors, "ab") as err:
            self.daemon = self.process(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def processes(self) -> list[int]:
        """fleetd and what it has started."""
        return fleet.tree(self.daemon.pid) if self.daemon and self.daemon.poll() is None else []

    def stages(self) -> dict[str, int]:
        """The running stages by name."""
        found = {}
        for pid in self.processes():
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
                name = next((word for word in words if word.startswith("fleettools.commands.")), "")
                found[name.rpartition(".")[2]] = pid
        return {name: pid for name, pid in found.items() if name not in ("", "fleetd")}

    # -- one kill

    def kill(self, number: int, kind: str, chosen: random.Random) -> Kill:
        """Let the members fail on account `number`, kill within MOMENTS of it, and wait for what has to come of it."""
        moment, began = chosen.uniform(0, MOMENTS), time.monotonic()
        self.outage(number)
        time.sleep(moment)
        self._strike(kind, chosen)
        return self.awaited(number, kind, moment)._replace(seconds=time.monotonic() - began)

    def outage(self, number: int) -> None:
        """Let the members fail on account `number`, while fleetd runs."""
        self.start()
        wait_for(lambda: len(self.stages()) == 5, "starting the stages", PATIENCE)
        for pane in self._members:
            self.tmux("set-option", "-p", "-t", pane, "@fleet_profile", f"p{number}")
            self.tmux("send-keys", "-t", pane, f"go on {number}", "Enter")
        wait_for(
            lambda: all(f"❯ go on {number}" in self.screen(pane) for pane in self._members), "the prompts", PATIENCE
        )
        for pid in self._members.values():
            os.kill(pid, signal.SIGUSR1)

    def awaited(self, number: int, kind: str = "", moment: float = 0.0) -> Kill:
        """What has come of account `number`'s outage once it was said and told; fleetd is kept up meanwhile."""
        end = time.monotonic() + LOST
        while (done := self.seen(number, kind, moment)).lost and time.monotonic() < end:
            self.start()
            time.sleep(0.1)
        return done

    def _strike(self, kind: str, chosen: random.Random) -> None:
        assert self.daemon
        if kind == "stage":
            victims = [pid for _, pid in sorted(self.stages().items())]
            pids, signum = victims and [chosen.choice(victims)], signal.SIGKILL
        elif kind == "all":
            pids, signum = self.processes(), signal.SIGKILL
        else:
            pids, signum = [self.daemon.pid], signal.SIGTERM if kind == "term" else signal.SIGKILL
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signum)
        if kind != "stage":
            self.daemon.wait(30)

    def seen(self, number: int, kind: str, moment: float) -> Kill:
        """What has come of account `number`'s outage so far."""
        lines = self.out.read_bytes().splitlines(keepends=True) if self.out.exists() else []
        records = [json.loads(line) for line in lines if line.endswith(b"\n")]
        ids = [one["id"] for one in records if one["type"] == "incident" and one["credentialId"] == f"team-{number}"]
        ends = {one["outcome"] for one in records if one["type"] == "delivery" and one["id"] in ids}
        notices = self.log.read_text().splitlines() if self.log.exists() else []
        told = sum(bool(re.search(rf"\bteam-{number}\b", line)) for line in notices)
        return Kill(kind, moment, len(set(ids)), len(ids), told, "unknown" in ends)

    def stop(self) -> None:
        """End fleetd as a person would."""
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            self.daemon.wait(30)


def world(kinds: list[str], seed: str) -> list[Kill]:
    """A kill of each kind in its order, in one run."""
    chosen = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="kills") as folder, World(Path(folder), len(kinds)) as one:
        made = [one.kill(number, kind, chosen) for number, kind in enumerate(kinds)]
        one.stop()
        # Counted again at the end: what comes twice may come late.
        return [
            one.seen(number, kill.kind, kill.moment)._replace(seconds=kill.seconds) for number, kill in enumerate(made)
        ]


def kills(number: int, stores: int, seed: str, kinds: tuple[str, ...] = KINDS) -> list[Kill]:
    """So many kills, of each kind as many, in as many runs side by side as there are stores."""
    orders: list[list[str]] = [[] for _ in range(stores)]
    for i in range(number):
        orders[i % stores].append(kinds[(i // stores) % len(kinds)])
    for i, order in enumerate(orders):
        random.Random(f"{seed} {i}").shuffle(order)
    found: list[Kill] = []
    failed: list[BaseException] = []

    def work(order: list[str], name: str) -> None:
        try:
            found.extend(world(order, name))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(order, f"{seed} {i}")) for i, order in enumerate(orders) if order]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return found


class Tally(NamedTuple):
    """What came of the kills of one kind."""

    kind: str
    number: int
    lost: int
    doubled: int
    repeated: int
    twice: int
    unknown: int

    def __str__(self) -> str:
        return (
            f"{self.lost} lost, {self.doubled} outages as two incidents, {self.repeated} printed again, "
            f"{self.twice} leads told twice, {self.unknown} notices given up as unknown"
        )


def tallies(found: list[Kill]) -> list[Tally]:
    """The kills by kind."""
    by_kind = {kind: [one for one in found if one.kind == kind] for kind in KINDS}
    return [
        Tally(
            kind, len(made), sum(one.lost for one in made), sum(one.incidents > 1 for one in made),
            sum(max(0, one.printed - one.incidents) for one in made), sum(one.told > 1 for one in made),
            sum(one.unknown for one in made),
        )
        for kind, made in by_kind.items() if made
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--stores", type=int, default=4)
    parser.add_argument("--seed", default="7")
    parser.add_argument("--kind", choices=KINDS, action="append")
    asked = parser.parse_args()
    began = time.monotonic()
    found = kills(asked.kills, asked.stores, asked.seed, tuple(asked.kind or KINDS))
    for tally in tallies(found):
        print(f"{WORDS[tally.kind]}, {tally.number} times: {tally}", flush=True)
    slow = sorted(one.seconds for one in found)
    print(f"{len(found)} kills in {time.monotonic() - began:.0f} s")
    print(f"said and told after {slow[len(slow) // 2]:.1f} s in the middle, {slow[-1]:.1f} s at the longest")


if __name__ == "__main__":
    main()
