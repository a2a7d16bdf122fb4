"""Nothing is typed into a program that is not the agent, whatever it shows: real programs in real panes."""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sandbox import CLAUDE, wait_for
from server import Server, running
from test_notify import deliveries, incident, pending

FAKES = CLAUDE.parent
SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
# A prompt that looks like aider's composer, below what looks like its screen.
SHELL = "printf 'Aider v0.86.1\\n\\n'; PS1='> ' exec {}"


class Case(NamedTuple):
    """How a pane is started, what is done in it then, and why nothing is typed; "" where the notice goes in."""

    command: str
    why: str
    keys: tuple[str, ...] = ()
    needs: str = "sh"
    options: tuple[tuple[str, str], ...] = ()


CASES = {
    "a script by env": Case("exec {bin}/aider {log}", ""),
    "behind a wrapper that waits for it": Case("exec sh {bin}/wrapper.sh {log}", ""),
    "as npm runs it: node, sh, node": Case("exec node {bin}/npm-cli.js {log}", "", needs="node"),
    "beside a tool on pipes": Case("exec {bin}/aider {log} tool", ""),
    "under a name that a person says it has": Case("exec {bin}/my-aider {log}", "", options=(("runs", "x my-aider"),)),
    "under a name that nobody has said": Case("exec {bin}/my-aider {log}", "my-aider"),
    "an editor that it has opened in its terminal": Case("exec {bin}/aider {log} edit", "cat"),
    "a shell, where it was stopped by ^Z": Case(
        SHELL.format("bash --norc -i"), "bash", ("{bin}/aider {log}", "Enter", "C-z"), "bash"
    ),
    "a restricted shell": Case(SHELL.format("rbash --norc -i"), "rbash", needs="rbash"),
    "a REPL below its last screen": Case(
        "{bin}/aider {log} dead; exec {python} -i -q -c 'import sys; sys.ps1 = \"> \"'", Path(sys.executable).name
    ),
    "ssh to where it runs": Case("exec {ssh} {bin}/aider {log}", "ssh", needs=SSHD),
    "ssh to a shell, on a person's word": Case(
        "exec {ssh} 'PS1=\"> \" exec sh -i'", "ssh", needs=SSHD, options=(("runs", "ssh"),)
    ),
    "docker, or what is called so": Case("exec {bin}/docker run -it box {log}", "docker"),
}


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A command line that reaches an sshd of our own on the loopback; "" where there is none."""
    if not os.access(SSHD, os.X_OK):
        yield ""
        return
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True, timeout=30)
    (folder / "keys").write_text((folder / "user.pub").read_text())
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    os.makedirs("/run/sshd", exist_ok=True) if os.getuid() == 0 else None
    options = {"AuthorizedKeysFile": folder / "keys", "HostKey": folder / "host", "StrictModes": "no", "UsePAM": "no"}
    options |= {"ListenAddress": "127.0.0.1", "PidFile": "none"}
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    server = subprocess.Popen([SSHD, "-D", "-f", "/dev/null", "-p", str(port), *words], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: _answers(port), "sshd")
        quiet = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -F none"
        yield f"ssh -tt -i {folder}/user {quiet} -p {port} 127.0.0.1"
    finally:
        server.kill()
        server.wait()


def _answers(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Seen(NamedTuple):
    submitted: list[str]
    deliveries: list[dict[str, Any]]
    pending: list[dict[str, Any]]
    alert: str
    screen: str


def programs(folder: Path) -> Path:
    """A folder with the programs of the cases, under their names."""
    made = folder / "bin"
    made.mkdir()
    wrapper = '#!/bin/sh\n"$(dirname "$0")"/aider "$1"\nexit 0\n'
    npm = 'const at = require("path").join(__dirname, "aider.js")\n'
    npm += 'require("child_process").spawnSync("sh", ["-c", `node ${at} "$1"; true`, "sh", process.argv[2]], '
    npm += '{ stdio: "inherit" })\n'
    for name, text in (("wrapper.sh", wrapper), ("npm-cli.js", npm)):
        (made / name).write_text(text)
    for name in ("aider", "my-aider"):
        shutil.copy(FAKES / "aider.py", made / name)
        (made / name).chmod((made / name).stat().st_mode | stat.S_IXUSR)
    shutil.copy(FAKES / "aider.js", made / "aider.js")
    # The program on this side of a container: what is typed goes where nobody sees what reads it.
    (made / "docker").write_text((made / "aider").read_text().replace("sys.argv[1]", "sys.argv[-1]"))
    (made / "docker").chmod(0o755)
    return made


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, sshd: str) -> Iterator[dict[str, Seen]]:
    """Every case at the same time, each with a lead, a notifier and a store of its own, on one server."""
    folder = tmp_path_factory.mktemp("typing")
    made = programs(folder)
    with running(folder) as server:

        def play(number: int, case: Case) -> Seen:
            return _played(server, number, case, made, sshd)

        with ThreadPoolExecutor(5) as pool:
            able = {name: case for name, case in CASES.items() if shutil.which(case.needs)}
            yield dict(zip(able, pool.map(play, range(len(able)), able.values()), strict=True))


def _played(server: Server, number: int, case: Case, made: Path, sshd: str) -> Seen:
    folder = server.folder
    words = {"bin": made, "log": folder / f"log.{number}", "python": sys.executable, "ssh": sshd}
    pane = server.pane(case.command.format(**words), agent="aider", **dict(case.options))
    wait_for(lambda: ">" in server.screen(pane).splitlines(), f"a prompt of {case.command}")
    for key in case.keys:
        server.tmux("send-keys", "-t", pane, key.format(**words))
        if key == "Enter":
            wait_for(lambda: "────" in server.screen(pane), "the agent")
    if "C-z" in case.keys:
        wait_for(lambda: "Stopped" in server.screen(pane), "the shell")
    config = folder / f"{number}.yaml"
    alert = folder / f"alert.{number}"
    config.write_text(f"alerts: [{{exec: 'printf %s \"$FLEET_TEXT\" >{alert}'}}]\n")
    state = ["--state", str(folder / f"state.{number}.db"), "-c", str(config)]
    given = incident(server, pane, name=f"i:{number}")
    done = server.run("notify", *state, "--wait", "8" if case.why else "45", stdin=given)
    log = words["log"]
    lines = [json.loads(line)["submitted"] for line in log.read_text().splitlines()] if log.exists() else []
    said = alert.read_text() if alert.exists() else ""
    return Seen(lines, deliveries(done.stdout), pending(server, *state), said, server.screen(pane))


@pytest.mark.xdist_group("typing-cases")
@pytest.mark.parametrize(("name", "case"), CASES.items(), ids=CASES.keys())
def test_who_gets_what_is_typed(seen: dict[str, Seen], name: str, case: Case) -> None:
    if name not in seen:
        pytest.skip(f"{case.needs} is not installed")
    one = seen[name]
    leads = [d for d in one.deliveries if not d["target"].startswith("alert:")]
    if case.why:
        assert (one.submitted, leads) == ([], [])
        assert [(item["target"][0], item["reason"]) for item in one.pending] == [("%", f"not typed: {case.why}")]
        assert "fleet notice" not in one.screen
    else:
        assert len(one.submitted) == 1 and one.submitted[0].startswith("fleet notice "), one
        assert [d["outcome"] for d in leads] == ["submitted"]
    assert one.alert.startswith("fleet: credential team-a cools off for ")


def test_what_a_person_types_before_enter_is_not_submitted_with_the_notice(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        log = tmp_path / "log"
        pane = server.lead(log, "beside=1")
        done = server.run("notify", "--wait", "30", stdin=incident(server, pane))
        (delivery,) = deliveries(done.stdout)
        assert (delivery["outcome"], log.exists()) == ("stuck", False)
        assert "somebody types there, too" in delivery["reason"]
        assert "rm it all" in server.screen(pane)


def test_an_editor_that_is_opened_between_paste_and_enter_gets_no_enter(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        log = tmp_path / "log"
        pane = server.lead(log, "editor")
        done = server.run("notify", "--wait", "30", stdin=incident(server, pane))
        (delivery,) = deliveries(done.stdout)
        assert (delivery["outcome"], log.exists()) == ("stuck", False)
        assert "not typed: cat" in delivery["reason"]


# An agent that only its profile describes, run by a script of a name that the profile gives.
DRAWN = """\
profiles:
  home: {runs: [my-aider], look: {prompt: '^> ', busy: '^thinking', error: '^Oops', composer: '^> '}}
