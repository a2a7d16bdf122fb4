"""Whose hook this is: the agent of the pane itself, or one that runs inside it and has inherited its pane."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol


class Kin(Protocol):
    """A process above the hook."""

    @property
    def pid(self) -> int:
        """The process id."""

    @property
    def terminal(self) -> str:
        """The terminal that it is attached to, "" for none."""

    @property
    def words(self) -> Sequence[str]:
        """Its argv."""


class Handed(NamedTuple):
    """A payload, and who handed it over when; `above`: the processes above the hook, nearest first."""

    data: bytes
    agent: str
    source: Literal["hook", "statusline"]
    stamp: Mapping[str, Any]
    above: Sequence[Kin]


def pane(above: Sequence[Kin], server_pid: int) -> Kin | None:
    """The process that tmux started in the pane, among those above the hook; None when it is not there."""
    pids = [kin.pid for kin in above]
    place = pids.index(server_pid) if server_pid in pids else 0
    return above[place - 1] if place else None


def foreign(above: Sequence[Kin], server_pid: int, agents: Sequence[bool]) -> str:
    """Why a hook does not speak for its pane's agent, "" when it does.

    `above`: the processes above the hook, nearest first; `agents`: which of them are programs of the agent. A tool of
    an agent has no terminal or one of its own, and so has an agent that it starts, with all the variables of the pane.
    """
    pids = [kin.pid for kin in above]
    if server_pid not in pids:
        return "it was not started from a pane of that tmux server"
    inner = pids.index(server_pid)
    if not inner:
        return "it was started by tmux itself"
    pane = above[inner - 1]
    speaker = next((kin for kin, agent in zip(above[:inner], agents, strict=False) if agent), None)
    if speaker is None:
        speaker = next((kin for kin in above[:inner] if kin.terminal), pane)
    if speaker.terminal != pane.terminal:
        return "an agent inside the pane's agent said it"
    return ""
