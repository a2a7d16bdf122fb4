"""fleet-notify types into real panes of a real tmux: once, with proof, or not at all."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from sandbox import wait_for
from server import Server, running

from fleettools.adapters.stores import open_store
from fleettools.policy.members.tickets import TicketState, ticket_key


def incident(server: Server, *leads: str, name: str = "incident:team-a:1", age: float = 0, **more: Any) -> bytes:
    made = datetime.now(UTC) - timedelta(seconds=age)
    record = {
        "type": "incident", "v": 1, "ts": made.isoformat(timespec="milliseconds").replace("+00:00", "Z"), "id": name,
        "credentialId": "team-a", "targets": [{"server": server.identity, "target": "%77", "name": "w1"}],
        "profiles": ["claude-a"], "leads": [{"server": server.identity, "target": lead} for lead in leads],
        "evidence": ["e1", "e2"], "windowSeconds": 60, "coolingOffForSeconds": 60,
    }  # fmt: skip
    return json.dumps(record | more).encode() + b"\n"


def logged(log: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def submits(log: Path) -> list[str]:
    return [entry["submitted"] for entry in logged(log) if "submitted" in entry]


def deliveries(out: bytes) -> list[dict[str, Any]]:
    return [r for r in map(json.loads, out.splitlines()) if r["type"] == "delivery"]


def pending(server: Server, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.run("notify", "--pending", *words).stdout.splitlines()]


class Case(NamedTuple):
    modes: str
    submits: int
    outcome: str | None
    reason: str
    tmux: str = ""


# Rule: what is typed, and what the delivery (or the item that still waits) says.
CASES = {
    "an idle agent gets it": Case("", 1, "submitted", "above the composer"),
    "one without bracketed paste gets it": Case("plain", 1, "submitted", "above the composer"),
    "an Enter just after a paste is a newline, so it comes later": Case("slow-enter", 1, "submitted", "above"),
    "a swallowed Enter is pressed once more": Case("swallow", 1, "submitted", "above the composer"),
    "Enter is not pressed a third time": Case("sticky", 0, "stuck", "stays in the composer"),
    "a screen that is redrawn ten times a second is idle all the same": Case("spinner", 1, "submitted", "above"),
    "a composer that the terminal joins with the line below it": Case("joined", 1, "submitted", "above the composer"),
    "the next prompt that an agent proposes is no draft": Case("proposes", 1, "submitted", "above the composer"),
    "one at work is told when it is done": Case("busy=2", 1, "submitted", "above the composer"),
    "one that goes to work on it has it": Case("works=30", 1, "submitted", "above the composer"),
    "one whose turn ended at a limit gets it": Case("limit", 1, "submitted", "above the composer"),
    "a permission dialog is left alone": Case("dialog", 0, None, "asks a question"),
    "a person's draft is left alone": Case("draft", 0, None, "draft"),
    "a composer whose text goes to a shell is left alone": Case("shell", 0, None, "draft"),
    "a paste that vanishes is not followed by Enter": Case("vim", 0, "stuck", "not to be seen in the composer"),
    "a shell under the agent's last screen gets nothing": Case("gone", 0, None, "not typed: sh"),
    "a dead pane gets nothing": Case("dead", 0, None, "its process has ended"),
    "a pane in copy mode gets nothing": Case("", 0, None, "copy mode", "copy-mode -t {}"),
    "a pane whose input is off gets nothing": Case("", 0, None, "input is off", "select-pane -d -t {}"),
    "panes that are typed into together get nothing": Case(
        "", 0, None, "all its panes", "set-option -w -t {} synchronize-panes on"
    ),
}


class Seen(NamedTuple):
    status: int
    deliveries: list[dict[str, Any]]
    log: list[dict[str, str]]
    pending: list[dict[str, Any]]
    alive: bool


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Seen]]:
    """Every case at the same time, each with a lead, a notifier and a store of its own, on one server."""
    folder = tmp_path_factory.mktemp("leads")
    with running(folder) as server:

        def play(number: int, case: Case) -> Seen:
            log = folder / f"log.{number}"
            pane = server.lead(log, *case.modes.split())
            if case.tmux:
                server.tmux(*case.tmux.format(pane).split())
            wait = "6" if case.outcome is None else "45"
            name = f"incident:team-a:{number}"
            state = ["--state", str(folder / f"state.{number}.db")]
            done = server.run("notify", *state, "--wait", wait, stdin=incident(server, pane, name=name))
            left = pending(server, *state)
            return Seen(done.returncode, deliveries(done.stdout), logged(log), left, True)

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(play, range(len(CASES)), CASES.values()))
        alive = server.tmux("list-sessions", check=False) != ""
        yield {name: one._replace(alive=alive) for name, one in zip(CASES, found, strict=True)}


@pytest.mark.xdist_group("notify-cases")
@pytest.mark.parametrize(("name", "case"), CASES.items(), ids=CASES.keys())
def test_what_a_lead_gets(seen: dict[str, Seen], name: str, case: Case) -> None:
    one = seen[name]
    assert len([entry for entry in one.log if "submitted" in entry]) == case.submits
    assert not [entry for entry in one.log if "accepted" in entry or "empty" in entry]
    if case.outcome:
        assert [(d["outcome"], case.reason in d["reason"]) for d in one.deliveries] == [(case.outcome, True)]
        assert one.status == 0
    else:
        assert one.deliveries == []
        assert [(i["state"], case.reason in i["reason"]) for i in one.pending] == [("pending", True)]
        assert one.status == 75
    assert one.alive


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(tmp_path) as server:
        yield server


def lead(server: Server, name: str = "log", *modes: str, **options: str) -> tuple[str, Path]:
    log = server.folder / name
    return server.lead(log, *modes, **options), log


STEPS = ["added", "claimed", "typed", "pasted", "shown", "entered", "settled"]


@pytest.mark.parametrize("together", [False, True], ids=["one-after-the-other", "two-at-once"])
def test_a_notifier_killed_at_any_step_leaves_one_submit_or_an_honest_unknown(server: Server, together: bool) -> None:
    def play(number: int) -> tuple[str, list[str], list[dict[str, Any]], list[dict[str, Any]]]:
        pane, log = lead(server, f"log.{number}")
        state = ["--state", str(server.folder / f"state.{number}.db")]
        given = incident(server, pane)
        killed = server.command("notify", *state, env={"FLEET_CRASH_AT": STEPS[number]})
        assert killed.stdin
        killed.stdin.write(given)
        killed.stdin.close()
        if not together:
            assert killed.wait(60) == -9
        other = server.run("notify", *state, "--wait", "40", stdin=given)
        assert killed.wait(60) in (-9, 0)
        third = server.run("notify", *state, "--wait", "20", stdin=given)
        left = pending(server, *state)
        told = [r for out in (other.stdout, third.stdout, killed.stdout.read()) for r in deliveries(out)]
        killed.stdout.close(), killed.stderr.close()
        return STEPS[number], submits(log), left, told

    with ThreadPoolExecutor(4) as pool:
        for step, texts, left, told in pool.map(play, range(len(STEPS))):
            assert len(texts) <= 1, step
            assert [item["state"] for item in left] == ([] if texts else ["unknown"]), (step, left)
            assert len(told) <= 1, step
            assert texts or [d["outcome"] for d in told] == ["unknown"], step


@pytest.mark.parametrize("step", ["typed", "pasted", "entered"])
def test_a_notifier_killed_while_it_looks_for_what_was_left_leaves_it_to_the_next(server: Server, step: str) -> None:
    pane, log = lead(server)
    given = incident(server, pane)
    for died_at in (step, "recovering"):
        killed = server.run("notify", "--wait", "40", stdin=given, env={"FLEET_CRASH_AT": died_at})
        assert (killed.returncode, deliveries(killed.stdout)) == (-9, [])
    done = server.run("notify", "--wait", "40", stdin=given)
    typed = len(submits(log))
    assert [d["outcome"] for d in deliveries(done.stdout)] == ["submitted" if typed else "unknown"]
    assert typed == (0 if step == "typed" else 1)


def test_a_record_is_passed_on_when_the_store_has_its_items(server: Server) -> None:
    pane, log = lead(server)
    killed = server.run("notify", stdin=incident(server, pane), env={"FLEET_CRASH_AT": "added"})
    assert (killed.returncode, killed.stdout) == (-9, b"")
    assert [item["state"] for item in pending(server)] == ["pending"]
    server.run("notify", stdin=b"")
    assert len(submits(log)) == 1


def test_two_notifiers_killed_again_and_again_never_double(server: Server) -> None:
    """Killed after an arbitrary time instead of at a named step."""

    def play(number: int) -> int:
        pane, log = lead(server, f"log.{number}")
        state = ["--state", str(server.folder / f"state.{number}.db")]
        given = incident(server, pane)
        for delay in (0.3 + 0.35 * number, 0.5 + 0.35 * number):
            pair = [server.command("notify", *state) for _ in range(2)]
            for process in pair:
                assert process.stdin
                process.stdin.write(given)
                process.stdin.flush()
            wait_for(lambda p=pair: all(x.poll() is None for x in p), "both running")
            with contextlib.suppress(subprocess.TimeoutExpired):
                pair[0].wait(delay)
            for process in pair:
                process.kill()
                process.communicate()
        server.run("notify", *state, "--wait", "20", stdin=given)
        return len(submits(log))

    with ThreadPoolExecutor(3) as pool:
        assert all(count <= 1 for count in pool.map(play, range(6)))


def test_two_leads_of_one_incident_get_one_notice_each(server: Server) -> None:
    (one, first), (two, second) = lead(server, "one"), lead(server, "two")
    done = server.run("notify", stdin=incident(server, one, two) * 2)
    assert done.returncode == 0, done.stderr
    assert (len(submits(first)), len(submits(second))) == (1, 1)
    assert sorted(d["target"] for d in deliveries(done.stdout)) == sorted([one, two])


def test_all_that_is_pending_is_told_in_one_text_and_a_repeated_id_changes_nothing(server: Server) -> None:
    pane, log = lead(server)
    given = b"".join(incident(server, pane, name=f"i:{n}", credentialId=f"team-{n % 20}") for n in range(20))
    done = server.run("notify", stdin=given)
    assert done.stdout.startswith(given)
    (text,) = submits(log)
    assert len(text) <= 400 and "team-0" in text and " more: run fleet-list" in text
    assert len(deliveries(done.stdout)) == 20
    again = server.run("notify", stdin=given)
    assert (again.returncode, again.stdout) == (0, given)
    assert len(submits(log)) == 1


def test_in_a_small_pane_the_text_is_as_short_as_its_composer_shows(server: Server) -> None:
    pane, log = lead(server, "log", "low=6", size="40x14")
    given = b"".join(incident(server, pane, name=f"i:{n}", credentialId=f"team-with-a-name-{n}") for n in range(3))
    done = server.run("notify", stdin=given)
    assert [d["outcome"] for d in deliveries(done.stdout)] == ["submitted"] * 3
    (text,) = submits(log)
    assert "credential team-with-a-name-0 cools off" in text


def test_a_lead_that_is_not_there_is_said(server: Server) -> None:
    done = server.run("notify", stdin=incident(server, "%99"))
    assert (done.returncode, deliveries(done.stdout), pending(server)) == (0, [], [])
    assert b"incident:team-a:1 is not told to %99: the lead's pane has vanished" in done.stderr


def verdict(server: Server, outcome: str, **more: Any) -> bytes:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    record = {"type": "verdict", "ts": now, "server": server.identity, "target": "%77", "name": "w1", "role": "member"}
    return json.dumps(record | {"outcome": outcome, "event": "e1"} | more).encode() + b"\n"


def test_a_question_an_unmapped_failure_and_a_finished_ticket_are_told_together(server: Server) -> None:
    pane, log = lead(server)
    unmapped = {"type": "unmapped", "ts": "2026-01-01T00:00:00Z", "id": "unmapped:e", "event": "e", "lead": pane}
    unmapped |= {"server": server.identity, "target": "%78", "profile": "p9", "reason": "API Error: `x`"}
    given = verdict(server, "blocked", lead=pane) + verdict(server, "completed", lead=pane, ticket="t1", target="%79")
    given += json.dumps(unmapped).encode() + b"\n"
    done = server.run("notify", stdin=given)
    (text,) = submits(log)
    assert "a question waits for its answer, worker w1" in text
    assert "ticket t1, worker w1 is settled as completed" in text
    assert "failure of profile p9, not configured, worker %78" in text
    assert {d["id"] for d in deliveries(done.stdout)} == {"blocked:e1", "ticket:t1", "unmapped:e"}


def test_a_question_that_was_answered_and_a_verdict_about_a_lead_are_not_told(server: Server) -> None:
    pane, log = lead(server)
    given = verdict(server, "blocked", lead=pane) + verdict(server, "working", lead=pane)
    given += verdict(server, "blocked", lead=pane, role="lead", target="%80", event="e2")
    given += verdict(server, "failed", lead=pane, ticket="t2", resolved=False, event="e3")
    done = server.run("notify", stdin=given)
    assert (done.returncode, submits(log)) == (0, [])


def ticket(server: Server, lead: str, **more: Any) -> None:
    now = int(datetime.now(UTC).timestamp() * 1000)
    given = {"id": "t1", "state": "settled", "server": server.identity, "target": "%77", "event": "t1", "lead": lead}
    state = msgspec.convert(given | {"opened_ms": now - 5, "settled_ms": now, "outcome": "failed"} | more, TicketState)
    store = open_store(server.env["FLEET_STATE"], print)
    assert store.put(ticket_key("t1"), msgspec.json.encode(state), store.get(ticket_key("t1"))[1])
    store.close()


def test_a_finished_ticket_in_the_store_is_told_and_said_again_until_it_is_collected(server: Server) -> None:
    (server.folder / "fleetd.yaml").write_text("notify: {reminders: [600, 1200]}\n")
    pane, log = lead(server)
    notify = server.command("notify", "--follow")
    try:
        ticket(server, pane)
        wait_for(lambda: len(submits(log)) == 1 and not pending(server), "the notice")
        # Settled ten minutes ago, so that nobody has to wait for them.
        ticket(server, pane, settled_ms=int(datetime.now(UTC).timestamp() * 1000) - 600_000)
        wait_for(lambda: len(submits(log)) == 2 and not pending(server), "a reminder")
        ticket(server, pane, collected_ms=1)
        notify.terminate()
        out, _ = notify.communicate(timeout=30)
    finally:
        notify.kill()
        notify.wait()
    assert all("ticket t1, worker %77 is settled as failed" in text for text in submits(log))
    # Under load an attempt may fail before anything was typed, and is made again.
    told = [made["id"] for made in deliveries(out) if made["outcome"] == "submitted"]
    assert told == ["ticket:t1", "ticket:t1:1"]
    assert server.run("notify").returncode == 0
    assert len(submits(log)) == 2


def test_with_follow_it_outlives_a_tmux_server(server: Server) -> None:
    old, _ = lead(server, "old", "draft")
    notify = server.command("notify", "--follow")
    assert notify.stdin
    try:
        notify.stdin.write(incident(server, old))
        notify.stdin.flush()
        wait_for(lambda: pending(server), "the item of the old lead")
        server.tmux("kill-server")
        wait_for(lambda: not pending(server), "the end of the old lead's item")
        server.start()
        new, log = lead(server, "new")
        notify.stdin.write(incident(server, new, name="i:2"))
        notify.stdin.flush()
        wait_for(lambda: submits(log), "the notice after the restart")
        notify.terminate()
        out, _ = notify.communicate(timeout=30)
        assert notify.returncode == -signal.SIGTERM
        assert [d["id"] for d in deliveries(out)] == ["i:2"]
    finally:
        notify.kill()
        notify.wait()


def test_what_it_does_not_know_passes_byte_for_byte(server: Server) -> None:
    given = b'{"v":1, "type":"later" }\n\n{"type":"pane","text":"x"}\nno json\n'
    done = server.run("notify", stdin=given)
    assert done.stdout == given.removesuffix(b"no json\n")
    assert done.returncode == 65
    assert b"stdin:4:" in done.stderr


def test_a_lead_on_the_cooling_credential_is_told_when_that_is_over(server: Server) -> None:
    (server.folder / "fleetd.yaml").write_text("profiles: {p: {agent: claude, credentialId: team-a}}\n")
    pane, log = lead(server, "log", profile="p")
    made = incident(server, pane, age=50)
    waiting = server.run("notify", "--wait", "1", stdin=made)
    assert (waiting.returncode, submits(log)) == (75, [])
    done = server.run("notify", stdin=made)
    (text,) = submits(log)
    assert "credential team-a is free again, its cool-off is over" in text
    assert done.returncode == 0


def nearly(server: Server, **more: Any) -> bytes:
    now = datetime.now(UTC)
    record = {"type": "nearly", "ts": iso(now), "id": "n1", "credentialId": "team-a", "window": "five_hour"}
    record |= {"usedPercent": 81, "resetsAt": iso(now + timedelta(hours=1))}
    return json.dumps(record | more).encode() + b"\n"


def iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_a_lead_is_told_that_its_own_credential_is_nearly_used_up_and_of_no_other(server: Server) -> None:
    (server.folder / "fleetd.yaml").write_text(
        "profiles: {p: {agent: claude, credentialId: team-a}, q: {agent: claude, credentialId: team-b}}\n"
    )
    pane, log = lead(server, "log", profile="p")
    seats = [("%77", "q", pane), (pane, "p", None), ("%78", "p", None)]
    members = [
        json.loads(verdict(server, "idle", target=target, profile=profile, lead=led)) for target, profile, led in seats
    ]
    known = server.run("resolve", stdin=b"".join(json.dumps(one).encode() + b"\n" for one in members))
    assert known.returncode == 0, known.stderr
    past = iso(datetime.now(UTC) - timedelta(seconds=1))
    given = nearly(server) + nearly(server, id="n2", credentialId="team-b") + nearly(server, id="n3", resetsAt=past)
    done = server.run("notify", stdin=given * 2)
    assert {(d["id"], d["target"], d["outcome"]) for d in deliveries(done.stdout)} == {("n1", pane, "submitted")}
    (text,) = submits(log)
    assert "credential team-a has used 81 % of its five_hour window, until " in text


def test_a_ticket_waits_while_the_leads_own_credential_is_out(server: Server) -> None:
    (server.folder / "fleetd.yaml").write_text("profiles: {p: {agent: claude, credentialId: team-a}}\n")
    pane, log = lead(server, "log", profile="p")
    fails = [verdict(server, "backend_error", cause="overload", profile="p", event=f"e{n}") for n in range(2)]
    out = server.run("correlate", stdin=b"".join(fails).replace(b'"target": "%77"', b'"target": "%78"', 1))
    assert b'"incident"' in out.stdout, out.stderr
    waiting = server.run("notify", "--wait", "3", stdin=verdict(server, "completed", lead=pane, ticket="t1"))
    assert (waiting.returncode, submits(log)) == (75, [])
    assert [item["reason"] for item in pending(server)] == [
        "the lead's own credential is out; it is told when that is over"
    ]
    assert server.run("release", "--credential", "team-a").returncode == 0
    assert server.run("notify", stdin=b"").returncode == 0
    assert len(submits(log)) == 1


@pytest.mark.parametrize(
    ("age", "said"), [(70, ["is free again"]), (60 + 601, [])], ids=["over but recent", "over for 10 minutes"]
)
def test_what_is_over_is_told_as_over_or_not_at_all(server: Server, age: float, said: list[str]) -> None:
    pane, log = lead(server)
    done = server.run("notify", stdin=incident(server, pane, age=age))
    assert done.returncode == 0
    assert [part for text in submits(log) for part in said if part in text] == said
    assert len(submits(log)) == len(said)


def test_dry_run_prints_what_would_be_typed_and_types_nothing(server: Server) -> None:
    pane, log = lead(server)
    done = server.run("notify", "--dry-run", stdin=incident(server, pane))
    (notice,) = [r for r in map(json.loads, done.stdout.splitlines()) if r["type"] == "notice"]
    assert (notice["target"], notice["now"], notice["ids"]) == (pane, True, ["incident:team-a:1"])
    assert "credential team-a cools off for" in notice["text"]
    assert (done.returncode, submits(log), pending(server)) == (0, [], [])


# Rule: another free profile of the same agent is named when the credential stays out for more than 10 minutes.
ELSEWHERE = {
    "one that is free": (1800, "claude-b: {agent: claude, command: claude, credentialId: team-b}", True),
    "one on the same credential": (1800, "claude-b: {agent: claude, command: claude, credentialId: team-a}", False),
    "one of another agent": (1800, "claude-b: {agent: codex, command: codex, credentialId: team-b}", False),
    "one that nobody can spawn": (1800, "claude-b: {agent: claude, credentialId: team-b}", False),
    "one without a place": (1800, "claude-b: {agent: claude, command: claude, maxMembers: 0}", False),
    "a cool-off of a minute": (60, "claude-b: {agent: claude, command: claude, credentialId: team-b}", False),
}


def test_another_account_is_named_in_an_outage_that_comes_again_for_long(server: Server) -> None:
    pane, _ = lead(server)
    other = "claude-b: {agent: claude, command: claude, credentialId: team-b}"
    (server.folder / "fleetd.yaml").write_text(
        f"profiles:\n  claude-a: {{agent: claude, credentialId: team-a}}\n  {other}\n"
    )
    for number, age in enumerate((580, 290, 0)):
        given = incident(server, pane, name=f"i:{number}", age=age, profiles=["claude-a"], again=number > 0)
        done = server.run("notify", *(["--dry-run"] if age == 0 else []), stdin=given)
    (notice,) = [r for r in map(json.loads, done.stdout.splitlines()) if r["type"] == "notice"]
    assert "again, 3 times since" in notice["text"] and "free is claude-b: fleet-spawn claude-b" in notice["text"]


@pytest.mark.parametrize(("seconds", "other", "named"), ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_another_account_is_named(server: Server, seconds: int, other: str, named: bool) -> None:
    pane, _ = lead(server)
    own = "claude-a: {agent: claude, command: claude, credentialId: team-a}"
    (server.folder / "fleetd.yaml").write_text(f"profiles:\n  {own}\n  {other}\n")
    given = incident(server, pane, profiles=["claude-a"], coolingOffForSeconds=seconds)
    done = server.run("notify", "--dry-run", stdin=given)
    (notice,) = [r for r in map(json.loads, done.stdout.splitlines()) if r["type"] == "notice"]
    assert ("free is claude-b: fleet-spawn claude-b" in notice["text"]) is named


def test_exec_hands_the_notice_to_a_command_once(server: Server) -> None:
    given = incident(server, "%0")
    words = ("--exec", f"cat >> {server.folder}/got")
    done = server.run("notify", *words, stdin=given)
    assert [d["outcome"] for d in deliveries(done.stdout)] == ["submitted"]
    server.run("notify", *words, stdin=given)
    (got,) = map(json.loads, (server.folder / "got").read_text().splitlines())
    assert got["items"][0]["credential"] == "team-a" and "run fleet-list" in got["text"]


def test_a_command_that_fails_is_run_again_and_given_up_after_so_many_attempts(server: Server) -> None:
    given, runs = incident(server, "%0"), server.folder / "runs"
    second = f"echo >>{runs}; test $(wc -l <{runs}) -eq 2"
    done = server.run("notify", "--wait", "20", "--exec", second, stdin=given)
    told = [(d["outcome"], d["reason"], d["attempt"]) for d in deliveries(done.stdout)]
    ended = "the command ended with status"
    assert told == [("refused", f"{ended} 1", 1), ("submitted", f"{ended} 0", 2)]

    (server.folder / "fleetd.yaml").write_text("notify: {attempts: 1}\n")
    done = server.run("notify", "--wait", "20", "--exec", "exit 7", stdin=incident(server, "%0", name="another"))
    assert [(d["outcome"], d["reason"]) for d in deliveries(done.stdout)] == [("refused", f"{ended} 7")]
    assert [item["state"] for item in pending(server)] == ["refused"]


def test_a_dropped_item_is_not_told(server: Server) -> None:
    pane, _ = lead(server, "log", "draft")
    server.run("notify", "--wait", "1", stdin=incident(server, pane))
    assert [item["state"] for item in pending(server)] == ["pending"]
    assert server.run("notify", "--pending", "--drop", "incident:team-a:1").returncode == 0
    assert pending(server) == []
    gone = server.run("notify", "--pending", "--drop", "incident:team-a:1")
    assert gone.returncode == 1 and b"is not pending" in gone.stderr


def test_a_stopped_server_does_not_hold_up_the_input(server: Server) -> None:
    pane, log = lead(server)
    pid = int(server.tmux("display-message", "-p", "#{pid}"))
    given = incident(server, pane)
    notify = server.command("notify", "--follow")
    assert notify.stdin and notify.stdout
    try:
        os.kill(pid, signal.SIGSTOP)
        for number in range(200):
            line = given if number == 0 else b'{"type":"x","n":%d,"pad":"%s"}\n' % (number, b"p" * 2000)
            notify.stdin.write(line)
            notify.stdin.flush()
            assert notify.stdout.readline() == line
        os.kill(pid, signal.SIGCONT)
        wait_for(lambda: submits(log), "the notice after the server went on")
        notify.terminate()
        out, _ = notify.communicate(timeout=30)
        assert notify.returncode == -signal.SIGTERM
        assert [d["outcome"] for d in deliveries(out)] == ["submitted"]
    finally:
        os.kill(pid, signal.SIGCONT)
        notify.kill()
        notify.wait()


def test_with_follow_a_store_that_is_locked_is_waited_for_and_said_once(server: Server) -> None:
    pane, log = lead(server)
    server.run("notify", stdin=b"")
    lock = sqlite3.connect(server.env["FLEET_STATE"], isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    notify = server.command("notify", "--follow")
    assert notify.stdin and notify.stderr
    try:
        notify.stdin.write(incident(server, pane))
        notify.stdin.flush()
        assert b"trying again" in notify.stderr.readline()
        lock.execute("ROLLBACK")
        wait_for(lambda: submits(log), "the notice after the store was free")
    finally:
        lock.close()
        notify.terminate()
        _, err = notify.communicate(timeout=30)
    assert len(submits(log)) == 1
    assert b"trying again" not in err
