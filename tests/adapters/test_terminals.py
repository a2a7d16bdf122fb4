"""Who is in the foreground of a terminal, of real processes in real panes, from /proc and from ps and lsof."""

import os
import shutil
import signal
from collections.abc import Iterator

import pytest
from sandbox import wait_for
from server import Server, running

from fleettools.adapters.terminals import Proc, Process, Ps, Source, Terminals

AGENT = """#!/usr/bin/env python3
import subprocess, sys, time
tool = "import time; print('ready', flush=True); time.sleep(1000)"
how = sys.argv[1:]
more = {"stdin": subprocess.PIPE} if "pipes" in how else {}
if "child" in how:
    subprocess.Popen([sys.executable, "-c", tool, "tool"], **more)
else:
    print("ready", flush=True)
time.sleep(1000)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("terminals")
    (folder / "my-agent").write_text(AGENT)
    (folder / "my-agent").chmod(0o755)
    (folder / "wrapper.sh").write_text(f'#!/bin/sh\n{folder}/my-agent "$@"\ntrue\n')
    with running(folder) as server:
        yield server


@pytest.fixture(params=[Proc, Ps])
def terminals(request: pytest.FixtureRequest) -> Terminals:
    if request.param is Ps and not (shutil.which("ps") and shutil.which("lsof")):
        pytest.skip("neither ps nor lsof is installed (apt-get install procps lsof)")
    source: Source = request.param()
    return Terminals(source)


def opened(server: Server, command: str) -> int:
    """The pid of a new pane that shows that it is ready."""
    pane = server.pane(command)
    wait_for(lambda: "ready" in server.screen(pane), "the program in the pane")
    return int(server.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))


def shown(processes: list[Process] | None) -> list[tuple[str, bool]]:
    """The last telling word of each process, and whether it reads the terminal, parents first."""
    assert processes is not None
    ordered = sorted(processes, key=lambda process: len(process.ancestors))
    return [(process.words[-1].rpartition("/")[2], process.reads) for process in ordered]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("exec {}/my-agent", [("my-agent", True)], id="a script alone"),
        pytest.param("exec sh {}/wrapper.sh", [("wrapper.sh", True), ("my-agent", True)], id="behind a wrapper"),
        pytest.param("exec {}/my-agent child", [("child", True), ("tool", True)], id="a child at the terminal"),
        pytest.param("exec {}/my-agent child pipes", [("pipes", True), ("tool", False)], id="a child on a pipe"),
    ],
)
def test_who_is_in_the_foreground(
    server: Server, terminals: Terminals, command: str, expected: list[tuple[str, bool]]
) -> None:
    pid = opened(server, command.format(server.folder))
    assert shown(terminals.foreground(pid)) == expected
    assert shown(terminals.sweep([pid])[pid]) == expected


def test_a_job_that_is_stopped_leaves_the_foreground_to_its_shell(server: Server, terminals: Terminals) -> None:
    pane = server.pane("exec bash --norc -i")
    pid = int(server.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))
    server.tmux("send-keys", "-t", pane, f"{server.folder}/my-agent", "Enter")
    wait_for(lambda: "\nready" in server.screen(pane), "the agent")
    assert shown(terminals.sweep([pid])[pid]) == [("my-agent", True)]
    server.tmux("send-keys", "-t", pane, "C-z")
    wait_for(lambda: "Stopped" in server.screen(pane), "the shell after ^Z")
    wait_for(lambda: shown(terminals.foreground(pid)) == [("-i", True)], "the shell in the foreground")
    assert shown(terminals.sweep([pid])[pid]) == [("-i", True)]


def test_a_stopped_and_an_ended_process_are_told_by_their_state(server: Server, terminals: Terminals) -> None:
    pid = opened(server, f"exec sh {server.folder}/wrapper.sh child")  # tmux lets its own child go on when it stops
    _, agent, tool = sorted(terminals.foreground(pid) or (), key=lambda process: len(process.ancestors))
    os.kill(agent.pid, signal.SIGSTOP)
    os.kill(tool.pid, signal.SIGKILL)
    wait_for(lambda: sorted(p.state[0] for p in terminals.foreground(pid) or ()) == ["S", "T", "Z"], "their states")
    os.kill(agent.pid, signal.SIGKILL)


def test_a_sweep_looks_a_pane_up_once_for_its_process_and_foreground_group(server: Server) -> None:
    class Counted(Proc):
        looks = 0

        def every(self):  # type: ignore[no-untyped-def]
            self.looks += 1
            return super().every()

    source = Counted()
    terminals = Terminals(source)
    pids = [opened(server, f"exec {server.folder}/my-agent") for _ in range(3)]
    for _ in range(5):
        assert terminals.sweep(pids).keys() == set(pids)
    assert source.looks == 1
    assert terminals.foreground(pids[0])
    assert source.looks == 2


def test_what_is_not_there_or_has_no_terminal_is_not_told(terminals: Terminals) -> None:
    assert terminals.foreground(2**22 + 5) is None
    assert terminals.foreground(1) is None
    assert terminals.sweep([1, 2**22 + 5]) == {}
