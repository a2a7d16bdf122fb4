"""The one door to the processes of a terminal: who is in its foreground, from /proc, elsewhere from `ps` and `lsof`."""

import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple, Protocol

TIMEOUT = 4.0
KNOWN = 4096  # panes that are remembered
PROC = "/proc"


class Process(NamedTuple):
    """A process of a terminal's foreground group. `state` as ps has it (`R`, `S`, `T`, `Z`, ...); `words`: its argv.

    `reads`: its standard input is that terminal, or cannot be told. `ancestors`: the pids above it, up to the first.
    """

    pid: int
    ancestors: frozenset[int]
    state: str
    reads: bool
    words: tuple[str, ...]


class _Stat(NamedTuple):
    state: str
    parent: int
    group: int
    terminal: str  # a device number, or with ps its name; "" for none
    foreground: int  # the foreground group of that terminal, -1 for none
    words: tuple[str, ...] = ()  # with /proc they are read later, of few


class Kin(NamedTuple):
    """A process above another. `terminal`: the one it is attached to, "" for none; `words`: its argv."""

    pid: int
    terminal: str
    words: tuple[str, ...]


def above(pid: int) -> list[Kin]:
    """The processes above one, nearest first; [] where nothing tells."""
    source = _source()
    found: list[Kin] = []
    stat = source.one(pid)
    while stat is not None and stat.parent > 0 and len(found) < 100:
        parent = stat.parent
        stat = source.one(parent)
        if stat is not None:
            found.append(Kin(parent, stat.terminal, source.words(parent, stat)))
    return found


class Source(Protocol):
    """Where processes are read from."""

    def one(self, pid: int) -> _Stat | None:
        """That process, None when there is none."""

    def every(self) -> dict[int, _Stat]:
        """Every process."""

    def words(self, pid: int, stat: _Stat) -> tuple[str, ...]:
        """Its command line."""

    def readers(self, pids: Iterable[int], terminal: str) -> dict[int, bool]:
        """Of those whose standard input can be told, whether it is that terminal."""


class Terminals:
    """Looks up who is in the foreground of panes' terminals."""

    def __init__(self, source: "Source | None" = None) -> None:
        self._source = source or _source()
        self._known: dict[int, tuple[int, list[Process]]] = {}

    def foreground(self, pid: int) -> list[Process] | None:
        """Who is in the foreground of the terminal of a pane's process, looked up anew; None when nothing tells."""
        stat = self._source.one(pid)
        return self._group(stat, self._source.every()) if stat else None

    def seen(self, pid: int) -> list[Process] | None:
        """The same, looked up once for a pane's process and foreground group."""
        return self.sweep([pid]).get(pid)

    def sweep(self, pids: Iterable[int]) -> dict[int, list[Process]]:
        """The same for many panes, without those of which nothing tells."""
        found: dict[int, list[Process]] = {}
        every: dict[int, _Stat] = {}
        for pid in pids:
            stat = self._source.one(pid)
            if stat is None:
                continue
            group, known = self._known.get(pid, (0, None))
            if known is None or group != stat.foreground:
                every = every or self._source.every()
                known = self._group(stat, every)
            if known is not None:
                found[pid] = known
                if len(self._known) >= KNOWN:
                    self._known.clear()
                self._known[pid] = stat.foreground, known
        return found

    def _group(self, pane: _Stat, every: dict[int, _Stat]) -> list[Process] | None:
        """The processes in the foreground of a pane's terminal, None where it has none."""
        if not pane.terminal or pane.foreground <= 0:
            return None
        members = {
            pid: stat for pid, stat in every.items()
            if stat.group == pane.foreground and stat.terminal == pane.terminal
        }  # fmt: skip
        reads = self._source.readers(members, pane.terminal)
        return [
            Process(pid, _above(stat, every), stat.state, reads.get(pid, True), self._source.words(pid, stat))
            for pid, stat in members.items()
        ]


def _source() -> Source:
    return Proc() if os.path.isdir(f"{PROC}/self") else Ps()


def _above(stat: _Stat, every: dict[int, _Stat]) -> frozenset[int]:
    found: set[int] = set()
    parent = stat.parent
    while parent > 0 and parent not in found:
        found.add(parent)
        above = every.get(parent)
        parent = above.parent if above else 0
    return frozenset(found)


