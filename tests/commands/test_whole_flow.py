"""The whole flow on real tmux: from an error on a screen to what may be spawned, and back. No sleeps, no real clock."""

import sys
from typing import Any

import desk as desks
import pytest
from desk import Desk
from sandbox import CLAUDE

CONFIG = """
profiles:
  claude-a: {{agent: claude, credentialId: team-a, maxMembers: 3, priority: 9, command: {command}}}
  claude-b: {{agent: claude, credentialId: team-a, maxMembers: 3, priority: 8, command: {command}}}
  claude-c: {{agent: claude, credentialId: team-b, maxMembers: 3, priority: 1, command: {command}}}
  both: {{agent: claude, credentialId: team-d, errorPattern: 'API Error', exhaustedPattern: 'quota gone'}}
"""
PIPE = ("resolve", "correlate")


def of_type(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record for record in records if record["type"] == kind]


def listed(desk: Desk) -> dict[str, Any]:
    (view,) = desk.run("list").records
    return view | {"members": {member.get("name"): member for member in view["members"]}}


@pytest.fixture
def fleet(desk: Desk) -> dict[str, tuple[str, int]]:
    """A lead and four members at work on a prompt each, and one pane of a profile that has patterns of its own."""
    command = f"{sys.executable} {CLAUDE} {desk.folder}/prompts waits"
    (desk.folder / "fleetd.yaml").write_text(CONFIG.format(command=command))
    panes = {"lead": desk.agent("ends", agent="claude")}
    lead = panes["lead"][0]
    for name, profile in (("ada", "claude-a"), ("bob", "claude-b"), ("cleo", "claude-c")):
        panes[name] = desk.agent(profile=profile, name=name, lead=lead)
    panes["dora"] = desk.agent("waits", "error=API Error: quota gone", profile="both", name="dora", lead=lead)
    for name in ("ada", "bob", "dora"):
        sent = desk.run("send", name, stdin=f"work, {name}")
        assert sent.status == 0, sent.said
    desk.now_ms += 5_000
    assert not of_type(desk.look(*PIPE), "incident")
    return panes


