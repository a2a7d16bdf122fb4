"""Agents that nobody marked, in real panes: found, told apart by account, failed together, and gone when they end."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from desk import FAIL, Desk
from sandbox import CLAUDE

ROOT = Path(__file__).parents[2]
GOODBYE = signal.SIGTERM


def installed(desk: Desk) -> None:
    """The fake agent as a script on the PATH, by the name of the real one."""
    place = desk.folder / "bin"
    place.mkdir()
    program = place / "claude"
    program.write_text(f"#!{sys.executable}\n{CLAUDE.read_text()}")
    program.chmod(0o755)


def started(desk: Desk, account: str) -> str:
    """A pane with a shell in which an agent of that account was started by hand; its id."""
    if not (desk.folder / "bin").exists():
        installed(desk)
    home = desk.folder / account
    home.mkdir(exist_ok=True)
    (home / ".claude.json").write_text(json.dumps({"oauthAccount": {"accountUuid": account}}))
    shown = ["-d", "-P", "-F", "#{pane_id}", "-c", str(desk.folder)]
    place = ["new-window"] if Path(desk.env["FLEET_TMUX_SOCKET"]).exists() else ["new-session", "-x", "110", "-y", "30"]
    pane = desk.tmux(
        *place,
        *shown,
        "--",
        "env",
        "-i",
        f"PATH={os.environ['PATH']}",
        "PS1=$ ",
        "TERM=screen",
        f"PYTHONPATH={ROOT}",
        "sh",
    )
    again(desk, pane, account)
    return pane


def again(desk: Desk, pane: str, account: str) -> None:
    """Start an agent of that account in a pane's shell."""
    line = f"CLAUDE_CONFIG_DIR={desk.folder / account} HOME={desk.folder} LC_ALL=C.UTF-8 "
    line += f"{desk.folder}/bin/claude {desk.folder}/prompts waits"
    desk.tmux("send-keys", "-t", pane, line, "Enter")
    desk.until(lambda: "for shortcuts" in desk.screen(pane))


def agent_pid(desk: Desk, pane: str) -> int:
    """The process of the agent below the pane's shell."""
    shell = desk.tmux("display-message", "-p", "-t", pane, "#{pane_pid}")
    return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])


def seated(desk: Desk) -> dict[str, str]:
    """Which panes are members, with their profile."""
    return {record["target"]: record["profile"] for record in desk.run("scrape").records}


def test_agents_are_found_and_told_apart_by_account_and_other_panes_are_not(desk: Desk) -> None:
    one, two, three = started(desk, "a"), started(desk, "a"), started(desk, "b")
    shell = desk.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "--", "sh")
    found = seated(desk)
    assert found.keys() == {one, two, three}
    assert found[one] == found[two] != found[three]
    assert all(profile.startswith("claude-") for profile in found.values())
    assert shell not in found


def test_an_empty_option_opts_out_and_a_lead_is_no_member(desk: Desk) -> None:
    one, two, lead = started(desk, "a"), started(desk, "a"), started(desk, "a")
    desk.tmux("set-option", "-p", "-t", one, "@fleet_profile", "")
    desk.tmux("set-option", "-p", "-t", lead, "@fleet_agent", "claude")
    roles = {record["target"]: record["role"] for record in desk.run("scrape").records}
    assert roles == {two: "member", lead: "lead"}


@pytest.mark.parametrize("text", ["discover: off\n", "discover: 'off'\n", "profiles: {mine: {agent: claude}}\n"])
def test_nobody_is_looked_for_when_the_configuration_says_so(desk: Desk, text: str) -> None:
    started(desk, "a")
    (desk.folder / "fleetd.yaml").write_text(text)
    assert seated(desk) == {}


def test_two_failures_of_one_account_are_an_incident_on_its_fingerprint(desk: Desk) -> None:
    panes = [started(desk, "a"), started(desk, "a"), started(desk, "b")]
    profile = seated(desk)[panes[0]]
    for number, pane in enumerate(panes[:2], 1):
        desk.tmux("send-keys", "-t", pane, "go", "Enter")
        desk.until(lambda number=number: len(desk.prompts()) == number)  # type: ignore[misc]
        desk.signal((pane, agent_pid(desk, pane)), FAIL, "API Error")
    verdicts = desk.look("resolve")
    assert {v["outcome"] for v in verdicts if v["profile"] == profile} == {"backend_error"}
    incidents = [r for r in desk.pipe(verdicts, "correlate") if r["type"] == "incident"]
    assert [incident["credentialId"] for incident in incidents] == [profile]
    (listed,) = desk.run("list").records
    assert {m["target"]: m["state"] for m in listed["members"]}[panes[2]] == "idle"


def test_a_member_whose_agent_ended_is_failed_and_frees_its_place(desk: Desk) -> None:
    """Under cron each look is a process of its own, so that the store has to know whose agent it was."""
    pane = started(desk, "a")
    desk.look("resolve")
    os.kill(agent_pid(desk, pane), GOODBYE)
    desk.until(lambda: desk.screen(pane).rstrip().endswith("$"))
    verdicts = desk.look("resolve")
    assert [(v["target"], v["outcome"], v["reason"]) for v in verdicts] == [(pane, "failed", "agent gone")]
    (listed,) = desk.run("list").records
    assert [(m["state"], m["failureReason"]) for m in listed["members"]] == [("failed", "agent gone")]
    assert desk.look("resolve") == []


def test_work_can_be_handed_to_a_member_that_nobody_marked(desk: Desk) -> None:
    pane = started(desk, "a")
    done = desk.run("send", pane, stdin="please run the tests", now=None)
    assert done.status == 0, done.said
    assert done.records[0]["profile"].startswith("claude-")
    assert desk.prompts() == ["please run the tests"]


def test_an_agent_that_is_started_again_in_its_pane_is_the_same_member(desk: Desk) -> None:
    """It comes back at once, at work or not, and a failure of its new turn counts as any other."""
    pane = started(desk, "a")
    desk.look("resolve")
    (before,) = desk.run("list").records
    os.kill(agent_pid(desk, pane), GOODBYE)
    desk.until(lambda: desk.screen(pane).rstrip().endswith("$"))
    desk.now_ms += 20_000
    desk.look("resolve")
    desk.tmux("send-keys", "-t", pane, "stty sane; clear", "C-j")  # the terminal is as the agent left it
    desk.until(lambda: "shortcuts" not in desk.screen(pane))
    again(desk, pane, "a")
    desk.now_ms += 20_000
    desk.look("resolve")
    (after,) = desk.run("list").records
    assert [m["state"] for m in after["members"]] == ["idle"]
    same = ("server", "target", "pid", "profile", "credentialId")
    assert [[m[key] for key in same] for m in after["members"]] == [[m[key] for key in same] for m in before["members"]]
    desk.tmux("send-keys", "-t", pane, "go", "Enter")
    desk.until(lambda: desk.prompts() == ["go"])
    desk.signal((pane, agent_pid(desk, pane)), FAIL, "API Error")
    (verdict,) = desk.look("resolve")
    assert (verdict["target"], verdict["outcome"], verdict["resolved"]) == (pane, "backend_error", True)
