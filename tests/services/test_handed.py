"""What a hook was handed, with what it sees around it, is a signal of the right pane, or a reason why not."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.adapters.terminals import Kin
from fleettools.errors import BadInput
from fleettools.policy.signals.origin import Handed
from fleettools.services.handed import Here, heard

STAMP = {"ts": "2026-01-31T07:00:00.000Z"}
STOP = {"hook_event_name": "Stop", "session_id": "s"}
LIMIT = {
    "hook_event_name": "StopFailure", "session_id": "s", "error": "rate_limit",
    "last_assistant_message": "You've hit your session limit · resets 3pm",
}  # fmt: skip
INSIDE = {"TMUX": "/tmp/tmux-0/default,7,0", "TMUX_PANE": "%3"}
ABOVE = [Kin(30, "", ("sh", "-c", "hook")), Kin(20, "pts/1", ("claude",)), Kin(7, "", ("tmux",))]


def said(
    payload: Mapping[str, Any] | bytes, env: Mapping[str, str] = INSIDE, above: list[Kin] = ABOVE, own: str = "%3"
) -> records.Signal | str:
    """The signal of a hook of Claude's in these surroundings; the pane's own process says which pane it is."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    here = Here(env, "host", "Asia/Kolkata", agentfiles.load, lambda pid: {"TMUX_PANE": own} if pid == 20 else {})
    return heard(Handed(data, "claude", "hook", STAMP, above), here)


def test_the_word_is_that_of_the_pane_and_its_server() -> None:
    signal = said(STOP)
    assert isinstance(signal, records.Signal)
    assert (signal.said, signal.server, signal.target) == ("end", "host:/tmp/tmux-0/default:7", "%3")


@pytest.mark.parametrize("env", [{}, {"TMUX": "/s,7,0"}, {"TMUX": "/s,x,0", "TMUX_PANE": "%3"}], ids=str)
def test_outside_of_tmux_it_is_a_word_of_no_pane(env: dict[str, str]) -> None:
    signal = said(STOP, env)
    assert isinstance(signal, records.Signal)
    assert (signal.agent, signal.server, signal.target) == ("claude", None, None)


def test_a_clock_time_is_read_in_the_zone_of_the_host() -> None:
    signal = said(LIMIT)
    assert isinstance(signal, records.Signal)
    assert (signal.said, signal.cause) == ("failure", "quota")
    assert signal.resets_at == "2026-01-31T09:30:00.000Z"


NOBODYS = [
    ({"hook_event_name": "PreToolUse"}, {}, "pretooluse says nothing of the turn"),
    (STOP, {"above": ABOVE[:2]}, "not started from a pane of that tmux server"),
    (STOP, {"above": [Kin(40, "pts/9", ("claude",)), *ABOVE]}, "an agent inside the pane's agent said it"),
    (STOP, {"own": "%8"}, "it names another pane than the one that it was started from"),
]


@pytest.mark.parametrize(("payload", "around", "words"), NOBODYS)
def test_what_is_no_word_of_this_pane_says_why(payload: dict[str, Any], around: dict[str, Any], words: str) -> None:
    reason = said(payload, **around)
    assert isinstance(reason, str)
    assert words in reason


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000])
def test_what_is_no_json_is_a_bad_input(data: bytes) -> None:
    with pytest.raises(BadInput, match=r"stdin: not JSON .*; hand over the JSON object"):
        said(data)
