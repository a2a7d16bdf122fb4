"""fleet-hook: what an agent says of itself, as a record or in the store; and its hooks in real settings files."""

import contextlib
import fcntl
import json
import os
import pty
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox import wait_for
from server import Server, running

from fleettools.adapters.stores import open_store

FAILED = {"hook_event_name": "StopFailure", "session_id": "s", "prompt_id": "p", "error": "overloaded"}
CALL = [sys.executable, "-m", "fleettools.commands.hook"]


@pytest.fixture(name="env")
def _env(tmp_path: Path) -> dict[str, str]:
    """Nobody's home, and no pane."""
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    return env | {"FLEET_STATE": str(tmp_path / "state.db"), "XDG_STATE_HOME": str(tmp_path / "state")}


def hook(env: dict[str, str], *words: str, payload: object = None, data: bytes = b"") -> tuple[int, bytes, str]:
    if payload is not None:
        data = json.dumps(payload).encode()
    done = subprocess.run([*CALL, *words], input=data, env=env, cwd=env["HOME"], capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode()


def signals(state: str) -> list[dict[str, object]]:
    store = open_store(state, lambda text: None)
    try:
        return [json.loads(value) for _, value, _ in store.scan("signal/")]
    finally:
        store.close()


def test_a_payload_becomes_a_signal(env: dict[str, str]) -> None:
    status, out, _ = hook(env, "--agent", "claude", payload=FAILED)
    said = json.loads(out)
    assert status == 0 and said["type"] == "signal" and said["source"] == "hook"
    assert (said["said"], said["cause"], said["session"], said["prompt"]) == ("failure", "overload", "s", "p")


def test_the_same_payload_is_the_same_signal_and_another_prompt_another(env: dict[str, str]) -> None:
    ids = [
        json.loads(hook(env, "--agent", "claude", payload={**FAILED, "prompt_id": prompt})[1])["id"]
        for prompt in ("p", "p", "q")
    ]
    assert ids[0] == ids[1] != ids[2]


def test_the_words_of_a_limit_give_cause_and_reset(env: dict[str, str]) -> None:
    words = "You've hit your session limit · resets in 2h"
    said = json.loads(
        hook(env, "--agent", "claude", payload={**FAILED, "error": "rate_limit", "last_assistant_message": words})[1]
    )
    assert said["cause"] == "quota" and said["resetsAt"] > said["ts"]


def test_secrets_in_a_message_are_replaced(env: dict[str, str]) -> None:
    payload = {**FAILED, "last_assistant_message": "key sk-ant-api03-abcdefghijklmnop was refused"}
    assert b"abcdefghijklmnop" not in hook(env, "--agent", "claude", payload=payload)[1]


def test_a_payload_may_come_as_an_argument(env: dict[str, str]) -> None:
    payload = json.dumps({"type": "agent-turn-complete", "thread-id": "t", "turn-id": "u"})
    assert json.loads(hook(env, "--agent", "codex", payload)[1])["said"] == "end"


def test_a_pipe_of_a_hook_works_alone(env: dict[str, str]) -> None:
    """Nobody has looked at any pane: what the agent said is a verdict, and its evidence is not dropped."""
    step = f"{sys.executable} -m fleettools.commands"
    line = f"{step}.hook --agent claude | {step}.resolve | {step}.correlate -q"
    done = subprocess.run(
        ["sh", "-c", line], input=json.dumps(FAILED).encode(), env=env, cwd=env["HOME"], capture_output=True, timeout=60
    )
    found = [json.loads(row) for row in done.stdout.splitlines()]
    assert [(one["type"], one.get("cause")) for one in found] == [
        ("signal", "overload"), ("verdict", "overload"), ("unmapped", None)
    ], done.stderr  # fmt: skip


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b"\xff", b"[" * 100_000, b'"' + b"x" * (17 << 20) + b'"'])
def test_what_is_no_payload_is_said_and_posted_in_silence(data: bytes, env: dict[str, str]) -> None:
    status, out, err = hook(env, "--agent", "claude", data=data)
    assert (status, out) == (65, b"") and err.startswith("fleet-hook: ") and err.count("\n") == 1
    assert hook(env, "--agent", "claude", "--post", data=data) == (0, b"", "")


