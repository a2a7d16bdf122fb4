"""What was committed is said: each record is stored before it is written, and marked after that."""

from collections.abc import Collection, Iterable

import msgspec
from msgspec.structs import replace

from fleettools import moments, records
from fleettools.moments import Moment
from fleettools.policy import heartbeat

RESAY_MS = 10_000  # what has stood unannounced for so long is written again
KEEP_MS = 600_000  # what was announced is kept for so long, for a fleetd that has not printed it
MOST = 64


class Announcement(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A record that was committed; `announced` once it has been written to standard output.

    `servers`: the tmux servers whose panes it concerns.
    """

    line: str
    committed_ms: int
    boot: str | None = None
    up_ms: int | None = None
    announced: bool = False
    servers: list[str] = []

    def _left(self, length_ms: int, now: Moment) -> int:
        return moments.left(Moment(self.committed_ms, self.boot, self.up_ms), length_ms, now)

    def is_late(self, now: Moment) -> bool:
        """Whether it has stood unannounced for so long that its writer must have died."""
        return not self.announced and not self._left(RESAY_MS, now)

    def is_recent(self, now: Moment) -> bool:
        """Whether it may still be of use to who has not seen it."""
        return self._left(KEEP_MS + 1, now) > 0


Announcements = list[Announcement]


def committed(owed: Announcements, made: records.Record, servers: Iterable[str], now: Moment) -> Announcements:
    """The list with a record that is owed; the last announced ones of before are kept for KEEP_MS."""
    kept = [one for one in owed if one.announced and one.is_recent(now)][-MOST:]
    line = records.encode(made).decode()
    new = Announcement(line=line, committed_ms=now.ms, boot=now.boot, up_ms=now.up_ms, servers=sorted(set(servers)))
    return [*kept, *(one for one in owed if not one.announced), new]


def announced(owed: Announcements, line: str) -> Announcements:
    """The list after a record was written out."""
    return [replace(one, announced=True) if one.line == line else one for one in owed]


def overdue(owed: Announcements, now: Moment) -> tuple[Announcements, list[str]]:
    """The lines that stood unannounced for RESAY_MS, and the list that gives the caller as long to write them."""
    late = [one.line for one in owed if one.is_late(now)]
    if not late:
        return owed, []
    again = {"committed_ms": now.ms, "boot": now.boot, "up_ms": now.up_ms}
    return [replace(one, **again) if one.line in late else one for one in owed], late


def unprinted(owed: Announcements, now: Moment, printed: Collection[str], daemon: str) -> list[str]:
    """The lines, announced or not, that concern a pane of this fleetd and that it has lately not printed."""
    recent = [one for one in owed if one.is_recent(now) and heartbeat.mark(one.line.encode()) not in printed]
    return [one.line for one in recent if any(heartbeat.concerns(daemon, server) for server in one.servers)]
