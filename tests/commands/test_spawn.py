"""fleet-spawn: the gate first, then a pane; a place that is free is given once."""

import json
import subprocess
from pathlib import Path

import pytest
from desk import Desk
from test_list import feed, verdict

CONFIG = """\
profiles:
  one: {agent: claude, command: sleep 1000, credentialId: team-a, maxMembers: 1, priority: 5}
  four: {command: sleep 1000, credentialId: team-b, maxMembers: 4, priority: 3}
  told: {command: 'sh -c ''echo "$A $PWD $$" > told; exec sleep 1000''', env: {A: 'a b;'}, cwd: work, priority: 1}
  mute: {agent: claude, priority: 9}
  lost: {command: sleep 1000, cwd: /nowhere/at/all}
credentials:
  team-b: {maxMembers: 4}
"""
OPTIONS = "#{pane_id}#{?@fleet_profile, #{@fleet_profile} #{@fleet_agent} #{@fleet_lead} #{@fleet_name},}"


@pytest.fixture
def fleet(desk: Desk) -> Desk:
    """A desk with a configuration and a tmux server whose only pane, %0, could be a lead."""
    (desk.folder / "fleetd.yaml").write_text(CONFIG)
    (desk.folder / "work").mkdir()
    desk.tmux("new-session", "-d", "-s", "main", "-x", "110", "-y", "30", "--", "sleep", "1000")
    return desk


def panes(desk: Desk) -> list[str]:
    """The panes that carry a profile."""
    listed = desk.tmux("list-panes", "-a", "-F", OPTIONS).splitlines()
    return [line for line in listed if " " in line]


def leases(desk: Desk, profile: str) -> int | None:
    """The free places that fleet-profiles shows for a profile."""
    return desk.run("profiles").records[0]["profiles"][profile]["free"]


def test_a_member_gets_its_pane_its_options_and_its_place_in_the_roster(fleet: Desk) -> None:
    done = fleet.run("spawn", "one", "--lead", "%0", "--name", "ada")
    assert (done.status, done.said) == (0, "")
    decision, member = done.records
    assert (decision["type"], decision["allowed"], decision["profile"]) == ("decision", True, "one")
    seen = {key: member[key] for key in ("type", "target", "profile", "credentialId", "agent", "lead", "name", "state")}
    assert seen == {
        "type": "member", "target": "%1", "profile": "one", "credentialId": "team-a", "agent": "claude", "lead": "%0",
        "name": "ada", "state": "starting",
    }  # fmt: skip
    assert panes(fleet) == ["%1 one claude %0 ada"]
    own = fleet.tmux("show-options", "-p", "-t", "%1")
    assert "@fleet_profile one" in own
    fleet.until(lambda: fleet.tmux("display-message", "-p", "-t", "%1", "#{pane_current_command}") == "sleep")
    assert fleet.tmux("display-message", "-p", "-t", "%1", "#{session_name} #{window_name}") == "main ada"
    view = fleet.run("list").records[0]
    assert [(m["target"], m["state"], m["pid"]) for m in view["members"]] == [("%1", "starting", member["pid"])]
    assert view["profiles"]["one"]["free"] == 0
    assert fleet.run("spawn", "one").status == 75
    assert panes(fleet) == ["%1 one claude %0 ada"]


def test_the_command_replaces_the_shell_in_its_folder_with_its_environment(fleet: Desk) -> None:
    member = fleet.run("spawn", "--profile", "told").records[1]
    told = fleet.folder / "work" / "told"
    fleet.until(lambda: told.exists() and told.read_text().endswith("\n"))
    assert told.read_text() == f"a b; {fleet.folder}/work {member['pid']}\n"


def test_a_folder_is_taken_by_its_name(fleet: Desk) -> None:
    folder = fleet.folder / "a #S;"
    folder.mkdir()
    assert fleet.run("spawn", "told", "--cwd", "a #S;").status == 0
    fleet.until(lambda: (folder / "told").exists())


def test_refused_it_does_not_even_look_for_tmux(desk: Desk) -> None:
    (desk.folder / "fleetd.yaml").write_text(CONFIG)
    feed(desk, verdict(desk, "%1", "one", "backend_error"), verdict(desk, "%2", "one", "backend_error"))
    desk.now_ms += 1_000
    done = desk.run("spawn", "one", "-S", "/nowhere/at/all")
    assert done.status == 75
    assert done.said == f"fleet-spawn: {done.records[0]['reason']}\n"
    assert [(r["type"], r["allowed"], r["coolingOffForSeconds"]) for r in done.records] == [("decision", False, 59)]
    assert "cooling off for another 59 s" in done.said


