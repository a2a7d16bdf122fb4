"""Moments, and how long ago they are: within one boot on the clock that never steps, else on the wall's.

A wall clock may be an hour ahead and be set back. What has to last for a minute is kept as a moment and a length, so
that the clock of the boot measures it; where only the wall's is left, a span that lies wholly ahead is over.
"""

import msgspec

from fleettools import records


class Moment(msgspec.Struct, frozen=True, omit_defaults=True):
    """Milliseconds since the epoch, and, where that is known, since the start of `boot` (suspend included)."""

    ms: int
    boot: str | None = None
    up_ms: int | None = None

    def since(self, other: "Moment") -> int:
        """Milliseconds from the other moment to this one."""
        if self.boot is not None and self.boot == other.boot and self.up_ms is not None and other.up_ms is not None:
            return self.up_ms - other.up_ms
        return self.ms - other.ms

    def plus(self, ms: int) -> "Moment":
        """The moment so many milliseconds later, or earlier."""
        return Moment(self.ms + ms, self.boot, None if self.up_ms is None else self.up_ms + ms)


def of(record: records.Record) -> Moment:
    """When a record was made, by its own clock; raises BadInput when its `ts` is no time."""
    return Moment(records.to_ms(record.ts), record.boot, None if record.up is None else round(record.up * 1000))


def left(begin: Moment, length_ms: int, now: Moment) -> int:
    """Milliseconds until a span is over, 0 when it is. One that begins further ahead than it is long is over."""
    gone = now.since(begin)
    return 0 if gone < -length_ms else max(0, length_ms - gone)


def seconds(ms: int) -> int:
    """Whole seconds, rounded up."""
    return -(-ms // 1000)
