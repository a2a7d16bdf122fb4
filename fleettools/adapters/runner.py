"""The door to commands of a person's own: run by a shell, and never waited for too long."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

SECONDS = 30.0


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
