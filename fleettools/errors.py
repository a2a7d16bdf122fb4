"""Errors that a user can act on, each with the exit status of fleettools(7) that it ends the command with."""

from enum import IntEnum
from typing import NamedTuple


class Exit(IntEnum):
    """Exit statuses (the numbers are those of sysexits.h where it has one)."""

    OK = 0
    NO = 1
    USAGE = 2
    UNKNOWN = 3  # of fleet-health, which has 0 to 3 as Nagios wants
    BAD_INPUT = 65
    UNAVAILABLE = 69
    INTERNAL = 70
    CANNOT_WRITE = 74
    NOT_NOW = 75
    BAD_CONFIG = 78


class FleetError(Exception):
    """What went wrong, and how to mend it. `where` (`stdin:17`, a file and key) comes first when there is one.

    For programs `code` says in a word which of the known reasons it is, `retry_after` in how many seconds the same call
    may succeed: None where waiting changes nothing.
    """

    exit = Exit.INTERNAL
    code = "internal"

    def __init__(
        self, what: str, mend: str = "", where: str = "", *, code: str = "", retry_after: int | None = None
    ) -> None:
        super().__init__(what)
        self.what, self.mend, self.where, self.retry_after = what, mend, where, retry_after
        self.code = code or self.code
        self.also: tuple[FleetError, ...] = ()  # further errors of the same kind, each to be said on its own line

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.mend}" if self.mend else text


class UsageError(FleetError):
    """The command line, or the arguments of a call, do not fit."""

    exit = Exit.USAGE
    code = "usage"


class BadInput(FleetError):
    """A line, record or prompt that cannot be used."""

    exit = Exit.BAD_INPUT
    code = "bad_input"


class Unavailable(FleetError):
    """tmux or the store cannot be reached."""

    exit = Exit.UNAVAILABLE
    code = "store_unreachable"


class TmuxError(Unavailable):
    """tmux cannot be reached, or does not do what it is asked."""

    code = "tmux_unreachable"


class NoServer(TmuxError):
    """No tmux server listens on the socket."""


class Silent(TmuxError):
    """The tmux server does not answer in time: stopped, or hanging."""


class NoPane(TmuxError):
    """The pane that is named does not exist."""

    code = "no_pane"


class Unusable(TmuxError):
    """There is no tmux here, or one that is too old."""


class Undecodable(Unavailable):
    """One row of the store cannot be read; the others can."""


class CannotWrite(FleetError):
    """Standard output, or a file, does not take what is written."""

    exit = Exit.CANNOT_WRITE
    code = "cannot_write"


class NotNow(FleetError):
    """The same call may succeed later."""

    exit = Exit.NOT_NOW
    code = "not_now"


class Unknown(FleetError):
    """What is named is not there, and waiting does not bring it."""

    exit = Exit.NO
    code = "unknown"


class BadConfig(FleetError):
    """The configuration is wrong; `where` is its key."""

    exit = Exit.BAD_CONFIG
    code = "bad_config"


class Fault(NamedTuple):
    """One mistake in a file: its place (`profiles.codex-b.errorPattern`), what is wrong, and how to mend it."""

    place: str
    what: str
    mend: str
