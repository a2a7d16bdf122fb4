"""What a way of delivery is: one file, chosen by the configuration, that knows how a text reaches somebody."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from fleettools import records
from fleettools.policy.notices.nudge import LONGEST

Step = Callable[[str], bool]  # asked before each step of a delivery, by its name; False: another process has it


class To(NamedTuple):
    """Who is told, as the store's keys name them: a lead by its server and pane, or this host and an alert."""

    server: str
    target: str


class Reach(NamedTuple):
    """How somebody can be told now. `hindrance`: why not, "" when nothing is in the way.

    `room`: the longest text that is read whole; `credential`: the one that the reader itself works on.
    """

    hindrance: str = ""
    room: int = LONGEST
    credential: str | None = None


class Result(NamedTuple):
    """What became of a text. `outcome` None: nothing was tried, and it may be tried later.

    `code`: for programs, what was in the way, "" where that is nothing they know.
    """

    outcome: records.DeliveryOutcome | None
    reason: str
    code: str = ""


class Message(NamedTuple):
    """What is told: the text, a token that stands in it and nowhere else, and the same as a record."""

    token: str
    text: str
    record: records.Notice | records.Alert


class Gone(Exception):
    """The reader is no more; the text says why."""


class Way(Protocol):
    """How texts reach some readers. Its methods are called by several threads, one for each reader.

    `singly`: every item is told by itself, as an alert; else all that is due is one text, as a notice.
    """

    singly: bool

    def begin(self) -> None:
        """Forget what was seen: a tick begins."""

    def reaches(self, to: To) -> Reach:
        """Whether and how the reader can be told now; raises Gone."""

    def submit(self, to: To, message: Message, step: Step) -> Result:
        """Tell it, with proof; `step("typed")` comes before the first thing that cannot be taken back."""

    def recover(self, to: To, token: str, step: Step) -> Result:
        """What became of a text whose teller has ended."""
