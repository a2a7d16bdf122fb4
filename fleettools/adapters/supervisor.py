"""A word to the supervisor that started us with Type=notify: sd_notify(3)'s datagram, which needs no library."""

import os
import socket
from collections.abc import MutableMapping


class Supervisor:
    """Takes NOTIFY_SOCKET and the watchdog's period out of the environment, so that no child talks for us."""

    def __init__(self, env: MutableMapping[str, str]) -> None:
        self._path = env.pop("NOTIFY_SOCKET", "")
        microseconds = env.pop("WATCHDOG_USEC", "")
        meant = env.pop("WATCHDOG_PID", "") in ("", str(os.getpid()))
        # Half the period, as sd_watchdog_enabled(3) advises.
        self.interval = int(microseconds) / 2e6 if microseconds.isdecimal() and meant else None

    def tell(self, *lines: str) -> None:
        """Send `READY=1`, `STATUS=...` and the like; without a supervisor nothing happens, nor when it is gone."""
        if not self._path:
            return
        address = "\0" + self._path[1:] if self._path.startswith("@") else self._path
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as door:
            try:
                door.sendto("\n".join(lines).encode(), address)
            except OSError:
                return
