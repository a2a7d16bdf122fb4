"""fleet-correlate: what goes in comes out, and what the credential policy says comes after it, once."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleettools import records

CORRELATE = [sys.executable, "-m", "fleettools.commands.correlate"]
T0 = 1_767_225_600_000


def verdict(outcome: str, at: float, pane: int, profile: str | None = "a", **more: Any) -> bytes:
    fields = {"type": "verdict", "ts": records.to_ts(T0 + round(at * 1000)), "server": "h:/s:1", "target": f"%{pane}"}
    fields |= {"outcome": outcome, "event": f"e{pane}@{at}", "profile": profile, "lead": "%9"} | more
    return json.dumps({key: value for key, value in fields.items() if value is not None}).encode() + b"\n"


@pytest.fixture(name="env")
def _env(tmp_path: Path) -> dict[str, str]:
    kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH") if key in os.environ}
    return kept | {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}


def run(env: dict[str, str], data: bytes, *args: str) -> tuple[int, list[dict[str, Any]], str, bytes]:
    done = subprocess.run([*CORRELATE, *args], input=data, capture_output=True, timeout=60, env=env, cwd=env["HOME"])
    made = [json.loads(line) for line in done.stdout.splitlines() if line.strip().startswith(b"{")]
    return (
        done.returncode,
        [one for one in made if one.get("type") not in ("verdict", "x")],
        done.stderr.decode(),
        done.stdout,
    )


def kinds(made: list[dict[str, Any]]) -> list[str]:
    """The types of what was made, less the ends: of a stored stream all periods end."""
    return [one["type"] for one in made if one["type"] != "ended"]


OUTAGE = [verdict("backend_error", 0, 1), verdict("backend_error", 60, 2)]


def test_two_errors_within_the_window_are_one_incident_after_the_second(env: dict[str, str]) -> None:
    status, made, said, out = run(env, b"".join(OUTAGE))
    assert (status, said) == (0, "")
    lines = out.splitlines(keepends=True)
    assert lines[:2] == OUTAGE and len(lines) == 3
    (incident,) = made
    assert incident["type"] == "incident" and next(iter(incident)) == "type"
    assert incident["ts"] == "2026-01-01T00:01:00.000Z"
    assert incident["targets"] == [{"server": "h:/s:1", "target": "%1"}, {"server": "h:/s:1", "target": "%2"}]
    assert incident["leads"] == [{"server": "h:/s:1", "target": "%9"}]
    assert (incident["credentialId"], incident["profiles"]) == ("a", ["a"])
    assert (incident["windowSeconds"], incident["coolingOffForSeconds"]) == (60, 60)


def test_what_it_does_not_know_passes_byte_for_byte(env: dict[str, str]) -> None:
    data = b'{"type":"x",  "n": 1}\n\n{ "b":2,"type":"tmux","server":"s","state":"up"}\n' + OUTAGE[0][:-1]
    assert run(env, data)[3] == data


@pytest.mark.parametrize(
    ("args", "data", "expected"),
    [
        ([], [verdict("backend_error", 0, 1), verdict("backend_error", 60.001, 2)], []),
        (["--window", "60.001"], [verdict("backend_error", 0, 1), verdict("backend_error", 60.001, 2)], ["incident"]),
        (["--threshold", "3"], OUTAGE, []),
        (["--threshold", "1"], OUTAGE[:1], ["incident"]),
        (["--cool-off", "1"], [*OUTAGE, *(verdict("backend_error", 62 + n, 3 + n) for n in (0, 1))], ["incident"] * 2),
        ([], [*OUTAGE, *(verdict("backend_error", 62 + n, 3 + n) for n in (0, 1))], ["incident"]),
        ([], [verdict("exhausted", 0, 1)], ["quarantine"]),
        ([], [verdict("backend_error", 0, 1), verdict("backend_error", 1, 2, profile="b")], []),
        ([], [line.replace(b'"outcome"', b'"resolved":false,"outcome"') for line in OUTAGE], []),
        ([], [line.replace(b'"outcome"', b'"role":"lead","outcome"') for line in OUTAGE], []),
        ([], [line.replace(b'"outcome"', b'"resolved":true,"outcome"') for line in OUTAGE], ["incident"]),
    ],
    ids=[
        "too far apart", "a wider window", "a higher threshold", "threshold one", "a shorter cool-off",
        "in the cool-off", "exhaustion", "two credentials", "settled by something else", "leads", "resolved",
    ],
)  # fmt: skip
def test_the_rules_hold_end_to_end(
    env: dict[str, str], args: list[str], data: list[bytes], expected: list[str]
) -> None:
    status, made, _, _ = run(env, b"".join(data), "--state", "memory:", *args)
    assert (status, kinds(made)) == (0, expected)


def test_a_stored_day_gives_the_same_bytes_every_time(env: dict[str, str], tmp_path: Path) -> None:
    day = tmp_path / "day.jsonl"
    day.write_bytes(b"".join([*OUTAGE, verdict("exhausted", 70, 3, resetsAt="2026-01-01T05:00:00+01:00"), *OUTAGE]))
    first, second = (run(env, b"", "--state", "memory:", str(day)) for _ in range(2))
    assert first == second
    assert kinds(first[1]) == ["incident", "quarantine"]
    assert first[1][1]["until"] == "2026-01-01T04:00:00.000Z" and first[1][1]["source"] == "resetsAt"


def test_its_own_output_fed_back_raises_nothing_again(env: dict[str, str]) -> None:
    out = run(env, b"".join(OUTAGE))[3]
    assert run(env, out)[3] == out


@pytest.mark.parametrize(
    ("before", "rolled", "expected"),
    [([], True, []), ([], False, ["quarantine"]), ([verdict("working", 0, 1)], True, ["quarantine"])],
    ids=["first look", "first look, no doubt", "it was watched"],
)
def test_a_time_of_day_that_had_passed_at_the_first_look_gives_no_quarantine(
    env: dict[str, str], before: list[bytes], rolled: bool, expected: list[str]
) -> None:
    last = verdict("exhausted", 5, 1, resetsAt="2026-01-01T20:00:00Z", rolled=rolled)
    assert kinds(run(env, b"".join([*before, last]), "--state", "memory:")[1]) == expected


CONFIG = """
profiles:
  one: {agent: claude, credentialId: team}
  two: {agent: codex, credentialId: team}
  own: {agent: codex}
