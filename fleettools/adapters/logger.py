"""What a person should know, for a program that uses fleettools as a library: in Python's own logging.

The logger is `fleettools`. It is silent until the program asks logging for it.
"""

import logging

from fleettools.adapters.streams import printable
from fleettools.seen import Seen


class LoggedMessages:
    """See fleettools.services.ports.Messages."""

    def __init__(self) -> None:
        self._logger = logging.getLogger("fleettools")
        if not self._logger.handlers:
            self._logger.addHandler(logging.NullHandler())
        self._said: Seen[str] = Seen()

    def error(self, text: object, *, once: bool = False) -> None:
        """What went wrong."""
        self._log(logging.ERROR, text, once)

    def warn(self, text: object, *, once: bool = False) -> None:
        """What a person should know though the work goes on."""
        self._log(logging.WARNING, text, once)

    def info(self, text: object) -> None:
        """What is good to know."""
        self._log(logging.INFO, text)

    def debug(self, text: object) -> None:
        """What helps to find a mistake."""
        self._log(logging.DEBUG, text)

    def _log(self, level: int, text: object, once: bool = False) -> None:
        line = printable(str(text))
        if not once or self._said.add(line):
            self._logger.log(level, "%s", line)
