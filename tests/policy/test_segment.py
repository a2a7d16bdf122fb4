"""The fleet in tmux's status line: short, in tmux's own colours, and nothing that tmux would run."""

import re
from typing import Any

import pytest

from fleettools.policy.segment import segment


def view(*states: str, **profiles: dict[str, Any]) -> dict[str, Any]:
    return {"members": [{"state": state} for state in states], "profiles": profiles}


ROWS = [
    ("nobody is there", view(), ""),
    ("all is well", view("idle", "busy", "done"), "3 ok"),
    ("one asks", view("idle", "blocked"), "1 ok 1 asks"),
    ("some failed", view("failed", "backend_error", "idle"), "1 ok 2 failed"),
    ("a credential cools off", view("idle", p={"credentialId": "a", "coolingOffForSeconds": 42}), "1 ok a 42s"),
    ("one is quarantined", view("idle", p={"credentialId": "a", "quarantinedForSeconds": 7300}), "1 ok a 2h"),
    (
        "a quarantine outranks a cool-off",
        view("idle", p={"credentialId": "a", "quarantinedForSeconds": 150, "coolingOffForSeconds": 9}),
        "1 ok a 2m",
    ),
]


@pytest.mark.parametrize(("given", "text"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_fleet_in_a_few_characters(given: dict[str, Any], text: str) -> None:
    assert re.sub(r"#\[[^]]*\]", "", segment(given)) == text


def test_only_a_few_credentials_are_named() -> None:
    out = {f"p{n}": {"credentialId": f"c{n}", "coolingOffForSeconds": 5} for n in range(5)}
    assert re.sub(r"#\[[^]]*\]", "", segment(view(**out))) == "c0 5s c1 5s c2 5s +2"


def test_a_name_is_no_format_of_tmux() -> None:
    hostile = {"credentialId": "#(touch /tmp/x)\x1b", "coolingOffForSeconds": 5}
    assert "##(touch" in segment(view(p=hostile))
    assert "\x1b" not in segment(view(p=hostile))
