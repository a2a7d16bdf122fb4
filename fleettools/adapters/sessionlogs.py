"""The one door to agents' logs of their own sessions, and to the processes that they belong to."""

import errno
import glob
import os
import stat
from contextlib import suppress
from typing import BinaryIO, NamedTuple

FOLDERS = 3  # so many of the newest folders are looked at: a session is logged under the day on which it began
HEAD = 1 << 20  # bytes of the first line at most
CHUNK = 1 << 20  # bytes that one look reads at most


class Running(NamedTuple):
    """A process: its working folder, when it began (ms since the epoch), and its environment."""

    cwd: str
    began_ms: int
    env: dict[str, str]


class LogFile(NamedTuple):
    """A log: its path, its identity (device and inode), its size in bytes, and when it was last written (ms)."""

    path: str
    identity: str
    size: int
    written_ms: int


def running(pid: int) -> Running | None:
    """What is known of a process; None when it is not ours to look at, or no more."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b") ")[2].split()[19])
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = (part.partition(b"=") for part in file.read(1 << 20).split(b"\0"))
            env = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
        with open("/proc/stat", encoding="ascii", errors="replace") as file:
            booted = next(int(line.split()[1]) for line in file if line.startswith("btime "))
        return Running(os.readlink(f"/proc/{pid}/cwd"), booted * 1000 + ticks * 1000 // os.sysconf("SC_CLK_TCK"), env)
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def files(folder: str, pattern: str) -> list[LogFile]:
    """The plain files that a glob names, in the newest folders."""
    outer, _, name = pattern.rpartition("/")
    found = []
    for day in sorted(glob.glob(os.path.join(glob.escape(folder), outer)), reverse=True)[:FOLDERS]:
        for path in glob.glob(os.path.join(glob.escape(day), name)):
            with suppress(OSError):
                if os.path.isfile(path):
                    about = os.stat(path)
                    identity = f"{about.st_dev}-{about.st_ino}"
                    found.append(LogFile(path, identity, about.st_size, about.st_mtime_ns // 1_000_000))
    return found


def head(path: str) -> bytes:
    """The first line, b"" when there is none yet."""
    with suppress(OSError), _opened(path) as file:
        line = file.readline(HEAD)
        return line if line.endswith(b"\n") else b""
    return b""


def lines(path: str, offset: int) -> tuple[list[tuple[int, bytes]], int]:
    """The whole lines from an offset on, each with the offset at which it begins; and where the next look begins.

    One look reads 1 MiB at most. A longer line is passed over: its rest is no line of a log.
    """
    found: list[tuple[int, bytes]] = []
    with suppress(OSError), _opened(path) as file:
        file.seek(offset)
        part = file.read(CHUNK)
        if len(part) == CHUNK and b"\n" not in part:
            return [], offset + CHUNK
        for line in part.split(b"\n")[:-1]:
            found.append((offset, line + b"\n"))
            offset += len(line) + 1
    return found, offset


def _opened(path: str) -> BinaryIO:
    """A plain file; raises OSError for anything else, a pipe that was put in its place meanwhile, too."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "no plain file", path)
    return file