class Proc:
    """Processes from /proc."""

    def one(self, pid: int) -> _Stat | None:
        """That process, None when there is none."""
        try:
            with open(f"{PROC}/{pid}/stat", "rb") as file:
                # The name in brackets may hold anything, brackets and blanks too.
                fields = file.read().rpartition(b") ")[2].split()
        except OSError:
            return None
        state, parent, group, _, terminal, foreground = fields[:6]
        device = "" if terminal == b"0" else terminal.decode()
        return _Stat(state.decode(), int(parent), int(group), device, int(foreground))

    def every(self) -> dict[int, _Stat]:
        """Every process."""
        looked = ((int(name), self.one(int(name))) for name in os.listdir(PROC) if name.isdecimal())
        return {pid: stat for pid, stat in looked if stat}

    def words(self, pid: int, stat: _Stat) -> tuple[str, ...]:
        """Its command line; its short name when that is empty or hidden."""
        for name in ("cmdline", "comm"):
            with suppress(OSError), open(f"{PROC}/{pid}/{name}", encoding="utf-8", errors="replace") as file:
                if text := file.read(65_536).rstrip("\0\n"):
                    return tuple(text.split("\0"))
        return ()

    def readers(self, pids: Iterable[int], terminal: str) -> dict[int, bool]:
        """Of those whose standard input can be told, whether it is that terminal."""
        found: dict[int, bool] = {}
        for pid in pids:
            path = f"{PROC}/{pid}/fd/0"
            try:
                found[pid] = os.readlink(path) == "/dev/tty" or os.stat(path).st_rdev == _device(int(terminal))
            except FileNotFoundError:  # it has none, or has ended
                found[pid] = False
            except OSError:
                continue
        return found


def _device(number: int) -> int:
    """The device of a tty_nr of /proc/PID/stat: minor in bits 31-20 and 7-0, major in 15-8."""
    return os.makedev(number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00)


class Ps:
    """Processes from `ps`, their standard input from `lsof`, for systems without /proc."""

    def one(self, pid: int) -> _Stat | None:
        """That process, None when there is none."""
        return self._listed("-p", str(pid)).get(pid)

    def every(self) -> dict[int, _Stat]:
        """Every process."""
        return self._listed("-A")

    def _listed(self, *which: str) -> dict[int, _Stat]:
        columns = [word for name in ("pid", "ppid", "pgid", "tpgid", "stat", "tty") for word in ("-o", f"{name}=")]
        found = {}
        for line in _said("ps", *which, "-ww", *columns, "-o", "command=").splitlines():
            fields = line.split(None, 6)
            if len(fields) == 7 and all(field.lstrip("-").isdecimal() for field in fields[:4]):
                pid, parent, group, foreground = map(int, fields[:4])
                terminal = "" if fields[5].startswith(("?", "-")) else fields[5].removeprefix("/dev/")
                # ps does not say where one word ends; a path with a blank in it names nobody.
                found[pid] = _Stat(fields[4], parent, group, terminal, foreground, tuple(fields[6].split()))
        return found

    def words(self, pid: int, stat: _Stat) -> tuple[str, ...]:
        """Its command line, cut at blanks."""
        return stat.words

    def readers(self, pids: Iterable[int], terminal: str) -> dict[int, bool]:
        """Of those whose standard input can be told, whether it is that terminal."""
        found: dict[int, bool] = {}
        pid = 0
        for line in _said("lsof", "-a", "-w", "-d", "0", "-p", ",".join(map(str, pids)), "-Fpn").splitlines():
            if line.startswith("p"):
                pid = int(line[1:])
            elif line.startswith("n"):
                found[pid] = line[1:].removeprefix("/dev/").partition(" ")[0] in (terminal, "tty")
        return found


def _said(*words: str) -> str:
    """What a program prints, "" when it cannot be run."""
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, env=os.environ | {"LC_ALL": "C"}
        )
        return done.stdout.decode(errors="replace")
    return ""


def started(pid: int) -> str | None:
    """When a process began, in words that only compare; None when it has ended."""
    if os.path.isdir(f"{PROC}/self"):
        try:
            with open(f"{PROC}/{pid}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(") ")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else fields[19]
    state, _, since = _said("ps", "-p", str(pid), "-o", "state=", "-o", "lstart=").strip().partition(" ")
    return None if not state or state[0] in "ZX" else since.strip()
