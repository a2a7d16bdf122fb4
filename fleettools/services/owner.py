"""This process as the owner of leases, and whether another owner still lives."""

import os
import secrets
from collections.abc import Callable

from fleettools.policy.notices import lease as leases
from fleettools.policy.notices.lease import Lease, Owner
from fleettools.services.store import Store, change, read

PANE_SECONDS = 60.0  # longer than any delivery takes


class Ownership:
    """What this process holds in a store. `boot` is this machine's; `started`: when a process began, if it lives."""

    def __init__(self, store: Store, boot: str | None, started: Callable[[int], str | None]) -> None:
        self._store, self._boot, self._started = store, boot, started
        pid = os.getpid()
        self.me = Owner(id=secrets.token_hex(8), pid=pid, started=started(pid), boot=boot)

    def ended(self, owner: Owner) -> bool:
        """Whether it is certain that the process is no more; of one on another machine, it never is."""
        if owner.boot is None or owner.boot != self._boot:
            return False
        return self._started(owner.pid) != owner.started

    def take(self, server: str, target: str) -> bool:
        """Ask for the right to tell a reader something, or prolong it; False while another process has it."""
        key = _key(server, target)
        held = read(self._store, key, Lease)
        gone = held.owner if held and self.ended(held.owner) else None
        now_ms = self._store.now_ms()

        def step(lease: Lease | None) -> tuple[Lease | None, bool]:
            return leases.take(lease, self.me, now_ms, lease is not None and lease.owner == gone, PANE_SECONDS)

        return change(self._store, key, Lease, step)

    def drop(self, server: str, target: str) -> None:
        """Give the right back; does nothing when it was lost meanwhile."""
        change(self._store, _key(server, target), Lease, lambda lease: leases.drop(lease, self.me))


def _key(server: str, target: str) -> str:
    return f"lease/{server}/{target}"
