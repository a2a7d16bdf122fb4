"""Terminals for tests without tmux: panes, and who is in their foreground as a test says."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Row(NamedTuple):
    """A pane."""

    id: str
    pid: int
    dead: bool = False
    lead_option: str = ""


class Process(NamedTuple):
    """A program that reads the pane's terminal."""

    pid: int
    words: tuple[str, ...]
    ancestors: frozenset[int] = frozenset({1})
    state: str = "S"
    reads: bool = True


class Terminals:
    """Who is in the foreground, by the pid of the pane's process."""

    def __init__(self) -> None:
        self.groups: dict[int, list[Process]] = {}

    def sweep(self, pids: Iterable[int]) -> Mapping[int, list[Process]]:
        """As fleettools.services.ports.Foregrounds has it."""
        return {pid: self.groups[pid] for pid in pids if pid in self.groups}

    def runs(self, pane_pid: int, *words: str, pid: int | None = None) -> None:
        """This program is in the foreground there, the pane's own process unless another is named."""
        self.groups[pane_pid] = [Process(pane_pid if pid is None else pid, words)]
