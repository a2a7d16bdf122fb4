"""fleet-send: a prompt goes in whole and once, with a ticket, or not at all."""

import json

import desk as desks
import pytest
from desk import Desk

MEMBER = {"profile": "claude-a", "agent": "claude", "name": "ada"}


def test_a_prompt_opens_a_ticket_and_the_turns_verdict_settles_it(desk: Desk) -> None:
    lead, _ = desk.agent(agent="claude")
    member = desk.agent(lead=lead, **MEMBER)
    desk.look("resolve")
    sent = desk.run("send", "ada", stdin="please fix\n\tthe build\n")
    assert (sent.status, [r["state"] for r in sent.records]) == (0, ["open"]), sent.said
    ticket = sent.records[0]
    assert (ticket["target"], ticket["lead"], ticket["profile"]) == (member[0], lead, "claude-a")
    assert desk.prompts() == ["please fix\n\tthe build"]

    (pane,) = [r for r in desk.run("scrape").records if r["target"] == member[0]]
    assert pane["turn"]["id"] == ticket["id"]
    assert "for shortcuts" in pane["turn"]["baseline"]
    desk.now_ms += 5_000
    assert _seen(desk, member[0]) == ("working", True, ticket["id"])
    assert desk.run("collect", ticket["id"]).status == 75

    desk.signal(member, desks.END, "All is done")
    desk.now_ms += 5_000
    assert _seen(desk, member[0]) == ("completed", True, ticket["id"])
    late = desk.run("reply", ticket["id"], stdin="too late")
    assert (late.status, late.records) == (1, [])
    got = desk.run("collect", "--lead", lead)
    assert [(r["id"], r["outcome"], r["by"]) for r in got.records] == [(ticket["id"], "completed", "verdict")]
    assert desk.run("collect", "--lead", lead) == ([], "", 0)


def _seen(desk: Desk, pane: str) -> tuple[str, bool, str]:
    (verdict,) = [r for r in desk.look("resolve") if r["target"] == pane]
    return verdict["outcome"], verdict["resolved"], verdict["ticket"]


def test_a_prompt_that_fails_at_once_is_the_tickets_failure(desk: Desk) -> None:
    member = desk.agent("fails", **MEMBER)
    ticket = desk.run("send", member[0], stdin="please fail").records[0]
    (verdict,) = desk.look("resolve")
    assert (verdict["outcome"], verdict["event"], verdict["resolved"]) == ("backend_error", ticket["id"], True)
    refused = desk.run("send", member[0], stdin="and again")
    assert (refused.status, refused.records) == (75, [])
    assert "has failed" in refused.said
    assert desk.prompts() == ["please fail"]


@pytest.mark.parametrize(
    ("prompt", "status", "says"),
    [
        pytest.param("stop\x1b[201~now", 65, "U+001B", id="an escape that would end the paste early"),
        pytest.param("a\rb", 65, "U+000D", id="a carriage return, which is an Enter"),
        pytest.param("a\x9bb", 65, "U+009B", id="a control character of the upper half"),
        pytest.param("\n", 65, "empty", id="nothing"),
    ],
)
def test_a_prompt_that_no_agent_would_read_as_it_stands_is_bad_input(
    desk: Desk, prompt: str, status: int, says: str
) -> None:
    done = desk.run("send", "%0", stdin=prompt)
    assert (done.status, done.records) == (status, [])
    assert says in done.said


def test_what_cannot_go_in_safely_is_not_typed(desk: Desk) -> None:
    member = desk.agent(**MEMBER)
    stranger = desk.agent()
    plain = desk.agent(profile="aider-a", agent="aider")
    desk.tmux("send-keys", "-t", member[0], "a draft")
    desk.until(lambda: "a draft" in desk.screen(member[0]))
    for target, prompt, status, says in (
        (member[0], "hello", 75, "draft"),
        (stranger[0], "hello", 1, "no member"),
        ("ad", "hello", 1, "no member"),
        (plain[0], "two\nlines", 75, "one line"),
    ):
        done = desk.run("send", target, stdin=prompt)
        assert (done.status, done.records) == (status, []), done.said
        assert says in done.said
    assert desk.prompts() == []
    assert desk.run("collect").records == []


def test_a_released_member_is_sent_nothing_and_keeps_its_pane(desk: Desk) -> None:
    member = desk.agent(**MEMBER)
    ticket = desk.run("send", "ada", stdin="please wait").records[0]
    released = desk.run("release", "ada")
    assert (released.status, [(r["state"], r["changed"]) for r in released.records]) == (0, [("released", True)])
    assert desk.run("collect", ticket["id"]).records[0]["by"] == "release"
    assert desk.tmux("show-options", "-pqv", "-t", member[0], "@fleet_profile") == ""
    assert desk.run("send", member[0], stdin="more").status == 1
    again = desk.run("release", "ada")
    assert (again.status, [(r["name"], r["changed"]) for r in again.records]) == (1, [("ada", False)])
    assert "WARN" in again.said
    unknown = desk.run("release", "%99")
    assert (unknown.status, [(r["target"], r["changed"]) for r in unknown.records]) == (1, [("%99", False)])
    assert desk.screen(member[0])


def test_a_persons_next_prompt_is_no_longer_the_tickets_turn(desk: Desk) -> None:
    member = desk.agent("ends", **MEMBER)
    ticket = desk.run("send", "ada", stdin="please do it").records[0]
    desk.now_ms += 5_000
    assert _seen(desk, member[0]) == ("completed", True, ticket["id"])
    desk.tmux("send-keys", "-t", member[0], "another thing", "Enter")
    desk.until(lambda: "another thing" in desk.prompts())
    desk.until(lambda: desk.screen(member[0]).count("All is done") == 2)
    desk.now_ms += 5_000
    (verdict,) = desk.look("resolve")
    assert ("ticket" in verdict, verdict["resolved"], verdict["event"] != ticket["id"]) == (False, True, True)
    (pane,) = desk.run("scrape").records
    assert "turn" not in pane
    (again,) = desk.look("resolve")
    assert again["event"] == verdict["event"]


def test_a_signal_waits_for_a_prompt_that_is_being_typed(desk: Desk) -> None:
    member, _ = desk.agent(**MEMBER)
    sending = desk.start("send", member)
    assert sending.stdin
    sending.stdin.write("please go on")
    sending.stdin.close()
    sending.stdin = None
    desk.until(lambda: "please go on" in desk.screen(member))
    sending.terminate()
    out, said = sending.communicate(timeout=30)
    assert (sending.returncode, said) == (-15, "")
    assert [json.loads(line)["state"] for line in out.splitlines()] == ["open"]
    assert desk.prompts() == ["please go on"]


def test_two_writers_to_one_pane_wait_for_each_other(desk: Desk) -> None:
    desk.agent("ends", **MEMBER)
    desk.run("send", "ada", stdin="first of all")
    senders = [desk.start("send", "ada") for _ in range(2)]
    for number, sender in enumerate(senders):
        assert sender.stdin is not None
        sender.stdin.write(f"prompt number {number}")
        sender.stdin.close()
        sender.stdin = None
    for sender in senders:
        sender.communicate(timeout=60)
    submitted = [f"prompt number {number}" for number, sender in enumerate(senders) if sender.returncode == 0]
    assert submitted
    assert sorted(desk.prompts()) == ["first of all", *submitted]
