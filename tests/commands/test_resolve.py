"""fleet-resolve: verdicts go through with `resolved`, the roster follows, and everything else passes as it came."""

import json
from typing import Any

import pytest
from desk import END, FAIL, NOON, Desk, stamp

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


def at_work(desk: Desk, pane: tuple[str, int]) -> None:
    """Have a person type a prompt into a pane."""
    desk.tmux("send-keys", "-t", pane[0], "do it", "Enter")
    desk.until(lambda: "❯ do it" in desk.screen(pane[0]))


def failed(desk: Desk, count: int, *together: int) -> list[tuple[str, int]]:
    """Panes of members of one account in whose last turn the backend failed; `together`: those that share a window."""
    panes = [desk.agent(agent="claude", profile="claude-a", name=f"w{number}") for number in range(count)]
    for pane in panes:
        at_work(desk, pane)
        desk.signal(pane, FAIL, "API Error")
    for number in together[1:]:
        desk.tmux("join-pane", "-d", "-s", panes[number][0], "-t", panes[together[0]][0])
    return panes


def test_old_errors_of_two_panes_of_one_window_stay_without_a_moment(desk: Desk) -> None:
    """Nothing tells when they were drawn, so a store that never saw the panes before must not take them for news."""
    failed(desk, 2, 0, 1)
    for _ in range(2):
        seen = desk.look("resolve")
        assert [(v["outcome"], v["undated"], v["resolved"]) for v in seen] == [("backend_error", True, True)] * 2
        desk.now_ms += 30_000


def test_an_error_between_two_runs_from_cron_lies_in_the_middle(desk: Desk) -> None:
    """Of a pane that shares its window nothing but the store knows when it had not failed yet."""
    first, second = (desk.agent(agent="claude", profile="claude-a", name=name) for name in "ab")
    desk.tmux("join-pane", "-d", "-s", second[0], "-t", first[0])
    at_work(desk, first)
    desk.look("resolve")
    desk.now_ms += 40_000
    desk.signal(first, FAIL, "API Error")
    for _ in range(2):
        seen = next(verdict for verdict in desk.look("resolve") if verdict["target"] == first[0])
        assert (seen["outcome"], seen["at"], "undated" in seen) == ("backend_error", stamp(NOON + 20_000), False)
        desk.now_ms += 40_000


def test_an_inferred_end_is_proved_by_the_next_run(desk: Desk) -> None:
    work, error = verdict("working"), verdict("completed", 1, block="b", proved=False, reason="a reply stands there")
    desk.pipe([work], "resolve")
    (doubted,) = desk.pipe([error], "resolve")
    assert (doubted["resolved"], doubted["proved"], members(desk)) == (False, False, {"%3": "busy"})
    (proved,) = desk.pipe([error | {"ts": stamp(NOON + 301_000), "reason": "said later"}], "resolve")
    assert (proved["resolved"], proved["proved"], members(desk)) == (True, True, {"%3": "done"})
    assert (proved["at"], proved["reason"], proved["began"]) == (stamp(NOON + 1_000), error["reason"], stamp(NOON))


def test_a_reply_on_a_real_screen_ends_its_turn_at_the_second_look(desk: Desk) -> None:
    pane = desk.agent(agent="claude", profile="claude-a")
    at_work(desk, pane)
    desk.look("resolve")
    desk.signal(pane, END, "All is done")
    states = []
    for _ in range(3):
        (seen,) = desk.look("resolve")
        states.append((seen["outcome"], seen.get("proved", True) is True, seen["resolved"], members(desk)[pane[0]]))
        desk.now_ms += 1_000
    assert states[-1] == ("completed", True, True, "done")
    assert states[0] in (states[-1], ("completed", False, False, "busy"))


def test_a_verdict_tells_readers_its_credential(desk: Desk) -> None:
    (desk.folder / "fleetd.yaml").write_text("profiles: {claude-a: {agent: claude, credentialId: team-a}}\n")
    assert [
        v.get("credentialId") for v in desk.pipe([verdict("idle"), verdict("idle", 1, profile="other")], "resolve")
    ] == [
        "team-a",
        None,
    ]


def test_a_pane_that_is_marked_no_more_leaves_no_member(desk: Desk) -> None:
    unmarked = verdict("stale", 20, unmarked=True)
    for _ in range(2):
        done = desk.run("resolve", stdin=lines(verdict("working"), unmarked))
        assert (done.status, done.said, members(desk)) == (0, "", {})
