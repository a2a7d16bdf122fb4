"""One pane before the judge: what it is about, what was read of it, and the words for what became of it."""

from typing import NamedTuple

from fleettools import records
from fleettools.screens.blocks import Screen
from fleettools.screens.look import Look
from fleettools.screens.patterns import Rules, Search

# What a cause means, in words that no agent fails with: they reach people and leads as `failureReason`.
WHY = {
    "overload": "the backend had no room",
    "server": "the backend broke down",
    "network": "the backend was out of reach",
    "auth": "the backend did not let the account in",
    "rate_limit": "the backend took no more for the moment",
    "concurrency": "the backend took no more at the same time",
    "model": "the backend does not have that model",
    "context": "the turn is longer than the model takes",
    "request": "the backend did not take what it was sent",
    "quota": "the account's plan is used up",
    "credits": "the account's money is used up",
    "unknown": "it could not go on",
}


class Earlier(NamedTuple):
    """The look before at the pane of an unknown agent: its text, and how many failures had been seen there by then."""

    text: str
    failures: int


class Outcome(NamedTuple):
    """What is known about a turn. `inferred`: an end that no mark of the agent's shows."""

    outcome: records.Outcome
    reason: str
    line: str = ""
    pattern: str | None = None
    cause: str | None = None
    attempt: int | None = None
    text: str = ""
    stopped: bool = False
    inferred: bool = False


class Case:
    """One pane before the judge."""

    def __init__(
        self, pane: records.Pane, look: Look | None, rules: Rules, earlier: Earlier | None = None, explain: bool = False
    ) -> None:
        self.pane, self.look, self.rules, self.earlier = pane, look, rules, earlier
        self.failures = 0  # of an unknown agent, by the end of this look
        self.busy: list[str | None] = []  # the sign of work, once it has been looked for
        self.notes: list[str] | None = [] if explain else None  # what a person is told; it costs time to write
        self.search = Search()
        self.screen = Screen(pane.text or "", look or Look(name=pane.agent or ""))
        self.path: records.Path = "block" if self.screen.prompts else "raw"

    def note(self, text: str) -> None:
        """Tell a person something, when one asked."""
        if self.notes is not None:
            self.notes.append(text)

    @property
    def is_fast(self) -> bool:
        """Whether the turn lasted less than the configured least; unknown seconds are not fast."""
        seconds = self.pane.turn.seconds if self.pane.turn else None
        return seconds is not None and seconds < self.rules.min_turn_seconds


def is_long_wait(text: str) -> bool:
    """Whether the wait that a text names is so long that something is used up."""
    from fleettools.screens import resets

    return resets.wait_seconds(text) >= resets.LONG_WAIT
