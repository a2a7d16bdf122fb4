"""fleettools-mcp: the verbs as tools, asked by the SDK's own client of a real server."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import desk as desks
import pytest
from desk import Desk
from sandbox import ROOT
from talk import Talk, talking
from test_list import feed, verdict

CONFIG = """\
profiles:
  one: {agent: claude, command: sleep 1000, credentialId: team-a, maxMembers: 3}
  two: {agent: claude, command: sleep 1000, credentialId: team-b, maxMembers: 1}
  used: {agent: claude, command: sleep 1000, credentialId: team-c}
  full: {agent: claude, command: sleep 1000, maxMembers: 1}
  claude-a: {agent: claude, command: sleep 1000}
"""
READING = {"fleet_list", "fleet_profiles", "fleet_gate", "fleet_timeline"}
WRITING = {"fleet_spawn", "fleet_send", "fleet_collect", "fleet_reply", "fleet_release"}
SECRET = "sk-ant-api03-" + "a" * 40


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A fleet: team-a cools off, team-c is quarantined, `full` has no place; and agents in panes."""
    for desk in desks.opened(tmp_path_factory.mktemp("m")):
        (desk.folder / "fleetd.yaml").write_text(CONFIG)
        feed(desk, verdict(desk, "%91", "one", "backend_error"), verdict(desk, "%92", "one", "backend_error"))
        feed(desk, verdict(desk, "%93", "used", "exhausted"), verdict(desk, "%94", "full", "working"))
        desk.now_ms += 1_000
        for name, mode in (("ada", "waits"), ("bob", "busy=1000"), ("cy", "draft"), ("dan", "dialog")):
            desk.agent(mode, profile="claude-a", agent="claude", name=name)
        yield desk


@pytest.fixture(scope="module")
def talk(fleet: Desk) -> Iterator[Talk]:
    with talking(fleet) as talk:
        yield talk


def test_every_tool_says_what_it_takes_gives_and_changes(talk: Talk) -> None:
    tools = talk.tools()
    assert tools.keys() == READING | WRITING
    for name, tool in tools.items():
        assert tool.description and all(part["description"] for part in tool.input_schema["properties"].values())
        assert (tool.output_schema["type"], "#/$defs/Refusal") == ("object", tool.output_schema["anyOf"][-1]["$ref"])
        assert tool.annotations.read_only_hint is (name in READING)
        assert tool.annotations.destructive_hint is (name == "fleet_release")
        # Other languages read these: no regex of Python's own, and no references in what is to be given.
        assert "\\Z" not in json.dumps(tool.output_schema) + json.dumps(tool.input_schema)
        assert "$ref" not in json.dumps(tool.input_schema) and "null" not in json.dumps(tool.input_schema)


def test_an_answer_is_what_the_command_prints(talk: Talk, fleet: Desk) -> None:
    shown = talk.call("fleet_list").made
    assert (shown.pop("lead"), "untrusted data" in shown.pop("untrusted")) == (None, True)
    assert [shown] == fleet.run("list").records
    assert [talk.call("fleet_profiles").made] == fleet.run("profiles").records
    (decision,) = fleet.run("gate", "--profile", "two").records
    assert talk.call("fleet_gate", profile="two").made == decision
    (story,) = fleet.run("timeline", "--json", "--since", "1h", stdin="").records
    assert talk.call("fleet_timeline", since="1h").made["by"] == story["by"] == "credential"


