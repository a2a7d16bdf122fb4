"""The file of a SQLite store: whose it is, who may read it, and where it goes when it is damaged.

Whose it is is read from its bytes, without SQLite, which would already recover or lock what is not ours.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum

from fleettools.adapters import clock
from fleettools.errors import Unavailable

APPLICATION = 0x666C6565  # "flee" in the header says that the file is ours
FORMAT = 1

_MAGIC = b"SQLite format 3\0"
_TABLE = b"fleet_state"
_HEAD = 1 << 16
_LOG = 1 << 20


class Whose(Enum):
    """Whose file stands at a path."""

    NOBODYS = "there is none"
    EMPTY = "it has no bytes"
    FRESH = "a database without a table"
    OURS = "a store, sound or damaged"
    FOREIGN = "somebody else's"


def look(path: str) -> Whose:
    """Whose the file is; raises Unavailable for what is no plain file, OSError when it cannot be read."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return Whose.NOBODYS
    if not stat.S_ISREG(mode):
        kind = "a symbolic link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "no plain file"
        raise Unavailable(f"{path} is {kind}", "name a file of its own with --state")
    head = _first(path, _HEAD)
    if not head:
        return Whose.EMPTY
    if not head.startswith(_MAGIC):
        # A damaged head; text that speaks of the table is not damage.
        return Whose.OURS if b"\0" in head and _names_our_table(path, head) else Whose.FOREIGN
    made_by = int.from_bytes(head[68:72], "big")
    if made_by == APPLICATION:
        return Whose.OURS
    if made_by == 0 and _names_our_table(path, head):
        return Whose.OURS  # made by 0.1.0, which wrote no number
    no_table = head[100:101] == b"\x0d" and head[103:105] == b"\0\0" and head[60:64] == b"\0\0\0\0"
    return Whose.FRESH if made_by == 0 and no_table and not _first(path + "-wal", 1) else Whose.FOREIGN


def _names_our_table(path: str, head: bytes) -> bool:
    return _TABLE in head or _TABLE in _first(path + "-wal", _LOG)


def _first(path: str, size: int) -> bytes:
    with suppress(FileNotFoundError), open(path, "rb") as file:
        return file.read(size)
    return b""


@contextmanager
def made(path: str) -> Iterator[str]:
    """Another name for a file (0600, whatever the umask) that gets its own at the end. To be used `alone`."""
    draft = path + ".new"
    with suppress(FileNotFoundError):
        os.unlink(draft)  # of one who was killed at it
    # SQLite gives -wal and -shm the mode of this file.
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    os.chmod(draft, 0o600)
    yield draft
    os.rename(draft, path)


def make_private(path: str) -> None:
    """Take the file from others, where its owner asks."""
    if os.stat(path).st_mode & 0o077:
        with suppress(PermissionError):
            os.chmod(path, 0o600)


def make_folder(folder: str) -> None:
    """The folder and those above it, 0700 each, whatever the umask."""
    if os.path.isdir(folder):
        return
    make_folder(os.path.dirname(folder))
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
        os.chmod(folder, 0o700)


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Keep others from making, or moving away, a store in the same folder meanwhile."""
    import fcntl

    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def move_aside(path: str) -> str:
    """Rename the file and what belongs to it; the new name. To be called `alone`."""
    aside = _unused(f"{path}.corrupt-{clock.now_ms()}")
    for end in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            os.rename(path + end, aside + end)
    return aside


def identity(path: str) -> tuple[int, int] | None:
    """What tells this file from one that replaced it; None when there is none, or it was cut to nothing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_size else None


def _unused(path: str) -> str:
    number, candidate = 1, path
    while os.path.lexists(candidate):
        number, candidate = number + 1, f"{path}.{number}"
    return candidate
