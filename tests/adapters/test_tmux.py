"""The door to tmux, and the guarded way into a pane, on a real server."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox import wait_for
from server import Server, running

from fleettools.adapters import tmux
from fleettools.adapters.tmux import Tmux
from fleettools.errors import NoPane, NoServer, Silent, Unavailable, Unusable


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(tmp_path) as server:
        yield server


@pytest.fixture
def door(server: Server) -> Tmux:
    return Tmux(str(server.socket))


def test_hostile_options_and_titles_do_not_break_the_columns(server: Server, door: Tmux) -> None:
    values = {"profile": "a\tb\nc", "name": "\x1f;'\"#{pid}", "lead": "ünï€"}
    pane = server.pane("exec sleep 100", **values)
    server.tmux("select-pane", "-t", pane, "-T", "%12 \\037 title")
    row = door.pane(pane)
    assert (row.profile_option, row.name_option, row.lead_option) == ("a?b?c", "?;'\"#{pid}", "ünï€")
    assert row.title == "%12 \\037 title"
    assert row.server == server.identity


def test_it_reads_alike_in_an_empty_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pane = server.pane("exec sleep 100", name="ünï€")
    for name in list(os.environ):
        if name != "PATH":
            monkeypatch.delenv(name)
    monkeypatch.setenv("LC_ALL", "C")
    assert Tmux(str(server.socket)).pane(pane).name_option == "ünï€"


def test_options_are_inherited_and_an_empty_pane_option_opts_out(server: Server, door: Tmux) -> None:
    pane, other = server.pane("exec sleep 100"), server.pane("exec sleep 100")
    server.tmux("set-option", "-g", "@fleet_profile", "p")
    door.set_options(other, {"@fleet_profile": ""})
    rows = {row.id: row for row in door.panes()}
    assert (rows[pane].profile_option, rows[other].profile_option) == ("p", "")
    assert door.having(rows, "@fleet_profile") == {other}
    door.unset_options(other, ["@fleet_profile"])
    assert door.pane(other).profile_option == "p"


def test_a_capture_goes_on_behind_a_pane_that_is_gone(server: Server, door: Tmux) -> None:
    one = server.pane("printf 'first \\033[31mred\\033[0m'; exec sleep 100")
    two = server.pane("echo second; exec sleep 100")
    wait_for(lambda: "red" in server.screen(one) and "second" in server.screen(two))
    found = door.capture([one, "%998", two, "%999"])
    assert list(found) == [one, two]
    assert "\x1b[31mred" in found[one] and found[two].startswith("second\n")
    assert "\x1b" not in door.capture([one], colours=False)[one]


def test_a_capture_joins_what_the_terminal_wrapped_and_goes_back_in_history(server: Server, door: Tmux) -> None:
    pane = server.pane(f"echo {'x' * 200}; seq 100; exec sleep 100")
    wait_for(lambda: "100" in server.screen(pane))
    assert "x" * 200 not in door.capture([pane])[pane]
    assert "x" * 200 + "\n1\n" in door.capture([pane], history=200)[pane]


def test_a_stopped_server_is_silent_and_not_absent(server: Server) -> None:
    pid = int(server.tmux("display-message", "-p", "#{pid}"))
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(Silent, match=server.name):
            Tmux(str(server.socket), timeout=0.3).panes()
        assert tmux.is_server(pid)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_no_server_is_said_with_the_socket(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "nothing", tmp_path / "file", tmp_path / "no" / "folder"):
        with pytest.raises(NoServer, match=f"tmux on {path}: no server is running; start tmux"):
            Tmux(str(path)).panes()
    assert not tmux.is_server(os.getpid())


def test_the_socket_comes_from_the_option_then_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))
    own = f"{tmp_path}/tmux-{os.getuid()}"
    monkeypatch.delenv("FLEET_TMUX_SOCKET", raising=False)
    monkeypatch.delenv("TMUX", raising=False)
    assert Tmux().socket == f"{own}/default"
    monkeypatch.setenv("TMUX", "/in/side,123,0")
    assert Tmux().socket == "/in/side"
    assert "TMUX" not in Tmux().environment
    monkeypatch.setenv("FLEET_TMUX_SOCKET", "/said")
    assert Tmux().socket == "/said"
    assert Tmux(name="n").socket == f"{own}/n"
    assert Tmux(path="/p").socket == "/p"


@pytest.mark.parametrize(
    ("said", "fine"),
    [("tmux 3.1c", False), ("tmux 2.9a", False), ("tmux 3.2", True), ("tmux next-3.8", True), ("tmux master", True)],
)
def test_a_tmux_before_3_2_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, fine: bool) -> None:
    script = f"#!/bin/sh\n[ \"$2\" = -V ] && echo '{said}' && exit\n"
    (tmp_path / "tmux").write_text(f"{script}echo 'no server running on x' >&2\nexit 1\n")
    (tmp_path / "tmux").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(NoServer if fine else Unusable):
        Tmux("/x").panes()


def test_without_tmux_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unusable, match=r"tmux is not installed; install tmux 3\.2 or later"):
        Tmux("/x").panes()


def test_a_new_window_has_its_options_and_environment(server: Server, door: Tmux) -> None:
    row = door.new_window(
        "printf '%s' \"$A\"; exec sleep 100", name="w;", env={"A": "x;"}, options={"@fleet_profile": "p;"}
    )
    assert (row.window, row.profile_option) == ("w;", "p;")
    wait_for(lambda: server.screen(row.id).startswith("x;"))
    door.kill_pane(row.id)
    with pytest.raises(NoPane):
        door.pane(row.id)


# What happens to the pane between the look and the paste, as tmux commands; {} is the pane.
CHANGES = {
    "nothing": ("", True),
    "it went into copy mode": ("copy-mode -t {}", False),
    "its input was turned off": ("select-pane -d -t {}", False),
    "its window types into all panes": ("set-option -w -t {} synchronize-panes on", False),
    "its process died": ("send-keys -t {} C-d", False),
    "another process runs in it": ("respawn-pane -k -t {} cat", False),
    "it vanished": ("kill-pane -t {}", False),
}


@pytest.mark.parametrize(("change", "sent"), CHANGES.values(), ids=CHANGES.keys())
def test_the_guard_refuses_a_pane_that_is_not_what_was_seen(
    server: Server, door: Tmux, change: str, sent: bool
) -> None:
    pane = server.pane("exec cat")
    wait_for(lambda: door.pane(pane).command == "cat")
    row = door.pane(pane)
    if change:
        server.tmux(*change.format(pane).split())
    if "C-d" in change:
        wait_for(lambda: door.pane(pane).dead)
    assert door.paste(row, "hello there") == sent
    assert door.enter(row) == sent
    assert server.tmux("list-buffers") == ""
    if sent:
        wait_for(lambda: server.screen(pane).count("hello there") == 2)
    elif "kill-pane" not in change:
        assert "hello there" not in server.screen(pane)


@pytest.mark.parametrize("how", ["a window", "beside another", "with no server yet"])
def test_variables_of_a_new_pane_are_no_argument_of_any_process(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    value = 's3c\'ret "$HOME" #{pane_id} \\; ~;\nand a line'
    real = shutil.which("tmux")
    (tmp_path / "tmux").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{tmp_path}/said\nexec {real} "$@"\n')
    (tmp_path / "tmux").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    door = Tmux(str(tmp_path / "new") if how == "with no server yet" else str(server.socket))
    command = f"printf '%s' \"$A\" >{tmp_path}/seen; exec sleep 100"
    try:
        if how == "beside another":
            door.split_window(server.pane("exec sleep 100"), command, env={"A": value})
        else:
            door.new_window(command, env={"A": value})
        wait_for(lambda: (tmp_path / "seen").exists() and (tmp_path / "seen").read_text() == value)
        assert "s3c" not in (tmp_path / "said").read_text()
    finally:
        if how == "with no server yet":
            door.run(["kill-server"])


def test_pasting_into_a_dead_pane_leaves_the_server_alive(server: Server, door: Tmux) -> None:
    pane = server.pane("exec true")
    wait_for(lambda: door.pane(pane).dead)
    row = door.pane(pane)._replace(dead=False)
    assert not door.paste(row, "x")
    assert door.panes()


def test_a_row_of_another_shape_is_an_error_and_not_an_empty_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmux").write_text('#!/bin/sh\n[ "$2" = -V ] && echo tmux 3.3a && exit\necho a_row_without_tabs\n')
    (tmp_path / "tmux").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(Unavailable, match="list-panes gave"):
        Tmux("/x").panes()


def test_commands_are_looked_up_only_when_they_are_asked_for(server: Server) -> None:
    door = Tmux(str(server.socket))
    assert {row.command for row in door.panes()} != {""}
    assert {row.command for row in door.panes(commands=False)} == {""}
    assert [row[:17] for row in door.panes(commands=False)] == [row[:17] for row in door.panes()]
