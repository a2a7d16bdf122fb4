"""The samples work as they stand: each script, cron line and unit is run or read by what it is made for."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sandbox import ROOT, Sandbox, sandbox, wait_for

from fleettools.adapters import agentfiles

SAMPLES = ROOT / "samples"
PIPELINES = SAMPLES / "pipelines"


@pytest.fixture(scope="module")
def fleet() -> Iterator[Sandbox]:
    with sandbox() as box:
        yield box


# -- alerts


@pytest.mark.parametrize(("kind", "type"), [("incident", "failure"), ("nearly", "warning"), ("ended", "success")])
def test_an_alert_goes_through_apprise(tmp_path: Path, kind: str, type: str) -> None:
    """By its options of today (2.3 was tried): what it is told stands in its arguments."""
    fake = tmp_path / "apprise"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nexit 3\n')
    fake.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "FLEET_KIND": kind, "FLEET_HOST": "h", "FLEET_TEXT": "it's $(so)"}
    done = subprocess.run(["sh", SAMPLES / "alert-apprise.sh"], env=env, capture_output=True, text=True, check=False)
    said = done.stdout.splitlines()
    assert said == ["--notification-type", type, "--title", f"fleet: {kind} on h", "--body", "it's $(so)"]
    assert done.returncode == 3


# -- pipelines


@pytest.mark.parametrize("script", sorted(PIPELINES.iterdir()), ids=lambda script: script.name)
def test_a_pipeline_is_a_sound_script_of_a_plain_shell(script: Path) -> None:
    assert script.read_text().startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0


@pytest.mark.parametrize("script", sorted(PIPELINES.iterdir()), ids=lambda script: script.name)
def test_a_pipeline_has_a_test_here(script: Path) -> None:
    assert f'PIPELINES / "{script.name}"' in Path(__file__).read_text()


def test_one_pane_shows_what_failed_and_ends_with_1(fleet: Sandbox) -> None:
    ended = fleet.run(str(PIPELINES / "one-pane.sh"), "%3", "claude")
    assert ended.status == 1, ended
    assert ended.out.startswith("backend_error: ")
    assert "API Error: 500" in ended.out


def test_one_pane_ends_with_0_when_nothing_failed(fleet: Sandbox) -> None:
    ended = fleet.run(str(PIPELINES / "one-pane.sh"), "%1")
    assert (ended.status, ended.out.partition(":")[0]) == (0, "idle"), ended


def test_one_pane_ends_with_69_when_there_is_no_such_pane(fleet: Sandbox) -> None:
    ended = fleet.run(str(PIPELINES / "one-pane.sh"), "%99")
    assert (ended.status, ended.out) == (69, ""), ended


def test_a_stored_day_gives_the_same_incidents_every_time(fleet: Sandbox) -> None:
    runs = [fleet.run(str(PIPELINES / "replay-day.sh"), "day.jsonl") for _ in range(2)]
    assert {(run.status, run.out) for run in runs} == {(0, "2026-01-31T09:15:40.000Z\tincident\tteam-a\tapi docs\n")}


def test_a_stored_day_can_be_tried_with_other_rules(fleet: Sandbox) -> None:
    ended = fleet.run(str(PIPELINES / "replay-day.sh"), "day.jsonl", "--threshold", "1")
    assert [line.split("\t")[2] for line in ended.out.splitlines()] == ["team-a", "team-b"], ended


def test_the_whole_pipe_keeps_a_copy_of_what_it_judged(fleet: Sandbox) -> None:
    folder = fleet.work / "kept"
    folder.mkdir()
    script = PIPELINES / "keep-day.sh"
    process = subprocess.Popen(
        ["timeout", "90", script, folder], env=fleet.env, cwd=fleet.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        wait_for(lambda: b'"backend_error"' in b"".join(file.read_bytes() for file in folder.iterdir()), "a verdict")
        assert process.poll() is None
    finally:
        process.terminate()
        out, err = process.communicate(timeout=60)
    (day,) = folder.iterdir()
    kept = [json.loads(line) for line in day.read_text().splitlines()]
    assert {record["outcome"] for record in kept if record.get("name") == "tests"} == {"backend_error"}, (out, err)


def test_the_whole_pipe_does_not_start_without_a_place_for_its_copy(fleet: Sandbox) -> None:
    ended = fleet.run("timeout", "20", str(PIPELINES / "keep-day.sh"), "missing")
    assert ended.status not in (0, 124) and not ended.out, ended


@pytest.mark.parametrize(
    "cool_off, slept",
    [
        pytest.param(50, range(1, 51), id="for the seconds that remain"),
        pytest.param(5000, range(60, 61), id="but never longer than a minute at once"),
    ],
)
def test_when_free_sleeps_until_the_gate_opens(cool_off: int, slept: range) -> None:
    """The sleep is one that lifts the cool-off, so that no test has to wait for it."""
    with sandbox(panes=False) as box:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        verdicts = re.sub(r"2026-01-31T09:15:\d\d\.000Z", now, (box.work / "day.jsonl").read_text())
        pipe = box.run("fleet-correlate", "--cool-off", str(cool_off), stdin=verdicts)
        assert '"incident"' in pipe.out, pipe
        sleep = box.folder / "bin" / "sleep"
        sleep.write_text('#!/bin/sh\necho "$1" >> slept\nfleet-release --credential team-a > /dev/null 2>&1\n')
        sleep.chmod(0o755)
        ended = box.run(str(PIPELINES / "when-free.sh"), "claude-a", "echo", "started", "one more")
        assert (ended.status, ended.out) == (0, "started one more\n"), ended
        assert [int(seconds) in slept for seconds in (box.work / "slept").read_text().split()] == [True]


def test_when_free_gives_up_where_waiting_would_not_help(fleet: Sandbox) -> None:
    env = {"FLEET_CONFIG": "missing.yaml"}
    ended = fleet.run(str(PIPELINES / "when-free.sh"), "claude-a", "echo", "started", env=env)
    assert (ended.status, ended.out) == (78, ""), ended


def test_the_lines_that_tell_agents_of_the_tools_are_those_of_their_files() -> None:
    lines = [line for line in (SAMPLES / "mcp").read_text().splitlines() if line and not line.startswith("#")]
    looks = [look for look in map(agentfiles.load, agentfiles.names()) if look and look.mcp]
    assert sorted(lines) == sorted(shlex.join([*look.mcp, "fleettools-mcp"]) for look in looks)


def test_every_sample_is_installed_but_the_screens() -> None:
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    installed = {source: place for source, place in hatch["shared-data"].items() if source.startswith("samples/")}
    there = {f"samples/{path.name}" for path in SAMPLES.iterdir()} - {"samples/screens"}
    assert installed == {source: f"share/fleettools/{source}" for source in there}


# -- cron


def cron_lines() -> tuple[dict[str, str], list[str]]:
    """The settings of the crontab, and its commands."""
    lines = [line for line in (SAMPLES / "crontab").read_text().splitlines() if line and not line.startswith("#")]
    settings = dict(line.split("=", 1) for line in lines if re.match(r"[A-Z_]+=", line))
    commands = [line.split(maxsplit=5) for line in lines if not re.match(r"[A-Z_]+=", line)]
    assert all(len(words) == 6 and re.fullmatch(r"[\d*/,-]+", "".join(words[:5])) for words in commands)
    # cron takes the first % that is not escaped for the end of the command.
    assert not any("%" in words[5] for words in commands)
    return settings, [words[5] for words in commands]


@pytest.mark.parametrize("command", cron_lines()[1])
def test_a_cron_line_runs_with_the_little_that_cron_gives_it(fleet: Sandbox, command: str) -> None:
    env = {key: fleet.env[key] for key in ("HOME", "TMUX_TMPDIR", "FLEET_STATE")} | {
        "SHELL": "/bin/sh",
        "LOGNAME": "me",
    }
    env["PATH"] = f"{ROOT}/bin:{cron_lines()[0]['PATH']}"
    words = [f"{key}={value}" for key, value in env.items()]
    ended = fleet.run("env", "-i", *words, "sh", "-c", command)
    assert (ended.status, ended.err) == (0, ""), ended


# -- systemd


def unit() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(SAMPLES / "fleetd.service")
    assert parser.sections() == ["Unit", "Service", "Install"]
    return parser["Service"]


def test_the_unit_starts_fleetd_with_options_that_it_has(fleet: Sandbox) -> None:
    for key in ("ExecStartPre", "ExecStart"):
        program, *words = shlex.split(unit()[key])
        assert Path(program).name == "fleetd"
        assert fleet.run("fleetd", *words, "--help").status == 0
    assert unit()["Type"] == "notify"


def test_the_unit_does_not_restart_what_cannot_run(fleet: Sandbox) -> None:
    ended = fleet.run("fleetd", "run", "-c", "missing.yaml")
    assert str(ended.status) in unit()["RestartPreventExitStatus"].split(), ended


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_has_nothing_to_say_about_the_unit(tmp_path: Path) -> None:
    program = tmp_path / ".local" / "bin" / "fleetd"
    program.parent.mkdir(parents=True)
    program.symlink_to(ROOT / "bin" / "fleetd")
    service = tmp_path / "fleetd.service"
    service.write_text((SAMPLES / "fleetd.service").read_text().replace("%h", str(tmp_path)))
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path)}
    command = ["systemd-analyze", "verify", "--user", "--man=no", str(service)]
    verified = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert "fleetd.service" not in verified.stdout + verified.stderr


# -- the guide


def test_the_guide_for_leads_is_short_enough_to_paste() -> None:
    text = (SAMPLES / "lead-guide.md").read_text()
    assert len(text) < 4500
    assert len(text.splitlines()) < 60


def test_the_commands_of_the_guide_run(fleet: Sandbox) -> None:
    """Each as it stands, but for the member's pane; a gate or a ticket that says `not now` has answered."""
    text = (SAMPLES / "lead-guide.md").read_text().replace("%12", "%1")
    commands = re.findall(r"^    (\S.*?)(?:  +#.*)?$", text, re.M)
    assert len(commands) >= 6
    for command in commands:
        ended = fleet.run("bash", "-o", "pipefail", "-c", command)
        assert ended.status in (0, 75), f"{command}\n{ended}"


