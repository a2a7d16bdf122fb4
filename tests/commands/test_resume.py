"""fleet-resume on real tmux: one member first, the rest when its turn shows work, and nothing typed blindly."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import desk as desks
import pytest
from desk import Desk
from sandbox import CLAUDE, ROOT

CONFIG = """
profiles:
  claude-a: {{agent: claude, credentialId: team-a, command: {command}}}
  claude-b: {{agent: claude, credentialId: team-b, command: {command}}}
resume: {{prompt: {prompt}, apart: 5}}
"""
PIPE = ("resolve", "correlate")
DYING = Path(__file__).with_name("dying.py")


def configure(desk: Desk, prompt: str = "continue") -> None:
    command = f"{sys.executable} {CLAUDE} {desk.folder}/prompts waits"
    (desk.folder / "fleetd.yaml").write_text(CONFIG.format(command=command, prompt=prompt))


def outage(desk: Desk, *names: str, modes: tuple[str, ...] = ("waits",), **options: str) -> dict[str, tuple[str, int]]:
    """Members on one credential that failed of an outage, whose cool-off is over; their tickets are settled."""
    panes = at_work(desk, *names, modes=modes, **options)
    for pane in panes.values():
        desk.signal(pane, desks.FAIL, "API Error")
    assert [record["type"] for record in desk.look(*PIPE)].count("incident") == 1
    desk.now_ms += 61_000
    return panes


def at_work(desk: Desk, *names: str, modes: tuple[str, ...] = ("waits",), **options: str) -> dict[str, tuple[str, int]]:
    """Members that work at what was sent to them; `options` are those of their panes."""
    panes = {name: desk.agent(*modes, **{"profile": "claude-a", "name": name} | options) for name in names}
    for name in names:
        sent = desk.run("send", name, stdin=f"work, {name}")
        assert sent.status == 0, sent.said
    desk.now_ms += 5_000
    desk.look(*PIPE)
    desk.now_ms += 1_000
    return panes


def resume(desk: Desk, *words: str, wait: str = "0") -> list[dict[str, Any]]:
    """What one run does: a step, and no more."""
    done = desk.run("resume", "--wait", wait, *words)
    assert done.status == 0, done.said
    return done.records


def continued(desk: Desk) -> int:
    return desk.prompts().count("continue")


def test_one_is_prompted_first_and_the_rest_when_it_has_worked(desk: Desk) -> None:
    configure(desk)
    panes = outage(desk, "ada", "bob", "cleo")
    (first,) = resume(desk)
    assert (first["outcome"], first["probe"], first["credentialId"]) == ("submitted", True, "team-a")
    assert continued(desk) == 1
    gate = desk.run("gate", "--profile", "claude-a")
    assert gate.status == 75 and "being tried by worker ada" in gate.records[0]["reason"]

    # Its spinner is no work, so nobody follows, not after its minute either; then the gate is open.
    desk.now_ms += 30_000
    desk.look(*PIPE)
    assert resume(desk) == []
    desk.now_ms += 31_000
    desk.look(*PIPE)
    assert resume(desk) == [] and continued(desk) == 1
    assert desk.run("gate", "--profile", "claude-a").status == 0

    # Its turn ends well: the next one follows, and the last one after the pause.
    desk.signal(panes["ada"], desks.END, "All is done")
    for _ in range(2):
        desk.now_ms += 2_000
        desk.look(*PIPE)
    (second,) = resume(desk)
    assert second["outcome"] == "submitted" and "probe" not in second
    desk.now_ms += 4_000
    assert resume(desk) == []
    desk.now_ms += 1_000
    (third,) = resume(desk)
    assert {first["target"], second["target"], third["target"]} == {pane for pane, _ in panes.values()}
    desk.now_ms += 10_000
    assert resume(desk) == [] and continued(desk) == 3


def test_the_old_ticket_leads_to_the_one_that_continues_it(desk: Desk) -> None:
    configure(desk)
    panes = outage(desk, "ada", "bob")
    old = {record["name"]: record["id"] for record in desk.run("collect").records}
    (first,) = resume(desk)
    desk.now_ms += 1_000
    desk.look(*PIPE)
    desk.signal(panes["ada"], desks.END, "All is done")
    for _ in range(2):
        desk.now_ms += 2_000
        desk.look(*PIPE)
    (ticket,) = desk.run("collect", old["ada"]).records
    assert (ticket["id"], ticket["again"], ticket["outcome"]) == (first["ticket"], old["ada"], "completed")


def test_the_failure_of_the_first_one_cools_by_itself_and_nobody_follows(desk: Desk) -> None:
    configure(desk)
    panes = outage(desk, "ada", "bob")
    resume(desk)
    desk.now_ms += 1_000
    desk.look(*PIPE)
    desk.signal(panes["ada"], desks.FAIL, "API Error")
    desk.now_ms += 1_000
    (again,) = [record for record in desk.look(*PIPE) if record["type"] == "incident"]
    assert again["again"] is True and len(again["evidence"]) == 1
    desk.now_ms += 1_000
    assert resume(desk) == [] and continued(desk) == 1
    desk.now_ms += 60_000
    assert [record["probe"] for record in resume(desk)] == [True], "after the new cool-off one is tried again"


def test_the_failed_tickets_own_prompt_is_typed_once_more_where_that_is_asked_for(desk: Desk) -> None:
    configure(desk, "ticket")
    outage(desk, "ada", "bob")
    resume(desk)
    assert desk.prompts().count("work, ada") == 2


def test_a_dry_run_says_who_would_be_prompted_and_why_others_would_not(desk: Desk) -> None:
    configure(desk)
    panes = outage(desk, "ada", "bob")
    typed(desk, panes["ada"][0], "half a thought")
    said = resume(desk, "--dry-run")
    assert [(record["target"], record["outcome"]) for record in said] == [
        (panes["ada"][0], "refused"), (panes["bob"][0], "would"),
    ]  # fmt: skip
    assert "draft" in said[0]["reason"] and continued(desk) == 0


def test_without_the_section_it_only_says_what_it_would_do(desk: Desk) -> None:
    configure(desk)
    outage(desk, "ada", "bob")
    path = desk.folder / "fleetd.yaml"
    path.write_text(path.read_text().partition("resume:")[0])
    said = resume(desk)
    assert [(record["outcome"], record["probe"]) for record in said] == [("would", True)] * 2
    assert continued(desk) == 0
    assert desk.run("gate", "--profile", "claude-a").status == 0, "and nothing is claimed"


def typed(desk: Desk, pane: str, text: str) -> None:
    desk.tmux("send-keys", "-t", pane, "-l", text)
    desk.until(lambda: text in desk.screen(pane))


@contextmanager
def somebody_typing(desk: Desk, pane: str) -> Iterator[None]:
    """A person who does not stop typing into a pane."""
    over = threading.Event()

    def type_on() -> None:
        while not over.wait(0.05):
            desk.tmux("send-keys", "-t", pane, "-l", "a")

    typist = threading.Thread(target=type_on)
    typist.start()
    try:
        desk.until(lambda: "aaa" in desk.screen(pane))
        yield
    finally:
        over.set()
        typist.join()


# Rule: what stands in a pane, and how it is said that nothing was typed there.
REFUSED = {
    "draft": "not typed: somebody's draft stands in its composer",
    "dialog": "not typed: its agent asks a question",
    "shell": "not typed: sh",
    "dead": "not typed: its process has ended",
    "copying": "not typed: it is in copy mode",
    "vanished": "not typed: its pane has gone",
    "typist": "not typed: somebody's draft stands in its composer",
}


def test_nothing_is_typed_over_anybody_or_into_anything_else_it_is_said_and_another_is_the_first(desk: Desk) -> None:
    configure(desk)
    panes = outage(desk, *REFUSED, "zoe")
    ids = {name: pane for name, (pane, _) in panes.items()}
    typed(desk, ids["draft"], "half a thought")
    desk.tmux("send-keys", "-t", ids["dialog"], "C-o")
    desk.until(lambda: "Do you want to proceed?" in desk.screen(ids["dialog"]))
    desk.tmux("send-keys", "-t", ids["shell"], "C-d")
    desk.until(lambda: desk.tmux("display-message", "-p", "-t", ids["shell"], "#{pane_current_command}") == "sh")
    desk.tmux("kill-pane", "-t", ids["vanished"])
    desk.now_ms += 1_000
    desk.look(*PIPE)
    desk.tmux("set-option", "-w", "-t", ids["dead"], "remain-on-exit", "on")
    os.kill(panes["dead"][1], signal.SIGKILL)
    desk.until(lambda: desk.tmux("display-message", "-p", "-t", ids["dead"], "#{pane_dead}") == "1")
    desk.tmux("copy-mode", "-t", ids["copying"])
    before = {name: desk.screen(pane) for name, pane in ids.items() if name not in ("vanished", "typist", "zoe")}
    with somebody_typing(desk, ids["typist"]):
        said = {record["target"]: record for record in resume(desk)}
    assert {name: said[ids[name]]["reason"] for name in REFUSED} == REFUSED
    assert {said[ids[name]]["outcome"] for name in REFUSED} == {"refused"}
    assert {name: desk.screen(ids[name]) for name in before} == before
    assert "continue" not in desk.screen(ids["typist"])
    assert (said[ids["zoe"]]["outcome"], said[ids["zoe"]]["probe"]) == ("submitted", True)
    assert continued(desk) == 1


def test_where_somebody_types_just_as_the_prompt_does_enter_is_not_pressed(desk: Desk) -> None:
    configure(desk)
    panes = outage(desk, "ada", "bob", modes=("waits", "beside=2"))
    said = resume(desk)
    assert [(record["outcome"], "somebody types there, too" in record["reason"]) for record in said] == [
        ("stuck", True)
    ] * 2
    assert continued(desk) == 0
    assert all("continue rm it all" in desk.screen(pane) for pane, _ in panes.values())
    desk.now_ms += 61_000
    assert {record["outcome"] for record in resume(desk)} <= {"refused"} and continued(desk) == 0


def test_a_menu_that_the_agent_left_open_at_a_limit_is_left_alone(desk: Desk) -> None:
    configure(desk)
    limit = "error=You've hit your session limit. Try again in 90 seconds"
    panes = at_work(desk, "ada", modes=("waits", "menu", limit)) | at_work(desk, "bob", modes=("waits", limit))
    for pane in panes.values():
        desk.signal(pane, desks.FAIL, "session limit")
    (quarantine,) = {record["id"]: record for record in desk.look(*PIPE) if record["type"] == "quarantine"}.values()
    assert 85 <= quarantine["quarantinedForSeconds"] <= 90
    assert resume(desk) == []
    desk.now_ms += 91_000
    menu = desk.screen(panes["ada"][0])
    refused, first = resume(desk)
    assert (refused["target"], refused["reason"]) == (panes["ada"][0], "not typed: its agent asks a question")
    assert (first["target"], first["outcome"], first["probe"]) == (panes["bob"][0], "submitted", True)
    assert desk.screen(panes["ada"][0]) == menu and "Stop and wait" in menu


def test_a_member_that_a_person_has_prompted_since_is_left_alone(desk: Desk) -> None:
    configure(desk)
    panes = outage(desk, "ada", "bob")
    typed(desk, panes["ada"][0], "never mind, do the other thing")
    desk.tmux("send-keys", "-t", panes["ada"][0], "Enter")
    desk.until(lambda: "never mind, do the other thing" in desk.prompts())
    desk.now_ms += 1_000
    desk.look(*PIPE)
    assert [record["target"] for record in resume(desk)] == [panes["bob"][0]]


def test_a_pane_whose_agent_has_ended_takes_nothing(desk: Desk) -> None:
    configure(desk)
    panes = outage(desk, "ada", "bob")
    desk.tmux("respawn-pane", "-k", "-t", panes["ada"][0], "exec sh")
    desk.until(lambda: "API Error" not in desk.screen(panes["ada"][0]))
    refused, first = resume(desk)
    assert refused["outcome"] == "refused" and first["target"] == panes["bob"][0]
    assert "continue" not in desk.screen(panes["ada"][0])


def test_what_runs_under_another_name_is_typed_to_where_a_person_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(desk)
    wrapped = desk.folder / "wrapped.py"
    wrapped.symlink_to(CLAUDE)
    monkeypatch.setattr("sandbox.CLAUDE", wrapped)
    panes = outage(desk, "ada", "bob", runs="wrapped.py")
    desk.tmux("set-option", "-p", "-u", "-t", panes["ada"][0], "@fleet_runs")
    refused, first = resume(desk)
    assert (refused["target"], refused["reason"]) == (panes["ada"][0], "not typed: wrapped.py")
    assert (first["target"], first["outcome"]) == (panes["bob"][0], "submitted")


def test_several_lines_go_only_to_an_agent_that_takes_them_whole(desk: Desk) -> None:
    configure(desk, '"go on\\nplease"')
    panes = outage(desk, "ada", "bob")
    (desk.folder / "agents").mkdir()
    (desk.folder / "agents/claude.yaml").write_text("extends: claude\nbracketedPaste: false\n")
    whole = desk.folder / "fleetd.yaml"
    whole.write_text(whole.read_text() + f"agents: {desk.folder}/agents\n")
    reason = "not typed: its agent would take each line as a prompt of its own"
    assert [(record["outcome"], record["reason"]) for record in resume(desk)] == [("refused", reason)] * 2
    whole.write_text(whole.read_text().partition("agents:")[0])
    assert [record["outcome"] for record in resume(desk)] == ["submitted"]
    assert desk.prompts().count("go on\nplease") == 1 and len(panes) == 2


def test_nobody_is_prompted_three_times_when_three_runs_come_at_once(desk: Desk) -> None:
    configure(desk)
    outage(desk, "ada", "bob")
    runs = [desk.start("resume", "--wait", "0") for _ in range(3)]
    said = [json.loads(line) for run in runs for line in run.communicate("", timeout=60)[0].splitlines()]
    assert continued(desk) == 1
    assert [record["outcome"] for record in said if record["outcome"] == "submitted"] == ["submitted"]


def test_only_one_more_is_prompted_when_three_runs_come_at_once_after_the_first_has_worked(desk: Desk) -> None:
    configure(desk)
    panes = outage(desk, "ada", "bob", "cleo")
    (first,) = resume(desk)
    desk.look(*PIPE)
    works(desk, next(pane for pane in panes.values() if pane[0] == first["target"]))
    desk.now_ms += 5_000
    runs = [desk.start("resume", "--wait", "0") for _ in range(3)]
    said = [json.loads(line) for run in runs for line in run.communicate("", timeout=60)[0].splitlines()]
    assert continued(desk) == 2 and [record["outcome"] for record in said] == ["submitted"]


def dying(desk: Desk, step: int) -> tuple[list[str], list[dict[str, Any]]]:
    """A run of fleet-resume that is killed right after that step, 0 for none: the steps that it took, what it said."""
    log = desk.folder / "steps"
    log.unlink(missing_ok=True)
    words = [sys.executable, str(DYING), str(step), str(log), "resume", "--wait", "0"]
    process = desk.process(words, {"FLEET_NOW": desks.stamp(desk.now_ms), "PYTHONPATH": str(ROOT)}, text=True)
    out, said = process.communicate("", timeout=60)
    assert process.returncode == (-signal.SIGKILL if step else 0), said
    return log.read_text().split(), [json.loads(line) for line in out.splitlines()]


# Rule: in this order a prompt goes in; the first commit begins the round.
STEPS = ["credential", "credential", "lease", "member", "ticket", "ticket", "paste", "enter", "member", "lease"]


def test_these_are_the_steps_of_a_prompt(desk: Desk) -> None:
    configure(desk)
    outage(desk, "ada", "bob")
    steps, said = dying(desk, 0)
    assert (steps, [record["outcome"] for record in said]) == (STEPS, ["submitted"])


def state_of(desk: Desk) -> dict[str, str]:
    return {member["name"]: member["state"] for member in desk.run("list").records[0]["members"]}


# One that follows is prompted by the same steps: the first then keeps that the one before has shown work.
KILLS = [("first", step) for step in range(1, len(STEPS) + 1)] + [("next", step) for step in (1, 2, 4, 7)]


@pytest.mark.parametrize(("who", "step"), KILLS, ids=[f"{who}-{step}" for who, step in KILLS])
def test_killed_after_any_step_nobody_is_prompted_twice_and_all_are_in_the_end(desk: Desk, who: str, step: int) -> None:
    configure(desk)
    panes = outage(desk, "ada", "bob")
    if who == "next":
        (first,) = resume(desk)
        desk.look(*PIPE)
        works(desk, next(pane for pane in panes.values() if pane[0] == first["target"]))
        desk.now_ms += 5_000
    taken, _ = dying(desk, step)
    assert taken == STEPS[:step]

    said, states = list[dict[str, Any]](), dict[str, str]()
    lost = 1 if taken[-1] == "paste" else 0  # it stands in the composer, where a person may have typed it
    for _ in range(5):
        desk.now_ms += 30_000
        said += resume(desk)
        desk.look(*PIPE)
        for pane in panes.values():
            if "esc to interrupt" in desk.screen(pane[0]):
                works(desk, pane)
        states = state_of(desk)
        if list(states.values()).count("done") == 2 - lost and len(said) >= lost:
            break
    assert sorted(states.values()) == sorted(["done", "done", "backend_error"][lost : 2 + lost])
    assert [record["outcome"] for record in said].count("unknown") == lost
    assert continued(desk) == 2 - lost
    assert desk.run("collect").status == 0, "no ticket is left open"
    desk.now_ms += 30_000
    assert [record for record in resume(desk) if record["outcome"] != "refused"] == []
    assert continued(desk) == 2 - lost, "and what is lost stays so"


def test_a_person_may_begin_a_round_of_a_period_that_is_long_over(desk: Desk) -> None:
    configure(desk)
    outage(desk, "ada", "bob")
    desk.now_ms += 3_600_000
    assert resume(desk) == []
    assert [record["outcome"] for record in resume(desk, "--now", "team-a")] == ["submitted"]
    assert desk.run("resume", "--now", "team-b", "--wait", "0").status == 75
    typo = desk.run("resume", "--now", "tema-a", "--wait", "0")
    assert (typo.status, "tema-a: nobody spends it" in typo.said) == (1, True)


def test_what_is_read_passes_through(desk: Desk) -> None:
    configure(desk)
    line = json.dumps({"type": "ended", "ts": "2026-01-31T12:00:00.000Z", "id": "i", "kind": "incident",
                       "credentialId": "team-a", "seconds": 60, "why": "time"})  # fmt: skip
    done = desk.run("resume", "--wait", "0", stdin=f"{line}\nnot json\n")
    assert [record["type"] for record in done.records] == ["ended"] and done.status == 65


def works(desk: Desk, pane: tuple[str, int]) -> None:
    """Its turn ends well, and is seen to."""
    desk.signal(pane, desks.END, "All is done")
    for _ in range(2):
        desk.now_ms += 2_000
        desk.look(*PIPE)


def test_when_the_first_one_has_failed_again_the_rest_still_follow_in_the_end(desk: Desk) -> None:
    configure(desk)
    panes = outage(desk, "ada", "bob", "cleo")
    (first,) = resume(desk)
    desk.now_ms += 1_000
    desk.look(*PIPE)
    pane = next(pane for pane in panes.values() if pane[0] == first["target"])
    desk.signal(pane, desks.FAIL, "API Error")
    desk.now_ms += 1_000
    assert [record["again"] for record in desk.look(*PIPE) if record["type"] == "incident"] == [True]
    desk.now_ms += 61_000
    (second,) = resume(desk)
    assert second["probe"] is True and second["target"] != first["target"]
    desk.look(*PIPE)
    works(desk, next(pane for pane in panes.values() if pane[0] == second["target"]))
    followed = []
    for _ in range(2):
        desk.now_ms += 5_000
        followed += resume(desk)
    assert {one["target"] for one in (second, *followed)} == {pane for pane, _ in panes.values()}
    assert all("probe" not in one for one in followed)