outage: {threshold: 2, windowSeconds: 10, coolOffSeconds: 5, countRetriesFrom: 3, ignoreCauses: [auth]}
quarantineCooldownSeconds: 7
"""


@pytest.fixture(name="configured")
def _configured(env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    (tmp_path / "fleetd.yaml").write_text(CONFIG)
    return env


def test_profiles_of_one_credential_count_together_by_the_configured_numbers(configured: dict[str, str]) -> None:
    data = [
        verdict("backend_error", 0, 1, profile="one", cause="auth"),
        verdict("retrying", 1, 2, profile="two", attempt=3),
        verdict("backend_error", 11, 3, profile="one", cause="context"),
        verdict("exhausted", 11, 4, profile="own"),
    ]
    _, made, _, _ = run(configured, b"".join(data))
    assert kinds(made) == ["incident", "quarantine"]
    assert made[0]["credentialId"] == "team" and made[0]["profiles"] == ["one", "two"]
    assert (made[0]["windowSeconds"], made[0]["coolingOffForSeconds"]) == (10, 5)
    assert made[1]["credentialId"] == "own" and made[1]["quarantinedForSeconds"] == 7


def test_a_counted_retrying_turn_that_then_fails_is_one_event(env: dict[str, str]) -> None:
    turn = {"event": "turn-1"}
    data = [verdict("retrying", n, 1, attempt=n, **turn) for n in (3, 4, 5, 6)] + [
        verdict("backend_error", 9, 1, **turn)
    ]
    assert run(env, b"".join(data))[1] == []
    assert kinds(run(env, verdict("backend_error", 20, 2))[1]) == ["incident"]


def test_evidence_of_an_unknown_profile_is_said_once_and_told_to_its_lead(configured: dict[str, str]) -> None:
    data = [verdict("backend_error", n, 1, profile="strange", event="e1", boot="b", up=5.5) for n in (0, 1)]
    status, made, said, _ = run(configured, b"".join(data))
    assert status == 0 and len(made) == 1
    assert made[0] == {
        "type": "unmapped", "v": 1, "ts": "2026-01-01T00:00:00.000Z", "boot": "b", "up": 5.5, "id": "unmapped:e1",
        "event": "e1", "server": "h:/s:1", "target": "%1", "profile": "strange", "lead": "%9",
        "reason": "profile strange is not configured; add it under profiles: in fleetd.yaml",
    }  # fmt: skip
    assert said.startswith("fleet-correlate: h:/s:1 %1: backend_error counts for no credential: profile strange")
    assert said.count("\n") == 1 and "WARN" not in said


def test_without_a_lead_a_warning_names_target_and_reason(configured: dict[str, str]) -> None:
    _, made, said, _ = run(configured, verdict("exhausted", 0, 1, profile="strange", lead=None))
    assert kinds(made) == ["unmapped"] and "lead" not in made[0]
    (warning,) = [line for line in said.splitlines() if "WARN" in line]
    assert "%1" in warning and "profile strange is not configured" in warning


@pytest.mark.parametrize("profile", [None, "", "../../etc", "a/b", "a\u202eb\x1b[2J", "x" * 65])
def test_without_a_config_a_name_that_is_none_never_becomes_a_key(
    env: dict[str, str], tmp_path: Path, profile: str | None
) -> None:
    _, made, said, _ = run(env, verdict("backend_error", 0, 1, profile=profile))
    assert kinds(made) == ["unmapped"]
    assert "\x1b" not in said and "\u202e" not in said
    with sqlite3.connect(tmp_path / "fleettools" / "state.db") as store:
        assert store.execute("SELECT count(*) FROM fleet_state").fetchone() == (0,)


def test_an_unmapped_error_is_no_more_said_when_it_is_older_than_the_window(configured: dict[str, str]) -> None:
    for seconds, said in ((10, ["unmapped"]), (11, [])):
        seen = json.loads(verdict("backend_error", seconds, 1, profile="strange")) | {"at": records.to_ts(T0)}
        assert kinds(run(configured, json.dumps(seen).encode())[1]) == said


@pytest.mark.parametrize("outcome", ["completed", "failed", "working", "idle", "blocked", "stale"])
def test_what_is_no_evidence_is_never_unmapped(configured: dict[str, str], outcome: str) -> None:
    assert run(configured, verdict(outcome, 0, 1, profile="strange"))[1:3] == ([], "")


@pytest.mark.parametrize(
    "bad",
    [
        b'{"type":"verdict"}\n',
        b'{"type":"verdict","ts":"2026-01-01T00:00:00Z","outcome":"sad"}\n',
        verdict("exhausted", 0, 1, resetsAt="2026-02-30T00:00:00Z"),
        verdict("exhausted", 0, 1, v=2),
        b'{"type":"verdict",\n',
    ],
)
def test_a_bad_verdict_is_said_and_the_rest_goes_on(env: dict[str, str], bad: bytes) -> None:
    status, made, said, out = run(env, OUTAGE[0] + bad + OUTAGE[1])
    assert (status, kinds(made)) == (65, ["incident"])
    assert said.startswith("fleet-correlate: stdin:2: ") and said.count("\n") == 1
    assert bad not in out


@pytest.mark.parametrize(
    "args", [["--threshold", "0"], ["--window", "nan"], ["--window", "-1"], ["--cool-off", "inf"], ["--cool-off", "x"]]
)
def test_numbers_that_make_no_sense_are_mistakes_of_usage(env: dict[str, str], args: list[str]) -> None:
    assert run(env, b"", *args)[0] == 2


def test_a_store_that_cannot_be_opened_is_69(env: dict[str, str]) -> None:
    status, _, said, _ = run(env, b"", "--state", "/proc/none/state.db")
    assert status == 69 and said == (
        "fleet-correlate: /proc/none: No such file or directory; mend that, or use another --state\n"
    )


def test_several_processes_on_one_store_raise_one_incident_for_one_crossing(env: dict[str, str]) -> None:
    rounds = 25
    data = b"".join(verdict("backend_error", 1000 * n + m, m) for n in range(rounds) for m in (1, 2, 3))
    started = [
        subprocess.Popen(CORRELATE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=env["HOME"])
        for _ in range(4)
    ]
    outs: list[bytes] = []
    threads = [
        threading.Thread(target=lambda p: outs.append(p.communicate(data, timeout=90)[0]), args=(p,)) for p in started
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.returncode for process in started] == [0] * 4
    lines = [line for out in outs for line in out.splitlines()]
    ids = [json.loads(line)["id"] for line in lines if line.startswith(b'{"type":"incident"')]
    alone = [one["id"] for one in run(env, data, "--state", "memory:")[1] if one["type"] == "incident"]
    assert len(alone) == rounds and sorted(ids) == sorted(alone)


@pytest.fixture(name="reader")
def _reader(env: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        CORRELATE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=env["HOME"],
        bufsize=0,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_record_never_waits(reader: "subprocess.Popen[bytes]") -> None:
    assert reader.stdin and reader.stdout
    for line in OUTAGE:
        reader.stdin.write(line)
        assert reader.stdout.readline() == line
    assert json.loads(reader.stdout.readline())["type"] == "incident"


# Stops dead where a crash would hurt most: after the commit, before a byte is written.
CRASHING = """
import os, signal, sys
from fleettools.commands import correlate
from fleettools.services import announcer, correlator
def crash(self, key, line):
    os.kill(os.getpid(), signal.SIGKILL)
    yield b""
