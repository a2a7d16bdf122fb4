"""This process as the owner of leases, and whether another owner still lives."""

import os
import secrets

from fleettools.adapters import clock
from fleettools.policy.notices import lease as leases
from fleettools.policy.notices.lease import Lease, Owner
from fleettools.services.store import Store, change

PANE_SECONDS = 60.0  # longer than any injection takes


def me() -> Owner:
    """An owner of this process, different at each call."""
    return Owner(id=secrets.token_hex(8), pid=os.getpid(), started=_started(os.getpid()), boot=clock.boot())


def ended(owner: Owner) -> bool:
    """Whether it is certain that the process is no more; of one on another machine, it never is."""
    if owner.boot is None or owner.boot != clock.boot():
        return False
    return _started(owner.pid) != owner.started


def _started(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(") ")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def take_pane(store: Store, server: str, target: str, owner: Owner) -> bool:
    """Ask for the right to type into a pane, or prolong it; False while another process has it."""

    def step(lease: Lease | None) -> tuple[Lease | None, bool]:
        gone = lease is not None and ended(lease.owner)
        return leases.take(lease, owner, store.now_ms(), gone, PANE_SECONDS)

    return change(store, _key(server, target), Lease, step)


def drop_pane(store: Store, server: str, target: str, owner: Owner) -> None:
    """Give the right back; does nothing when it was lost meanwhile."""
    change(store, _key(server, target), Lease, lambda lease: leases.drop(lease, owner))


def _key(server: str, target: str) -> str:
    return f"lease/{server}/{target}"
