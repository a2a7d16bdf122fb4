"""What a fleetd leaves in the store: signs of life, and what it has printed."""

import pytest

from fleettools.policy import heartbeat
from fleettools.policy.heartbeat import DaemonState

NOW = 1_700_000_000_000
DAEMON = "build:/tmp/tmux-1000/default"


def test_a_daemon_has_one_key_for_its_host_and_socket() -> None:
    assert heartbeat.daemon_key(DAEMON) == "daemon/build//tmp/tmux-1000/default"


@pytest.mark.parametrize(
    ("server", "ours"),
    [
        pytest.param(f"{DAEMON}:4711", True, id="a pane of its tmux server"),
        pytest.param(f"{DAEMON}:12", True, id="one of the server that came after it"),
        pytest.param("build:/tmp/tmux-1000/other:4711", False, id="another socket"),
        pytest.param("test:/tmp/tmux-1000/default:4711", False, id="another host"),
        pytest.param("build:/tmp/tmux-1000/default:x:4711", False, id="a socket whose name goes on with a colon"),
        pytest.param(None, False, id="no server"),
    ],
)
def test_a_daemon_answers_for_the_panes_of_its_host_and_socket(server: str | None, ours: bool) -> None:
    assert heartbeat.concerns(DAEMON, server) is ours


def test_a_line_is_known_again_by_its_bytes_whatever_ends_it() -> None:
    assert heartbeat.mark(b'{"type":"incident"}\n') == heartbeat.mark(b'{"type":"incident"}')
    assert heartbeat.mark(b'{"type":"incident"}') != heartbeat.mark(b'{"type":"incident" }')


@pytest.mark.parametrize(
    ("state", "now", "hangs"),
    [
        pytest.param(heartbeat.started(None, 7, False, NOW), NOW + 60_000, False, id="it started a minute ago"),
        pytest.param(heartbeat.started(None, 7, False, NOW), NOW + 60_001, True, id="no sign for longer"),
        pytest.param(heartbeat.started(None, 7, False, NOW), NOW - 1, True, id="a sign from the future"),
        pytest.param(heartbeat.printed(heartbeat.started(None, 7, False, NOW), [], NOW + 50_000), NOW + 100_000, False,
                     id="it gave another sign"),
        pytest.param(heartbeat.stopped(heartbeat.started(None, 7, False, NOW), NOW), NOW + 900_000, False,
                     id="it was stopped"),
        pytest.param(heartbeat.started(None, 7, True, NOW), NOW + 900_000, False, id="it looked once"),
    ],
)  # fmt: skip
def test_a_fleetd_hangs_when_it_should_run_and_gives_no_sign(state: DaemonState, now: int, hangs: bool) -> None:
    assert heartbeat.hangs(state, now) is hangs


def test_what_was_printed_stays_known_over_a_restart_until_nothing_can_write_it_again() -> None:
    state = heartbeat.printed(None, ["a"], NOW)
    state = heartbeat.started(state, 8, False, NOW + 1)
    state = heartbeat.printed(state, ["b"], NOW + heartbeat.KEEP_MS)
    assert state.printed == {"a": NOW, "b": NOW + heartbeat.KEEP_MS}
    assert heartbeat.printed(state, [], NOW + heartbeat.KEEP_MS + 1).printed.keys() == {"b"}


def test_of_very_many_lines_the_last_ones_stay_known() -> None:
    state = heartbeat.printed(None, [str(number) for number in range(heartbeat.MOST + 10)], NOW)
    assert len(state.printed) == heartbeat.MOST
    assert "0" not in state.printed and str(heartbeat.MOST + 9) in state.printed


def test_the_ends_of_turns_are_those_that_were_seen_last() -> None:
    state = heartbeat.printed(None, [], NOW, [str(number) for number in range(heartbeat.MOST_ENDS + 1)])
    assert state.ends[0] == "1"
    assert heartbeat.printed(state, ["a"], NOW).ends == state.ends


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        pytest.param("not typed for 45 s", "not typed for 105.5 s", True, id="a span that grows"),
        pytest.param("%12: no lead", "%13: no lead", False, id="another pane"),
        pytest.param("claude-1: legacy", "claude-2: legacy", False, id="another profile"),
    ],
)
def test_the_same_fault_is_known_again_though_its_numbers_differ(one: str, other: str, equal: bool) -> None:
    assert (heartbeat.fault_of(one) == heartbeat.fault_of(other)) is equal
