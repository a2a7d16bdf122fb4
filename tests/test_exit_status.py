"""The table of exit statuses in fleettools(7): a test per command and status."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

STREAM = b'{"type":"x"}\n'
FILTERS = ("fleet-classify", "fleet-resolve", "fleet-correlate", "fleet-gate", "fleet-notify")
HOOK = '{"hook_event_name": "StopFailure", "error": "rate_limit", "error_details": "slow down"}'
CALLS = {
    "fleet-scrape": [], "fleet-classify": [], "fleet-resolve": [], "fleet-correlate": [], "fleet-notify": [],
    "fleet-gate": ["--profile", "a"], "fleet-spawn": ["a"], "fleet-send": ["%1"], "fleet-reply": ["t-1"],
    "fleet-collect": ["t-1"], "fleet-release": ["%1"], "fleet-list": [], "fleet-profiles": [], "fleetd": ["--once"],
    "fleet-replay": ["."], "fleet-timeline": [], "fleet-hook": ["--agent", "claude", HOOK],
    "fleet-resume": ["--wait", "0"], "fleet-health": [],
}  # fmt: skip
STORELESS = {"fleet-classify", "fleet-health", "fleet-hook", "fleet-replay", "fleet-scrape", "fleet-timeline"}
STORED = sorted(set(CALLS) - STORELESS)
VERDICT = b'{"type":"verdict","ts":"2026-01-31T12:00:00.000Z","outcome":"completed","server":"h:/s:1","target":"%1"}\n'
SPAWN = b'{"type":"spawn","profile":"a"}\n'
INCIDENT = b'{"type":"incident","ts":"2026-01-31T12:00:00.000Z","id":"i","credentialId":"c","windowSeconds":60,'
INCIDENT += b'"coolingOffForSeconds":60}\n'
CONSUMED = dict(zip(FILTERS, (b'{"type":"pane","text":""}\n', VERDICT, VERDICT, SPAWN, INCIDENT), strict=True))


def call(program: str, *args: str) -> list[str]:
    return [sys.executable, "-P", "-m", f"fleettools.commands.{program.removeprefix('fleet-')}", *args]


@pytest.fixture(name="env")
def _env(tmp_path: Path) -> dict[str, str]:
    """Nobody's home, no tmux server, a store of its own."""
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TMUX_TMPDIR": str(tmp_path), "LC_ALL": "C.UTF-8"}
    return env | {"FLEET_STATE": str(tmp_path / "state/state.db")}


