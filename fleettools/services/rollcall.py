"""Members that a sweep does not find: their pane has vanished, or it lives and is marked no more."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fleettools import records
from fleettools.policy.discovery import is_found
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.seats import Seat
from fleettools.services.ports import PaneRow

UNMARKED_SECONDS = 10.0  # a pane gets its options one after the other, and loses them so


class RollCall:
    """The members of one tmux server that were there, each with what its records said of it."""

    def __init__(self) -> None:
        self._members: dict[str, dict[str, Any]] = {}
        self._since: dict[str, float] = {}
        self._said: set[tuple[str, int | None, bool]] = set()

    def present(self, pane: records.Pane) -> None:
        """A member was looked at."""
        assert pane.target is not None
        self._members[pane.target] = records.who(records.Pane, pane)
        self._since.pop(pane.target, None)
        self._said -= {(pane.target, pane.pid, False), (pane.target, pane.pid, True)}

    def remember(self, member: MemberState) -> None:
        """The store knows a member that nobody looked at in this run."""
        if member.target not in self._members and not member.gone:
            self._members[member.target] = records.who(records.Pane, member)

    def absent(
        self,
        stamp: dict[str, Any],
        rows: Mapping[str, PaneRow],
        found: Mapping[str, Seat],
        age: Callable[[str], float],
        finds: bool = False,
    ) -> Iterator[records.Pane]:
        """A record for each member that is not there any more, once. `age`: seconds since it was seen as one.

        `finds`: members are found by the agent that runs in their pane, so that one whose agent has ended is gone.
        """
        for pane, who in list(self._members.items()):
            gone, unmarked = self._missing(who, rows.get(pane), found.get(pane), finds)
            if not gone and (not unmarked or age(pane) < UNMARKED_SECONDS):
                continue
            del self._members[pane]
            if (pane, who["pid"], gone) not in self._said:
                self._said.add((pane, who["pid"], gone))
                yield records.Pane(**stamp, **who, role="member", gone=gone or None, unmarked=unmarked or None)

    def _missing(self, who: dict[str, Any], row: PaneRow | None, seat: Seat | None, finds: bool) -> tuple[bool, bool]:
        """Whether a member is gone, and whether its pane lives without it."""
        if row is None or seat is None or who["pid"] not in (None, row.pid):
            return True, False
        if seat.role == "member":
            return False, False
        return finds and seat.role is None and is_found(who["profile"], who["agent"]), True

    def unmarked_for(self, pane: str, now: float) -> float:
        """Seconds for which this run has seen that a pane is marked no more."""
        return now - self._since.setdefault(pane, now)
