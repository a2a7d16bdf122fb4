"""`fleetd init`, `check` and `sample` as a new user meets them, with agents in real panes."""

import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from desk import Desk
from sandbox import CLAUDE

SAMPLES = Path(__file__).parents[2] / "samples"


def agent(desk: Desk, account: str) -> str:
    """A pane that runs an agent of that account; its id."""
    program = desk.folder / "bin" / "claude"
    if not program.exists():
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable}\n{CLAUDE.read_text()}")
        program.chmod(0o755)
    home = desk.folder / account
    home.mkdir(exist_ok=True)
    (home / ".claude.json").write_text(json.dumps({"oauthAccount": {"accountUuid": account}}))
    place = ["new-window"] if Path(desk.env["FLEET_TMUX_SOCKET"]).exists() else ["new-session", "-x", "110", "-y", "30"]
    env = ["-e", f"CLAUDE_CONFIG_DIR={home}", "-e", f"PYTHONPATH={Path(__file__).parents[2]}"]
    command = [str(program), str(desk.folder / "prompts"), "waits"]
    pane = desk.tmux(*place, "-d", "-P", "-F", "#{pane_id}", *env, "--", *command)
    desk.until(lambda: "for shortcuts" in desk.screen(pane))
    return pane


def fleetd(desk: Desk, *args: str, status: int = 0) -> str:
    process = desk.start("fleetd", *args, stdin=subprocess.DEVNULL, now=None)
    out, said = process.communicate(timeout=60)
    assert process.returncode == status, (out, said)
    return str(out if status == 0 else out + said)


def written(desk: Desk) -> Path:
    return Path(desk.env["XDG_CONFIG_HOME"]) / "fleettools" / "fleetd.yaml"


def test_init_shows_what_runs_and_writes_a_file_that_check_finds_well(desk: Desk) -> None:
    one, two, three = agent(desk, "a"), agent(desk, "a"), agent(desk, "b")
    said = fleetd(desk, "init", "--yes")
    rows = {line.split()[0]: line.split()[2:5] for line in said.splitlines() if line.startswith("%")}
    assert rows.keys() == {one, two, three}
    assert rows[one] == rows[two] != rows[three]
    assert "3 agents on 2 credentials" in said
    assert f"wrote {written(desk)}" in said
    assert "FAULT" not in fleetd(desk, "check", "-q")
    assert {record["target"] for record in desk.run("scrape").records} == {one, two, three}


def test_check_says_whether_agents_are_heard(desk: Desk) -> None:
    pane = agent(desk, "a")
    assert "ok     claude: no hooks, its screen counts alone" in fleetd(desk, "check", "-q")
    desk.start("hook", "--install", "claude", stdin=subprocess.DEVNULL, now=None).communicate(timeout=60)
    said = fleetd(desk, "check", "-q")
    assert f"ok     claude: its hooks are in {desk.env['HOME']}/.claude/settings.json, not heard yet" in said, pane
    written(desk).parent.mkdir(parents=True)
    written(desk).write_text("profiles: {a: {agent: claude, env: {CLAUDE_CONFIG_DIR: /nowhere}}}\n")
    assert "claude: no hooks" in fleetd(desk, "check", "-q")


def test_init_never_overwrites(desk: Desk) -> None:
    fleetd(desk, "init", "--yes")
    written(desk).write_text("minTurnSeconds: 3\n")
    assert "exists already, and stays as it is" in fleetd(desk, "init", "--yes", status=1)
    assert written(desk).read_text() == "minTurnSeconds: 3\n"


def test_a_dry_run_changes_nothing(desk: Desk) -> None:
    pane = agent(desk, "a")
    said = fleetd(desk, "init", "--dry-run", "--mark")
    assert "profiles:\n  claude-" in said
    assert not written(desk).exists()
    assert desk.tmux("show-options", "-p", "-t", pane) == ""


def test_marks_name_the_profile_and_the_lead_on_each_pane_but_the_leads(desk: Desk) -> None:
    lead, one = agent(desk, "a"), agent(desk, "a")
    fleetd(desk, "init", "--yes", "--mark", "--lead", lead)
    options = desk.tmux("show-options", "-p", "-t", one)
    assert f'@fleet_lead "{lead}"' in options
    assert "@fleet_profile claude-" in options
    assert desk.tmux("show-options", "-p", "-t", lead) == ""
    assert {r["target"]: r["role"] for r in desk.run("scrape").records} == {one: "member", lead: "lead"}


