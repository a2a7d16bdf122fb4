"""Prompts to failed members that a process left half-way when it ended: proved, taken back, or given up."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from fleettools.errors import Unavailable
from fleettools.policy.members import handover, roster
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.tickets import Settlement
from fleettools.policy.members.turns import DELIVERY_MS
from fleettools.records import DeliveryOutcome
from fleettools.services.members import settle
from fleettools.services.owner import Ownership
from fleettools.services.store import Store, change, read

SEEN = "seen in its pane, the process that typed it has ended"
NEVER = "the process that was to type it ended before"
LOST = "the process that typed it ended, and nobody has seen it go in"


class Shows(Protocol):
    """A member's pane, looked up now."""

    def shows(self, baseline: str | None) -> bool:
        """Whether it shows what it showed then, so that nothing has gone in since."""


class Found(NamedTuple):
    """What became of such a prompt. `member`: as it was before it, still failed unless it was `submitted`."""

    outcome: DeliveryOutcome
    reason: str
    member: MemberState
    ticket: str


def made_good(
    store: Store, owner: Ownership, member: MemberState, pane: Callable[[MemberState], Shows], now_ms: int
) -> Found | None:
    """End what another process began in a member's pane; None while that one lives, or it may still be seen to go in.

    `now_ms` is by the member's clock. What is not proved is not typed again.
    """
    if member.attempt is None or not owner.take(member.server, member.target):
        return None
    try:
        known = read(store, roster.member_key(member.server, member.target), MemberState)
        before = handover.before_attempt(known) if known else None
        return _ended(store, known, before, pane, now_ms) if known and before else None
    finally:
        owner.drop(member.server, member.target)


def _ended(
    store: Store, member: MemberState, before: MemberState, pane: Callable[[MemberState], Shows], now_ms: int
) -> Found | None:
    """How a delivery that its sender left halfway has ended; None while that may still be at it."""
    key, turn = roster.member_key(member.server, member.target), member.turn
    assert turn is not None
    if turn.submitted:
        change(store, key, MemberState, lambda known: (handover.prove(known, turn.event, now_ms), None))
        return Found("submitted", SEEN, before, turn.event)
    untouched = _shows(pane, member, turn.baseline)
    if not untouched and now_ms < turn.began_ms + DELIVERY_MS:
        return None
    outcome: DeliveryOutcome = "refused" if untouched else "unknown"
    reason = NEVER if untouched else LOST
    settle(store, Settlement(turn.event, "send", "failed", f"not seen submitted: {reason}", now_ms, told=True))
    change(
        store, key, MemberState,
        lambda known: handover.withdraw(known, before, turn.event, now_ms, doubted=not untouched),
    )  # fmt: skip
    return Found(outcome, reason, before, turn.event)


def _shows(pane: Callable[[MemberState], Shows], member: MemberState, baseline: str | None) -> bool:
    try:
        return pane(member).shows(baseline)
    except Unavailable:
        return False