REFUSALS = [
    # the tool, what it is asked, which refusal it is, when to come back, what it says
    ("fleet_gate", {"profile": "one"}, "cooling_off", 59, "credential team-a is cooling off for another 59 s"),
    ("fleet_spawn", {"profile": "one"}, "cooling_off", 59, "credential team-a is cooling off for another 59 s"),
    ("fleet_spawn", {"profile": "used"}, "quarantined", 1799, "credential team-c is quarantined"),
    ("fleet_spawn", {"profile": "full"}, "slots_full", None, "all its places are taken (1 of 1)"),
    ("fleet_spawn", {"profile": "none"}, "unknown_profile", None, "profile none is not configured"),
    ("fleet_spawn", {}, "usage", None, "give profile, or auto: true"),
    ("fleet_spawn", {"profile": "two", "lead": "%99"}, "no_pane", None, "no pane %99"),
    ("fleet_gate", {"auto": True, "candidates": ["one", "used"]}, "cooling_off", 59, "one returns first, in 59 s"),
    ("fleet_send", {"target": "eve", "prompt": "hello"}, "unknown_target", None, "eve is no member of the fleet"),
    ("fleet_send", {"target": "bob", "prompt": "hello"}, "busy", 5, "its agent is at work"),
    ("fleet_send", {"target": "cy", "prompt": "hello"}, "draft", 5, "somebody's draft"),
    ("fleet_send", {"target": "dan", "prompt": "hello"}, "asks", 5, "its agent asks a question"),
    ("fleet_send", {"target": "ada", "prompt": "a\x1bb"}, "bad_input", None, "control character U+001B"),
    ("fleet_reply", {"ticket": "t-0", "text": "done"}, "unknown_ticket", None, "t-0: no such ticket"),
    ("fleet_collect", {"tickets": ["t-0"]}, "unknown_ticket", None, "no such ticket: t-0"),
    ("fleet_release", {"target": "eve"}, "unknown_target", None, "no member of the fleet"),
    ("fleet_release", {"target": "n94", "reinstate": True}, "not_failed", None, "it has not failed"),
    ("fleet_release", {"credential": "team-x"}, "unknown_credential", None, "team-x"),
    ("fleet_release", {"target": "ada", "credential": "team-a"}, "usage", None, "give target, or credential alone"),
    ("fleet_timeline", {"since": "soon"}, "usage", None, "soon is no time"),
    ("fleet_list", {"cursor": "nonsense"}, "bad_input", None, "no cursor of this list"),
    ("fleet_list", {"all": True}, "bad_input", None, "unknown field `all`"),
]


@pytest.mark.parametrize(("tool", "asked", "code", "seconds", "says"), REFUSALS, ids=lambda value: str(value)[:30])
def test_a_refusal_says_which_it_is_why_and_when_to_come_back(
    talk: Talk, tool: str, asked: dict, code: str, seconds: int | None, says: str
) -> None:
    said = talk.call(tool, **asked)
    assert said.refused, said
    assert (said.made["code"], said.made["retryAfter"]) == (code, seconds)
    assert says in said.text
    assert says in said.made["reason"] or says in said.made["mend"]


@contextmanager
def instead(path: Path, text: str | None) -> Iterator[None]:
    """Another text in a file for a while, or a folder in its place."""
    kept = path.with_name("kept")
    path.rename(kept)
    try:
        path.write_text(text) if text is not None else path.mkdir()
        yield
    finally:
        path.unlink() if text is not None else path.rmdir()
        kept.rename(path)


def test_what_is_out_of_reach_is_told_and_the_server_goes_on(talk: Talk, fleet: Desk) -> None:
    with instead(fleet.folder / "fleetd.yaml", "profiles: [one]\n"):
        assert talk.call("fleet_list").made["code"] == "bad_config"
    with instead(fleet.folder / "state.db", None):
        said = talk.call("fleet_send", target="ada", prompt="hello")
        assert (said.made["code"], said.made["retryAfter"]) == ("store_unreachable", None)
    with talking(fleet, "-S", "/nowhere/at/all") as lost:
        said = lost.call("fleet_send", target="ada", prompt="hello")
        assert (said.made["code"], "no server is running" in said.text) == ("tmux_unreachable", True)
    assert not talk.call("fleet_list").refused


def test_long_lists_come_in_pages_that_leave_nothing_out(talk: Talk) -> None:
    for tool, key in (("fleet_list", "members"), ("fleet_profiles", "profiles")):
        whole, found, cursor = talk.call(tool).made[key], [], {}
        while cursor is not None:
            page = talk.call(tool, limit=2, **cursor).made
            assert len(page[key]) <= 2
            found += page[key]
            cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
        assert found == list(whole) and len(found) > 2


