"""Whether agents are heard: their hooks in real files, what they said, and the screens that went on without."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleettools import records
from fleettools.adapters import agentfiles, clock, files
from fleettools.adapters.memory import MemoryStore
from fleettools.config import Config
from fleettools.moments import Moment
from fleettools.services import hooks, listening, signaling
from fleettools.services.resolver import Resolver

T0 = 1_767_225_600_000
SERVER = "h:/s:7"


class Said:
    """Standard error, of which nothing is expected."""

    def warn(self, text: object, **_: object) -> None:
        raise AssertionError(text)

    error = warn

    def info(self, text: object) -> None: ...

    def debug(self, text: object) -> None: ...


class Bench:
    """An agent's home, and a store under an injected clock."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.seconds = home, 0
        self.envs: list[dict[str, str]] = [{}]
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setattr(clock, "moment", lambda: Moment(T0 + 1000 * self.seconds))
        monkeypatch.setattr(clock, "now_ms", lambda: T0 + 1000 * self.seconds)
        self.store = MemoryStore(lambda text: None)
        self.resolver = Resolver(self.store, Config(), Said(), "h", lambda: None)

    def install(self, agent: str) -> None:
        look = agentfiles.load(agent)
        assert look is not None
        bundled: Callable[[str], str] = lambda name: str(Path(agentfiles.BUNDLED, name))  # noqa: E731
        read: Any = lambda name: files.read(name if name.startswith("/") else bundled(name))  # noqa: E731
        change = hooks.change(look, "/opt/bin/fleet-hook", None, {}, read, remove=False)
        files.replace(change.path, (change.after if not change.shown else change.shown).encode())

    def turn(self, at: int, agent: str = "claude", outcome: str = "completed") -> None:
        """A turn that the screen shows: at work, and three seconds later at its end."""
        for second, seen in ((at, "working"), (at + 3, outcome)):
            self.seconds = second
            seat = {"server": SERVER, "target": "%3", "pid": 30, "profile": "a", "agent": agent, "role": "member"}
            fields = {"type": "verdict", "ts": records.to_ts(T0 + 1000 * second), **seat, "outcome": seen}
            list(self.resolver.verdict(json.dumps(fields | {"screen": f"{at}:1", "event": f"{at}"}).encode() + b"\n"))

    def word(self, said: str, at: int, agent: str = "claude", posted: bool = False) -> None:
        signal = records.Signal(
            ts=records.to_ts(T0 + 1000 * at), id=f"{said}{at}", source="hook", agent=agent, server=SERVER,
            target="%3", said=said,  # type: ignore[arg-type]
        )  # fmt: skip
        if posted:
            signaling.post(self.store, signal)
        else:
            list(self.resolver.signal(records.encode(signal)))

    def heard(self, at: int, agent: str = "claude") -> listening.Heard:
        self.seconds = at
        look = agentfiles.load(agent)
        assert look is not None
        (found,) = listening.look([look], self.store, lambda agent: self.envs, files.read)
        return found


@pytest.fixture(name="bench")
def _bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode", "qwen", "gemini", "kimi"])
def test_hooks_are_found_where_they_were_put(bench: Bench, agent: str) -> None:
    assert "no hooks, its screen counts alone" in bench.heard(0, agent).what
    bench.install(agent)
    assert "its hooks are in" in bench.heard(0, agent).what and "not heard yet" in bench.heard(0, agent).what


def test_each_account_has_settings_of_its_own(bench: Bench) -> None:
    bench.install("claude")
    bench.envs = [{}, {"CLAUDE_CONFIG_DIR": "/elsewhere"}]
    assert "/.claude/settings.json, not in /elsewhere/settings.json, not heard yet" in bench.heard(0).what


def test_it_is_said_when_an_agent_was_last_heard(bench: Bench) -> None:
    bench.install("claude")
    bench.turn(10)
    bench.word("end", 13)
    assert bench.heard(43) == (bench.heard(43).what, "")
    assert "last heard 30 s ago" in bench.heard(43).what
    bench.word("begin", 40, posted=True)
    assert "last heard 3 s ago" in bench.heard(43).what


def test_an_agent_whose_hooks_went_silent_is_a_warning(bench: Bench) -> None:
    bench.install("claude")
    bench.turn(10)
    bench.word("end", 13)
    bench.turn(100)
    assert bench.heard(105).mend == "", "its word may be on its way"
    silent = bench.heard(300)
    assert "but %3 completed a turn and said nothing; last heard 4 min ago" in silent.what
    assert "fleet-hook --install claude" in silent.mend
    bench.word("end", 103)
    assert bench.heard(300).mend == ""


@pytest.mark.parametrize("outcome", ["backend_error", "failed", "idle"])
def test_a_turn_of_which_no_hook_need_tell_is_no_silence(bench: Bench, outcome: str) -> None:
    bench.install("claude")
    bench.turn(10, outcome=outcome)
    assert bench.heard(300).mend == ""


def test_hooks_of_a_project_are_heard_though_ones_own_settings_have_none(bench: Bench) -> None:
    bench.turn(10)
    bench.word("end", 13)
    assert "hooks of a project tell, last heard 7 s ago" in bench.heard(20).what
    bench.turn(100)
    assert "it was heard before, but %3" in bench.heard(300).what


def test_settings_that_cannot_be_read_are_a_warning(bench: Bench) -> None:
    path = bench.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(b"\xff")
    assert "cannot be read" in bench.heard(0).what and bench.heard(0).mend
    path.write_text("[")
    assert "cannot be read" in bench.heard(0).what
