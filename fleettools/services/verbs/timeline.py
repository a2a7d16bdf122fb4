"""The story of the fleet, told from records: those of the journal, or of any other stream."""

import re
from collections.abc import Callable, Sequence

from fleettools import records
from fleettools.errors import BadInput, UsageError
from fleettools.policy.story import Chart, Timeline

SPAN = 6 * 3_600_000  # how much of the journal is shown, unless asked
UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
# The records that are told of; any other has no part in the story.
KINDS: tuple[type[records.Record], ...] = (
    records.Verdict, records.Incident, records.Quarantine, records.Ended, records.Delivery, records.Nearly,
    records.Unmapped,
)  # fmt: skip

Begin = Callable[[int], int]  # from the end of the story to its beginning, both in ms


def begin(since: str | None) -> Begin | None:
    """What `since` says: a span before the end (90m, 6h, 2d) or a time; raises UsageError."""
    if since is None:
        return None
    if span := re.fullmatch(r"(\d{1,6})([smhdw])", since):
        length = int(span[1]) * UNITS[span[2]]
        return lambda end: max(0, end - length)
    try:
        moment = records.to_ms(since)
    except BadInput:
        raise UsageError(f"--since {since} is no time", "write 90m, 6h, 2d, or 2026-01-31T12:00:00Z") from None
    return lambda _: moment


def journal(
    timeline: Timeline, start: Begin | None, now_ms: int, days: Callable[[int, int], Sequence[str]],
    feed: Callable[[Sequence[str]], None],
) -> Chart:  # fmt: skip
    """The story in fleetd's journal, up to now.

    `days`: the files with what happened between two times; `feed` tells the timeline all that stands in such files.
    """
    first = start(now_ms) if start else now_ms - SPAN
    feed(days(first, now_ms))
    # A journal that has only begun is drawn from its beginning.
    began = first if start or timeline.first_ms is None else max(first, timeline.first_ms)
    return timeline.chart(now_ms, began)


def stream(timeline: Timeline, start: Begin | None, now_ms: int) -> Chart:
    """The story that the timeline was told, up to its last record."""
    last = now_ms if timeline.last_ms is None else timeline.last_ms
    return timeline.chart(last, start(last) if start else None)