@pytest.mark.parametrize("words", [(), ("--agent", "claude", "--bogus"), ("--agent", "claude", "a", "b"), ("--agent",)])
def test_a_hook_that_is_called_wrongly_stops_no_agent(words: tuple[str, ...], env: dict[str, str]) -> None:
    """Claude Code takes a hook's status 2 for a refusal of the prompt."""
    status, out, err = hook(env, "--post", *words, payload=FAILED)
    assert (status, out, err.count("\n")) == (0, b"", 1) and err.startswith("fleet-hook: ")
    assert hook(env, *words, payload=FAILED)[0] == 2


def test_a_hook_without_any_input_stops_no_agent(env: dict[str, str]) -> None:
    call = " ".join([*CALL, "--agent", "claude", "--post"])
    for line in (f"exec {call} <&-", f"exec {call} < /dev/null", f"exec {call} > /dev/full 2>&1 <<< x"):
        done = subprocess.run(["bash", "-c", line], env=env, cwd=env["HOME"], capture_output=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    folder = tmp_path_factory.mktemp("hook")
    with running(folder) as server:
        yield server


def in_pane(server: Server, script: str) -> tuple[str, Path]:
    """Run a shell script in a pane of its own; gives the pane, and a file that the script may write."""
    made = server.folder / f"script-{time.monotonic_ns()}"
    made.write_text(script.replace("HOOK", f"{sys.executable} -m fleettools.commands.hook"))
    return server.pane(f"exec sh {made} {made}.out"), Path(f"{made}.out")


def test_a_post_from_a_pane_is_stored_under_that_pane(server: Server) -> None:
    payload = json.dumps({**FAILED, "prompt_id": "posted"})
    pane, out = in_pane(server, f"echo '{payload}' | HOOK --agent claude --post; echo $? > $1; exec sleep 100")
    wait_for(lambda: out.exists() and out.read_text() == "0\n", "the hook")
    found = wait_for(
        lambda: [one for one in signals(server.env["FLEET_STATE"]) if one["prompt"] == "posted"], "the stored signal"
    )
    assert [(one["server"], one["target"]) for one in found] == [(server.identity, pane)]


def test_an_agent_that_a_tool_of_the_panes_agent_starts_says_nothing_for_the_pane(server: Server) -> None:
    """It has the pane's variables, but no terminal: as agents start their tools."""
    agent = server.folder / "claude"
    said = [json.dumps({**FAILED, "prompt_id": prompt}) for prompt in ("inner", "outer")]
    agent.write_text(f"""#!/bin/sh
if [ "$1" = inner ]; then echo '{said[0]}' | {" ".join(CALL)} --agent claude --post; exit; fi
setsid "$0" inner < /dev/null > /dev/null 2>&1
echo '{said[1]}' | {" ".join(CALL)} --agent claude --post
exec sleep 100
""")
    agent.chmod(0o755)
    server.pane(f"exec {agent}")
    state = server.env["FLEET_STATE"]
    wait_for(lambda: any(one["prompt"] == "outer" for one in signals(state)), "the outer signal")
    assert not [one for one in signals(state) if one["prompt"] == "inner"]


def test_a_hook_that_names_another_pane_than_its_own_says_nothing_for_that(server: Server) -> None:
    other = server.pane("exec sleep 100")
    said = [json.dumps({**FAILED, "prompt_id": prompt}) for prompt in ("foreign", "own")]
    pane, out = in_pane(
        server,
        f"echo '{said[0]}' | TMUX_PANE={other} HOOK --agent claude --post; echo $? > $1\n"
        f"echo '{said[1]}' | HOOK --agent claude --post; exec sleep 100",
    )
    state = server.env["FLEET_STATE"]
    wait_for(lambda: any(one["prompt"] == "own" for one in signals(state)), "the pane's own word")
    assert not [one for one in signals(state) if one["prompt"] == "foreign"]
    assert out.read_text() == "0\n" and pane != other


HOSTILE = {
    "20 MB": {**FAILED, "last_assistant_message": "x" * (20 << 20)},
    "nesting without end": {**FAILED, "effort": 0},
    "a transcript without end": {**FAILED, "transcript_path": "/dev/zero"},
    "a transcript that is a pipe": {**FAILED, "transcript_path": "FIFO", "cwd": "FIFO"},
    "wrong types": {name: [{}] for name in FAILED},
    "other wrong types": {**FAILED, "session_id": 7, "prompt_id": {}, "error": None, "error_details": [1]},
    "lone surrogates": {**FAILED, "last_assistant_message": "\ud800\x1b]52;c;\x07\u202e"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_payload_ends_well_and_opens_nothing(name: str, env: dict[str, str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    data = json.dumps(HOSTILE[name]).replace("FIFO", str(tmp_path / "fifo")).replace(
        '"effort": 0', '"effort": ' + "[" * 50_000 + "]" * 50_000
    )  # fmt: skip
    began = time.monotonic()
    assert hook(env, "--agent", "claude", "--post", data=data.encode()) == (0, b"", "")
    assert hook(env, "--statusline", "cat > /dev/null", data=data.encode())[:2] == (0, b"")
    status, out, err = hook(env, "--agent", "claude", data=data.encode())
    assert time.monotonic() - began < 30
    assert (status, out.count(b"\n"), len(out) < 4000) in [(0, 1, True), (65, 0, True)], err
    assert b"\x1b" not in out and "Traceback" not in err


def locked(folder: Path) -> tuple[str, Callable[[], object]]:
    open_store(str(folder / "locked.db"), lambda text: None).close()
    holder = sqlite3.connect(folder / "locked.db")
    holder.execute("BEGIN EXCLUSIVE")
    return str(folder / "locked.db"), holder.close


def silent_server(folder: Path) -> tuple[str, Callable[[], object]]:
    """A PostgreSQL that takes calls and answers none."""
    listener = socket.create_server(("127.0.0.1", 0))
    return f"postgresql://u@127.0.0.1:{listener.getsockname()[1]}/x", listener.close


def fifo(folder: Path) -> tuple[str, Callable[[], object]]:
    os.mkfifo(folder / "store")
    return str(folder / "store"), lambda: None


STORES: dict[str, Callable[[Path], tuple[str, Callable[[], object]]]] = {
    "locked": locked,
    "a server that answers nothing": silent_server,
    "a server that is not there": lambda folder: ("postgresql://u@127.0.0.1:1/x", lambda: None),
    "a FIFO": fifo,
    "a place that cannot be written": lambda folder: ("/proc/fleettools/state.db", lambda: None),
    "a word that is no store": lambda folder: ("mysql://x", lambda: None),
}


@pytest.mark.parametrize("words", [("--agent", "claude", "--post"), ("--statusline", "echo mine")], ids=lambda w: w[0])
@pytest.mark.parametrize("name", STORES)
def test_a_store_that_cannot_be_written_keeps_no_agent_waiting(
    server: Server, tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    """The hook has ended, and closed its pipes, before anything is done with the store."""
    url, close = STORES[name](tmp_path)
    env = server.env | {"TMUX": f"{server.socket},{os.getpid()},0", "TMUX_PANE": "%0", "FLEET_STATE": url}
    env |= {"XDG_STATE_HOME": str(tmp_path / "own")}
    payload = FAILED if words[0] == "--agent" else STATUS
    try:
        began = time.monotonic()
        hook(env, *words, payload={})
        usual = time.monotonic() - began
        began = time.monotonic()
        assert hook(env, *words, payload=payload) == (0, b"" if words[0] == "--agent" else b"mine\n", "")
        assert time.monotonic() - began < 3 * usual + 2, "less than any wait for a store"
    finally:
        close()


def test_a_disk_that_is_full_keeps_no_agent_waiting(env: dict[str, str]) -> None:
    call = " ".join([*CALL, "--agent", "claude", "--post"])
    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 0; exec {call}"], input=json.dumps(FAILED).encode(), env=env, capture_output=True,
        timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def posting(server: Server) -> list[Path]:
    """The processes of this server's hooks."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            ours = str(server.folder).encode() in (place / "environ").read_bytes()
            found += [place] if ours and b"fleettools.commands.hook" in (place / "cmdline").read_bytes() else []
    return found


def test_no_more_than_sixteen_are_posted_at_a_time(server: Server, tmp_path: Path) -> None:
    """Who finds all places taken drops its word, and ends."""
    state, own = server.env["FLEET_STATE"], Path(server.env["XDG_STATE_HOME"]) / "fleettools"
    own.mkdir(parents=True, exist_ok=True)

    def say(prompt: str) -> str:
        pane, out = in_pane(server, f"echo '{json.dumps({**FAILED, 'prompt_id': prompt})}' | "
                            "HOOK --agent claude --post; echo $? > $1; exec sleep 100")  # fmt: skip
        wait_for(lambda: out.exists() and out.read_text() == "0\n", "the hook")
        return pane

    with (own / "hooks.lock").open("r+" if (own / "hooks.lock").exists() else "w+") as held:
        fcntl.lockf(held, fcntl.LOCK_EX, 15, 0)
        say("one place")
        wait_for(lambda: any(one["prompt"] == "one place" for one in signals(state)), "the word in the last place")
        fcntl.lockf(held, fcntl.LOCK_EX, 16, 0)
        say("no place")
        wait_for(lambda: not posting(server), "the end of the hook that found no place")
    say("places again")
    wait_for(lambda: any(one["prompt"] == "places again" for one in signals(state)), "the word after that")
    assert not [one for one in signals(state) if one["prompt"] == "no place"]


def test_a_payload_that_never_ends_is_given_up(env: dict[str, str]) -> None:
    read, write = os.pipe()
    try:
        os.write(write, b"{")
        done = subprocess.run(
            [*CALL, "--agent", "claude", "--post"], stdin=read, env=env, capture_output=True, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    finally:
        os.close(read)
        os.close(write)


INSTALLED = {
    "claude": (".claude/settings.json", '{\n  // mine\n  "model": "x",\n}\n'),
    "codex": (".codex/config.toml", 'model = "x"\n[a]\nb = 1\n'),
    "opencode": (".config/opencode/plugins/fleettools.js", ""),
}


@pytest.mark.parametrize("agent", INSTALLED)
def test_hooks_go_in_once_and_come_out_to_the_byte(agent: str, env: dict[str, str]) -> None:
    name, before = INSTALLED[agent]
    path = Path(env["HOME"], name)
    if before:
        path.parent.mkdir(parents=True)
        path.write_text(before)
        path.chmod(0o640)
    status, shown, _ = hook(env, "--install", agent, "--dry-run")
    assert status == 0 and b"fleet-hook" in shown
    assert (path.read_text() if path.exists() else "") == before
    assert hook(env, "--install", agent)[:2] == (0, shown)
    assert "fleet-hook" in path.read_text()
    assert hook(env, "--install", agent)[1] == b"", "a second time changes nothing"
    if before:
        assert path.stat().st_mode & 0o777 == 0o640
    assert hook(env, "--install", agent, "--remove")[0] == 0
    assert (path.read_text() if path.exists() else "") == before


def test_settings_that_cannot_be_changed_stay_as_they_are(env: dict[str, str]) -> None:
    path = Path(env["HOME"], ".codex/config.toml")
    path.parent.mkdir()
    path.write_text('notify = ["bell"]\n')
    status, _, err = hook(env, "--install", "codex")
    assert status == 65 and str(path) in err and "'bell' already" in err
    assert path.read_text() == 'notify = ["bell"]\n'


def test_a_plugin_of_an_earlier_version_is_put_in_anew_and_another_file_left_alone(env: dict[str, str]) -> None:
    path = Path(env["HOME"], INSTALLED["opencode"][0])
    hook(env, "--install", "opencode")
    whole = path.read_text()
    path.write_text(whole.partition("\n")[0] + "\nold\n")
    assert hook(env, "--install", "opencode")[0] == 0 and path.read_text() == whole
    path.write_text(whole.partition("\n")[0] + "\nold\n")
    assert hook(env, "--install", "opencode", "--remove")[0] == 0 and not path.exists()
    path.write_text("mine\n")
    for words in ([], ["--remove"]):
        status, _, err = hook(env, "--install", "opencode", *words)
        assert status == 65 and "another file stands there" in err and path.read_text() == "mine\n"


@pytest.mark.parametrize("agent", ["qwen", "gemini", "kimi"])
def test_where_a_person_writes_the_settings_the_text_is_printed(agent: str, env: dict[str, str]) -> None:
    status, out, err = hook(env, "--install", agent)
    assert status == 0 and f"fleet-hook --agent {agent} --post" in out.decode() and "put this into" in err
    assert "take this out of" in hook(env, "--install", agent, "--remove")[2]
    assert not Path(env["HOME"], f".{agent}").exists()


STATUS = {"session_id": "s", "rate_limits": {"five_hour": {"used_percentage": 41.7}}, "model": {"id": "m"}}


def test_a_status_line_of_its_own_is_short(env: dict[str, str]) -> None:
    assert hook(env, "--statusline", payload=STATUS)[:2] == (0, b"five hour 42 %\n")


def test_a_status_line_hands_the_same_to_the_users_command(env: dict[str, str]) -> None:
    data = json.dumps(STATUS).encode()
    assert hook(env, "--statusline", "cat; echo; echo mine", data=data)[1] == data + b"\nmine\n"
    assert hook(env, "--statusline", "cat", data=b"not json")[:2] == (0, b"not json")


@pytest.mark.parametrize(
    ("line", "status", "out"),
    [
        ("exit 3", 3, b""),
        ("echo a; kill -TERM $$", -15, b"a\n"),
        ("yes | head -1; true", 0, b"y\n"),
        ("nosuch", 127, b""),
    ],
)
def test_a_status_line_ends_as_the_users_command_does(line: str, status: int, out: bytes, env: dict[str, str]) -> None:
    assert hook(env, "--statusline", line, payload=STATUS)[:2] == (status, out)


def test_a_long_status_line_goes_on_whole_and_a_slow_command_can_be_stopped(env: dict[str, str]) -> None:
    data = json.dumps({**STATUS, "x": "y" * 300_000}).encode()
    assert hook(env, "--statusline", "wc -c", data=data)[1].strip() == str(len(data)).encode()
    process = subprocess.Popen([*CALL, "--statusline", "exec sleep 600"], stdin=subprocess.PIPE, env=env)
    assert process.stdin is not None
    process.stdin.write(data)
    process.stdin.close()
    process.terminate()  # before or after the command stands in the hook's place
    assert process.wait(10) == -15


def test_used_shares_are_posted_when_they_have_changed(server: Server) -> None:
    script = "".join(
        f"""echo '{json.dumps({**STATUS, "rate_limits": {"w": {"used_percentage": share}}})}' | HOOK --statusline
        while [ ! -e $1.{number} ]; do sleep 0.05; done
        """
        for number, share in enumerate((10, 10, 20))
    )
    pane, out = in_pane(server, script + "echo > $1; exec sleep 100")
    state = server.env["FLEET_STATE"]

    def shares() -> list[object]:
        mine = [one for one in signals(state) if one["target"] == pane]
        return sorted(one["usage"][0]["usedPercent"] for one in mine)  # type: ignore[index]

    Path(f"{out}.0").touch()
    wait_for(lambda: shares() == [10], "the first share")
    Path(f"{out}.1").touch()
    Path(f"{out}.2").touch()
    wait_for(lambda: out.exists() and shares() == [10, 20], "the second share")


def test_a_terminal_on_standard_input_does_not_hang_a_post(env: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [*CALL, "--agent", "claude", "--post"], stdin=theirs, env=env, capture_output=True, timeout=60
        )
        assert done.returncode == 0
    finally:
        os.close(ours)
        os.close(theirs)
