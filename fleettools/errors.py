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
    """What went wrong, and how to mend it. `where` (`stdin:17`, a file and key) comes first when there is one."""

    exit = Exit.INTERNAL

    def __init__(self, what: str, mend: str = "", where: str = "") -> None:
        super().__init__(what)
        self.what, self.mend, self.where = what, mend, where
        self.also: tuple[FleetError, ...] = ()  # further errors of the same kind, each to be said on its own line

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.mend}" if self.mend else text


class UsageError(FleetError):
    """The command line does not fit."""

    exit = Exit.USAGE


class BadInput(FleetError):
    """A line, record or prompt that cannot be used."""

    exit = Exit.BAD_INPUT


class Unavailable(FleetError):
    """tmux or the store cannot be reached."""

    exit = Exit.UNAVAILABLE


class NoServer(Unavailable):
    """No tmux server listens on the socket."""


class Silent(Unavailable):
    """The tmux server does not answer in time: stopped, or hanging."""


class NoPane(Unavailable):
    """The pane that is named does not exist."""


class Unusable(Unavailable):
    """There is no tmux here, or one that is too old."""


class Undecodable(Unavailable):
    """One row of the store cannot be read; the others can."""


class CannotWrite(FleetError):
    """Standard output, or a file, does not take what is written."""

    exit = Exit.CANNOT_WRITE


class NotNow(FleetError):
    """The same call may succeed later."""

    exit = Exit.NOT_NOW


class Unknown(FleetError):
    """What is named is not there, and waiting does not bring it."""

    exit = Exit.NO


class BadConfig(FleetError):
    """The configuration is wrong; `where` is its key."""

    exit = Exit.BAD_CONFIG


class Fault(NamedTuple):
    """One mistake in a file: its place (`profiles.codex-b.errorPattern`), what is wrong, and how to mend it."""

    place: str
    what: str
    mend: str
