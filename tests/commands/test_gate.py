"""fleet-gate: a credential in trouble lets none of its profiles spawn, and nothing else is in the way."""

import json
import shlex
import subprocess
import sys

import pytest
from desk import Desk, stamp

CONFIG = """\
profiles:
  a-one: {credentialId: team-a, priority: 9}
  a-two: {credentialId: team-a, priority: 8}
  b: {credentialId: team-b, priority: 1}
"""


@pytest.fixture
def fleet(desk: Desk) -> Desk:
    """A desk with three profiles on two credentials."""
    (desk.folder / "fleetd.yaml").write_text(CONFIG)
    return desk


def verdict(desk: Desk, event: str, profile: str, outcome: str = "backend_error") -> dict:
    """A verdict of now."""
    ts = stamp(desk.now_ms)
    who = {"server": "h:/s:1", "target": "%1", "profile": profile, "event": event}
    return {"type": "verdict", "ts": ts, "at": ts, "outcome": outcome, "cause": "unknown", **who}


def outage(desk: Desk) -> None:
    """Two errors on team-a, now."""
    desk.pipe([verdict(desk, "e1", "a-one"), verdict(desk, "e2", "a-two")], "correlate")


def asked(desk: Desk, *args: str, status: int) -> dict:
    """The one decision that the gate prints."""
    done = desk.run("gate", *args)
    assert done.status == status, done
    (decision,) = done.records
    assert (decision["type"], decision["allowed"]) == ("decision", status == 0)
    assert done.said == f"fleet-gate: {decision['reason']}\n"
    return decision


