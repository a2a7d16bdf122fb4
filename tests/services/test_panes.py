"""The way into leads' panes: a tmux server that does not answer is left alone for a while, and holds up no other."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from server import Server, running

from fleettools.adapters.terminals import Terminals
from fleettools.adapters.tmux import Tmux, is_server
from fleettools.config import Config
from fleettools.services.delivery.panes import REST, Doors, Panes
from fleettools.services.delivery.ways import To

ANSWERED = "its agent is not known"


class Counted(Tmux):
    """tmux, not waited for long; `asked` counts how often each socket was."""

    asked: dict[str, int] = {}

    def __init__(self, socket: str) -> None:
        super().__init__(socket, timeout=0.3)

    def panes(self, *how: Any, **more: Any) -> Any:
        self.asked[self.socket] = self.asked.get(self.socket, 0) + 1
        return super().panes(*how, **more)


class Clock:
    """A clock that the test sets."""

    now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def now_ms(self) -> int:
        return round(self.now * 1000)


@pytest.fixture(name="servers")
def _servers(tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    with ExitStack() as stack:
        folders = [tmp_path / name for name in "ab"]
        for folder in folders:
            folder.mkdir()
        one, two = (stack.enter_context(running(folder)) for folder in folders)
        yield one, two


def test_a_silent_server_is_asked_again_after_its_rest_and_others_answer_meanwhile(
    servers: tuple[Server, Server],
) -> None:
    silent, well = servers
    clock, leads = Clock(), [To(server.identity, server.pane("exec sleep 1000")) for server in servers]
    doors = Doors(
        tmux=Counted, is_tmux=is_server, terminals=Terminals(), look=lambda *_: None, agents=lambda: (), clock=clock,
        pause=time.sleep,
    )  # fmt: skip
    way = Panes(Config(), doors)

    def hindrances() -> list[str]:
        way.begin()
        return [way.reaches(lead).hindrance for lead in leads]

    os.kill(silent.server_pid, signal.SIGSTOP)
    Counted.asked.clear()
    first, other = hindrances()
    assert str(silent.socket) in first and ANSWERED in other
    clock.now += REST - 0.1
    assert hindrances() == [first, other]
    assert Counted.asked == {str(silent.socket): 1, str(well.socket): 2}
    clock.now += 0.1
    assert hindrances() == [first, other]
    assert Counted.asked == {str(silent.socket): 2, str(well.socket): 3}

    os.kill(silent.server_pid, signal.SIGCONT)
    clock.now += REST
    assert all(ANSWERED in hindrance for hindrance in hindrances())