def test_a_ticket_is_sent_waited_for_answered_and_given_once(talk: Talk, fleet: Desk) -> None:
    fleet.agent("waits", profile="claude-a", agent="claude", name="flo")
    ticket = talk.call("fleet_send", target="flo", prompt="please build").made
    assert (ticket["type"], ticket["state"], ticket["name"]) == ("ticket", "open", "flo")
    assert fleet.prompts()[-1] == "please build"
    assert [one["id"] for one in talk.call("fleet_collect").made["open"]] == [ticket["id"]]

    lost = talk.begin("fleet_collect", waitSeconds=1000)
    waiting = talk.begin("fleet_collect", waitSeconds=1000, tickets=[ticket["id"]])
    assert talk.call("fleet_gate", profile="two").made["allowed"]  # others go on
    lost.cancel()
    answer = talk.call("fleet_reply", ticket=ticket["id"], text=f"all \u202edone, key {SECRET}")
    said = waiting.result(timeout=30)
    (got,) = said.made["tickets"]
    assert (got["id"], got["by"], got["outcome"]) == (ticket["id"], "reply", "completed")
    assert SECRET not in said.text and "\u202e" not in said.text and "\\u202e" in got["reply"]
    assert got["reply"] == answer.made["reply"]
    assert said.text.startswith("Note: ") and "reply" in said.meta["fleettools/untrusted"]
    assert said.text.startswith(f"Note: {said.made['untrusted']}\n")  # some agents are shown the object alone
    assert any("not ended yet" in (text or "") for text in talk.progress)

    fleet.until(lambda: talk.call("fleet_collect").made == {"tickets": [], "open": []})
    settled = talk.call("fleet_reply", ticket=ticket["id"], text="late")
    assert (settled.made["code"], settled.made["retryAfter"]) == ("settled_ticket", None)
    assert talk.call("fleet_release", target="flo").made["changed"] is True


def test_a_wait_that_is_cancelled_loses_no_ticket(talk: Talk, fleet: Desk) -> None:
    fleet.agent("waits", profile="claude-a", agent="claude", name="gus")
    ticket = talk.call("fleet_send", target="gus", prompt="please wait").made["id"]
    waiting = talk.begin("fleet_collect", waitSeconds=1000)
    fleet.until(lambda: talk.call("fleet_list").made["members"])
    waiting.cancel()
    assert talk.call("fleet_release", target="gus", kill=True).made["reason"] == "released by a program"
    (got,) = talk.call("fleet_collect", waitSeconds=10).made["tickets"]
    assert (got["id"], got["by"]) == (ticket, "release")


def test_two_clients_at_once_get_one_free_place_between_them(talk: Talk, fleet: Desk) -> None:
    with talking(fleet) as other:
        both = [each.begin("fleet_spawn", profile="two", name="new") for each in (talk, other)]
        said = sorted((one.result(timeout=60) for one in both), key=lambda one: one.refused)
    assert [one.refused for one in said] == [False, True]
    assert (said[0].made["decision"]["allowed"], said[0].made["member"]["state"]) == (True, "starting")
    assert (said[1].made["code"], said[1].made["allowed"]) == ("slots_full", False)
    assert talk.call("fleet_release", target="new", kill=True).made["changed"]


def test_read_only_offers_what_changes_nothing(fleet: Desk) -> None:
    with talking(fleet, "--read-only") as talk:
        assert talk.tools().keys() == READING
        with pytest.raises(Exception, match="no tool 'fleet_send'"):
            talk.call("fleet_send", target="ada", prompt="hello")


# -- a client that is no SDK's


