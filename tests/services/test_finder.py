"""What a finder remembers between two sweeps: an account is asked for once, and an agent is gone when it ends."""

from collections.abc import Mapping
from typing import Any

from terminals import Row, Terminals

from fleettools.config import Config, PaneRule, Profile
from fleettools.policy.members.seats import Seat
from fleettools.screens.agentdata import AccountSource
from fleettools.screens.look import Look
from fleettools.services import finder
from fleettools.services.finder import Doors, Finder


class World(Terminals):
    """Terminals and accounts as they are told to be; counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.homes: dict[int, str] = {}
        self.alive: set[int] = set()
        self.asked: list[int] = []

    def environment(self, pid: int) -> Mapping[str, str]:
        self.asked.append(pid)
        return {"CLAUDE_CONFIG_DIR": self.homes[pid]} if pid in self.homes else {}

    def read(self, path: str) -> Any:
        return None

    def lives(self, pid: int) -> bool:
        return pid in self.alive

    def begins(self, pane_pid: int, pid: int, home: str = "") -> None:
        """An agent of the account of that home is started in the pane."""
        self.runs(pane_pid, "claude", pid=pid)
        self.alive.add(pid)
        if home:
            self.homes[pid] = home


LOOK = Look(name="claude", commands=["claude"], account=[AccountSource(env=["CLAUDE_CONFIG_DIR"])])


def begun(world: World) -> Finder:
    return Finder(Doors(lambda: [LOOK], world, world))


def names(found: dict[str, Seat]) -> dict[str, str | None]:
    return {pane: seat.profile for pane, seat in found.items()}


def look(one: Finder, *rows: Row, out: frozenset[str] = frozenset(), **roles: Seat) -> dict[str, str | None]:
    return names(one.look(rows, {row.id: roles.get(row.id, Seat()) for row in rows}, out))


def test_two_homes_are_two_profiles_and_the_same_home_is_one() -> None:
    world, rows = World(), [Row("%1", 11), Row("%2", 12), Row("%3", 13)]
    for row, home in zip(rows, ("/a", "/a", "/b"), strict=True):
        world.begins(row.pid, row.pid + 100, home=home)
    found = look(begun(world), *rows)
    assert found["%1"] == found["%2"] != found["%3"]
    assert all(profile and profile.startswith("claude-") for profile in found.values())


def test_what_is_marked_opted_out_dead_or_a_lead_is_left_alone() -> None:
    world, one = World(), begun(World())
    one = begun(world)
    for pid in range(11, 17):
        world.begins(pid, pid + 100)
    rows = [Row("%1", 11), Row("%2", 12), Row("%3", 13), Row("%4", 14, dead=True), Row("%5", 15, lead_option="%0")]
    seats = {"%1": Seat(profile="p", role="member"), "%2": Seat(agent="claude", role="lead")}
    assert look(one, *rows, Row("%6", 16), out=frozenset({"%3"}), **seats) == {"%6": "claude"}


def test_a_process_is_asked_for_its_account_once() -> None:
    world = World()
    world.begins(11, 111)
    one = begun(world)
    for _ in range(3):
        look(one, Row("%1", 11))
    assert world.asked == [111]


def test_an_agent_behind_another_program_is_still_there_and_one_that_has_ended_is_not() -> None:
    world = World()
    world.begins(11, 111, home="/a")
    one = begun(world)
    first = look(one, Row("%1", 11))
    world.runs(11, "-bash")
    assert look(one, Row("%1", 11)) == first
    world.alive.discard(111)
    assert look(one, Row("%1", 11)) == {}


def test_another_account_in_the_same_pane_is_another_profile() -> None:
    world = World()
    world.begins(11, 111, home="/a")
    one = begun(world)
    first = look(one, Row("%1", 11))
    world.alive.discard(111)
    world.begins(11, 112, home="/b")
    assert look(one, Row("%1", 11)) != first


def test_members_are_looked_for_only_while_nobody_says_who_they_are() -> None:
    assert finder.wanted(Config())
    assert not finder.wanted(Config(discover="off"))
    assert not finder.wanted(Config(profiles={"a": Profile()}))
    assert not finder.wanted(Config(panes=[PaneRule(session="w")]))
