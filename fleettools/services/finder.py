"""Finds members that nobody marked, from one sweep to the next; see policy/discovery.py."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fleettools.config import Config
from fleettools.policy import discovery
from fleettools.policy.discovery import Agent, Found
from fleettools.policy.foreground import Process
from fleettools.policy.members.seats import Seat
from fleettools.screens.look import Look
from fleettools.services.ports import Foregrounds, Place


class Row(Place, Protocol):
    """So much of a pane as discovery asks for."""

    @property
    def lead_option(self) -> str:
        """`@fleet_lead` as tmux inherits it."""


class Accounts(Protocol):
    """What a process, and the files of its agent, say of its account."""

    def environment(self, pid: int) -> Mapping[str, str]:
        """The environment of a process, empty when it cannot be read."""

    def read(self, path: str) -> Any:
        """The JSON value in a file, None when it cannot be read."""

    def lives(self, pid: int) -> bool:
        """Whether there is a process of that id."""


class Doors(NamedTuple):
    """What discovery reaches outside through. `looks` reads the agents' files, when there is a pane to look at."""

    looks: Callable[[], Iterable[Look]]
    terminals: Foregrounds
    accounts: Accounts


class _Known(NamedTuple):
    pane_pid: int
    agent: Found
    seat: Seat
    told_by: str | None


def agents(looks: Iterable[Look]) -> dict[str, Agent]:
    """What is looked for, by the agents' files; one that names no program is never found."""
    return {look.name: Agent(frozenset(look.commands), look.account) for look in looks if look.commands}


def wanted(config: Config) -> bool:
    """Whether members are looked for: while nobody says who they are."""
    return config.discover == "auto" and not config.profiles and not config.panes


class Finder:
    """Remembers what runs in which pane, so that a process is asked for its account once."""

    def __init__(self, doors: Doors) -> None:
        self._doors = doors
        self._agents: Mapping[str, Agent] | None = None
        self._known: dict[str, _Known] = {}

    def look(self, rows: Iterable[Row], seats: Mapping[str, Seat], opted_out: frozenset[str]) -> dict[str, Seat]:
        """The seats of panes that run an agent, of those that are neither marked, nor opted out, nor leads."""
        asked = [
            row for row in rows
            if seats[row.id].role is None and not row.lead_option and not row.dead and row.id not in opted_out
        ]  # fmt: skip
        if not asked:
            self._known = {}
            return {}
        if self._agents is None:
            self._agents = agents(self._doors.looks())
        terminals = self._doors.terminals.sweep([row.pid for row in asked])
        known: dict[str, _Known] = {}
        for row in asked:
            here = self._here(row, terminals.get(row.pid, ()), self._agents)
            if here:
                known[row.id] = here
        self._known = known
        return {pane: each.seat for pane, each in known.items()}

    def told_by(self, pane: str) -> str | None:
        """Where the account of a member was told from at the last look; None when it could not be told."""
        return self._known[pane].told_by if pane in self._known else None

    def _here(self, row: Row, processes: Sequence[Process], agents: Mapping[str, Agent]) -> _Known | None:
        """What is known of the agent in a pane, asked for anew when another one runs there; None when there is none."""
        before = self._known.get(row.id)
        if before and before.pane_pid != row.pid:
            before = None
        agent = discovery.found(processes, agents)
        if agent is None:
            # Stopped, or behind a program that it started in its place, it is still the pane's agent.
            return before if before and self._doors.accounts.lives(before.agent.pid) else None
        if before and before.agent.agent == agent.agent and self._doors.accounts.lives(before.agent.pid):
            return before
        accounts = self._doors.accounts
        spends = discovery.account(agents[agent.agent].account, accounts.environment(agent.pid), accounts.read)
        seat = discovery.seat(agent.agent, spends.digits if spends else None)
        return _Known(row.pid, agent, seat, spends.told_by if spends else None)
