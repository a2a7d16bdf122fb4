"""Keeping the pipe up: pauses that grow and start over, and reloads that say what they left."""

from typing import Any

import pytest

from fleettools.policy import upkeep


def test_each_quick_death_doubles_the_pause_from_half_a_second_to_half_a_minute() -> None:
    pauses = [0.0]
    for _ in range(9):
        pauses.append(upkeep.pause(pauses[-1], ran=1))
    assert pauses[1:] == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_a_run_of_a_minute_starts_the_pauses_over() -> None:
    assert upkeep.pause(30, ran=59.9) == 30
    assert upkeep.pause(30, ran=60) == 0.5


BASE = {"outage": {"threshold": 2}, "profiles": {"a": {"errorPattern": "x", "priority": 1}}}

RELOADS = [
    # a key that decides nothing before the next record is taken over
    ("a number", {**BASE, "outage": {"threshold": 3}}, {**BASE, "outage": {"threshold": 3}}, ["outage.threshold"], []),
    # patterns were compiled at the start
    (
        "a pattern",
        {**BASE, "profiles": {"a": {"errorPattern": "y", "priority": 2}}},
        {**BASE, "profiles": {"a": {"errorPattern": "x", "priority": 2}}},
        ["profiles.a.priority"],
        ["profiles.a.errorPattern"],
    ),
    (
        "a pattern that goes",
        {**BASE, "profiles": {"a": {"priority": 1}}},
        BASE,
        [],
        ["profiles.a.errorPattern"],
    ),
    # the store stays the one that the pipe has open
    ("the store", {**BASE, "state": "memory:"}, BASE, [], ["state"]),
    # a new profile counts at once, its patterns later
    (
        "a new profile",
        {**BASE, "profiles": {**BASE["profiles"], "b": {"agent": "claude", "errorPattern": "z"}}},
        {**BASE, "profiles": {**BASE["profiles"], "b": {"agent": "claude"}}},
        ["profiles.b.agent"],
        ["profiles.b.errorPattern"],
    ),
    ("an empty new profile", {**BASE, "profiles": {**BASE["profiles"], "b": {}}}, None, ["profiles.b"], []),
    ("a profile that goes", {**BASE, "profiles": {}}, {**BASE, "profiles": {}}, ["profiles.a"], []),
    ("nothing", BASE, BASE, [], []),
]


@pytest.mark.parametrize(
    ("wanted", "runs", "now", "waiting"), [pytest.param(*case[1:], id=case[0]) for case in RELOADS]
)
def test_a_reload_takes_over_what_it_can_and_names_what_waits(
    wanted: dict[str, Any], runs: dict[str, Any] | None, now: list[str], waiting: list[str]
) -> None:
    assert upkeep.reloaded(BASE, wanted) == (wanted if runs is None else runs, now, waiting)


@pytest.mark.parametrize(
    ("patterns", "is_seen", "kind"),
    [
        pytest.param(True, True, "configured", id="own patterns for a known agent"),
        pytest.param(True, None, "configured", id="own patterns for an agent nobody knows"),
        pytest.param(False, True, "bundled", id="a known agent"),
        pytest.param(False, False, "unseen", id="a known agent that nobody has captured"),
        pytest.param(False, None, "legacy", id="neither"),
    ],
)
def test_what_a_profile_is_judged_with(patterns: bool, is_seen: bool | None, kind: str) -> None:
    assert upkeep.coverage(patterns, is_seen) == kind


def test_the_coverage_line_names_every_profile_and_mends_the_legacy_ones() -> None:
    assert upkeep.coverage_line([("b", "bundled"), ("a", "bundled"), ("c", "configured")]) == (
        "coverage: configured: c; bundled: a, b; legacy: none"
    )
    assert upkeep.coverage_line([("b", "bundled"), ("a", "unseen")]) == (
        "coverage: configured: none; bundled: b; unseen: a; legacy: none"
    )
    assert upkeep.coverage_line([("old", "legacy")]).endswith(
        "legacy: old (only a line with 'API Error:' counts; give it an agent or an errorPattern)"
    )