def test_a_person_at_a_terminal_reads_the_answer_once(fleet: Desk) -> None:
    line = shlex.join([sys.executable, "-m", "fleettools.commands.gate", "--profile", "b"])
    for command, times in ((line, 1), (f"{line} > /dev/null", 1), (f"{line} --json", 2)):
        done = subprocess.run(
            ["script", "-qec", command, "/dev/null"], env=fleet.env, cwd=fleet.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert done.stdout.count("credential team-b is free") == times, command


def test_one_error_is_in_nobodys_way(fleet: Desk) -> None:
    fleet.pipe([verdict(fleet, "e1", "a-one")], "correlate")
    decision = asked(fleet, "--profile", "a-one", status=0)
    assert (decision["profile"], decision["credentialId"]) == ("a-one", "team-a")
    assert "coolingOffForSeconds" not in decision


def test_a_cool_off_refuses_all_its_profiles_and_no_other_until_it_is_over(fleet: Desk) -> None:
    outage(fleet)
    fleet.now_ms += 17_500
    for profile in ("a-one", "a-two"):
        decision = asked(fleet, "--profile", profile, status=75)
        assert (
            decision["reason"] == f"{profile}: credential team-a is cooling off for another 43 s after backend errors"
        )
        assert decision["coolingOffForSeconds"] == 43
    assert asked(fleet, "--profile", "b", status=0)["credentialId"] == "team-b"
    assert asked(fleet, "--auto", status=0)["profile"] == "b"
    fleet.now_ms += 42_500
    assert asked(fleet, "--auto", status=0)["profile"] == "a-one"


def test_exhaustion_outranks_the_cool_off(fleet: Desk) -> None:
    outage(fleet)
    fleet.pipe([verdict(fleet, "e3", "a-one", "exhausted")], "correlate")
    decision = asked(fleet, "--profile", "a-two", status=75)
    assert "quarantined for another 1800 s" in decision["reason"]
    assert decision["quarantinedForSeconds"] == 1800


def test_all_out_says_so_and_which_returns_first(fleet: Desk) -> None:
    outage(fleet)
    fleet.now_ms += 20_000
    fleet.pipe([verdict(fleet, "e4", "b"), verdict(fleet, "e5", "b") | {"target": "%2"}], "correlate")
    decision = asked(fleet, "--auto", status=75)
    assert decision["reason"].startswith("every candidate is out (cool-off): a-one: ")
    assert decision["reason"].endswith("; a-one returns first, in 40 s")


def test_least_loaded_is_asked_for_by_option_or_configuration(fleet: Desk) -> None:
    fleet.pipe([verdict(fleet, "e0", "a-one", "working")], "resolve")
    assert asked(fleet, "--auto", status=0)["profile"] == "a-one"
    assert asked(fleet, "--auto", "--policy", "least-loaded", status=0)["profile"] == "a-two"
    (fleet.folder / "fleetd.yaml").write_text(CONFIG + "placement: {policy: least-loaded}\n")
    assert asked(fleet, "--auto", status=0)["profile"] == "a-two"


def test_an_unknown_profile_is_refused_with_those_that_there_are(fleet: Desk) -> None:
    assert (
        asked(fleet, "--profile", "c", status=78)["reason"] == "profile c is not configured; there are a-one, a-two, b"
    )


def test_a_fleet_without_profiles_has_none_to_choose_from(desk: Desk) -> None:
    assert asked(desk, "--auto", status=78)["reason"].startswith("there is no profile to choose from")


def test_without_configuration_a_profile_is_its_own_credential(desk: Desk) -> None:
    assert asked(desk, "--profile", "any", status=0)["credentialId"] == "any"


def test_as_a_filter_it_answers_spawns_and_lets_all_else_through(fleet: Desk) -> None:
    outage(fleet)
    lines = [
        '{"type": "other",  "x": 1}',
        '{"type":"spawn","profile":"a-one","request":7,"lead":"%3"}',
        "",
        '{"profile":"b","v":1,"type":"spawn"}',
        '{"type":"spawn","auto":true,"candidates":["a-one","a-two"]}',
        '{"type":"spawn","auto":true,"policy":"least-loaded"}',
    ]
    process = fleet.start("gate")
    out, said = process.communicate("\n".join(lines), timeout=60)
    assert (process.returncode, said) == (0, "")
    answers = out.split("\n")
    assert [answers[0], answers[2], answers[6]] == [lines[0], "", ""]
    told = [json.loads(answers[place]) for place in (1, 3, 4, 5)]
    assert [one["type"] for one in told] == ["decision"] * 4
    assert [one["allowed"] for one in told] == [False, True, False, True]
    assert [one["profile"] for one in told] == ["a-one", "b", "a-one", "b"]
    assert [(one.get("request"), one.get("lead")) for one in told[:2]] == [(7, "%3"), (None, None)]


BAD = [
    ("neither profile nor auto", '{"type":"spawn"}'),
    ("both profile and auto", '{"type":"spawn","profile":"b","auto":true}'),
    ("an unknown policy", '{"type":"spawn","auto":true,"policy":"random"}'),
    ("a later version", '{"type":"spawn","v":2,"profile":"b"}'),
]


@pytest.mark.parametrize("line", [row[1] for row in BAD], ids=[row[0] for row in BAD])
def test_a_request_that_cannot_be_answered_is_a_bad_line(fleet: Desk, line: str) -> None:
    done = fleet.run("gate", stdin=f'{line}\n{{"type":"spawn","profile":"b"}}\n')
    assert (done.status, [one["profile"] for one in done.records]) == (65, ["b"])
    assert done.said.startswith("fleet-gate: stdin:1: ")


def test_a_store_that_cannot_be_reached_is_69_or_allowed_when_asked_to_fail_open(fleet: Desk) -> None:
    state = ("--state", f"sqlite:{fleet.folder}")
    for args, stdin in ((("--profile", "b"), ""), (("--auto",), ""), ((), '{"type":"spawn","profile":"b"}\n')):
        closed = fleet.run("gate", *args, *state, stdin=stdin)
        assert (closed.status, closed.records) == (69, []), closed
        opened = fleet.run("gate", *args, *state, "--fail-open", stdin=stdin)
        assert opened.status == 0, opened
        assert "allowed by --fail-open, the store cannot be reached" in opened.records[0]["reason"]
    unknown = fleet.run("gate", "--profile", "c", *state, "--fail-open")
    assert (unknown.status, unknown.records[0]["allowed"]) == (78, False)


USAGE = [
    ("a profile and any", ("--profile", "b", "--auto"), 2),
    ("a profile and a file", ("--profile", "b", "x.jsonl"), 2),
    ("any and a file", ("--auto", "x.jsonl"), 2),
    ("a policy that is none", ("--auto", "--policy", "random"), 2),
    ("a profile that is no name", ("--profile", "../b"), 78),
    ("an empty profile", ("--profile", ""), 78),
]


@pytest.mark.parametrize(("args", "status"), [row[1:] for row in USAGE], ids=[row[0] for row in USAGE])
def test_what_cannot_be_meant_is_refused(fleet: Desk, args: tuple[str, ...], status: int) -> None:
    done = fleet.run("gate", *args)
    assert (done.status, done.records, done.said.count("\n")) == (status, [], 1), done


def used(desk: Desk, percent: float, number: int, resets: str) -> list[dict]:
    """What resolve and correlate make of a status line that says this of team-a's five hours."""
    seat = {"server": "h:/s:1", "target": "%1"}
    window = {"window": "five_hour", "usedPercent": percent, "resetsAt": resets}
    look = {
        "type": "verdict",
        "ts": stamp(desk.now_ms),
        "profile": "a-one",
        "role": "member",
        "outcome": "idle",
        **seat,
    }
    said = {"type": "signal", "ts": stamp(desk.now_ms), "id": f"u{number}", "source": "statusline", "said": "usage"}
    made = desk.pipe([look, said | seat | {"usage": [window]}], "resolve", "correlate")
    return [record for record in made if record["type"] == "nearly"]


def test_a_plan_that_is_nearly_used_up_is_said_once_a_level_and_kept_partly_free(fleet: Desk) -> None:
    """From the agent's own word to the gate, and back by time alone."""
    resets = stamp(fleet.now_ms + 3_600_000)
    (fleet.folder / "fleetd.yaml").write_text(CONFIG + "placement: {leaveFree: 5}\n")
    said = [
        [one["usedPercent"] for one in used(fleet, percent, n, resets)]
        for n, percent in enumerate((79, 80, 81, 96, 97))
    ]
    assert said == [[], [80], [], [96], []]
    decision = asked(fleet, "--profile", "a-two", status=75)
    assert decision["reason"].endswith(
        "credential team-a has used 97 % of its five_hour window, 5 % stay free; it resets in 3600 s"
    )
    assert asked(fleet, "--auto", status=0)["profile"] == "b"
    fleet.now_ms += 3_600_000
    asked(fleet, "--profile", "a-two", status=0)
    asked(fleet, "--auto", status=0)


def test_a_profile_in_a_file_s_place_gets_the_option_as_a_hint(fleet: Desk) -> None:
    done = fleet.run("gate", "b")
    assert (done.status, done.records) == (2, [])
    assert done.said.startswith("fleet-gate: no file b; to ask for the profile of that name: --profile b")
    (fleet.folder / "b").write_text('{"type": "spawn", "profile": "b"}\n')
    assert fleet.run("gate", "b").records[0]["allowed"]
    done = fleet.run("gate", "nobody")
    assert (done.status, "nobody: No such file" in done.said) == (65, True)
