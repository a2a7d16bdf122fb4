"""Signals: a command that is killed finishes the record in hand, then dies of that signal."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class Killed(BaseException):
    """A deadly signal arrived while the command was waiting."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


_waiting = 0
_caught = 0


def _handle(signum: int, _frame: FrameType | None) -> None:
    global _caught
    # A second signal does not wait for the record in hand: somebody means it.
    again, _caught = bool(_caught), signum
    if _waiting or again:
        raise Killed(signum)


def install() -> None:
    """From here on ^C, TERM and HUP take effect only inside `waiting()`, or when they come twice."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, _handle)


def uninstall() -> None:
    """From here on a deadly signal kills at once; one that has come before does so now."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is _handle:
            signal.signal(signum, signal.SIG_DFL)
    if _caught:
        die(_caught)


@contextmanager
def waiting() -> Iterator[None]:
    """Wrap a wait (a read, a sleep) in this: raises Killed for a signal that has come, or comes meanwhile."""
    global _waiting
    _waiting += 1
    try:
        if _caught:
            raise Killed(_caught)
        yield
    finally:
        _waiting -= 1


def caught() -> int:
    """The deadly signal that has arrived so far, 0 when none has."""
    return _caught


def die(signum: int) -> NoReturn:
    """End this process by the signal, so that a shell sees what killed it."""
    signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signum])
    os.kill(os.getpid(), signum)
    os._exit(128 + signum)
