"""Text files of other programs: read whole, and put in place of the old one in a single step."""

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


def replace(path: str, text: str) -> None:
    """Put the text there, with the mode that the file had; a link stays one. "" removes the file."""
    target = os.path.realpath(path)
    beside = f"{target}.fleet-{os.getpid()}"
    try:
        if not text:
            os.unlink(target)
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        mode = 0o600
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(os.stat(target).st_mode)
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                os.fchmod(file.fileno(), mode)
                file.write(text.encode())
            os.replace(beside, target)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(beside)
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror}", "make it writable, or make room there") from None
