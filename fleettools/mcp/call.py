"""One call of a tool: the doors that its verb is handed, how it is stopped, and who asks."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from fleettools.adapters import accounts, agentfiles, clock, terminals
from fleettools.adapters.streams import Messages
from fleettools.adapters.tmux import Tmux
from fleettools.config import Config
from fleettools.errors import Unavailable
from fleettools.moments import Moment
from fleettools.policy import foreground
from fleettools.services import whence
from fleettools.services.finder import Finder
from fleettools.services.store import Store
from fleettools.services.verbs import release, send, spawn
from fleettools.services.whence import Whence


class Setting(Protocol):
    """What a command is given; read anew for each call, since a server outlives its configuration."""

    messages: Messages

    def config(self) -> Config:
        """The configuration; raises BadConfig."""

    def store(self, url: str | None, *, view: bool = False) -> Store:
        """The store of --state, $FLEET_STATE, the configuration or the default; raises Unavailable."""

    def finder(self) -> Finder | None:
        """What finds members that nobody marked, None when the configuration wants none."""


class Options(NamedTuple):
    """What the server was started with."""

    setting: Callable[[], Setting]
    state: str | None = None
    socket_path: str | None = None
    socket_name: str | None = None
    read_only: bool = False


class Client:
    """Whoever started this server, and with what; its pane is looked up once."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._lock = threading.Lock()
        self._known: list[Own] = []

    def own(self, setting: Setting) -> "Own":
        """The pane of the agent that started this process, and its tmux server; looked up once."""
        with self._lock:
            if not self._known:
                self._known.append(_own(setting))
            return self._known[0]


class Own(NamedTuple):
    """Where the lead is: the socket of its tmux server, and its pane where that is certain."""

    socket: str | None = None
    pane: Whence | None = None


def _own(setting: Setting) -> Own:
    above = terminals.above(os.getpid())
    env = whence.inherited(os.environ, above, accounts.environment)
    socket, _, rest = env.get("TMUX", "").partition(",")
    server = rest.partition(",")[0]
    if not socket or not server.isdecimal():
        return Own()
    folder = setting.config().agents
    looks = [look for name in agentfiles.names(folder) if (look := agentfiles.load(name, folder))]
    commands = {command for look in looks for command in look.commands}
    called = [set(foreground.names(kin.words)) & commands for kin in above]
    if whence.detached(above, int(server)):
        terminal, names = next(
            ((kin.terminal, one) for kin, one in zip(above, called, strict=True) if one), ("", set())
        )
        return Own(socket) if terminal else _by_folder(socket, names)
    found = whence.pane(env, os.uname().nodename, above, [bool(one) for one in called], accounts.environment)
    if isinstance(found, str):
        setting.messages.warn(f"no lead's pane is known: {found}")
    return Own(socket, None if isinstance(found, str) else found)


def _by_folder(socket: str, commands: set[str]) -> Own:
    """Some agents start their helpers from a server in no pane: theirs is the one that runs in the same folder."""
    here = os.getcwd()
    try:
        rows = Tmux(socket).panes()
    except Unavailable:
        return Own()
    row = whence.sole(rows, terminals.Terminals(), commands, lambda pid: accounts.folder(pid) == here)
    return Own(socket, Whence(row.server, socket, row.id) if row else None)


class Stopped(BaseException):
    """Nobody waits for the answer any more."""


class CallClock:
    """This machine's clocks for one call: its waits end when the call is stopped."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def sleep(self, seconds: float) -> None:
        """Wait; raises Stopped when the call is."""
        if self._stop.wait(max(0.0, seconds)):
            raise Stopped

    def hold(self, seconds: float) -> None:
        """Wait in the middle of what has to be brought to its end."""
        clock.hold(seconds)

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return clock.now_ms()

    def monotonic(self) -> float:
        """Seconds for deadlines within this process."""
        return clock.monotonic()

    def stamp(self) -> dict[str, Any]:
        """The `ts`, `boot` and `up` of a record made now."""
        return clock.stamp()

    def moment(self) -> Moment:
        """Now, on both clocks."""
        return clock.moment()

    def boot(self) -> str | None:
        """This boot's id."""
        return clock.boot()

    def up(self) -> float:
        """Seconds since boot."""
        return clock.up()

    def local_zone(self) -> str | None:
        """The IANA name of this host's time zone."""
        return clock.local_zone()


Progress = Callable[[float, float | None, str], None]


class Call:
    """The doors of one call, each opened when it is first asked for; `close` lets go of them.

    `progress` tells the client how far it is: done, of how many, and in words.
    """

    def __init__(self, client: Client, stop: threading.Event, progress: Progress) -> None:
        self._client, self._options = client, client.options
        self.setting = self._options.setting()
        self.clock = CallClock(stop)
        self._stop = stop
        self.progress = progress
        self._stores: list[Store] = []
        self.after: Callable[[Call], None] | None = None  # to be done once the client has the answer

    @property
    def stopped(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self._stop.is_set()

    @property
    def config(self) -> Config:
        """The configuration; raises BadConfig."""
        return self.setting.config()

    @cached_property
    def store(self) -> Store:
        """The store; raises Unavailable."""
        return self._open(view=False)

    @cached_property
    def view(self) -> Store:
        """The store, only to be read: it is neither made nor mended."""
        return self._open(view=True)

    def _open(self, *, view: bool) -> Store:
        self._stores.append(self.setting.store(self._options.state, view=view))
        return self._stores[-1]

    @cached_property
    def tmux(self) -> Tmux:
        """The tmux server that was named, else the one that the client runs in, else tmux's own choice."""
        path, name = self._options.socket_path, self._options.socket_name
        if path is None and name is None and not os.environ.get("FLEET_TMUX_SOCKET"):
            path = self._own.socket
        return Tmux(path, name)

    @cached_property
    def lead(self) -> Whence | None:
        """The pane of the lead that asks, None when it is in none, or in one of another tmux server."""
        pane = self._own.pane
        if pane:
            with suppress(Unavailable):
                return pane if self.tmux.server() == pane.server else None
        return pane

    @property
    def _own(self) -> Own:
        return self._client.own(self.setting)

    def close(self) -> None:
        """Let go of the stores."""
        for store in self._stores:
            store.close()
        self._stores.clear()
        self.__dict__.pop("store", None)
        self.__dict__.pop("view", None)

    # -- what the verbs are handed

    def spawning(self) -> spawn.Doors:
        """For a new member."""
        return spawn.Doors(self.config, self.store, self.tmux, self.clock)

    def sending(self) -> send.Doors:
        """For a prompt."""
        setting = self.setting
        return send.Doors(
            self.config, self.store, self.tmux, terminals.Terminals(), self.clock, setting.messages, agentfiles.of,
            terminals.started, setting.finder(),
        )  # fmt: skip

    def releasing(self) -> release.Doors:
        """For a member that is let go."""
        return release.Doors(self.config, self.store, self.tmux, self.clock, self.setting.messages)
