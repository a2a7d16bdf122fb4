"""The demonstration: real panes, the real pipe, an outage, and the notice in the lead's pane; then all is gone."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from fleettools import records
from fleettools.adapters import clock, signals
from fleettools.adapters.streams import CHUNK, Messages, Output, printable
from fleettools.adapters.tmux import Tmux
from fleettools.commands.views import chart
from fleettools.errors import Exit, Unavailable
from fleettools.policy.story import Timeline

WIDTH = 76  # columns of the chart at the end
SHOWN: dict[str, type[records.Record]] = {
    "verdict": records.Verdict, "incident": records.Incident, "delivery": records.Delivery
}  # fmt: skip
PATIENCE = 15.0  # seconds for the outage to reach the lead
CONFIG = """
profiles:
  claude-a: {agent: claude, credentialId: team-a}
  claude-b: {agent: claude, credentialId: team-b}
"""


class Member(NamedTuple):
    """A member's name, profile and task."""

    name: str
    profile: str
    task: str


MEMBERS = (
    Member("ada", "claude-a", "please rename the helper module and run the tests"),
    Member("bob", "claude-a", "please write the release notes"),
    Member("cleo", "claude-b", "please look at what ada says about the build"),
)


def show(out: Output, messages: Messages) -> Exit:
    """Let it happen; records go to standard output, the story to standard error. Raises Unavailable when it fails."""
    say = messages.info
    began = clock.monotonic()
    with tempfile.TemporaryDirectory(prefix="fleetd-demo-") as folder, _server(folder) as (tmux, panes):
        say("a lead, and three members: ada and bob spend credential team-a, cleo spends team-b")
        story = Timeline("credential", lambda profile: profile)
        with _fleetd(folder, tmux) as stream:
            for _ in _until(stream, {f"{member.name} working" for member in MEMBERS}):
                pass
            say("team-a's backend fails: ada and bob show an API error; cleo only reports one")
            for name, signum in (("ada", signal.SIGUSR1), ("bob", signal.SIGUSR1), ("cleo", signal.SIGUSR2)):
                os.kill(panes[name][1], signum)
            for line in _until(stream, {"cleo completed", "incident", "submitted"}):
                if _is_news(line, story):
                    out.write(line)
                    out.flush()
            say("the lead's pane now shows:")
            for row in tmux.capture([panes["lead"][0]], colours=False)[panes["lead"][0]].rstrip().splitlines():
                say(f"    {printable(row.rstrip())}")
            say("and whoever asks the gate is told:")
            _gate(folder)
        say("the story, as fleet-timeline tells it later:")
        for drawn in chart.draw(story.chart(clock.now_ms()), WIDTH, clock.zone()):
            say(f"    {drawn.plain.rstrip()}")
    say(f"that was all, in {clock.monotonic() - began:.0f} s; the tmux server and its files are gone")
    return Exit.OK


def _is_news(line: bytes, story: Timeline) -> bool:
    """Whether a record is shown: how a member's turn ended, the incident and the notice; the story takes them all."""
    cls = SHOWN.get(records.kind(line))
    if cls is None:
        return False
    record = records.decode(line, cls)
    if isinstance(record, records.Verdict) and not _ends_a_turn(record):
        return False
    story.add(record)
    return True


def _ends_a_turn(verdict: records.Verdict) -> bool:
    """Whether a member's turn has ended with it; the lead, which answers the notice, is nobody's member."""
    return verdict.role != "lead" and verdict.outcome in records.ENDINGS and verdict.resolved is not False


@contextmanager
def _server(folder: str) -> Iterator[tuple[Tmux, dict[str, tuple[str, int]]]]:
    """A tmux server with the lead's and the members' panes: name -> pane id and pid."""
    tmux = Tmux(name=f"fleetd-demo-{os.getpid()}")
    agent = [sys.executable, "-I", os.path.join(os.path.dirname(__file__), "agent.py")]
    try:
        shown = ["-d", "-P", "-F", "#{pane_id} #{pane_pid}", "-c", folder]
        first = ["-f", "/dev/null", "new-session", *shown, "-x", "110", "-y", "30", "-s", "demo", "-n", "lead"]
        panes = {"lead": _ids(tmux.run([*first, "--", *agent])[0])}
        lead = panes["lead"][0]
        tmux.run(["set-option", "-p", "-t", lead, "@fleet_agent", "claude"])
        tmux.run(["set-option", "-g", "@fleet_runs", os.path.basename(agent[-1])])
        for member in MEMBERS:
            made = tmux.run(["new-window", *shown, "-t", "demo:", "-n", member.name, "--", *agent, member.task])[0]
            panes[member.name] = _ids(made)
            options = {"@fleet_profile": member.profile, "@fleet_name": member.name, "@fleet_lead": lead}
            for option, value in options.items():
                tmux.run(["set-option", "-p", "-t", panes[member.name][0], option, value])
        yield tmux, panes
    finally:
        with suppress(Unavailable, FileNotFoundError):
            tmux.run(["kill-server"])
            os.unlink(tmux.socket)


def _ids(said: str) -> tuple[str, int]:
    pane, pid = said.split()
    return pane, int(pid)


@contextmanager
def _fleetd(folder: str, tmux: Tmux) -> Iterator[Iterator[bytes]]:
    """The records of a fleetd of its own that watches this server."""
    config = os.path.join(folder, "fleetd.yaml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(CONFIG)
    command = [sys.executable, "-P", "-m", "fleettools.commands.fleetd", "run", "--all", "-c", config]
    command += ["--state", _state(folder), "-S", tmux.socket]
    env = {key: value for key, value in os.environ.items() if key != "NOTIFY_SOCKET"} | {"XDG_STATE_HOME": folder}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, process_group=0, env=env)
    try:
        assert process.stdout
        yield _lines(process.stdout.fileno())
    finally:
        process.terminate()
        try:
            process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _state(folder: str) -> str:
    return f"sqlite:{os.path.join(folder, 'state.db')}"


def _lines(fd: int) -> Iterator[bytes]:
    """Each whole line; raises Unavailable when nothing more comes in time."""
    deadline = clock.monotonic() + PATIENCE
    rest = b""
    while True:
        with signals.waiting():
            ready = select.select([fd], [], [], max(0.0, deadline - clock.monotonic()))[0]
        chunk = os.read(fd, CHUNK) if ready else b""
        if not chunk:
            raise Unavailable("the notice did not reach the lead in time", "see what is said above, and fleetd check")
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in lines)


def _until(stream: Iterator[bytes], wanted: set[str]) -> Iterator[bytes]:
    """The lines of the stream until all that is wanted has been seen in them."""
    while wanted:
        line = next(stream)
        wanted = wanted - {_fact(json.loads(line))}
        yield line


def _fact(record: dict[str, Any]) -> str:
    """What a record says, in the words that `show` waits for."""
    if record["type"] == "verdict":
        return f"{record.get('name')} {record['outcome']}"
    return str(record["outcome"] if record["type"] == "delivery" else record["type"])


def _gate(folder: str) -> None:
    """Ask the gate, whose answer goes to standard error in its own words."""
    for profile in ("claude-a", "claude-b"):
        command = [sys.executable, "-P", "-m", "fleettools.commands.gate", "--profile", profile]
        command += ["-c", os.path.join(folder, "fleetd.yaml"), "--state", _state(folder)]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
