"""What one fleetd leaves in the store: that it lives, and what it has printed, so that no restart repeats or loses it.

A daemon is called `host:socket path`, as the tmux server that it watches, without the server's pid.
"""

import hashlib
import re
from collections.abc import Iterable

import msgspec

DAEMONS = "daemon/"
BEAT_S = 10.0  # between two signs of life
LATE_S = 60.0  # after which a running fleetd that gave none is thought to hang
KEEP_MS = 3_600_000  # far longer than anything is written again
MOST = 1024  # marks of what was printed
MOST_ENDS = 2048  # of turns that still show on their panes


class DaemonState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is stored under `daemon/<host>/<socket>`; times are in ms on the store's clock.

    `pid` is that of a running `fleetd run`, 0 once it has ended well; `once`: the last sign of life is from a
    `fleetd --once`, which leaves no pid. `printed`: mark of a line -> when it was flushed. `ends`: marks of the ends
    of turns that the journal has, the ones seen last at the end. Of the last --once: `faults`, what it found wrong,
    and `server`, whether there was a tmux server.
    """

    since_ms: int = 0
    beat_ms: int = 0
    pid: int = 0
    once: bool = False
    printed: dict[str, int] = {}
    ends: list[str] = []
    faults: list[str] = []
    server: bool = False


def daemon_key(daemon: str) -> str:
    """Where the store keeps a daemon, `host:socket path`."""
    host, _, socket = daemon.partition(":")
    return f"{DAEMONS}{host}/{socket}"


def concerns(daemon: str, server: str | None) -> bool:
    """Whether a pane of this tmux server (`host:socket path:server pid`) is one that the daemon watches."""
    return server is not None and server.rpartition(":")[0] == daemon


def mark(line: bytes) -> str:
    """What stands for a line among those that were printed: equal for equal bytes, its newline aside."""
    return hashlib.sha256(line.rstrip(b"\n")).hexdigest()[:16]


def started(state: DaemonState | None, pid: int, once: bool, now_ms: int) -> DaemonState:
    """The state at a start; what was printed before stays known."""
    before = state or DaemonState()
    return msgspec.structs.replace(before, since_ms=now_ms, beat_ms=now_ms, pid=0 if once else pid, once=once)


def stopped(state: DaemonState | None, now_ms: int) -> DaemonState:
    """The state after a clean end."""
    return msgspec.structs.replace(state or DaemonState(), beat_ms=now_ms, pid=0)


def hangs(state: DaemonState, now_ms: int) -> bool:
    """Whether a fleetd should be running and gave no sign of life lately: it was killed, or stands still."""
    return bool(state.pid) and not 0 <= now_ms - state.beat_ms <= LATE_S * 1000


def printed(state: DaemonState | None, marks: Iterable[str], now_ms: int, ends: list[str] | None = None) -> DaemonState:
    """The state after these lines were flushed, with `ends` as the journal has them now.

    What is too old to be written again is forgotten.
    """
    before = state or DaemonState()
    kept = {known: at for known, at in before.printed.items() if abs(now_ms - at) <= KEEP_MS}
    kept |= dict.fromkeys(marks, now_ms)
    latest = before.ends if ends is None else ends[-MOST_ENDS:]
    return msgspec.structs.replace(before, printed=dict(list(kept.items())[-MOST:]), ends=latest, beat_ms=now_ms)


def looked(state: DaemonState | None, faults: list[str], server: bool) -> DaemonState:
    """The state after a look of --once that found these faults, and a tmux server or none."""
    return msgspec.structs.replace(state or DaemonState(), faults=faults, server=server)


_NUMBER = re.compile(r"(?a)(?<![\w%.-])\d[\d.:,]*")


def fault_of(text: str) -> str:
    """What stays equal when the same fault is said again: the text without its numbers."""
    return _NUMBER.sub("#", text)