def test_the_guide_explains_what_notices_say() -> None:
    from fleettools.policy.notices import nudge
    from fleettools.records import NoticeItem

    said = [
        NoticeItem(kind="incident", credential="team-a", until_ms=60_000),
        NoticeItem(kind="quarantine", credential="team-a", until_ms=60_000),
        NoticeItem(kind="unmapped", profiles=["odd"]),
        NoticeItem(kind="unmapped"),
        NoticeItem(kind="ticket", ticket="t-1", outcome="completed"),
        NoticeItem(kind="blocked", workers=["api"]),
    ]
    texts = [nudge.notice("tok", [nudge.Told(about)], 0, 400) for about in said]
    texts.append(nudge.notice("tok", [nudge.Told(said[0], over=True)], 0, 400))
    guide = (SAMPLES / "lead-guide.md").read_text()
    explained = re.findall(r"^\| `(.*?)` \|", guide, re.M)
    assert "`fleet notice`" in guide and all(text.startswith("fleet notice ") for text in texts)
    # N and T stand for a number and a ticket, the dots for whatever follows.
    patterns = [re.escape(phrase.removesuffix("...")).replace("N", r"\d+").replace("T", r"\S+") for phrase in explained]
    for text in texts:
        assert sum(bool(re.search(pattern, text)) for pattern in patterns) == 1, text
