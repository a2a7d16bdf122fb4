"""Which agent runs where nothing names one: its program's name tells, or that of the script that is run."""

import pytest
from terminals import Row, Terminals

from fleettools.policy.members.seats import Seat
from fleettools.screens.look import Look
from fleettools.services.namer import Namer

LOOKS = [Look(name="claude", commands=["claude"]), Look(name="qwen", commands=["qwen", "qwen-code"])]
MEMBER, LEAD = Seat(profile="p", role="member"), Seat(name="l", role="lead")


class World(Terminals):
    """Terminals as they are told to be; counts the looks at the agents' files."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded = 0

    def looks(self) -> list[Look]:
        self.loaded += 1
        return LOOKS


# An option, a rule or a profile that names an agent is believed; else the program is, behind an interpreter its script.
@pytest.mark.parametrize(
    ("seat", "words", "agent"),
    [
        (MEMBER, ("claude", "--continue"), "claude"),
        (LEAD, ("claude",), "claude"),
        (MEMBER, ("node", "/opt/x/.bin/qwen"), "qwen"),
        (MEMBER, ("/usr/bin/python3", "/opt/bin/qwen-code", "-v"), "qwen"),
        (MEMBER, ("bash", "-l"), None),
        (MEMBER._replace(agent="codex"), ("claude",), "codex"),
    ],
    ids=["program", "lead", "script of node", "script of python", "shell", "named"],
)
def test_who_runs_there_names_the_agent(seat: Seat, words: tuple[str, ...], agent: str | None) -> None:
    world = World()
    world.runs(7, *words)
    found = {"%1": seat} | Namer(world.looks, world).name([Row("%1", 7)], {"%1": seat})
    assert found["%1"] == seat._replace(agent=agent)


def test_an_agent_behind_an_editor_or_gone_to_the_shell_is_still_that_of_its_pane() -> None:
    world = World()
    namer, rows, seats = Namer(world.looks, world), [Row("%1", 7)], {"%1": MEMBER}
    for words, agent in ((("claude",), "claude"), (("vim",), "claude"), (("bash",), "claude"), (("qwen",), "qwen")):
        world.runs(7, *words)
        assert namer.name(rows, seats)["%1"].agent == agent
    assert namer.name([Row("%1", 8)], seats) == {}
    assert world.loaded == 1


def test_agents_files_are_read_only_when_there_is_something_to_name() -> None:
    world = World()
    namer = Namer(world.looks, world)
    assert namer.name([Row("%1", 7), Row("%2", 8, dead=True)], {"%1": Seat(), "%2": MEMBER}) == {}
    assert world.loaded == 0