def test_init_works_before_any_agent_or_tmux_runs(desk: Desk) -> None:
    assert "no tmux server runs" in fleetd(desk, "init", "--yes")
    assert written(desk).exists()


def test_without_a_terminal_somebody_has_to_say_yes(desk: Desk) -> None:
    assert "give --yes, or --dry-run" in fleetd(desk, "init", status=2)
    assert not written(desk).exists()


@pytest.mark.parametrize("args", [["--lead", "%0"], ["--alert", "pigeon"], ["--mark", "--lead", "%99"]])
def test_what_cannot_be_is_said_before_anything_is_written(desk: Desk, args: list[str]) -> None:
    agent(desk, "a")
    fleetd(desk, "init", "--yes", *args, status=2)
    assert not written(desk).exists()


def asked(desk: Desk, answers: str, *args: str, columns: int = 100, what: str = "init") -> tuple[int, str]:
    """Its status and what a person at a terminal sees, who answers with these lines."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    words = [sys.executable, "-m", "fleettools.commands.fleetd", what, *args]
    process = subprocess.Popen(words, env=desk.env, cwd=desk.folder, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, answers.encode())
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:  # how Linux says that the other side has closed
        pass
    finally:
        os.close(ours)
    return process.wait(timeout=30), text.decode()


def test_on_a_terminal_it_asks_and_no_is_no(desk: Desk) -> None:
    pane = agent(desk, "a")
    status, text = asked(desk, "none\nn\nn\nn\n")
    assert status == 0, text
    assert "Who is told when an account fails?" in text
    assert desk.tmux("show-options", "-p", "-t", pane) == ""
    before = written(desk).read_text()
    status, text = asked(desk, "none\nn\nn\n")
    assert (status, written(desk).read_text()) == (1, before)
    status, text = asked(desk, "none\ny\ny\nn\nn\n")
    assert status == 0, text
    assert "profiles:\n" in written(desk).read_text().replace("# profiles:", "")


def test_an_agent_that_is_installed_is_told_of_the_tools_when_asked_to(desk: Desk) -> None:
    program = desk.folder / "sbin" / "codex"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\necho "$*" >> {desk.folder}/told\n')
    program.chmod(0o755)
    desk.env["PATH"] = f"{program.parent}:{desk.env['PATH']}"
    line = "codex mcp add fleettools -- fleettools-mcp"
    assert f"  {line}\n" in fleetd(desk, "init", "--yes", "-c", "one.yaml")
    assert not (desk.folder / "told").exists()
    status, text = asked(desk, "none\ny\nn\n", "-c", "two.yaml")
    assert status == 0 and "codex: told" in text, text
    assert f"codex {(desk.folder / 'told').read_text()}" == f"{line}\n"


def systemctl(desk: Desk, *bad: str) -> Path:
    """A systemd for this session, which fails at these verbs; the file holds what it was asked to do."""
    calls = desk.folder / "calls"
    program = desk.folder / "sbin" / "systemctl"
    program.parent.mkdir(exist_ok=True)
    fails = "".join(f'case "$*" in *{verb}*) echo "Failed to {verb}." >&2; exit 1;; esac\n' for verb in bad)
    program.write_text(f'#!/bin/sh\necho "$*" >> {calls}\n{fails}')
    program.chmod(0o755)
    desk.env["PATH"] = f"{program.parent}:{desk.env['PATH']}"
    return calls


def unit(desk: Desk) -> Path:
    return Path(desk.env["XDG_CONFIG_HOME"]) / "systemd" / "user" / "fleetd.service"


def test_a_service_is_systemds_unit_which_is_started(desk: Desk) -> None:
    calls = systemctl(desk)
    said = fleetd(desk, "init", "--yes", "--service", "-c", "my own.yaml")
    assert calls.read_text().splitlines() == [
        "--user show-environment", "--user daemon-reload", "--user enable --now fleetd.service"
    ]  # fmt: skip
    assert f"wrote {unit(desk)}" in said
    assert f"fleetd -c '{desk.work}/my own.yaml' -S {desk.env['FLEET_TMUX_SOCKET']} run\n" in unit(desk).read_text()
    assert f'Environment="PATH={desk.env["PATH"]}"' in unit(desk).read_text()
    verified(desk)


def verified(desk: Desk) -> None:
    """systemd itself finds nothing wrong with the unit, and would find what is."""
    if not shutil.which("systemd-analyze"):
        return
    env = {"HOME": str(desk.folder), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(desk.folder)}
    found = []
    for text in (unit(desk).read_text(), unit(desk).read_text().replace("[Service]", "[Service]\nColour=red")):
        unit(desk).write_text(text)
        words = ["systemd-analyze", "verify", "--user", "--man=no", str(unit(desk))]
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        found.append("fleetd.service" in done.stdout + done.stderr)
    assert found == [False, True]


def test_a_unit_that_is_there_is_left_and_a_dry_run_only_looks(desk: Desk) -> None:
    calls = systemctl(desk)
    said = fleetd(desk, "init", "--dry-run", "--service")
    assert "ExecStart=" in said
    assert calls.read_text() == "--user show-environment\n"
    unit(desk).parent.mkdir(parents=True)
    unit(desk).write_text("mine\n")
    assert "exists already, and stays as it is" in fleetd(desk, "init", "--yes", "--service")
    assert unit(desk).read_text() == "mine\n"


def test_a_unit_that_does_not_start_comes_with_what_to_do(desk: Desk) -> None:
    systemctl(desk, "enable")
    said = fleetd(desk, "init", "--yes", "--service", status=69)
    assert "systemctl --user enable --now fleetd.service: Failed to enable; mend that, then: systemctl" in said


@pytest.mark.parametrize("there", [True, False])
def test_without_systemd_for_this_session_it_is_a_line_for_cron(desk: Desk, there: bool) -> None:
    if there:
        systemctl(desk, "show-environment")
    else:
        places = desk.env["PATH"].split(":")
        programs = desk.folder / "few"
        programs.mkdir()
        for name in ("tmux", "sh", "ps"):
            found = shutil.which(name, path=":".join(places))
            (programs / name).symlink_to(found or "")
        desk.env["PATH"] = str(programs)
    said = fleetd(desk, "init", "--yes", "--service", "-c", "100%.yaml")
    reason = "no systemd for your session here (Failed to show-environment); for cron" if there else "no systemd here;"
    assert reason in said
    (line,) = [line for line in said.splitlines() if line.startswith("* * * * * ")]
    assert line.endswith(f"fleetd --once -c {desk.work}/100\\%.yaml -S {desk.env['FLEET_TMUX_SOCKET']}")
    assert not unit(desk).exists()


def test_panes_that_were_marked_before_get_profiles_that_share_their_accounts_credential(desk: Desk) -> None:
    panes = [agent(desk, "a"), agent(desk, "a")]
    for pane, profile in zip(panes, ("api", "docs"), strict=True):
        desk.tmux("set-option", "-p", "-t", pane, "@fleet_profile", profile)
    fleetd(desk, "init", "--yes")
    from fleettools.adapters import configfile

    profiles = configfile.load(str(written(desk))).profiles
    assert profiles.keys() == {"api", "docs"}
    assert len({one.credential_id for one in profiles.values()}) == 1
    assert "WARN" not in fleetd(desk, "check", "-q").replace("WARN   nobody is told", "")


def test_the_table_says_where_an_account_was_told_from_and_fits_a_narrow_terminal(desk: Desk) -> None:
    agent(desk, "a")
    assert " ~/a/.claude.json " in fleetd(desk, "init", "--dry-run")
    status, text = asked(desk, "none\nn\nn\nn\n", columns=40)
    assert status == 0
    lines = text.replace("\r", "").splitlines()  # the first ones are what was typed
    table = [line for line in lines if line.startswith(("pane", "%"))]
    assert table[0].split()[:2] == ["pane", "agent"]
    assert len(table) == 2
    assert max(map(len, table)) <= 40


def test_check_leads_with_what_is_wrong(desk: Desk) -> None:
    (desk.folder / "fleetd.yaml").write_text("profiles: {a: {agent: clade}, b: {agent: claude, cwd: /nowhere}}\n")
    lines = fleetd(desk, "check", status=78).splitlines()
    assert lines[0].startswith("1 fault and ")
    grades = [line.split()[0] for line in lines if line.startswith(("FAULT", "WARN", "ok"))]
    assert grades == sorted(grades, key=["FAULT", "WARN", "ok"].index)
    assert grades.count("FAULT") == 1


def test_check_warns_where_nobody_would_be_told(desk: Desk) -> None:
    agent(desk, "a")
    warning = "WARN   nobody is told of a failure: no member has a lead, and there are no alerts"
    assert warning in fleetd(desk, "check")
    (desk.folder / "fleetd.yaml").write_text("alerts: [{exec: 'true'}]\n")
    assert warning not in fleetd(desk, "check")


def test_check_says_nothing_of_what_hangs_on_a_configuration_that_cannot_be_read(desk: Desk) -> None:
    agent(desk, "a")
    said = fleetd(desk, "check", "-c", "nowhere.yaml", status=78)
    assert said.startswith("1 fault\n")
    assert "members" not in said
    assert "tmux" in said


@pytest.mark.parametrize(("args", "shown"), [((), False), (("-v",), True)])
def test_on_a_terminal_the_keys_do_not_push_what_is_wrong_off_the_screen(
    desk: Desk, args: tuple[str, ...], shown: bool
) -> None:
    agent(desk, "a")
    _, text = asked(desk, "", *args, what="check")
    assert ("the keys:" in text) is shown
    assert text.startswith("1 warning")


def test_check_as_json_is_one_object(desk: Desk) -> None:
    (desk.folder / "fleetd.yaml").write_text("profiles: {a: {agent: clade}}\n")
    done = desk.run("fleetd", "check", "--json", now=None)
    assert done.status == 78
    (made,) = done.records
    assert made["configuration"] == "fleetd.yaml"
    assert made["findings"][0]["grade"] == "FAULT"
    assert made["findings"][0]["mend"] == "did you mean claude?"


def test_check_says_whom_it_would_find(desk: Desk) -> None:
    pane = agent(desk, "a")
    said = fleetd(desk, "check")
    assert f"members: {pane}; leads: none" in said


def test_check_sends_each_alert_a_test_when_asked(desk: Desk) -> None:
    heard = desk.folder / "heard"
    alerts = [
        {"name": "good", "exec": f'cat > {heard}; echo "$FLEET_TEXT" > {heard}.text'},
        {"name": "bad", "exec": "false"},
        {"name": "apprise", "exec": f"sh {SAMPLES}/alert-apprise.sh"},
    ]
    (desk.folder / "fleetd.yaml").write_text(json.dumps({"alerts": alerts}))
    assert "alert good" not in fleetd(desk, "check")
    assert not heard.exists()
    apprise = desk.folder / "sbin" / "apprise"
    apprise.parent.mkdir()
    apprise.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {heard}.apprise\n')
    apprise.chmod(0o755)
    desk.env["PATH"] = f"{apprise.parent}:{desk.env['PATH']}"
    said = fleetd(desk, "check", "--alerts", status=69)
    assert "FAULT  alert bad: the command ended with status 1" in said
    assert "ok     alert good took a test" in said
    assert json.loads(heard.read_text())["name"] == "good"
    assert "nothing has failed" in heard.with_suffix(".text").read_text()
    assert "ok     alert apprise took a test" in said
    assert heard.with_suffix(".apprise").read_text().splitlines()[:2] == ["--notification-type", "success"]


def test_an_alert_that_init_was_told_of_stands_in_the_configuration(desk: Desk) -> None:
    fleetd(desk, "init", "--yes", "--alert", 'exec: echo it\'s "$FLEET_TEXT"', "--alert", "https://ntfy.sh/x")
    from fleettools.adapters import configfile

    read = configfile.load(str(written(desk))).channels
    assert [(one.name, one.exec, one.webhook, one.shape) for one in read] == [
        ("mine", "echo it's \"$FLEET_TEXT\"", None, "json"), ("ntfy", None, "https://ntfy.sh/x", "ntfy")
    ]  # fmt: skip


def test_each_sample_is_printed_by_its_name(desk: Desk) -> None:
    names = fleetd(desk, "sample").split()
    assert {"crontab", "fleetd.service", "fleetd.yaml", "lead-guide.md", "pipelines/keep-day.sh"} <= set(names)
    for name in names:
        text = (SAMPLES / name).read_text()
        assert fleetd(desk, "sample", name) == text
    assert fleetd(desk, "sample", "keep-day.sh").startswith("#!")
    assert "there are " in fleetd(desk, "sample", "nothing", status=2)
