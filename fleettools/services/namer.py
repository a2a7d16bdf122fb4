"""Names the agent of members and leads whose options, rule and profile name none: by the programs that run there."""

from collections.abc import Callable, Iterable, Mapping

from fleettools.policy import foreground
from fleettools.policy.members.seats import Seat
from fleettools.screens.look import Look
from fleettools.services.ports import Foregrounds, Place


class Namer:
    """Remembers which agent ran in which pane: behind an editor, or when it has left to the shell, it is still that."""

    def __init__(self, looks: Callable[[], Iterable[Look]], terminals: Foregrounds) -> None:
        self._looks, self._terminals = looks, terminals
        self._programs: dict[str, frozenset[str]] | None = None
        self._known: dict[tuple[str, int], str] = {}

    def name(self, rows: Iterable[Place], seats: Mapping[str, Seat]) -> dict[str, Seat]:
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
