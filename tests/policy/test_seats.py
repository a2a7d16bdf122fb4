"""Who sits where: which panes are members, which are leads, and who leads whom."""

from typing import NamedTuple

import pytest

from fleettools.policy.members.seats import Seat, find, seats


class Row(NamedTuple):
    id: str = "%1"
    session: str = "work"
    window: str = "one"
    window_index: int = 0
    pane_index: int = 0
    command: str = "claude"
    title: str = "t"
    profile_option: str = ""
    lead_option: str = ""
    name_option: str = ""
    agent_option: str = ""
    runs_option: str = ""


class Rule(NamedTuple):
    session: str | None = None
    window: str | None = None
    title: str | None = None
    command: str | None = None
    profile: str | None = None
    agent: str | None = None
    lead: str | None = None
    name: str | None = None
    runs: tuple[str, ...] = ()


AGENTS = {"claude-a": "claude"}
LEAD = Row(id="%9", session="lead")


@pytest.mark.parametrize(
    ("row", "rules", "seat"),
    [
        pytest.param(Row(), [], Seat(), id="nothing"),
        pytest.param(Row(profile_option="p"), [], Seat("p", role="member"), id="a profile"),
        pytest.param(Row(profile_option="claude-a"), [], Seat("claude-a", "claude", role="member"), id="its agent"),
        pytest.param(
            Row(profile_option="claude-a", agent_option="codex"),
            [],
            Seat("claude-a", "codex", role="member"),
            id="the pane's own agent before that",
        ),
        pytest.param(Row(lead_option="%9"), [], Seat(lead="%9", role="member"), id="a lead makes a member"),
        pytest.param(Row(lead_option="%1"), [], Seat(role="member"), id="nobody leads itself"),
        pytest.param(Row(agent_option="claude"), [], Seat(agent="claude", role="lead"), id="an agent alone is a lead"),
        pytest.param(Row(name_option="eve"), [], Seat(name="eve", role="lead"), id="so is a name"),
        pytest.param(
            Row(profile_option="p", runs_option="a b"), [], Seat("p", role="member", runs=("a", "b")), id="what it runs"
        ),
        pytest.param(Row(), [Rule(session="w*", profile="p")], Seat("p", role="member"), id="a rule"),
        pytest.param(Row(), [Rule(session="w*", title="x", profile="p")], Seat(), id="a rule of which a glob fails"),
        pytest.param(
            Row(),
            [Rule(session="v*"), Rule(command="cl*", profile="q")],
            Seat("q", role="member"),
            id="the first that matches",
        ),
        pytest.param(
            Row(profile_option="p"),
            [Rule(profile="q", lead="lead")],
            Seat("p", role="member"),
            id="an option before a rule",
        ),
        pytest.param(
            Row(), [Rule(profile="p", lead="lead:0.0")], Seat("p", lead="%9", role="member"), id="a rule's lead"
        ),
    ],
)
def test_a_pane_sits(row: Row, rules: list[Rule], seat: Seat) -> None:
    found, warnings = seats([row, LEAD], rules, AGENTS)
    assert (found["%1"], warnings) == (seat, [])


def test_a_pane_that_is_led_by_another_makes_that_a_lead() -> None:
    found, _ = seats([Row(profile_option="p", lead_option="%9"), LEAD], [], {})
    assert found["%9"].role == "lead"


def test_a_lead_that_is_a_member_stays_one() -> None:
    found, _ = seats([Row(lead_option="%9"), LEAD._replace(profile_option="p")], [], {})
    assert found["%9"] == Seat("p", role="member")


def test_a_lead_that_does_not_exist_is_warned_of_and_left_out() -> None:
    found, warnings = seats([Row(profile_option="p", lead_option="%77")], [], {})
    assert found["%1"] == Seat("p", role="member")
    assert warnings == ["%1: its lead %77 does not exist; set @fleet_lead to a pane of this server"]


ROWS = [
    Row(id="%1", session="lead-backup"),
    Row(id="%2", session="lead", window="one", window_index=3, pane_index=0),
    Row(id="%3", session="lead", window="one", window_index=3, pane_index=1),
    Row(id="%4", session="lead", window="a.b", window_index=4, pane_index=0),
]


@pytest.mark.parametrize(
    ("name", "pane"),
    [
        ("%3", "%3"),
        ("%33", None),
        ("lead", "%2"),
        ("lea", None),
        ("lead:", "%2"),
        ("lead:3", "%2"),
        ("lead:one", "%2"),
        ("lead:3.1", "%3"),
        ("lead:one.1", "%3"),
        ("lead:one.2", None),
        ("lead:a.b", "%4"),
        ("lead:a.b.0", "%4"),
        ("lead:9", None),
    ],
)
def test_a_leads_name_is_compared_exactly(name: str, pane: str | None) -> None:
    assert find(name, ROWS) == pane


def test_a_pane_that_opted_out_is_no_member_whatever_else_is_said_of_it() -> None:
    row = Row(lead_option="%9")
    found, _ = seats([row, LEAD], [Rule(profile="p")], {}, frozenset({"%1"}))
    assert found["%1"].role is None