def test_any_takes_the_first_that_has_a_command_and_a_place(fleet: Desk) -> None:
    chosen = [fleet.run("spawn", "--auto").records[0]["profile"] for _ in range(2)]
    assert chosen == ["one", "four"]
    least = fleet.run("spawn", "--auto", "--policy", "least-loaded").records[0]
    assert (least["profile"], "least-loaded" in least["reason"]) == ("told", True)


@pytest.mark.parametrize(("profile", "opened"), [("one", 1), ("four", 4)])
def test_spawns_at_the_same_moment_get_as_many_panes_as_there_are_places(
    fleet: Desk, profile: str, opened: int
) -> None:
    started = [fleet.start("spawn", profile, stdin=subprocess.DEVNULL) for _ in range(4)]
    ends = [(process.communicate(timeout=60), process.returncode) for process in started]
    assert sorted(status for _, status in ends) == [0] * opened + [75] * (4 - opened), ends
    allowed = [json.loads(out.splitlines()[0])["allowed"] for (out, _), _ in ends]
    assert sorted(allowed) == [False] * (4 - opened) + [True] * opened
    assert len(panes(fleet)) == opened


def test_a_split_shares_the_window(fleet: Desk) -> None:
    assert fleet.run("spawn", "four", "--split", "%0").status == 0
    assert fleet.tmux("list-panes", "-t", "%0", "-F", "#{pane_id}").split() == ["%0", "%1"]


def test_without_a_server_one_is_started(desk: Desk) -> None:
    (desk.folder / "fleetd.yaml").write_text(CONFIG)
    Path(desk.env["FLEET_TMUX_SOCKET"]).parent.mkdir(mode=0o700)
    done = desk.run("spawn", "one", "--session", "team")
    assert done.status == 0, done.said
    assert desk.tmux("list-panes", "-a", "-F", "#{session_name} #{@fleet_profile}") == "team one"


LATE = [
    # what is wrong after the slot was reserved, arguments, status, what is said
    ("the lead is not there", ("one", "--lead", "%99"), 69, "no pane %99"),
    ("the pane to split is not there", ("one", "--split", "%99"), 69, "no pane %99"),
    ("the session is not there", ("one", "--session", "none"), 69, "can't find session"),
    (
        "the server does not answer to that name",
        ("one", "-S", "/nowhere/at/all"),
        69,
        "tmux on /nowhere/at/all: no server can",
    ),
    ("its folder is not there", ("lost",), 78, "profiles.lost.cwd: /nowhere/at/all is no folder"),
    ("it has no command", ("mute",), 78, "profiles.mute.command: missing; say what to run"),
]


@pytest.mark.parametrize(("args", "status", "says"), [row[1:] for row in LATE], ids=[row[0] for row in LATE])
def test_what_fails_later_gives_the_place_back(fleet: Desk, args: tuple[str, ...], status: int, says: str) -> None:
    done = fleet.run("spawn", *args)
    assert (done.status, says in done.said) == (status, True), done
    assert panes(fleet) == []
    assert leases(fleet, "one") == 1
    assert fleet.run("list").records[0]["members"] == []


USAGE = [
    ("no profile at all", (), 2),
    ("two profiles", ("one", "--profile", "four"), 2),
    ("a profile and any", ("one", "--auto"), 2),
    ("a policy without any", ("one", "--policy", "priority"), 2),
    ("a lead that is no pane id", ("one", "--lead", "main"), 2),
    ("a name that is none", ("one", "--name", "a\nb"), 2),
    ("a split in a session", ("one", "--split", "%0", "--session", "main"), 2),
    ("a folder that is not there", ("one", "--cwd", "/nowhere/at/all"), 2),
    ("a profile that nobody configured", ("zero",), 78),
]


@pytest.mark.parametrize(("args", "status"), [row[1:] for row in USAGE], ids=[row[0] for row in USAGE])
def test_what_cannot_be_meant_opens_nothing(fleet: Desk, args: tuple[str, ...], status: int) -> None:
    done = fleet.run("spawn", *args)
    assert (done.status, done.said.count("\n")) == (status, 1), done
    assert panes(fleet) == []
