"""What a person at a terminal reads in place of a record, and that --json brings the record back."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from typing import Any

import pytest
from desk import Desk

from fleettools.commands.views import sentences

TS = "2026-01-31T12:00:00.000Z"
VERDICT = {"type": "verdict", "ts": TS, "name": "ada", "target": "%1", "profile": "a", "outcome": "backend_error",
           "cause": "overload", "reason": "it is overloaded", "line": "● API Error: 529"}  # fmt: skip
PERIOD = {"ts": TS, "id": "i", "credentialId": "team-a", "targets": [{"server": "s", "target": "%1", "name": "ada"}]}
DELIVERY = {"type": "delivery", "ts": TS, "id": "i", "target": "%0"}
OF_C = {"ts": TS, "credentialId": "c"}
SAID = [
    (VERDICT, "ada (%1, a)  backend error (overload): it is overloaded\n    ● API Error: 529"),
    ({"type": "verdict", "ts": TS, "outcome": "idle"}, "idle"),
    ({**VERDICT, "proved": False, "resolved": False, "line": None}, "; not proved yet; it does not count"),
    ({"type": "incident", **PERIOD, "coolingOffForSeconds": 60.0}, "team-a cools off for 60 s: ada failed"),
    ({"type": "quarantine", **PERIOD, "until": TS}, f"team-a is in quarantine until {TS}: ada failed"),
    ({"type": "ended", **OF_C, "seconds": 60, "why": "time"}, "c is free again after 60 s (time)"),
    ({"type": "nearly", **OF_C, "usedPercent": 80.0, "window": "5h"}, "c has used 80 % of its 5h"),
    ({"type": "unmapped", "ts": TS, "target": "%1", "reason": "no profile"}, "%1 failed, and counts for no credential"),
    ({**DELIVERY, "outcome": "submitted", "reason": "seen"}, "%0 was told of i"),
    ({**DELIVERY, "outcome": "stuck", "reason": "r"}, "%0 was not told of i: r"),
    ({"type": "decision", "ts": TS, "allowed": False, "profile": "p", "reason": "r"}, "p may not spawn: r"),
    ({"type": "decision", "ts": TS, "allowed": True, "profile": "p", "reason": "p: free"}, "p may spawn: free"),
    ({"type": "tmux", "ts": TS, "server": "h:/s:1", "state": "down"}, "tmux server h:/s:1 is down"),
    ({"type": "resume", **OF_C, "target": "%1", "probe": True, "outcome": "sent", "reason": "r"}, "%1 is tried again"),
    ({"type": "somebody-elses", "ts": TS, "x": 1}, "somebody-elses x=1"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "said"), SAID)
def test_a_record_is_a_sentence(record: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    made = sentences.sentence(json.dumps(record, separators=(",", ":")).encode() + b"\n").decode()
    assert said in made
    assert made.endswith("\n")


@pytest.mark.parametrize("line", [b"plain text\n", b'{"members":[]}\n', b"\n"])
def test_what_is_no_record_stays_as_it_is(line: bytes) -> None:
    assert sentences.sentence(line) == line


@pytest.mark.parametrize("line", [b'{"type":"verdict"}\n', b'{"type":"verdict","outcome":[]\n', b'{"type":7}\n'])
def test_a_record_that_lacks_something_is_shown_as_it_came(line: bytes) -> None:
    assert sentences.sentence(line) == line


HOSTILE = "a\x1b[2Jb\u202ec\U000e0001d\ne"


@pytest.mark.parametrize("field", ["name", "reason", "line", "profile", "resetsAt"])
def test_what_a_pane_said_cannot_draw(field: str) -> None:
    made = sentences.sentence(json.dumps({**VERDICT, field: HOSTILE}, separators=(",", ":")).encode()).decode()
    for letter in ("\x1b[2J", "\u202e", "\U000e0001"):
        assert letter not in made
    assert made.count("\n") == 2


def test_escaped_json_is_the_same_json() -> None:
    line = json.dumps({"type": "x", "text": HOSTILE}, ensure_ascii=False).encode() + b"\n"
    made = sentences.escaped(line)
    assert json.loads(made) == json.loads(line)
    assert made.decode().rstrip("\n").isprintable()


def at_a_terminal(desk: Desk, *words: str, stdin: str, **env: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
    command = [sys.executable, "-m", f"fleettools.commands.{words[0]}", *words[1:]]
    process = subprocess.Popen(
        command, env=desk.env | {"TERM": "xterm"} | env, cwd=desk.folder, stdin=subprocess.PIPE, stdout=theirs
    )
    os.close(theirs)
    process.communicate(stdin.encode(), timeout=30)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:  # how Linux says that the other side has closed
        pass
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


SCREEN = "❯ go\n\n● API Error: 500 Internal server error.\n\n✻ Cooked for 9s\n"


def test_one_screen_at_a_terminal_is_a_sentence_with_its_line(desk: Desk) -> None:
    text = at_a_terminal(desk, "classify", "--text", "--agent", "claude", stdin=SCREEN)
    assert "\x1b[31mbackend error\x1b[0m (server)" in text
    assert "API Error: 500 Internal server error." in text
    assert "{" not in text
    assert "\x1b" not in at_a_terminal(desk, "classify", "--text", "--agent", "claude", stdin=SCREEN, NO_COLOR="1")


def test_json_brings_the_record_back(desk: Desk) -> None:
    text = at_a_terminal(desk, "classify", "--json", "--text", "--agent", "claude", stdin=SCREEN)
    assert json.loads(text)["outcome"] == "backend_error"
