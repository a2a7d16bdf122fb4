"""Names the agent of members and leads whose options, rule and profile name none: by the programs that run there."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from fleettools.policy import foreground
from fleettools.policy.foreground import Process
from fleettools.policy.members.seats import Seat
from fleettools.screens.look import Look


class Row(Protocol):
    """So much of a pane as is asked for."""

    @property
    def id(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def dead(self) -> bool: ...


class Terminals(Protocol):
    """Who is in the foreground of panes' terminals."""

    def sweep(self, pids: Iterable[int]) -> Mapping[int, Sequence[Process]]:
        """By the pid of a pane's process; without those of which nothing tells."""


class Namer:
    """Remembers which agent ran in which pane: behind an editor, or when it has left to the shell, it is still that."""

    def __init__(self, looks: Callable[[], Iterable[Look]], terminals: Terminals) -> None:
        self._looks, self._terminals = looks, terminals
        self._programs: dict[str, frozenset[str]] | None = None
        self._known: dict[tuple[str, int], str] = {}

    def name(self, rows: Iterable[Row], seats: Mapping[str, Seat]) -> dict[str, Seat]:
        """The seats of panes with a role and without an agent, with the agent that runs there."""
        asked = [row for row in rows if seats[row.id].role and not seats[row.id].agent and not row.dead]
        if not asked:
            self._known = {}
            return {}
        if self._programs is None:
            self._programs = {look.name: frozenset(look.commands) for look in self._looks()}
        terminals = self._terminals.sweep([row.pid for row in asked])
        known: dict[tuple[str, int], str] = {}
        for row in asked:
            place = (row.id, row.pid)
            agent = foreground.agent_of(terminals.get(row.pid, ()), self._programs) or self._known.get(place)
            if agent:
                known[place] = agent
        self._known = known
        return {pane: seats[pane]._replace(agent=agent) for (pane, _), agent in known.items()}
