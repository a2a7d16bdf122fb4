"""The door to what a process and its agent's files say of the account that it spends."""

import os
from typing import Any

import msgspec

from fleettools.adapters import clock

MAX_SIZE = 32 << 20
LOOKS, PAUSE = 5, 0.01  # how often, and how many seconds apart


def environment(pid: int) -> dict[str, str]:
    """The environment that a process was started with; empty where that cannot be read.

    Without /proc only the home is known, which is that of whoever looks.
    """
    pairs: list[bytes] = []
    for _ in range(LOOKS):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                pairs = file.read().split(b"\0")
        except OSError:
            return {} if os.path.isdir("/proc/self") else {"HOME": os.path.expanduser("~")}
        if any(pairs):
            break
        clock.hold(PAUSE)  # a program that is just being started has none for a moment
    return dict(os.fsdecode(pair).split("=", 1) for pair in pairs if b"=" in pair)


def folder(pid: int) -> str | None:
    """The folder that a process works in, None where that cannot be told."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None


def read(path: str) -> Any:
    """The JSON value in a file, None when it is not there, not readable, not JSON or too large."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > MAX_SIZE:
            return None
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read())
    except (OSError, msgspec.DecodeError, ValueError, RecursionError):
        return None


def lives(pid: int) -> bool:
    """Whether there is a process of that id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
