"""A place without any network but loopback, in which everything ends when its first process does."""

import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

CANNOT = 77  # exit status: what it takes is not there
INSIDE = "FLEET_LIVE_INSIDE"
_GET, _SET, _UP = 0x8913, 0x8914, 0x1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP


def missing() -> str:
    """What is missing for such a place, with the mend; "" when nothing is."""
    if os.geteuid() != 0:
        return "needs root, for a network namespace of its own; run it with sudo"
    for program in ("unshare", "tmux"):
        if not shutil.which(program):
            return f"needs {program}, which is not installed"
    if subprocess.run([*_UNSHARE, "true"], capture_output=True, check=False).returncode:
        return "may not make a namespace here (unshare --net --pid); a container needs the right to do so"
    return ""


_UNSHARE = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")


def inside() -> bool:
    """Whether this process runs in such a place."""
    return INSIDE in os.environ


def enter(arguments: list[str]) -> int:
    """Run this program, with these arguments, in such a place; its exit status. Its end is that of all in it."""
    # Not in /tmp, where Codex does not want its home to be; the path of a socket has to be short.
    folder = tempfile.mkdtemp(prefix="fleet-", dir="/var/tmp")
    env = os.environ | {INSIDE: folder}
    place = subprocess.Popen([*_UNSHARE, sys.executable, *arguments], env=env)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: place.kill())  # unshare itself heeds no gentler word
    try:
        status = place.wait()
        return status if status >= 0 else 128 - status
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def folder() -> Path:
    """Where this place keeps its files; they end with it."""
    return Path(os.environ[INSIDE])


def give_up(why: str) -> NoReturn:
    """End with one line, because something is missing here."""
    print(f"live: {why}", file=sys.stderr)
    raise SystemExit(CANNOT)


def raise_loopback() -> None:
    """Bring up the one interface of the namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        name = struct.pack("16sh", b"lo", 0)
        _, flags = struct.unpack("16sh", fcntl.ioctl(asked, _GET, name))
        fcntl.ioctl(asked, _SET, struct.pack("16sh", b"lo", flags | _UP))


def interfaces() -> list[str]:
    """Every network interface there is."""
    return [name for _, name in socket.if_nameindex()]
