"""`fleetd init`, `check` and `sample` as a new user meets them, with agents in real panes."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from desk import Desk
from sandbox import CLAUDE


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


def asked(desk: Desk, answers: str, *args: str) -> tuple[int, str]:
    """Its status and what a person at a terminal sees, who answers with these lines."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "fleettools.commands.fleetd", "init", *args]
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
    status, text = asked(desk, "none\nn\nn\n")
    assert status == 0, text
    assert "Who is told when an account fails?" in text
    assert desk.tmux("show-options", "-p", "-t", pane) == ""
    before = written(desk).read_text()
    status, text = asked(desk, "none\nn\nn\n")
    assert (status, written(desk).read_text()) == (1, before)
    status, text = asked(desk, "none\ny\ny\nn\n")
    assert status == 0, text
    assert "profiles:\n" in written(desk).read_text().replace("# profiles:", "")


def test_a_service_is_a_unit_where_systemd_runs_and_else_a_line_for_cron(desk: Desk) -> None:
    said = fleetd(desk, "init", "--yes", "--service")
    unit = Path(desk.env["XDG_CONFIG_HOME"]) / "systemd" / "user" / "fleetd.service"
    if os.path.isdir("/run/systemd/system"):
        assert "ExecStart=" in unit.read_text()
    else:
        assert "* * * * * " in said
        assert not unit.exists()


def test_check_leads_with_what_is_wrong(desk: Desk) -> None:
    (desk.folder / "fleetd.yaml").write_text("profiles: {a: {agent: clade}, b: {agent: claude, cwd: /nowhere}}\n")
    lines = fleetd(desk, "check", status=78).splitlines()
    assert lines[0].startswith("1 fault and ")
    grades = [line.split()[0] for line in lines if line.startswith(("FAULT", "WARN", "ok"))]
    assert grades == sorted(grades, key=["FAULT", "WARN", "ok"].index)
    assert grades.count("FAULT") == 1


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
    ]
    (desk.folder / "fleetd.yaml").write_text(json.dumps({"alerts": alerts}))
    assert "alert good" not in fleetd(desk, "check")
    assert not heard.exists()
    said = fleetd(desk, "check", "--alerts", status=69)
    assert "FAULT  alert bad: the command ended with status 1" in said
    assert "ok     alert good took a test" in said
    assert json.loads(heard.read_text())["name"] == "good"
    assert "nothing has failed" in heard.with_suffix(".text").read_text()


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
        text = (Path(__file__).parents[2] / "samples" / name).read_text()
        assert fleetd(desk, "sample", name) == text
    assert fleetd(desk, "sample", "keep-day.sh").startswith("#!")
    assert "there are " in fleetd(desk, "sample", "nothing", status=2)
