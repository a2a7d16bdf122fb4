"""Whose hook it is, by the processes above it."""

from typing import NamedTuple

import pytest

from fleettools.policy.signals.origin import foreign


class Kin(NamedTuple):
    pid: int
    terminal: str
    words: tuple[str, ...] = ()


SERVER, TTY = 100, "34817"
SH, AGENT, TOOL, INNER, LOGIN = (Kin(50, ""), Kin(40, TTY), Kin(60, ""), Kin(70, ""), Kin(30, TTY))
TMUX, INIT = Kin(SERVER, ""), Kin(1, "")

# Rule: the nearest agent above the hook is attached to the pane's own terminal.
CASES = {
    "the agent is the pane's own program": ([SH, AGENT, TMUX, INIT], [False, True, False, False], True),
    "the agent was started in a shell": ([SH, AGENT, LOGIN, TMUX], [False, True, False, False], True),
    "the hook's shell has the terminal too": ([Kin(50, TTY), AGENT, TMUX], [False, True, False], True),
    "a launcher of the same agent": ([AGENT, Kin(41, TTY), TMUX], [True, True, False], True),
    "an agent that a tool has started": ([SH, INNER, TOOL, AGENT, TMUX], [False, True, False, True, False], False),
    "an agent in a terminal of its own": ([SH, Kin(70, "34820"), AGENT, TMUX], [False, True, True, False], False),
    "an agent under a name that nobody knows": ([SH, AGENT, TMUX], [False, False, False], True),
    "a program of another tmux server": ([SH, AGENT, INIT], [False, True, False], False),
    "a command of tmux itself": ([TMUX, INIT], [False, False], False),
}


@pytest.mark.parametrize(("above", "agents", "ours"), CASES.values(), ids=CASES.keys())
def test_whose_hook_it_is(above: list[Kin], agents: list[bool], ours: bool) -> None:
    assert (foreign(above, SERVER, agents) == "") is ours
