"""Work that keeps nobody waiting: in a process of its own, which ends by itself."""

import fcntl
import os
import signal
from collections.abc import Callable

from fleettools.errors import Exit


def leave(work: Callable[[], None], seconds: int) -> None:
    """Have the work done by a process that holds no stream of this one, and is killed when it takes longer."""
    if os.fork():
        return
    status = Exit.OK
    try:
        os.setsid()
        signal.alarm(seconds)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):  # who started this one may wait until its pipes are closed
            os.dup2(null, fd)
        work()
    except BaseException:
        status = Exit.INTERNAL
    finally:
        os._exit(status)


def takes_place(path: str, places: int) -> bool:
    """Whether fewer processes than `places` hold one in this lock file; this one's is held until it ends."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for place in range(places):
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            return True
        except OSError:
            continue
    return False
