"""fleetd on quiet panes: CPU of all stages and tmux together, and memory; memory over an hour of traffic."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator

import corpus
from fleet import cpu_seconds, daemon, pss_mib, running, server_pid, tree
from measure import Row, command

SECONDS = 60
PROFILE = "profiles:\n  one: {agent: claude, command: claude}\n"


def rows() -> Iterator[Row]:
    for count, goal in ((100, 1.0), (400, 3.0)):
        yield from watched(count, goal)
    yield hour_of_traffic()


def watched(count: int, goal: float) -> Iterator[Row]:
    """One minute over `count` panes that show nothing new, after the first sweep has been dealt with."""
    with running(count) as fleet:
        config = os.path.join(fleet.env["HOME"], "fleetd.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(PROFILE)
        with daemon(fleet, command("fleetd", "-c", config, "run")) as process:
            time.sleep(10)
            server = server_pid(fleet)
            before = [cpu_seconds(pid) for pid in (*tree(process.pid), server)]
            time.sleep(SECONDS)
            after = [cpu_seconds(pid) for pid in (*tree(process.pid), server)]
            percent = 100 * (sum(after) - sum(before)) / SECONDS
            memory = sum(map(pss_mib, tree(process.pid)))
    what = f"fleetd on {count} quiet panes, all stages and tmux"
    yield Row(what, f"{percent:.1f} % of a core", f"<= {goal:g} %", percent <= goal)
    yield Row(f"fleetd's processes over {count} panes", f"{memory:.0f} MiB PSS", "<= 90 MiB, aim 60", memory <= 90)


def hour_of_traffic() -> Row:
    """The middle of the pipe, fed an hour of looks at 20 panes: its memory after a tenth and at the end."""
    stages = [command("classify"), command("resolve"), command("correlate")]
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"HOME": folder, "FLEET_STATE": os.path.join(folder, "state.db")}
        pipes = subprocess.PIPE
        running_stages: list[subprocess.Popen[bytes]] = []
        for argv in stages:
            source = running_stages[-1].stdout if running_stages else pipes
            out = pipes if len(running_stages) + 1 < len(stages) else subprocess.DEVNULL
            running_stages.append(subprocess.Popen(argv, stdin=source, stdout=out, stderr=subprocess.DEVNULL, env=env))
        first = running_stages[0].stdin
        assert first is not None
        early = 0.0
        total = 0
        for total, line in enumerate(hour(), 1):
            first.write(line)
            if total == 3_600:
                first.flush()
                time.sleep(2)
                early = sum(pss_mib(stage.pid) for stage in running_stages)
        first.flush()
        time.sleep(2)
        late = sum(pss_mib(stage.pid) for stage in running_stages)
        first.close()
        for stage in running_stages:
            stage.wait()
    figure = f"{early:.0f} MiB at first, {late:.0f} MiB after"
    return Row(
        f"an hour of traffic ({total:,} looks) through the middle", figure, "flat (within 5 %)", late <= early * 1.05
    )


def hour() -> Iterator[bytes]:
    """Ten looks a second, for an hour, at sample screens in 20 panes."""
    pool = corpus.screens()
    for number in range(36_000):
        agent, text = pool[(number * 7919) % len(pool)]
        second = number // 10
        record = {
            "type": "pane", "v": 1, "ts": f"2026-01-31T12:{second // 60:02d}:{second % 60:02d}.{number % 10}00Z",
            "server": "host:/s/default:7", "target": f"%{number % 20}", "pid": 100 + number % 20,
            "profile": f"p{number % 5}", "agent": agent, "text": text,
        }  # fmt: skip
        yield json.dumps(record).encode() + b"\n"