def asked(number: int, method: str, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


HELLO = (
    asked(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
    + '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)


@pytest.mark.parametrize("how", ["its client dies", "it is killed"])
def test_what_was_begun_is_ended_before_the_server_is(fleet: Desk, how: str) -> None:
    pane, _ = fleet.agent("waits", profile="claude-a", agent="claude", name=f"hal{len(how)}")
    server = fleet.start("mcp", now=None)
    assert server.stdin and server.stdout
    server.stdin.write(HELLO + asked(2, "tools/call", name="fleet_collect", arguments={"waitSeconds": 1000}))
    sent = {"target": pane, "prompt": f"go on, {how}"}
    server.stdin.write(asked(3, "tools/call", name="fleet_send", arguments=sent))
    server.stdin.flush()
    fleet.until(lambda: f"go on, {how}" in fleet.screen(pane))
    if how == "it is killed":
        server.terminate()
    else:
        server.stdout.close()
        server.stdin.close()
    assert server.wait(timeout=30) == (-15 if how == "it is killed" else 0)
    assert fleet.prompts()[-1] == f"go on, {how}"
    (member,) = [one for one in fleet.run("list").records[0]["members"] if one["target"] == pane]
    assert (member["state"], "ticket" in member) == ("busy", True)
    assert fleet.run("release", pane, "--kill").status == 0


def test_idle_it_costs_nothing_and_it_ends_with_its_input(fleet: Desk) -> None:
    server = fleet.start("mcp", now=None)
    assert server.stdin and server.stdout
    server.stdin.write(HELLO)
    server.stdin.flush()
    assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "fleettools"

    def used() -> int:
        return sum(map(int, Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))

    time.sleep(0.5)
    before = used()
    time.sleep(1.0)
    assert used() - before <= 1  # hundredths of a second
    server.stdin.close()
    assert server.wait(timeout=20) == 0
    assert server.stdout.read() == ""


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp_types'] = None; from fleettools.commands.mcp import main; main()"
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, input="")
    assert done.returncode == 69
    assert "pip install 'fleettools[mcp]'" in done.stderr and done.stderr.count("\n") == 1


# -- a lead


def test_a_lead_is_known_by_its_pane_whatever_its_agent_passes_on(fleet: Desk) -> None:
    fleet.agent("waits", profile="claude-a", agent="claude", name="ivy")  # nobody's
    out = fleet.folder / "lead.json"
    calls = (
        ("fleet_list", {}),
        ("fleet_spawn", {"profile": "two", "name": "kid"}),
        ("fleet_send", {"target": "ivy", "prompt": "in my name"}),
        ("fleet_list", {}),
        ("fleet_list", {"everybody": True}),
        ("fleet_release", {"target": "ivy"}),
        ("fleet_collect", {"waitSeconds": 20}),
        ("fleet_release", {"target": "kid", "kill": True}),
    )
    words = [word for name, arguments in calls for word in (name, json.dumps(arguments))]
    env = f"FLEET_NOW={desks.stamp(fleet.now_ms)}"
    pane = fleet.pane("env", "-u", "FLEET_TMUX_SOCKET", env, sys.executable, str(ROOT / "tests/fakes/lead.py"),
                      str(out), *words)  # fmt: skip
    fleet.until(out.exists)
    empty, spawned, ticket, own, everybody, released, collected, _ = json.loads(out.read_text())
    assert (empty["members"], empty["lead"]) == ([], {"server": fleet.identity, "target": pane})
    assert (spawned["member"]["lead"], ticket["lead"]) == (pane, pane)
    assert [one["name"] for one in own["members"]] == ["kid"]
    assert len(everybody["members"]) > 2
    assert released["reason"] == f"released by lead {pane}"
    assert [one["id"] for one in collected["tickets"]] == [ticket["id"]]


def test_a_lead_whose_agent_has_a_server_of_its_own_is_the_one_in_the_same_folder(fleet: Desk) -> None:
    program = fleet.folder / "codex"
    program.symlink_to(ROOT / "tests/fakes/lead.py")
    out = fleet.folder / "codex.json"
    pane = fleet.pane("env", "-u", "FLEET_TMUX_SOCKET", sys.executable, str(program), str(out), "fleet_list", "{}")
    fleet.until(out.exists)
    (seen,) = json.loads(out.read_text())
    assert seen["lead"] == {"server": fleet.identity, "target": pane}
