"""One fleetd on a store and tmux server at a time, whatever starts it."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from fleettools.adapters import clock
from fleettools.adapters.stores import default_path
from fleettools.errors import NotNow

PATIENCE = 60.0  # seconds for which `run` lets a look of `--once` come to its end
TICK = 0.1


@contextmanager
def held(store: str | None, socket: str, once: bool) -> Iterator[None]:
    """Hold the lock of this store and tmux socket; raises NotNow, with the pid, while another fleetd does.

    `once`: the holder looks once, so that a `fleetd run` which comes meanwhile waits for it.
    """
    file = os.open(_path(store, socket), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _take(file, once)
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()} {'once' if once else 'run'}\n".encode(), 0)
        yield
    finally:
        os.close(file)  # lets go of the lock; the file stays, since another process may be about to lock it


def _path(store: str | None, socket: str) -> str:
    """The lock's place: equal for every way of naming the same store and socket."""
    name = store or default_path()
    if "://" not in name and name != "memory:":
        name = os.path.realpath(os.path.expanduser(name.removeprefix("sqlite:")))
    what = repr((name, os.path.realpath(socket)))
    folder = os.path.dirname(default_path())
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, f"fleetd-{hashlib.sha256(what.encode()).hexdigest()[:12]}.lock")


def _take(file: int, once: bool) -> None:
    deadline = clock.monotonic() + PATIENCE
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, _, kind = os.pread(file, 64, 0).decode(errors="replace").strip().partition(" ")
            if once or kind == "run" or clock.monotonic() > deadline:
                what = f"another fleetd{f' (pid {pid})' if pid else ''} is at work on this store and tmux server"
                raise NotNow(what, "let it finish, or stop it") from None
        clock.sleep(TICK)
