"""The pipe of all stages as one daemon: started, watched, restarted, reloaded and drained together."""

import fcntl
import hashlib
import os
import shlex
import shutil
import sys
import tempfile
from typing import IO

from fleettools import config, records
from fleettools.adapters import agentfiles, clock, configfile
from fleettools.adapters.lines import Splitter
from fleettools.adapters.processes import Bell, Ended, Pipe
from fleettools.adapters.stores import default_path
from fleettools.adapters.supervisor import Supervisor
from fleettools.adapters.tmux import Tmux
from fleettools.cli import Context
from fleettools.errors import BadInput, Exit, FleetError, NotNow
from fleettools.policy import upkeep

STAGES = ("fleet-scrape", "fleet-classify", "fleet-resolve", "fleet-correlate", "fleet-notify")
AGAIN_SECONDS = 600
REMEMBERED = 4096  # lines of these
DRAIN = 2.0  # seconds


class Daemon:
    """The pipe with its configuration, which is written out so that every stage reads the same one."""

    def __init__(
        self,
        ctx: Context,
        everything: bool,
        once: bool,
        state_url: str | None,
        sockets: tuple[str | None, str | None],
    ) -> None:
        self._ctx = ctx
        self._everything = everything
        self._state_url = state_url
        self._state = ["--state", state_url] if state_url else []
        self._sockets = path, name = sockets
        self._server = [*(["-S", path] if path else []), *(["-L", name] if name else [])]
        self._follow = not once
        self._restarted = False
        self._told: dict[bytes, None] = {}

    def options(self, stage: str) -> list[str]:
        """What a stage is called with, apart from its configuration."""
        ctx = self._ctx
        common = ["-q"] if ctx.messages.level < 0 else ["-v"] if ctx.messages.level > 0 else []
        common += ["--strict"] if ctx.strict else []
        if stage == "fleet-scrape":
            return [*common, *(["--follow"] if self._follow else []), *self._state, *self._server]
        if stage == "fleet-notify":
            return [*common, *(["--wait", f"{DRAIN:g}"] if self._follow else []), *self._state, *self._server]
        if stage == "fleet-correlate":
            # What was written last may have been lost between the stages that ended.
            return [*common, *(["--again", f"{AGAIN_SECONDS}"] if self._restarted else []), *self._state]
        return common if stage == "fleet-classify" else [*common, *self._state]

    def shell_line(self) -> str:
        """The pipe as a line for a shell; a command that is not on the PATH comes with its place."""
        named = ["-c", self._ctx.config_path] if self._ctx.config_path else []
        calls = []
        for stage in STAGES:
            beside = os.path.join(os.path.dirname(sys.executable), stage)
            program = [stage] if shutil.which(stage) else [beside] if os.path.exists(beside) else module(stage)
            calls.append(shlex.join([*program, *named, *self.options(stage)]))
        if not self._everything:
            calls.append(f"grep --line-buffered -E {shlex.quote(_news())}")
        return " | ".join(calls)

    def run(self) -> Exit:
        """Keep the pipe up until a deadly signal, which ends it after the drain; raises when it can never run."""
        supervisor, last = self._prepare(), 0.0
        self._ctx.messages.info(self.coverage())
        with self._lock(shared=True), Bell() as bell, self._snapshot() as file:
            while True:
                self._write(file)
                pipe, began = self._pipe(file.name), clock.monotonic()
                try:
                    pipe.start()
                    supervisor.tell("READY=1", "STATUS=watching")
                    ended = self._watch(pipe, bell, supervisor)
                except BaseException:
                    supervisor.tell("STOPPING=1")
                    raise
                finally:
                    pipe.finish(self._take, DRAIN)
                self._restarted = True
                if ended is None:
                    continue
                if ended.status in (Exit.USAGE, Exit.BAD_CONFIG):
                    self._ctx.messages.error(f"{ended}, and would again; mend what it says above")
                    return Exit(ended.status)
                last = upkeep.pause(last, clock.monotonic() - began)
                self._ctx.messages.warn(f"{ended}; the whole pipe starts again in {last:g} s")
                clock.sleep(last)

    def once(self) -> Exit | int:
        """One look: run the pipe to its end, and answer with the first status that is not 0."""
        self._prepare()
        with self._lock(shared=False), self._snapshot() as file:
            self._write(file)
            pipe = self._pipe(file.name)
            try:
                pipe.start()
                pipe.drain(self._take)
            finally:
                pipe.finish(self._take, DRAIN)
        statuses = [pipe.statuses[name] for name in STAGES if pipe.statuses[name]]
        return next((status if status > 0 else Exit.INTERNAL for status in statuses), Exit.OK)

    def coverage(self) -> str:
        """What each profile is judged with, in one line."""
        known = agentfiles.names(self._config.agents)
        profiles = self._config.profiles.items()
        kinds = [(name, upkeep.coverage(one.agent in known, one.has_patterns)) for name, one in profiles]
        return upkeep.coverage_line(kinds) if kinds else f"coverage: no profiles; agents: {', '.join(sorted(known))}"

    def _prepare(self) -> Supervisor:
        """Read and open everything that the stages will need, so that what is missing is said before they start."""
        self._env = dict(os.environ)
        self._config = self._ctx.config()
        if faults := agentfiles.faults(self._config.agents):
            faults[0].also = tuple(faults[1:])
            raise faults[0]
        self._broken = False
        Tmux(*self._sockets).version()
        self._ctx.store(self._url()).close()
        if self._url() == "memory:":
            self._ctx.messages.warn("memory: is each stage's own, so no gate and no view sees it; name a file instead")
        return Supervisor(self._env)

    def _url(self) -> str | None:
        """The store as it was named, None for the default one."""
        return self._state_url or os.environ.get("FLEET_STATE") or self._config.state

    def _lock(self, shared: bool) -> IO[bytes]:
        """Hold the lock of this store and tmux server: one --once at a time, and none beside a running fleetd."""
        store = self._url() or default_path()
        if "://" not in store and store != "memory:":
            store = os.path.realpath(os.path.expanduser(store.removeprefix("sqlite:")))
        what = repr((store, os.path.realpath(Tmux(*self._sockets).socket)))
        folder = os.path.dirname(default_path())
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"fleetd-{hashlib.sha256(what.encode()).hexdigest()[:12]}.lock")
        file = open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "rb")  # noqa: SIM115  # held by the caller
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            if not shared:
                file.close()
                raise NotNow("another fleetd is at work on this store and tmux server", "let it finish") from None
        return file

    def _snapshot(self) -> IO[bytes]:
        """A file for the configuration as it was checked: a restart must not read one that is being edited."""
        return tempfile.NamedTemporaryFile(prefix="fleetd-", suffix=".json")

    def _write(self, file: IO[bytes]) -> None:
        file.seek(0)
        file.truncate()
        file.write(config.written(self._config))
        file.flush()

    def _pipe(self, file: str) -> Pipe:
        self._splitter = Splitter("the pipe")
        return Pipe({name: [*module(name), "-c", file, *self.options(name)] for name in STAGES}, self._env)

    def _watch(self, pipe: Pipe, bell: Bell, supervisor: Supervisor) -> Ended | None:
        """Pass records on until a stage has ended; None when a reload asks for a new start."""
        while True:
            if bell.reload:
                bell.reload = False
                if self._reload():
                    return None
            chunk = pipe.wait(bell, sys.stdout.fileno(), supervisor.interval)
            supervisor.tell("WATCHDOG=1")
            if chunk:
                self._take(chunk)
            if ended := pipe.ended():
                return ended

    def _take(self, chunk: bytes) -> None:
        """Write the whole lines that are news; a line that its writer did not finish is dropped."""
        if self._broken or not chunk:
            return
        for line in self._splitter.feed(chunk).lines:
            try:
                if line and (self._everything or self._is_news(line, records.kind(line))):
                    self._ctx.out.write(line)
            except BadInput as error:
                self._ctx.messages.error(f"the pipe: {error}")
        try:
            self._ctx.out.flush()
        except BaseException:
            self._broken = True  # what drains after this has nowhere to go
            raise

    def _is_news(self, line: bytes, kind: str | None) -> bool:
        if kind not in records.SAID_AGAIN:
            return kind in records.PRINTED
        if line in self._told:
            return False
        self._told[line] = None
        if len(self._told) > REMEMBERED:
            del self._told[next(iter(self._told))]
        return True

    def _reload(self) -> bool:
        """Read the configuration again; whether anything changed that the stages have to be told."""
        say = self._ctx.messages
        try:
            wanted = configfile.find(self._ctx.config_path)
        except FleetError as error:
            for each in (error, *error.also):
                say.error(f"{each} (reload refused, the old configuration holds)")
            return False
        change = upkeep.reloaded(config.plain(self._config), config.plain(wanted))
        self._config = config.from_plain(change.config)
        if change.now:
            say.info(f"reloaded: {', '.join(change.now)}")
        if change.waiting:
            say.warn(f"waiting for a restart of fleetd: {', '.join(change.waiting)}")
        if not change.now and not change.waiting:
            say.info("reloaded: nothing has changed")
        return bool(change.now)


def module(stage: str) -> list[str]:
    """The call of a stage with this very Python and installation, whatever the PATH says."""
    return [sys.executable, "-P", "-m", f"fleettools.commands.{stage.removeprefix('fleet-')}"]


def _news() -> str:
    """What the first bytes of the records that are news look like, for grep."""
    return f'^{{"type":"({"|".join(sorted(records.PRINTED))})"'
