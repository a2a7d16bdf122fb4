"""The journal: what fleetd has seen and said, a file of JSON lines for each day of UTC; no decision rests on it."""

import errno
import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from fleettools.adapters.stores import default_path


def folder() -> str:
    """`$XDG_STATE_HOME/fleettools/journal`, or the same below ~/.local/state; raises UsageError when there is none."""
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


class Journal:
    """Appends to the day's file, which only its owner may read; a line is one write, so that writers do not mix."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._name = ""
        self._fd = -1

    def add(self, name: str, line: bytes) -> None:
        """Append a whole line to the file `name`; raises OSError, after which the line may stand there in part."""
        if name != self._name:
            self.close()
            os.makedirs(self._place, mode=0o700, exist_ok=True)
            place = os.path.join(self._place, name)
            self._fd = os.open(place, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._name = name
        # What a full disk cut short must not take the next line with it.
        size = os.fstat(self._fd).st_size
        whole = not size or os.pread(self._fd, 1, size - 1) == b"\n"
        data = line if whole else b"\n" + line
        if os.write(self._fd, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def names(self) -> list[str]:
        """What stands in the folder."""
        try:
            return sorted(os.listdir(self._place))
        except FileNotFoundError:
            return []

    def remove(self, names: list[str]) -> None:
        """Delete files of the folder."""
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self._place, name))

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
        self._name, self._fd = "", -1