announcer.Announcer.said = crash
sys.argv[0] = "fleet-correlate"
correlate.main()
"""


def crash(env: dict[str, str]) -> None:
    command = [sys.executable, "-c", CRASHING]
    done = subprocess.run(command, input=b"".join(OUTAGE), capture_output=True, timeout=60, env=env, cwd=env["HOME"])
    assert done.returncode == -signal.SIGKILL and b"incident" not in done.stdout


def test_what_was_committed_is_said_by_the_next_run_with_the_same_bytes(env: dict[str, str]) -> None:
    fixed = env | {"FLEET_NOW": "2026-01-01T00:01:00Z"}
    crash(fixed)
    meant = run(env, b"".join(OUTAGE), "--state", "memory:")[3].splitlines(keepends=True)[-2]
    # Another process may still be about to write it.
    assert run(env | {"FLEET_NOW": "2026-01-01T00:01:09.999Z"}, b"")[3] == b""
    assert run(env | {"FLEET_NOW": "2026-01-01T00:01:10Z"}, b"")[3] == meant
    # And once it is said, it is said.
    assert run(env | {"FLEET_NOW": "2026-01-01T02:00:00Z"}, b"".join(OUTAGE))[1] == []


def test_a_fleetd_s_correlate_first_writes_what_that_has_not_printed(env: dict[str, str], tmp_path: Path) -> None:
    """Of its own panes, the same bytes, at most ten minutes old; nothing that it has printed."""
    from fleettools.adapters.sqlite import SqliteStore
    from fleettools.policy import heartbeat
    from fleettools.services.store import change

    meant = run(env | {"FLEET_NOW": "2026-01-01T00:01:00Z"}, b"".join(OUTAGE))[3].splitlines(keepends=True)[-1]
    assert meant.startswith(b'{"type":"incident"')
    soon = env | {"FLEET_NOW": "2026-01-01T00:01:59Z"}
    for _ in range(2):  # written into a pipe that breaks, it is written again
        assert run(soon, b"", "--daemon", "h:/s")[3] == meant
    assert [run(soon, b"", *args)[3] for args in (("--daemon", "h:/o"), ("--daemon", "g:/s"), ())] == [b"", b"", b""]
    with_mark = heartbeat.printed(None, [heartbeat.mark(meant)], T0)
    store = SqliteStore(str(tmp_path / "fleettools" / "state.db"), print)
    change(store, heartbeat.daemon_key("h:/s"), heartbeat.DaemonState, lambda _: (with_mark, None))
    store.close()
    assert run(soon, b"", "--daemon", "h:/s")[3] == b""
    later = run(env | {"FLEET_NOW": "2026-01-01T00:10:59Z"}, b"", "--daemon", "h:/other")[1]
    assert [one["type"] for one in later] == ["ended"]
    assert run(env | {"FLEET_NOW": "2026-01-01T00:11:00.001Z"}, b"", "--daemon", "h:/s")[1] == later


def test_a_reader_that_is_gone_leaves_the_incident_to_the_next_run(env: dict[str, str]) -> None:
    fixed = env | {"FLEET_NOW": "2026-01-01T00:01:00Z"}
    reading, writing = os.pipe()
    process = subprocess.Popen(CORRELATE, stdin=subprocess.PIPE, stdout=writing, env=fixed, cwd=env["HOME"])
    os.close(writing)
    os.close(reading)
    process.communicate(b"".join(OUTAGE), timeout=60)
    assert process.returncode == -signal.SIGPIPE
    made = run(env | {"FLEET_NOW": "2026-01-01T00:02:00Z"}, b"")[1]
    assert [one["type"] for one in made] == ["incident", "ended"]


@pytest.mark.parametrize("busy", [False, True], ids=["quiet", "busy"])
def test_what_stands_unannounced_is_looked_for_whether_the_input_is(env: dict[str, str], busy: bool) -> None:
    script = CRASHING.replace("announcer.Announcer.said = crash", "correlator.TICK = 0.05")
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
    process = subprocess.Popen([sys.executable, "-c", script], env=env, cwd=env["HOME"], **piped)  # type: ignore[call-overload]
    stop = threading.Event()

    def talk() -> None:
        while busy and not stop.wait(0.005):
            process.stdin.write(b'{"type":"x"}\n')

    talker = threading.Thread(target=talk)
    talker.start()
    try:
        crashed = env | {"FLEET_NOW": "2026-01-01T00:01:00Z"}
        crash(crashed)
        said = iter(process.stdout.readline, b"")
        assert next(line for line in said if b'"x"' not in line).startswith(b'{"type":"incident"')
    finally:
        stop.set()
        talker.join()
        process.kill()
        process.communicate()


def test_a_store_that_is_locked_for_a_while_loses_no_evidence(env: dict[str, str], tmp_path: Path) -> None:
    run(env, b"")
    holder = sqlite3.connect(tmp_path / "fleettools" / "state.db", isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(2.0, holder.execute, ["COMMIT"])
    timer.start()
    try:
        assert kinds(run(env, b"".join(OUTAGE))[1]) == ["incident"]
    finally:
        timer.join()
        holder.close()


def test_a_store_that_stays_locked_ends_it_with_69_after_what_came_before(env: dict[str, str], tmp_path: Path) -> None:
    run(env, b"")
    holder = sqlite3.connect(tmp_path / "fleettools" / "state.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    begun = time.monotonic()
    before = b'{"type":"x"}\n'
    status, _, said, out = run(env, before + OUTAGE[0])
    assert time.monotonic() - begun > 4
    holder.close()
    assert (status, out) == (69, before)
    assert "locked by another process" in said and said.count("\n") == 1
