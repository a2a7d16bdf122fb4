"""Whole files: read, put in place of the old one in a single step, and taken away."""

import os
import stat
from contextlib import suppress

from fleettools.errors import BadInput, CannotWrite

LARGEST = 4 << 20


def read(path: str) -> str | None:
    """The text of a plain file of at most 4 MiB, None when there is none; raises BadInput for anything else."""
    try:
        # A pipe in its place must not keep us waiting.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadInput("no plain file", "name another", path)
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(error.strerror or str(error), "name a file that can be read", path) from None
    if len(data) > LARGEST:
        raise BadInput("over 4 MiB", "name another", path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 (byte {error.start})", "save it as UTF-8", path) from None


def replace(path: str, data: bytes, mode: int = 0o666) -> None:
    """Put `data` in the place of a file in one step, so that nobody ever reads half of it; raises CannotWrite.

    A file that is there keeps its mode, and a link stays one; a new one has `mode`, as far as the umask allows.
    """
    target = os.path.realpath(path)
    beside = f"{target}.{os.getpid()}.new"
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
                with suppress(FileNotFoundError):
                    os.fchmod(file.fileno(), stat.S_IMODE(os.stat(target).st_mode))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(beside)
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror}", "name a file in a folder that can be written") from None


def remove(path: str) -> None:
    """Take a file away, and leave its folder; raises CannotWrite."""
    try:
        os.unlink(path)
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror}", "make its folder writable") from None
