"""A lease: who may act on a thing now, so that processes do not act on it at the same time."""

import msgspec


class Owner(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A process: `id` is its own, `pid` and `started` (clock ticks since boot) find it again within one `boot`."""

    id: str
    pid: int
    started: str | None = None
    boot: str | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """Held by `owner` until `until_ms`, or until that process has ended."""

    owner: Owner
    until_ms: int


def free(lease: Lease | None, me: Owner, now_ms: int, ended: bool) -> bool:
    """Whether `me` may take it: nobody holds it, its time is over, its owner has `ended`, or it is mine."""
    return lease is None or ended or now_ms >= lease.until_ms or lease.owner.id == me.id


def take(lease: Lease | None, me: Owner, now_ms: int, ended: bool, seconds: float) -> tuple[Lease | None, bool]:
    """The lease after `me` asked for it, and whether it is mine now; asking again prolongs it."""
    if not free(lease, me, now_ms, ended):
        return lease, False
    return Lease(owner=me, until_ms=now_ms + round(seconds * 1000)), True


def drop(lease: Lease | None, me: Owner) -> tuple[Lease | None, bool]:
    """The lease after `me` gives it back, and whether it was mine."""
    mine = lease is not None and lease.owner.id == me.id
    return (None if mine else lease), mine
