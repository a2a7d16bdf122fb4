"""The fleet in tmux's status line: short, in tmux's own colours, and nothing that tmux would run."""

import re

import pytest

from fleettools.moments import Moment
from fleettools.policy.accounts.credential import CredentialState
from fleettools.policy.accounts.periods import Period
from fleettools.policy.segment import segment
from fleettools.records import State

NOW = Moment(1_000_000)


def out(seconds: int) -> Period:
    """A period that is over in so many seconds."""
    return Period(since_ms=NOW.ms, until_ms=NOW.ms + 1000 * seconds, id="i", why="w", evidence=[])


def drawn(*states: State, cooling: dict[str, int] | None = None, gone: dict[str, int] | None = None) -> str:
    """The segment of members in these states, and of credentials that are out for so many seconds."""
    cooling, gone = cooling or {}, gone or {}
    known = {name: CredentialState() for name in ("free", *cooling, *gone)}
    for name, seconds in cooling.items():
        known[name].cool_off = out(seconds)
    for name, seconds in gone.items():
        known[name].quarantine = out(seconds)
    return segment(states, known, NOW)


def shown(*states: State, cooling: dict[str, int] | None = None, gone: dict[str, int] | None = None) -> str:
    """The same without its colours."""
    return re.sub(r"#\[[^]]*\]", "", drawn(*states, cooling=cooling, gone=gone))


ROWS = [
    ("nobody is there", shown(), ""),
    ("all is well", shown("idle", "busy", "done"), "3 ok"),
    ("who was released is gone", shown("idle", "released"), "1 ok"),
    ("only released ones are left", shown("released"), ""),
    ("what is over is gone", shown("idle", cooling={"a": 0}, gone={"b": -5}), "1 ok"),
    ("one asks", shown("idle", "blocked"), "1 ok 1 asks"),
    ("some failed", shown("failed", "backend_error", "idle"), "1 ok 2 failed"),
    ("a credential cools off", shown("idle", cooling={"a": 42}), "1 ok a 42s"),
    ("one is quarantined", shown("idle", gone={"a": 7300}), "1 ok a 2h"),
    ("a quarantine outranks a cool-off", shown("idle", cooling={"a": 9}, gone={"a": 150}), "1 ok a 2m"),
    ("only a few are named", shown(cooling={f"c{n}": 5 for n in range(5)}), "c0 5s c1 5s c2 5s +2"),
]


@pytest.mark.parametrize(("made", "text"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_fleet_in_a_few_characters(made: str, text: str) -> None:
    assert made == text


def test_colours_are_in_tmuxs_own_syntax() -> None:
    text = drawn("failed", cooling={"a": 5})
    assert text == "#[fg=green]0 ok#[default] #[fg=red]1 failed#[default] #[fg=red]a 5s#[default]"


def test_a_name_is_no_format_of_tmux() -> None:
    text = drawn(cooling={"#(touch /tmp/x)\x1b": 5})
    assert "##(touch" in text
    assert "\x1b" not in text
