"""fleet-resolve: verdicts go through with `resolved`, the roster follows, and everything else passes as it came."""

import json
import os
from typing import Any

import pytest
from desk import END, FAIL, NOON, Desk, stamp

from fleettools import records
from fleettools.adapters.stores import open_store
from fleettools.policy.accounts.usage import UsageState, usage_key
from fleettools.policy.members.roster import MEMBERS, MemberState
from fleettools.services.signaling import SIGNALS, post
from fleettools.services.store import Store, read, read_all

SERVER = f"{os.uname().nodename}:/s:7"


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
    assert done.said.count(f"WARN %3 on {SERVER}") == 1
    assert members(desk) == {}


def test_only_the_members_of_the_server_that_ended_are_released(desk: Desk) -> None:
    others = [verdict("idle", target="%4", server=f"{SERVER}0"), verdict("idle", target="%5", server="h:/t:7")]
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
        seen = desk.look("resolve", "correlate")
        assert {record["type"] for record in seen} == {"verdict"}
        assert [(v["outcome"], v["undated"], v["resolved"]) for v in seen] == [("backend_error", True, True)] * 2
        desk.now_ms += 30_000


def test_errors_drawn_since_the_last_run_are_an_incident_though_the_panes_share_a_window(desk: Desk) -> None:
    panes = [desk.agent(agent="claude", profile="claude-a", name=name) for name in "ab"]
    desk.tmux("join-pane", "-d", "-s", panes[1][0], "-t", panes[0][0])
    for pane in panes:
        at_work(desk, pane)
    desk.look("resolve", "correlate")
    desk.now_ms += 30_000
    for pane in panes:
        desk.signal(pane, FAIL, "API Error")
    seen = desk.look("resolve", "correlate")
    assert [len(record["evidence"]) for record in seen if record["type"] == "incident"] == [2]


def test_cron_slower_than_a_minute_marks_its_members_and_makes_no_incident(desk: Desk) -> None:
    """The middle of two runs 5 minutes apart lies further back than the window."""
    panes = [desk.agent(agent="claude", profile="claude-a", name=name) for name in "ab"]
    desk.tmux("join-pane", "-d", "-s", panes[1][0], "-t", panes[0][0])
    for pane in panes:
        at_work(desk, pane)
    desk.look("resolve", "correlate")
    desk.now_ms += 300_000
    for pane in panes:
        desk.signal(pane, FAIL, "API Error")
    seen = desk.look("resolve", "correlate")
    assert [(v["type"], v["at"]) for v in seen] == [("verdict", stamp(NOON + 150_000))] * 2
    assert set(members(desk).values()) == {"backend_error"}


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


def signal(said: str, at: int = 0, **more: Any) -> dict[str, Any]:
    seat = {"server": SERVER, "target": "%3", "agent": "claude", "source": "hook"}
    return {"type": "signal", "ts": stamp(NOON + 1000 * at), "id": f"{said}-{at}", "said": said} | seat | more


def posted(desk: Desk, *signals: dict[str, Any]) -> Store:
    store = open_store(desk.env["FLEET_STATE"], print)
    for one in signals:
        post(store, records.decode(json.dumps(one).encode(), records.Signal))
    return store


def waiting(store: Store) -> list[str]:
    return [key.rpartition("/")[2] for key, _, _ in store.scan(SIGNALS)]


def test_a_signal_passes_and_its_verdict_follows_as_the_screens_own_event(desk: Desk) -> None:
    failure = signal("failure", 5, cause="overload", text="529 overloaded")
    seen = desk.pipe([verdict("working"), failure, verdict("backend_error", 6, cause="unknown")], "resolve")
    assert [record["type"] for record in seen] == ["verdict", "signal", "verdict", "verdict"]
    assert seen[1] == failure
    said = seen[2]
    wanted = {
        "outcome": "backend_error", "cause": "overload", "source": "hook", "line": "529 overloaded",
        "profile": "claude-a", "role": "member", "at": failure["ts"], "resolved": True,
    }  # fmt: skip
    assert {name: said[name] for name in wanted} == wanted
    assert (seen[3]["event"], seen[3]["cause"], seen[3]["source"]) == (said["event"], "overload", "hook")


def test_one_event_is_one_piece_of_evidence_whoever_says_it(desk: Desk) -> None:
    day = []
    for pane in ("%3", "%4"):
        seat = {"target": pane}
        day += [verdict("working", **seat), signal("failure", 5, cause="overload", **seat)]
        day += [verdict("backend_error", 6, cause="overload", **seat)]
    first = desk.pipe(day[:3] * 2, "resolve", "correlate")
    assert "incident" not in {record["type"] for record in first}
    both = desk.pipe(day * 2, "resolve", "correlate")
    assert [len(record["evidence"]) for record in both if record["type"] == "incident"] == [2]


def test_posted_signals_are_taken_up_at_the_start_and_go_when_they_are_used(desk: Desk) -> None:
    desk.pipe([verdict("working")], "resolve")
    store = posted(desk, signal("failure", 5, cause="server"), signal("begin", 1))
    seen = desk.pipe([], "resolve")
    assert [(r["type"], r.get("said") or r["outcome"]) for r in seen] == [
        ("signal", "begin"), ("verdict", "working"), ("signal", "failure"), ("verdict", "backend_error"),
    ]  # fmt: skip
    assert (members(desk), waiting(store)) == ({"%3": "backend_error"}, [])


def test_signals_that_come_meanwhile_are_taken_up_while_the_stream_is_quiet(desk: Desk) -> None:
    desk.pipe([verdict("working")], "resolve")
    process = desk.start("resolve")
    try:
        posted(desk, signal("end", 5))
        assert process.stdout is not None
        assert [json.loads(process.stdout.readline())["type"] for _ in range(2)] == ["signal", "verdict"]
    finally:
        process.kill()
        process.communicate()


