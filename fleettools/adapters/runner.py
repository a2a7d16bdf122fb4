"""The door to commands of a person's own: run by a shell, and never waited for too long."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, NoReturn

from fleettools.adapters import signals
from fleettools.errors import CannotWrite

SECONDS = 30.0
IN_A_PIPE = 16_384  # bytes that every pipe holds before anybody reads


class Answer(NamedTuple):
    """Whether it was taken, and why (not), in words that hold no address and no secret; `maybe`: it may have been."""

    taken: bool
    reason: str
    maybe: bool = False


def ask(words: Sequence[str], seconds: float = SECONDS) -> Answer:
    """Run a program; whether it ended well, and if not, the last thing that it said."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except OSError as error:
        return Answer(False, f"it cannot be started ({error.strerror})")
    except subprocess.TimeoutExpired:
        return Answer(False, f"it did not end within {seconds:g} s", maybe=True)
    said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return Answer(done.returncode == 0, said[-1].rstrip(".") if said else f"it ended with status {done.returncode}")


def run(command: str, given: bytes, env: Mapping[str, str], seconds: float = SECONDS) -> Answer:
    """Run a shell command with `given` on its standard input; what it prints is not looked at."""
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=os.environ | dict(env),
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return Answer(False, f"the command cannot be started ({error.strerror})")
    with process:
        try:
            process.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # whatever it has started, too
            return Answer(False, f"the command did not end within {seconds:g} s", maybe=True)
    return Answer(process.returncode == 0, f"the command ended with status {process.returncode}")


def become(command: str, given: bytes) -> NoReturn:
    """Go on as a shell that runs the command, with `given` on its standard input: its output and status are ours.

    Raises CannotWrite when there is no place for what is given.
    """
    try:
        if len(given) <= IN_A_PIPE:
            read, write = os.pipe()
            os.write(write, given)
            os.close(write)
        else:
            import tempfile

            with tempfile.TemporaryFile() as file:
                file.write(given)
                file.seek(0)
                read = os.dup(file.fileno())
        os.dup2(read, 0)
        os.close(read)
        signals.uninstall()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and so would the command
        os.execv("/bin/sh", ["/bin/sh", "-c", command])
    except OSError as error:
        raise CannotWrite(f"{command}: {error.strerror}", "free some space") from None
