"""fleet-reply: whoever is first settles a ticket, and nobody else does."""

import json
import subprocess
import sys
import time
from pathlib import Path

from desk import NOON, Desk, stamp

from fleettools.adapters.stores import open_store
from fleettools.policy.members import handover, roster, tickets
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.tickets import TicketState
from fleettools.services.store import change, read

ROUNDS = 400
SERVER = "h:/s:7"


def test_reply_and_verdict_race_from_separate_processes_and_one_of_them_settles_each_ticket(desk: Desk) -> None:
    """The loser is told so: exit 1, or `resolved: false` and no mark on the member."""
    store = open_store(desk.env["FLEET_STATE"], print)
    for number in range(ROUNDS):
        _deliver(store, number)
    replies = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("replies.py"))],
        env=desk.env | {"FLEET_NOW": stamp(NOON)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    resolve = desk.start("resolve", bufsize=1)
    try:
        assert replies.stdin and replies.stdout and resolve.stdin and resolve.stdout
        wins = {True: 0, False: 0}
        ahead = 0.002  # seconds that the reply is given; moved towards where both win equally often
        for number in range(ROUNDS):
            replies.stdin.write(f"t{number}\n")
            time.sleep(ahead)
            resolve.stdin.write(_verdict(number))
            status = int(replies.stdout.readline())
            verdict = json.loads(resolve.stdout.readline())
            won = verdict["resolved"]
            assert status == (1 if won else 0)
            ticket = read(store, tickets.ticket_key(f"t{number}"), TicketState)
            member = read(store, roster.member_key(SERVER, f"%{number}"), MemberState)
            assert ticket is not None and member is not None
            assert (ticket.state, ticket.by) == ("settled", "verdict" if won else "reply")
            assert member.state == ("backend_error" if won else "done")
            wins[won] += 1
            ahead = ahead * 1.1 if won else ahead / 1.1
        assert min(wins.values()) > ROUNDS // 20, wins
    finally:
        for process in (replies, resolve):
            process.kill()
            process.communicate()


def _deliver(store, number: int) -> None:  # type: ignore[no-untyped-def]
    target, ticket = f"%{number}", f"t{number}"
    idle = MemberState(server=SERVER, target=target, pid=7, profile="a", state="idle", since_ms=NOON, joined_ms=NOON)
    member = handover.prove(handover.open_ticket(idle, ticket, "", NOON), ticket, NOON)
    opened = TicketState(id=ticket, server=SERVER, target=target, event=ticket, opened_ms=NOON)
    change(store, tickets.ticket_key(ticket), TicketState, lambda _: (opened, None))
    change(store, roster.member_key(SERVER, target), MemberState, lambda _: (member, None))


def _verdict(number: int) -> str:
    seat = {"server": SERVER, "target": f"%{number}", "pid": 7, "profile": "a"}
    seen = {"outcome": "backend_error", "reason": "overloaded", "screen": "x:1", "event": f"t{number}"}
    return json.dumps({"type": "verdict", "ts": stamp(NOON + 1_000)} | seat | seen) + "\n"


def test_a_reply_is_collected_with_its_text_and_without_secrets(desk: Desk) -> None:
    _deliver(open_store(desk.env["FLEET_STATE"], print), 3)
    replied = desk.run("reply", "t3", stdin="key sk-ant-api03-Ab3dEf5hIj7lMn9pQr1sTu is in the log\n")
    assert (replied.status, [r["by"] for r in replied.records]) == (0, ["reply"])
    assert [r["reply"] for r in desk.run("collect").records] == ["key [secret] is in the log"]
    assert desk.run("collect").records == []
    assert [r["id"] for r in desk.run("collect", "t3").records] == ["t3"]


def test_a_ticket_that_nobody_opened_is_a_no(desk: Desk) -> None:
    for command in ("reply", "collect"):
        done = desk.run(command, "t404")
        assert (done.status, done.records) == (1, [])
        assert "t404" in done.said and "no such ticket" in done.said


def test_collect_waits_until_the_ticket_ends_or_the_time_is_over(desk: Desk) -> None:
    _deliver(open_store(desk.env["FLEET_STATE"], print), 3)
    assert desk.run("collect", "t3", "--wait", "0.3").status == 75
    waiting = desk.start("collect", "t3", "--wait", "30")
    assert desk.run("reply", "t3", "--text", "done").status == 0
    out, said = waiting.communicate(timeout=30)
    assert (waiting.returncode, said, json.loads(out)["reply"]) == (0, "", "done")