def test_a_signal_waits_for_its_member_for_ten_minutes(desk: Desk) -> None:
    store = posted(desk, signal("failure", 1, cause="server"), signal("begin", target="%9"))
    assert desk.pipe([], "resolve") == []
    assert sorted(waiting(store)) == ["begin-0", "failure-1"]
    seen = desk.pipe([verdict("working")], "resolve")
    assert [record["type"] for record in seen] == ["verdict", "signal", "verdict"]
    desk.now_ms += 600_000 + 1
    assert desk.pipe([], "resolve") == []
    assert waiting(store) == []


def test_of_one_pane_a_hundred_signals_wait_at_most(desk: Desk) -> None:
    """Several hooks that look at once may leave more."""
    store = open_store(desk.env["FLEET_STATE"], print)
    for one in (signal("begin", number) for number in range(103)):
        store.put(f"{SIGNALS}{SERVER}/%3/{one['id']}", json.dumps(one).encode(), 0)
    desk.now_ms += 200_000
    desk.pipe([], "resolve")
    assert len(waiting(store)) == 100


def test_signals_of_another_machine_are_left_to_it(desk: Desk) -> None:
    store = posted(desk, signal("begin", server="elsewhere:/s:7"))
    desk.pipe([verdict("working", server="elsewhere:/s:7")], "resolve")
    assert waiting(store) == ["begin-0"]


def test_what_an_agent_says_of_its_limits_is_kept_for_its_credential(desk: Desk) -> None:
    usage = [{"window": "5h", "usedPercent": 81.5, "resetsAt": stamp(NOON + 3_600_000)}]
    seen = desk.pipe([verdict("working"), signal("usage", 2, usage=usage, source="statusline")], "resolve")
    assert [record["type"] for record in seen] == ["verdict", "signal"]
    state = read(open_store(desk.env["FLEET_STATE"], print), usage_key("claude-a"), UsageState)
    assert state is not None and state.windows["5h"].used_percent == 81.5


def test_a_posted_signal_that_is_none_is_said_and_dropped(desk: Desk) -> None:
    store = open_store(desk.env["FLEET_STATE"], print)
    store.put(f"{SIGNALS}{SERVER}/%3/x", b'{"type":"signal","id":7}', 0)
    done = desk.run("resolve")
    assert (done.status, done.records, waiting(store)) == (0, [], [])
    assert "WARN signal/" in done.said


def test_a_failure_in_words_that_no_list_knows_is_said_once_a_store(desk: Desk) -> None:
    error = {"pattern": "place", "block": "b", "cause": "unknown", "proved": False, "agent": "claude"}
    said = []
    for second, line in (
        (1, "The \x1b[31m frobnicator gave up (id 4711)"),
        (9, "the \x1b[31m frobnicator  gave up (id 12)"),
        (20, "Other"),
    ):
        for later in (0, 2):
            look = verdict("backend_error", second + later, line=line, screen=f"x{second}:1", **error)
            said.append(desk.run("resolve", stdin=lines(look)).said)
    assert [bool(text) for text in said] == [False, True, False, False, False, True]
    assert "claude: a failure in words that no list knows" in said[1] and "\x1b" not in said[1]


@pytest.mark.parametrize("seat", [{}, {"server": None, "target": None}], ids=["a pane that nobody knows", "no pane"])
def test_a_hooks_word_alone_is_a_verdict_of_nobodys_profile(desk: Desk, seat: dict[str, Any]) -> None:
    """So that `fleet-hook < payload | fleet-resolve | fleet-correlate` says what it is worth, and again the same."""
    words = [signal("begin", prompt="p", **seat), signal("failure", 5, prompt="p", cause="overload", **seat)]
    seen = desk.pipe(words * 2, "resolve", "correlate")
    verdicts = [record for record in seen if record["type"] == "verdict"]
    assert [record["outcome"] for record in verdicts] == ["working", "backend_error"] * 2
    assert len({record["event"] for record in verdicts}) == 1
    assert {record["cause"] for record in verdicts[1::2]} == {"overload"}
    assert [record["reason"][:24] for record in seen if record["type"] == "unmapped"] == ["the pane has no profile;"]
    assert members(desk) == {}


def test_a_word_that_comes_before_the_first_look_at_its_pane_is_its_turns(desk: Desk) -> None:
    words = [signal("begin", 4, prompt="p"), signal("failure", 5, prompt="p", cause="overload")]
    seen = desk.pipe([*words, verdict("backend_error", 6, cause="unknown")], "resolve", "correlate")
    assert [record["type"] for record in seen] == ["signal", "signal", "verdict", "verdict", "verdict"]
    assert len({record["event"] for record in seen[2:]}) == 1
    assert seen[-1]["cause"] == "overload"


def test_a_word_of_a_lead_or_of_a_log_makes_no_verdict_of_its_own(desk: Desk) -> None:
    lead = {"type": "verdict", "ts": stamp(NOON), "role": "lead", "outcome": "idle", "server": SERVER, "target": "%3"}
    words = [signal("failure", 5), signal("failure", 6, target="%8", source="log")]
    assert desk.pipe([lead, *words], "resolve") == [lead, *words]


def test_stored_signals_replay_to_the_same(desk: Desk) -> None:
    day = [
        verdict("working", at=0),
        signal("failure", 5, cause="overload"),
        verdict("backend_error", 6, cause="unknown"),
    ]
    first = desk.run("resolve", "--state", "memory:", stdin=lines(*day)).records
    assert desk.run("resolve", "--state", "memory:", stdin=lines(*day)).records == first
    assert len({record["event"] for record in first if record["type"] == "verdict"}) == 1
