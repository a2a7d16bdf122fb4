"""What a fleetd needs before anything runs: configuration, store and tmux server, and itself alone upon them."""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, NamedTuple

from fleettools import config
from fleettools.adapters import agentfiles, clock, journal
from fleettools.adapters.processes import Pipe
from fleettools.adapters.supervisor import Supervisor
from fleettools.adapters.tmux import Tmux
from fleettools.cli import Context
from fleettools.daemon.lock import held
from fleettools.daemon.outlet import Diary, Outlet
from fleettools.daemon.stages import Call, module
from fleettools.errors import NoServer, Unavailable
from fleettools.policy import upkeep
from fleettools.policy.heartbeat import DaemonState
from fleettools.records import PRINTED, Coverage
from fleettools.services.ledger import Ledger

_PASSWORD = re.compile(r"//[^/?]*:[^/?]*@|password=")  # in the URL of a store


class Asked(NamedTuple):
    """What the command line asks for; `sockets`: -S and -L."""

    everything: bool
    once: bool
    state: str | None
    sockets: tuple[str | None, str | None]


class AtWork(NamedTuple):
    """A fleetd that is alone on its store and tmux server; `before`: what the one before it left in the store."""

    ledger: Ledger
    outlet: Outlet
    before: DaemonState


class Setting:
    """The surroundings of one fleetd."""

    def __init__(self, ctx: Context, asked: Asked) -> None:
        self.ctx, self.say, self.asked = ctx, ctx.messages, asked
        self.tmux = Tmux(*asked.sockets)

    def prepare(self) -> Supervisor:
        """Read and open everything that the stages will need, so that what is missing is said before they start."""
        self._env = dict(os.environ)
        if self.asked.state:
            # Every user of the machine can read the arguments of a process; the URL may hold a password.
            self._env["FLEET_STATE"] = self.asked.state
        self.config = self.ctx.config()
        if faults := agentfiles.faults(self.config.agents):
            faults[0].also = tuple(faults[1:])
            raise faults[0]
        self.tmux.version()
        if self._url() == "memory:":
            self.say.warn("memory: is each stage's own, so no gate and no view sees it; name a file instead")
        return Supervisor(self._env)

    @contextmanager
    def at_work(self) -> Iterator[AtWork]:
        """Alone, known in the store, with a way out for records; raises NotNow while another fleetd is at work."""
        self._call = self.call()
        with ExitStack() as stack:
            stack.enter_context(held(self._url(), self.tmux.socket, self.asked.once))
            ledger = Ledger(self._call.daemon, lambda: self.ctx.store(self.asked.state), clock, self.say)
            before = ledger.begin(os.getpid(), self.asked.once)
            stack.callback(ledger.stop)
            door = journal.Journal(journal.folder())
            stack.callback(door.close)
            diary = Diary(door, lambda: self.config.journal.days, self.say)
            prints = PRINTED - {"tmux"} if self.asked.once else PRINTED
            yield AtWork(ledger, Outlet(self.ctx.out, self.say, ledger, diary, self.asked.everything, prints), before)

    def pipe(self, errors: IO[bytes] | None = None) -> Pipe:
        """The pipe of all stages, each of which is handed the configuration as it was checked."""
        call = self._call._replace(state=())  # they find it in their environment
        stages = {name: [*module(name), *call.options(name)] for name in call.stages}
        return Pipe(stages, self._env, ("-c", config.written(self.config)), errors)

    def call(self) -> Call:
        """How the stages are called."""
        level = self.say.level
        common = ["-q"] if level < 0 else ["-v"] if level > 0 else []
        common += ["--strict"] if self.ctx.strict else []
        path, name = self.asked.sockets
        server = [*(["-S", path] if path else []), *(["-L", name] if name else [])]
        state = ["--state", self.asked.state] if self.asked.state else []
        return Call(
            tuple(common),
            not self.asked.once,
            tuple(state),
            tuple(server),
            self._daemon(),
            self.ctx.config().resume is not None,
        )

    def shell_line(self) -> str:
        """The pipe as a line for a shell; without a store whose URL holds a password, which is said."""
        call = self.call()
        if self.asked.state and _PASSWORD.search(self.asked.state):
            call = call._replace(state=())
            self.say.warn("--state holds a password, and is left out of the line; put the URL into FLEET_STATE first")
        return call.shell_line(self.ctx.config_path, self.asked.everything)

    def _daemon(self) -> str:
        # The path as the server itself gives it: the records have that one.
        try:
            return self.tmux.server().rpartition(":")[0]
        except Unavailable:
            return f"{self.tmux.host}:{self.tmux.socket}"

    def _url(self) -> str | None:
        """The store as it was named, None for the default one."""
        return self.asked.state or os.environ.get("FLEET_STATE") or self.config.state

    def is_up(self) -> bool:
        """Whether there is a tmux server, be it one that does not answer."""
        try:
            self.tmux.server()
        except NoServer:
            return False
        except Unavailable:
            return True
        return True

    def alerts(self) -> bool:
        """Whether people are told without a lead."""
        return bool(self.config.channels)

    def coverage(self) -> str:
        """What each profile is judged with, in one line."""
        if kinds := self._kinds():
            return upkeep.coverage_line(kinds)
        return f"coverage: no profiles; agents: {', '.join(sorted(agentfiles.names(self.config.agents)))}"

    def is_degraded(self) -> bool:
        """Whether a profile is judged by one old rule alone."""
        return any(kind == "legacy" for _, kind in self._kinds())

    def _kinds(self) -> list[tuple[str, Coverage]]:
        found: list[tuple[str, Coverage]] = []
        for name, one in self.config.profiles.items():
            look = agentfiles.load(one.agent or "", self.config.agents)
            found.append((name, upkeep.coverage(one.has_patterns, look.is_seen if look else None)))
        return found
