"""What agents write into the logs of their sessions, as signals of the panes in which these sessions run.

A log names its folder and when it began, not its pane. It belongs to the agent that was started there last before it
began: a session that was begun elsewhere and is only taken up again is nobody's, and its screen counts alone.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from fleettools import records
from fleettools.errors import BadInput
from fleettools.policy import foreground
from fleettools.policy.foreground import Process
from fleettools.policy.signals import rollout
from fleettools.screens import causes
from fleettools.screens.agentdata import Log
from fleettools.screens.look import Look
from fleettools.services import signaling
from fleettools.services.ports import Foregrounds, Seated
from fleettools.services.signaling import Origin

RECENT_MS = 600_000  # what is older is no news to a look that begins
BACK = 1 << 19  # bytes before the end of a log at which its first look begins
EARLY_MS = 3_000  # a session's time may lie so long before that of its process


class Running(Protocol):
    """A process that writes a log."""

    @property
    def cwd(self) -> str:
        """Its working folder."""

    @property
    def began_ms(self) -> int:
        """When it began, in ms since the epoch."""

    @property
    def env(self) -> Mapping[str, str]:
        """Its environment."""


class LogFile(Protocol):
    """A log on the disk."""

    @property
    def path(self) -> str:
        """Where it is."""

    @property
    def identity(self) -> str:
        """Which file it is, whatever it is called: device and inode."""

    @property
    def size(self) -> int:
        """Its length in bytes."""

    @property
    def written_ms(self) -> int:
        """When it was last written, in ms since the epoch."""


class Door(Protocol):
    """Where logs and processes are read, as the module `adapters.sessionlogs` does."""

    def running(self, pid: int) -> Running | None:
        """What is known of a process; None when it is not ours to look at, or no more."""

    def files(self, folder: str, pattern: str) -> Iterable[LogFile]:
        """The logs below a folder that match a glob."""

    def head(self, path: str) -> bytes:
        """The first line of a log."""

    def lines(self, path: str, offset: int) -> tuple[list[tuple[int, bytes]], int]:
        """The whole lines from an offset on, each with its own, and the offset after them."""


class Session(msgspec.Struct):
    """A log that has been begun: what it is of, and how far it has been read."""

    id: str | None
    cwd: str
    began_ms: int
    offset: int


class SessionLogs:
    """Reads on in the logs of the agents in panes; what it has read it remembers for its own lifetime only."""

    def __init__(self, door: Door, terminals: Foregrounds, look_of: Callable[[str], Look | None], home: str) -> None:
        self._door, self._terminals, self._look_of, self._home = door, terminals, look_of, home
        self._sessions: dict[str, Session | None] = {}
        self._running: dict[int, Running | None] = {}

    def read(self, seated: Iterable[Seated], stamp: Mapping[str, Any]) -> Iterator[records.Signal]:
        """What the logs of these agents say since the last look; at the first look, of the last ten minutes."""
        logged = [(one, look) for one in seated if (look := self._look_of(one.agent)) and look.log]
        if not logged:
            return
        groups = self._terminals.sweep([one.pid for one, _ in logged])
        folders: dict[tuple[str, str], list[tuple[Seated, Running]]] = {}
        for one, look in logged:
            pid = _agent(groups.get(one.pid, ()), look) or one.pid
            running = self._running.setdefault(pid, self._door.running(pid))
            if running is not None and look.log is not None:
                folders.setdefault((self._folder(look.log, running), look.log.files), []).append((one, running))
        for (folder, pattern), owners in folders.items():
            for file in self._door.files(folder, pattern):
                yield from self._on(file, owners, stamp)

    def _folder(self, log: Log, running: Running) -> str:
        named = running.env.get(log.variable) if log.variable else None
        home = running.env.get("HOME") or self._home
        return named or (os.path.join(home, log.user[2:]) if log.user.startswith("~/") else log.user)

    def _on(
        self, file: LogFile, owners: list[tuple[Seated, Running]], stamp: Mapping[str, Any]
    ) -> Iterator[records.Signal]:
        """What was written in a log since the last look, if one of the agents in panes writes it."""
        now_ms = records.to_ms(str(stamp["ts"]))
        if file.identity not in self._sessions:
            if now_ms - file.written_ms > RECENT_MS:
                return
            begun = _session(self._door.head(file.path), max(0, file.size - BACK))
            if begun is None:
                return
            self._sessions[file.identity] = begun
        session = self._sessions[file.identity]
        owner = _owner(session, owners) if session else None
        if session is None or owner is None or file.size <= session.offset:
            return
        found, session.offset = self._door.lines(file.path, session.offset)
        for offset, line in found:
            yield from self._said(line, f"{file.identity}:{offset}", session, owner, stamp, now_ms)

    def _said(
        self, line: bytes, mark: str, session: Session, owner: Seated, stamp: Mapping[str, Any], now_ms: int
    ) -> Iterator[records.Signal]:
        """The signals in a line of a log, stamped with the time at which it was written."""
        row = _row(line)
        at_ms = _time(row)
        look = self._look_of(owner.agent)
        if look is None or at_ms is None or not now_ms - RECENT_MS <= at_ms <= now_ms + 1000:
            return
        origin = Origin(owner.agent, owner.server, owner.target)
        up = stamp.get("up")
        then = {
            **stamp,
            "ts": records.to_ts(at_ms),
            "up": None if up is None else round(up - (now_ms - at_ms) / 1000, 3),
        }
        for said in rollout.read(row, session.id, lambda text: causes.cause_of(look, text)[0]):
            yield signaling.record(said, origin, "log", then, mark)


def _agent(group: Sequence[Process], look: Look) -> int:
    """The agent's own process among those in the foreground, 0 when it is not there."""
    named = (process.pid for process in group if set(foreground.names(process.words)) & set(look.commands))
    return next(named, 0)


def _session(line: bytes, offset: int) -> Session | None:
    """What the first line of a log says of its session."""
    row = _row(line)
    about = row.get("payload") if row else None
    at_ms = _time(about) if isinstance(about, Mapping) else None
    if not isinstance(about, Mapping) or at_ms is None or not isinstance(about.get("cwd"), str):
        return None
    name = about.get("id")
    return Session(name[:200] if isinstance(name, str) else None, about["cwd"], at_ms, offset)


def _owner(session: Session, owners: list[tuple[Seated, Running]]) -> Seated | None:
    before = [
        (running.began_ms, one)
        for one, running in owners
        if running.cwd == session.cwd and running.began_ms <= session.began_ms + EARLY_MS
    ]
    return max(before, key=lambda pair: pair[0])[1] if before else None


def _row(line: bytes) -> Mapping[str, Any]:
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return {}  # the first line of a look that begins in the middle, or a foreign one
    return row if isinstance(row, Mapping) else {}


def _time(row: Mapping[str, Any]) -> int | None:
    try:
        return records.to_ms(str(row.get("timestamp")))
    except BadInput:
        return None
