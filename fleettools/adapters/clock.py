"""The one clock in the tree. FLEET_NOW (an RFC 3339 time) stops it: for tests, and to ask what a view will say then."""

import os
import time
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from typing import Any

from fleettools import records
from fleettools.adapters import signals
from fleettools.errors import BadInput, UsageError
from fleettools.moments import Moment


def now_ms() -> int:
    """Milliseconds since the epoch."""
    fixed = os.environ.get("FLEET_NOW")
    if not fixed:
        return time.time_ns() // 1_000_000
    try:
        return records.to_ms(fixed)
    except BadInput:
        raise UsageError(f"FLEET_NOW={fixed!r} is no time", "write it as 2026-01-31T12:00:00Z, or unset it") from None


def up() -> float:
    """Seconds since boot, suspend included: a clock that never steps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


_boot: str | None = None


def boot() -> str | None:
    """This machine's boot id, None where the system has none."""
    global _boot
    if _boot is None:
        try:
            with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
                _boot = file.read().strip()
        except OSError:
            return None
    return _boot


def moment() -> Moment:
    """Now, on both clocks."""
    if os.environ.get("FLEET_NOW"):
        return Moment(now_ms())
    return Moment(time.time_ns() // 1_000_000, boot(), round(up() * 1000))


def stamp() -> dict[str, Any]:
    """The `ts`, `boot` and `up` of a record made now, to be passed on as `Tmux(**stamp(), ...)`."""
    if os.environ.get("FLEET_NOW"):
        return {"ts": records.to_ts(now_ms())}
    return {"ts": records.to_ts(now_ms()), "boot": boot(), "up": round(up(), 3)}


def sleep(seconds: float) -> None:
    """Wait; a deadly signal ends the wait."""
    with signals.waiting():
        time.sleep(max(0.0, seconds))


def hold(seconds: float) -> None:
    """Wait in the middle of what has to be brought to its end; a deadly signal takes effect after that."""
    time.sleep(max(0.0, seconds))


def monotonic() -> float:
    """Seconds on a clock for deadlines within this process; its zero means nothing."""
    return time.monotonic()


def local_zone() -> str | None:
    """The IANA name of this host's time zone, None when it has a rule of its own."""
    named = os.environ.get("TZ", "").lstrip(":")
    if named:
        return named if named == "UTC" or ("/" in named and not named.startswith("/")) else None
    link = os.path.realpath("/etc/localtime")
    return link.partition("zoneinfo/")[2].removeprefix("posix/") or (None if os.path.exists(link) else "UTC")


def zone() -> tzinfo:
    """This host's time zone, for times that a person reads."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    with suppress(ZoneInfoNotFoundError, ValueError):
        if name := local_zone():
            return ZoneInfo(name)
    return datetime.now().astimezone().tzinfo or UTC
