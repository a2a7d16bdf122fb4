"""Whole files for others to read: written beside and renamed, so that nobody ever reads half of one."""

import os
from contextlib import suppress

from fleettools.errors import CannotWrite


def replace(path: str, data: bytes) -> None:
    """Put `data` in the place of a file, readable as the umask allows; raises CannotWrite and leaves the old one."""
    beside = f"{path}.{os.getpid()}.new"
    try:
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(beside, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(beside)
        raise CannotWrite(f"{path}: {error.strerror}", "name a file in a folder that can be written") from None
