"""Who sits where: which panes are members, which are leads, and who leads whom."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol

from fleettools import records


class Row(Protocol):
    """A pane as tmux lists it; the options as tmux inherits them, "" for none."""

    @property
    def id(self) -> str:
        """The pane's id, such as `%12`."""

    @property
    def session(self) -> str:
        """The session's name."""

    @property
    def window(self) -> str:
        """The window's name."""

    @property
    def window_index(self) -> int:
        """The window's number in its session."""

    @property
    def pane_index(self) -> int:
        """The pane's number in its window."""

    @property
    def command(self) -> str:
        """The program in the foreground, as tmux calls it."""

    @property
    def title(self) -> str:
        """The pane's title, which its program sets."""

    @property
    def profile_option(self) -> str:
        """`@fleet_profile`."""

    @property
    def lead_option(self) -> str:
        """`@fleet_lead`."""

    @property
    def name_option(self) -> str:
        """`@fleet_name`."""

    @property
    def agent_option(self) -> str:
        """`@fleet_agent`."""

    @property
    def runs_option(self) -> str:
        """`@fleet_runs`: names of programs, apart by spaces."""


class Rule(Protocol):
    """An entry of `panes:`: globs that must all match, and what the pane then is."""

    session: str | None
    window: str | None
    title: str | None
    command: str | None
    profile: str | None
    agent: str | None
    runs: list[str]
    lead: str | None
    name: str | None


class Seat(NamedTuple):
    """What a pane is in the fleet. `lead` is a pane id; `role` None: no part of it.

    `runs`: names of programs that a person says are the agent there.
    """

    profile: str | None = None
    agent: str | None = None
    name: str | None = None
    lead: str | None = None
    role: records.Role | None = None
    runs: tuple[str, ...] = ()


def matching(row: Row, rules: Iterable[Rule]) -> Rule | None:
    """The first rule all of whose globs match the pane."""
    for rule in rules:
        globs = [(rule.session, row.session), (rule.window, row.window), (rule.title, row.title)]
        globs += [(rule.command, row.command)]
        if all(glob is None or fnmatchcase(text, glob) for glob, text in globs):
            return rule
    return None


def find(name: str, rows: Iterable[Row]) -> str | None:
    """The id of the pane that a lead's name means: `%7`, `session:window.pane`, or less of it; compared exactly.

    `window` is an index or a name. What leaves several panes open means the first of them.
    """
    return next((row.id for row in rows if _is_meant(row, name)), None)


def _is_meant(row: Row, name: str) -> bool:
    if name.startswith("%"):
        return row.id == name
    session, _, rest = name.partition(":")
    if row.session != session:
        return False
    window, dot, pane = rest.rpartition(".")  # a window's name may hold dots, too
    exact = bool(dot) and _is_window(row, window) and pane == str(row.pane_index)
    return not rest or _is_window(row, rest) or exact


def _is_window(row: Row, name: str) -> bool:
    return name in (row.window, str(row.window_index))


def may_opt_out(rows: Iterable[Row], anybody: bool) -> list[str]:
    """The panes that would be members for their lead, or because `anybody` may be: an empty option of theirs counts."""
    return [row.id for row in rows if not row.profile_option and (anybody or row.lead_option)]


def seats(
    rows: Sequence[Row],
    rules: Sequence[Rule],
    agents: Mapping[str, str | None],
    opted_out: frozenset[str] = frozenset(),
) -> tuple[dict[str, Seat], list[str]]:
    """The seat of every pane by id, and what has to be warned about.

    A pane option goes before a rule. `agents`: the agent of each profile; `opted_out`: panes whose own
    `@fleet_profile` is set and empty, which are no members whatever else is said of them.
    """
    found: dict[str, Seat] = {}
    warnings: list[str] = []
    for row in rows:
        rule = None if row.profile_option or row.id in opted_out else matching(row, rules)
        profile = row.profile_option or (rule and rule.profile) or None
        agent = row.agent_option or (rule and rule.agent) or agents.get(profile or "") or None
        wanted = row.lead_option or (rule and rule.lead) or None
        lead = find(wanted, rows) if wanted else None
        if wanted and lead is None:
            warnings.append(f"{row.id}: its lead {wanted} does not exist; set @fleet_lead to a pane of this server")
        name = row.name_option or (rule and rule.name) or None
        member = bool(profile or row.lead_option or rule) and row.id not in opted_out
        role: records.Role | None = "member" if member else "lead" if agent or name else None
        runs = (*row.runs_option.split(), *(rule.runs if rule else ()))
        found[row.id] = Seat(profile, agent, name, None if lead == row.id else lead, role, runs)
    for lead in {seat.lead for seat in found.values() if seat.lead}:
        if found[lead].role is None:
            found[lead] = found[lead]._replace(role="lead")
    return found, warnings
