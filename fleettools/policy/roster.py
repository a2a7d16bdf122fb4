"""The roster: who is in the fleet and in which state (design section 5)."""

import msgspec

from fleettools import records
from fleettools.policy.turns import PastTurn, TurnState


class MemberState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is stored under `member/<server>/<target>`; times in ms.

    `since_ms`: when `state` began. `joined_ms`: the first look at this pane process (`pid`). A `released` one is a
    tombstone of server, target and pid. `gone`: the pane has vanished or is dead, so it holds no slot. `turns` counts
    all turns under this key, whatever the process; `past` are the last few of them, oldest first.
    """

    server: str
    target: str
    pid: int | None = None
    name: str | None = None
    profile: str | None = None
    agent: str | None = None
    lead: str | None = None
    state: records.State
    since_ms: int
    joined_ms: int
    failure_reason: str | None = None
    reason: str | None = None
    gone: bool = False
    turn: TurnState | None = None
    turns: int = 0
    past: list[PastTurn] = []
    earlier: list[str] = []

    @property
    def holds_slot(self) -> bool:
        """Whether it counts against `maxMembers`: every member but a released one and one whose pane is gone."""
        return self.state != "released" and not self.gone


MEMBERS = "member/"


def member_key(server: str, target: str) -> str:
    """Where the store keeps the member in a pane."""
    return f"{MEMBERS}{server}/{target}"