def test_from_an_error_on_two_screens_to_the_gate_and_back(desk: Desk, fleet: dict[str, tuple[str, int]]) -> None:
    before = listed(desk)
    assert {name: member["state"] for name, member in before["members"].items()} == {
        "ada": "busy", "bob": "busy", "cleo": "idle", "dora": "busy",
    }  # fmt: skip

    # One classified error marks its member only.
    desk.now_ms += 5_000
    desk.signal(fleet["ada"], desks.FAIL, "API Error")
    seen = desk.look(*PIPE)
    assert [record["name"] for record in desk.run("collect").records] == ["ada"]
    assert {record["type"] for record in desk.pipe(seen, "notify")} == {"verdict"}
    assert not [prompt for prompt in desk.prompts() if "work," not in prompt]
    view = listed(desk)
    assert view["members"]["ada"]["state"] == "backend_error"
    assert view["members"]["ada"]["failureReason"]
    assert "coolingOffForSeconds" not in view["profiles"]["claude-a"]
    assert view["profiles"]["claude-a"]["free"] == 2

    # A second one on the same credential, by another profile, within a minute: one incident, however often it is seen.
    desk.now_ms += 55_000
    desk.signal(fleet["bob"], desks.FAIL, "API Error")
    (incident,) = of_type(desk.look(*PIPE), "incident")
    assert (incident["credentialId"], incident["profiles"]) == ("team-a", ["claude-a", "claude-b"])
    assert [target["name"] for target in incident["targets"]] == ["ada", "bob"]
    assert not of_type(desk.look(*PIPE), "incident")

    # The lead is told once, in its pane.
    assert [record["name"] for record in desk.run("collect").records] == ["bob"]
    told = desk.pipe([incident, incident], "notify")
    assert [record["outcome"] for record in of_type(told, "delivery")] == ["submitted"]
    assert len([prompt for prompt in desk.prompts() if "team-a" in prompt]) == 1

    # No profile of that credential spawns, and no pane is made; --auto and another credential do.
    desk.now_ms += 10_500
    panes = desk.tmux("list-panes", "-a")
    for profile in ("claude-a", "claude-b"):
        refused = desk.run("spawn", "--profile", profile)
        assert (refused.status, [record["type"] for record in refused.records]) == (75, ["decision"])
        assert "cooling off" in refused.said and "50 s" in refused.said
        assert refused.records[0]["coolingOffForSeconds"] == 50
    assert desk.tmux("list-panes", "-a") == panes
    for args in (("--auto",), ("claude-c",)):
        spawned = desk.run("spawn", *args)
        assert (spawned.status, [record["type"] for record in spawned.records]) == (0, ["decision", "member"])
        assert spawned.records[1]["profile"] == "claude-c"

    # The views say so, each in its own words.
    view = listed(desk)
    for name, profile in (("ada", "claude-a"), ("bob", "claude-b")):
        assert view["members"][name]["state"] == "backend_error"
        assert view["members"][name]["failureReason"]
        shown = view["profiles"][profile]
        assert (shown["free"], shown["credentialId"], shown["coolingOffForSeconds"]) == (0, "team-a", 50)
        assert "quarantinedForSeconds" not in shown
    assert view["members"]["cleo"]["state"] == "idle"
    assert "failureReason" not in view["members"]["cleo"]
    assert view["profiles"]["claude-c"]["free"] == 0
    (profiles,) = desk.run("profiles").records
    assert (profiles["coolingOff"], profiles["quarantined"]) == ({"team-a": 50}, {})

    # A line that matches both patterns is exhaustion, and its credential is quarantined, not cooled.
    desk.signal(fleet["dora"], desks.FAIL, "quota gone")
    (quarantine,) = of_type(desk.look(*PIPE), "quarantine")
    assert quarantine["credentialId"] == "team-d"
    assert listed(desk)["members"]["dora"]["state"] == "failed"
    (profiles,) = desk.run("profiles").records
    assert (profiles["coolingOff"], profiles["quarantined"]) == ({"team-a": 50}, {"team-d": 1800})

    # After the minute it opens again, the old banners count no more, and two fresh errors are needed.
    desk.now_ms += 50_000
    assert not of_type(desk.look(*PIPE), "incident")
    assert desk.run("profiles").records[0]["coolingOff"] == {}
    members = {}
    for profile in ("claude-a", "claude-b"):
        spawned = desk.run("spawn", profile, "--name", f"new-{profile}", "--lead", fleet["lead"][0])
        assert spawned.status == 0, spawned.said
        pane = spawned.records[1]["target"]
        members[profile] = pane, int(desk.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))
        desk.until(lambda pane=pane: "for shortcuts" in desk.screen(pane))
        assert desk.run("send", pane, stdin="try again").status == 0
    desk.now_ms += 5_000
    desk.look(*PIPE)
    for profile, incidents in (("claude-a", 0), ("claude-b", 1)):
        desk.now_ms += 5_000
        desk.signal(members[profile], desks.FAIL, "API Error")
        assert len(of_type(desk.look(*PIPE), "incident")) == incidents
    assert listed(desk)["healthCoverage"] == before["healthCoverage"] == "detection-only"


def test_a_stopped_a_vanished_and_an_ended_member_are_told_apart(desk: Desk, fleet: dict[str, tuple[str, int]]) -> None:
    """A person's stop is idle, a vanished pane is failed, and a tmux server that ended releases its members."""
    desk.now_ms += 5_000
    desk.signal(fleet["ada"], desks.STOP, "Interrupted")
    desk.tmux("kill-pane", "-t", fleet["bob"][0])
    desk.look(*PIPE)
    view = listed(desk)["members"]
    assert (view["ada"]["state"], "failureReason" in view["ada"]) == ("idle", False)
    assert (view["bob"]["state"], view["bob"]["failureReason"]) == ("failed", "pane gone")
    ended = desk.run("collect")
    reasons = {record["name"]: record["reason"] for record in ended.records}
    assert (reasons, ended.status) == ({"ada": "stopped by a person", "bob": "pane gone"}, 75)

    desk.signal(fleet["dora"], desks.FAIL, "quota gone")
    desk.look(*PIPE)
    desk.run("collect")
    assert listed(desk)["members"]["dora"]["failureReason"]

    desk.tmux("kill-server")
    down = desk.run("scrape")
    assert [record["state"] for record in down.records] == ["down"], down.said
    desk.pipe(down.records, *PIPE)
    assert listed(desk)["members"] == {}
    (view,) = desk.run("list", "--all").records
    assert {member["state"] for member in view["members"]} == {"released"}
