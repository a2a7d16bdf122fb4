"""The fleet in tmux's status line: short, in tmux's own colours, and nothing that tmux would run."""

import re
from typing import Any

import pytest

from fleettools.policy.segment import segment


def shown(*states: str, cooling: dict[str, int] | None = None, gone: dict[str, int] | None = None) -> str:
    """The segment of members in these states, without its colours."""
    out: dict[str, Any] = {"coolingOff": cooling or {}, "quarantined": gone or {}}
    return re.sub(r"#\[[^]]*\]", "", segment([{"state": state} for state in states], out))


ROWS = [
    ("nobody is there", shown(), ""),
    ("all is well", shown("idle", "busy", "done"), "3 ok"),
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
    text = segment([{"state": "failed"}], {"coolingOff": {"a": 5}, "quarantined": {}})
    assert text == "#[fg=green]0 ok#[default] #[fg=red]1 failed#[default] #[fg=red]a 5s#[default]"


def test_a_name_is_no_format_of_tmux() -> None:
    text = segment([], {"coolingOff": {"#(touch /tmp/x)\x1b": 5}, "quarantined": {}})
    assert "##(touch" in text
    assert "\x1b" not in text
