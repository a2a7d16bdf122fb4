"""fleet-resolve: verdicts go through with `resolved`, the roster follows, and everything else passes as it came."""

import json
from typing import Any

import pytest
from desk import NOON, Desk, stamp

from fleettools.adapters.stores import open_store
from fleettools.policy.members.roster import MEMBERS, MemberState
from fleettools.services.store import read_all

SERVER = "h:/s:7"


def verdict(outcome: str, at: int = 0, **more: Any) -> dict[str, Any]:
    seat = {"server": SERVER, "target": "%3", "pid": 30, "profile": "claude-a", "role": "member"}
    return {"type": "verdict", "ts": stamp(NOON + 1000 * at), "outcome": outcome, "screen": "x:1"} | seat | more


def members(desk: Desk) -> dict[str, str]:
    store = open_store(desk.env["FLEET_STATE"], print)
    return {member.target: member.state for _, member in read_all(store, MEMBERS, MemberState)}


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('{"type":"weather",  "x":[1, 2.50]}', id="an unknown type"),
        pytest.param("", id="a blank line"),
        pytest.param('{"ts":"2024-01-01T12:00:00Z","type":"incident"}', id="a type that others read"),
        pytest.param('{"type":"verdict","ts":"2024-01-01T12:00:00Z","role":"lead","outcome":"idle"}', id="a lead"),
        pytest.param('{"type":"tmux","ts":"2024-01-01T12:00:00Z","server":"h:/s:7","state":"up"}', id="tmux"),
    ],
)
def test_what_it_does_not_consume_goes_through_byte_for_byte(desk: Desk, line: str) -> None:
    out, said = desk.start("resolve", "--state", "memory:").communicate(line + "\n", timeout=30)
    assert (out, said) == (line + "\n", "")


def test_fields_that_it_does_not_know_survive(desk: Desk) -> None:
    (seen,) = desk.pipe([verdict("working", weather={"a": [1]})], "resolve")
    assert seen["weather"] == {"a": [1]}
    assert (seen["resolved"], "ticket" in seen) == (True, False)


def test_the_same_stream_again_changes_nothing_across_restarts(desk: Desk) -> None:
    day = [verdict("working"), verdict("backend_error", 1), verdict("working", 2), verdict("backend_error", 3)]
    first = desk.pipe(day, "resolve")
    again = desk.pipe(day, "resolve")
    assert len({record["event"] for record in first}) == 2
    assert again[-1] == first[-1]
    assert desk.pipe(again, "resolve")[-1] == first[-1]
    assert members(desk) == {"%3": "backend_error"}


def test_a_pane_that_is_gone_is_no_evidence_whatever_its_screen_says(desk: Desk) -> None:
    dead = verdict("backend_error", 1, dead=True, cause="overload", reason="529")
    _, seen = desk.pipe([verdict("working"), dead], "resolve")
    assert (seen["outcome"], seen["reason"], "cause" in seen) == ("failed", "pane gone", False)
    assert members(desk) == {"%3": "failed"}


def test_an_unknown_target_is_a_warning_and_an_explicit_false_once(desk: Desk) -> None:
    done = desk.run("resolve", stdin=lines(verdict("failed", gone=True), verdict("failed", 1, gone=True)))
    assert (done.status, [record["resolved"] for record in done.records]) == (0, [False, False])
    assert done.said.count("WARN %3 on h:/s:7") == 1
    assert members(desk) == {}


def test_only_the_members_of_the_server_that_ended_are_released(desk: Desk) -> None:
    others = [verdict("idle", target="%4", server="h:/s:70"), verdict("idle", target="%5", server="h:/t:7")]
    tmux = {"type": "tmux", "ts": stamp(NOON), "server": SERVER}
    desk.pipe([verdict("working"), *others, tmux | {"state": "unreachable"}], "resolve")
    assert members(desk) == {"%3": "busy", "%4": "idle", "%5": "idle"}
    desk.pipe([tmux | {"state": "down"}], "resolve")
    assert members(desk) == {"%3": "released", "%4": "idle", "%5": "idle"}


def test_a_bad_line_is_said_with_its_place_and_the_rest_goes_on(desk: Desk) -> None:
    done = desk.run("resolve", stdin='{"type":"verdict"}\n' + lines(verdict("idle")))
    assert (done.status, len(done.records)) == (65, 1)
    assert "fleet-resolve: stdin:1: " in done.said


def test_without_a_pane_a_verdict_concerns_nobody(desk: Desk) -> None:
    alone = {"type": "verdict", "ts": stamp(NOON), "outcome": "backend_error"}
    assert desk.pipe([alone], "resolve") == [alone | {"resolved": True}]
    assert members(desk) == {}