def run(env: dict[str, str], command: list[str], data: bytes = b"work\n", **extra: object) -> tuple[int, str]:
    """The status, and what was said on standard error."""
    settings = {"stdout": subprocess.PIPE, **extra}
    done = subprocess.run(command, input=data, stderr=subprocess.PIPE, env=env, cwd=env["HOME"], timeout=60, **settings)  # type: ignore[call-overload]
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("program", CALLS)
@pytest.mark.parametrize("option", ["-h", "--help", "--version"])
def test_0_without_home_tmux_and_with_a_broken_configuration(program: str, option: str, tmp_path: Path) -> None:
    (tmp_path / "fleetd.yaml").write_text("nonsense: [")
    env = {"FLEET_CONFIG": str(tmp_path / "fleetd.yaml")}
    done = subprocess.run(call(program, option), capture_output=True, env=env, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().startswith(f"{program} " if option == "--version" else f"Usage: {program} ")


@pytest.mark.parametrize("program", FILTERS)
def test_0_for_a_sound_stream(program: str, env: dict[str, str]) -> None:
    assert run(env, call(program), STREAM) == (0, "")


@pytest.mark.parametrize("program", ["fleet-list", "fleet-profiles", "fleet-collect"])
def test_0_for_a_view_of_nothing(program: str, env: dict[str, str]) -> None:
    assert run(env, call(program)) == (0, "")


@pytest.mark.parametrize("program", ["fleet-release"])
def test_1_when_the_answer_is_no(program: str, env: dict[str, str]) -> None:
    status, said = run(env, call(program, *CALLS[program]))
    assert status == 1
    assert said.startswith(f"{program}: WARN ")


def test_1_when_a_screen_is_judged_wrongly(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude/backend_error--nothing.txt").write_text("❯ hello\n\n● Done.\n")
    assert run(env, call("fleet-replay", str(tmp_path)))[0] == 1


@pytest.mark.parametrize("program", sorted(CALLS.keys() - {"fleet-health"}))
def test_2_for_an_option_that_there_is_not(program: str, env: dict[str, str]) -> None:
    status, said = run(env, call(program, "--nonsense"))
    assert status == 2
    assert re.fullmatch(rf"{program}: No such option.*--nonsense.*; see {program} --help\n", said)


@pytest.mark.parametrize(
    "args", [["--nonsense"], ["-S", "a", "-L", "b"], ["--state", "sqlite:/dev/null/state.db"], ["-c", "missing.yaml"]]
)
def test_3_when_a_check_cannot_tell(args: list[str], env: dict[str, str]) -> None:
    assert run(env, call("fleet-health", *args))[0] == 3


@pytest.mark.parametrize("program", FILTERS)
def test_65_for_bad_input(program: str, env: dict[str, str]) -> None:
    status, said = run(env, call(program), b"nonsense\n")
    assert status == 65
    assert said.startswith(f"{program}: stdin:1: ")


@pytest.mark.parametrize("program", STORED)
def test_69_when_the_store_cannot_be_reached(program: str, env: dict[str, str]) -> None:
    status, said = run(env, call(program, *CALLS[program], "--state", "sqlite:/dev/null/state.db"))
    assert status == 69
    assert said.startswith(f"{program}: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("program", ["fleet-scrape"])
def test_69_without_a_tmux_server(program: str, env: dict[str, str]) -> None:
    status, said = run(env, call(program, *CALLS[program]))
    assert status == 69
    assert str(env["TMUX_TMPDIR"]) in said


@pytest.mark.parametrize("program", ["fleet-scrape", "fleetd"])
def test_69_without_tmux(program: str, env: dict[str, str], tmp_path: Path) -> None:
    status, said = run(env | {"PATH": str(tmp_path)}, call(program, *CALLS[program]))
    assert status == 69
    assert "tmux is not installed" in said


@pytest.mark.parametrize("program", CALLS)
def test_70_for_a_fault_of_ours(program: str, env: dict[str, str]) -> None:
    stem = program.removeprefix("fleet-")
    breaks = f"import fleettools.commands.{stem} as m\ndef fault(**_): raise KeyError('x')\nm.main.callback = fault\n"
    status, said = run(env, [sys.executable, "-c", f"{breaks}m.main()", *CALLS[program]])
    assert status == 70
    assert said.startswith(f"{program}: internal error: KeyError: 'x' at ")
    assert "Traceback" not in said


@pytest.mark.parametrize("program", [*FILTERS, "fleet-list", "fleet-profiles"])
def test_74_when_records_cannot_be_written(program: str, env: dict[str, str]) -> None:
    with open("/dev/full", "wb") as full:
        status, said = run(env, call(program), STREAM, stdout=full)
    assert status == 74
    assert "No space left on device" in said


@pytest.mark.parametrize("program", CALLS)
def test_74_when_help_cannot_be_written(program: str, env: dict[str, str]) -> None:
    with open("/dev/full", "wb") as full:
        assert run(env, call(program, "--help"), stdout=full)[0] == 74


@pytest.mark.parametrize("program", sorted(CALLS.keys() - {"fleet-health"}))
def test_78_for_a_bad_configuration(program: str, env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "fleetd.yaml").write_text("minTurnSeconds: soon")
    status, said = run(env | {"FLEET_STATE": ""}, call(program, *CALLS[program], "-c", "fleetd.yaml"))
    assert status == 78
    assert said == f"{program}: fleetd.yaml: minTurnSeconds: expected a number, got 'soon'; see fleetd.yaml(5)\n"


@pytest.mark.parametrize("program", FILTERS)
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_a_filter_dies_of_the_signal_after_the_record(program: str, signum: int, env: dict[str, str]) -> None:
    with subprocess.Popen(call(program), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdin and process.stdout
        process.stdin.write(STREAM)
        process.stdin.flush()
        assert process.stdout.readline() == STREAM
        process.send_signal(signum)
        assert process.wait(60) == -signum


@pytest.mark.parametrize("program", FILTERS)
def test_a_filter_whose_reader_is_gone_dies_of_it(program: str, env: dict[str, str]) -> None:
    with subprocess.Popen(call(program), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdin and process.stdout
        process.stdout.close()
        process.stdin.write(STREAM)
        process.stdin.flush()
        assert process.wait(60) == -signal.SIGPIPE


@pytest.mark.parametrize("program", CALLS)
def test_help_into_a_closed_pipe_is_died_of(program: str, env: dict[str, str]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        assert run(env, call(program, "--help"), stdout=write) == (-signal.SIGPIPE, "")
    finally:
        os.close(write)


LONG = b'{"type":"x","y":"' + b"y" * (20 << 20) + b'"}\n'
DEEP = b'{"type":"x","y":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"


@pytest.mark.parametrize("program", FILTERS)
@pytest.mark.parametrize(("bad", "says"), [(LONG, "over 16 MiB"), (DEEP, "nested")], ids=["20 MiB", "nesting"])
def test_a_line_without_end_is_65_and_its_neighbours_come_out(
    program: str, bad: bytes, says: str, env: dict[str, str]
) -> None:
    done = subprocess.run(call(program), input=STREAM + bad + STREAM, capture_output=True, env=env, timeout=60)
    assert (done.returncode, done.stdout) == (65, STREAM + STREAM)
    assert re.fullmatch(rf"{program}: stdin:2: .*{says}.*\n", done.stderr.decode())


@pytest.mark.parametrize("program", FILTERS)
def test_deep_nesting_in_a_record_it_consumes_is_65(program: str, env: dict[str, str]) -> None:
    record = CONSUMED[program].rstrip(b"}\n") + b',"y":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
    status, said = run(env, call(program), record)
    assert status == 65
    assert said.startswith(f"{program}: stdin:1: ")


@pytest.mark.parametrize("program", FILTERS)
def test_65_when_standard_input_is_closed_whatever_is_opened_meanwhile(program: str, env: dict[str, str]) -> None:
    command = " ".join(call(program)) + " <&-"
    status, said = run(env, ["sh", "-c", command])
    assert (status, "stdin: Bad file descriptor" in said, said.count("\n")) == (65, True, 1), said


@pytest.mark.parametrize("program", FILTERS)
def test_74_when_standard_output_is_closed_whatever_is_opened_meanwhile(program: str, env: dict[str, str]) -> None:
    command = " ".join(call(program)) + " >&-"
    status, said = run(env, ["sh", "-c", command], CONSUMED[program])
    assert status == 74, said


@pytest.mark.parametrize("program", FILTERS)
def test_a_closed_standard_error_changes_neither_output_nor_status(program: str, env: dict[str, str]) -> None:
    command = ["sh", "-c", " ".join(call(program)) + " 2>&-"]
    done = subprocess.run(command, input=STREAM + b"bad\n" + STREAM, stdout=subprocess.PIPE, env=env, timeout=60)
    assert (done.returncode, done.stdout) == (65, STREAM + STREAM)
