"""The journal: what fleetd has seen and said, a file of JSON lines for each day of UTC, for people to read."""

import os
from datetime import UTC, datetime, timedelta

from fleettools.adapters.stores import default_path


def folder() -> str:
    """`$XDG_STATE_HOME/fleettools/journal`, or the same below ~/.local/state."""
    return os.path.join(os.path.dirname(default_path()), "journal")


def path(day: datetime) -> str:
    """The file of a day."""
    return os.path.join(folder(), f"{day:%Y-%m-%d}.jsonl")


def days(since_ms: int, until_ms: int) -> list[str]:
    """The files with what was written between two moments, oldest first; days without a file are left out."""
    day, last = (datetime.fromtimestamp(ms / 1000, UTC).replace(hour=0, minute=0) for ms in (since_ms, until_ms))
    found = []
    while day.date() <= last.date():
        found.append(path(day))
        day += timedelta(days=1)
    return [each for each in found if os.path.exists(each)]