"""


def test_an_agent_that_only_its_profile_describes_is_typed_to_as_member_and_as_lead(tmp_path: Path) -> None:
    made = programs(tmp_path)
    (tmp_path / "fleetd.yaml").write_text(DRAWN)
    with running(tmp_path) as server:
        logs = {role: tmp_path / f"{role}.log" for role in ("member", "lead")}
        options = {"member": {"profile": "home"}, "lead": {"profile": "home", "role": "lead"}}
        panes = {role: server.pane(f"exec {made}/my-aider {log}", **options[role]) for role, log in logs.items()}
        wait_for(lambda: all(">" in server.screen(pane).splitlines() for pane in panes.values()), "both prompts")
        state = ["--state", str(tmp_path / "state.db"), "-c", str(tmp_path / "fleetd.yaml")]
        sent = server.run("send", *state, "-S", str(server.socket), panes["member"], stdin=b"fix the build")
        assert sent.returncode == 0, sent.stderr
        told = server.run("notify", *state, "--wait", "30", stdin=incident(server, panes["lead"]))
        assert [d["outcome"] for d in deliveries(told.stdout)] == ["submitted"], told.stderr
        given = {
            role: [json.loads(line)["submitted"] for line in log.read_text().splitlines()] for role, log in logs.items()
        }
        assert given["member"] == ["fix the build"]
        assert len(given["lead"]) == 1 and given["lead"][0].startswith("fleet notice ")
