"""A prompt on its way to a member: whether it may be sent, the turn that its ticket begins, and a reply to it."""

from typing import NamedTuple

import msgspec

from fleettools import moments
from fleettools.policy.members import turns
from fleettools.policy.members.roster import FAILED, Attempt, MemberState, entered
from fleettools.policy.members.turns import TurnState


class Hindrance(NamedTuple):
    """Why no prompt may be delivered to a member: in a word for programs, and the rest of a sentence on it.

    `seconds`: in how many of them it may be otherwise, None where waiting changes nothing.
    """

    code: str
    words: str
    seconds: int | None = None


def hindrance(member: MemberState | None, now_ms: int) -> Hindrance | None:
    """Why no prompt may be delivered to a member, None when one may."""
    if member is None or member.state == "released":
        return Hindrance("unknown_target", "is no member of the fleet")
    if member.gone:
        return Hindrance("gone", "has lost its pane")
    if member.state in FAILED:
        why = f"has failed ({member.failure_reason}); start a new turn in its pane to reinstate it"
        return Hindrance("failed", why)
    if member.state == "blocked":
        return Hindrance("asks", "is asking a person something")
    turn = member.turn
    if turn and turn.delivered_at_ms and turn.proven_ms is None and now_ms < turn.began_ms + turns.DELIVERY_MS:
        left = moments.seconds(turn.began_ms + turns.DELIVERY_MS - now_ms)
        return Hindrance("busy", "is being sent another prompt", left)
    return None


def may_be_sent(member: MemberState | None, now_ms: int) -> str:
    """The words of what hinders a delivery to a member, empty when nothing does."""
    found = hindrance(member, now_ms)
    return found.words if found else ""


def may_be_resumed(member: MemberState | None, event: str, now_ms: int) -> str:
    """Why a failed member may not be prompted again, "" when it may: only while the failed turn is still its last."""
    if member is None or member.state == "released":
        return "is no member of the fleet"
    if member.gone:
        return "has lost its pane"
    if member.turn is None or member.turn.event != event or member.state not in FAILED:
        return "has begun another turn since"
    if member.doubted == event:
        return "may have been prompted again already"
    return ""


def open_ticket(member: MemberState, ticket: str, baseline: str, now_ms: int, resumed: bool = False) -> MemberState:
    """Begin a ticket's turn, before its prompt is pasted; looks wait until `prove` or `withdraw`.

    `resumed`: a failed member is prompted again, and has failed no more.
    """
    attempt = None
    if resumed and member.turn:
        attempt = Attempt(ticket=ticket, state=member.state, reason=member.failure_reason, turn=member.turn)
        member = entered(msgspec.structs.replace(member, resumed=member.resumed + 1), "idle", now_ms)
    turn = TurnState(event=ticket, ticket=ticket, began_ms=now_ms, delivered_at_ms=now_ms, baseline=baseline)
    before = member.turn.open_ticket if member.turn else None
    return msgspec.structs.replace(
        member,
        turn=turn,
        count=member.count + 1,
        past=turns.remembered(member.past, member.turn),
        earlier=[*member.earlier, before] if before else member.earlier,
        attempt=attempt,
    )


def prove(member: MemberState | None, ticket: str, now_ms: int) -> MemberState | None:
    """The prompt was seen submitted: from now on what the pane shows is the ticket's turn."""
    if member is None or member.turn is None or member.turn.event != ticket:
        return member
    seen = member.turn.outcome is not None
    turn = msgspec.structs.replace(member.turn, proven_ms=now_ms)
    after = msgspec.structs.replace(member, turn=turn, attempt=None)
    return after if seen else entered(after, "busy", now_ms)


def before_attempt(member: MemberState) -> MemberState | None:
    """The failed member as it was before it was prompted again; None when it is not being prompted again."""
    attempt, turn = member.attempt, member.turn
    if attempt is None or turn is None or turn.event != attempt.ticket:
        return None
    return msgspec.structs.replace(
        member, turn=attempt.turn, count=member.count - 1, past=member.past[:-1], state=attempt.state,
        failure_reason=attempt.reason, resumed=member.resumed - 1, attempt=None,
    )  # fmt: skip


def withdraw(
    member: MemberState | None, before: MemberState, ticket: str, now_ms: int, doubted: bool = False
) -> tuple[MemberState | None, bool]:
    """The prompt did not go in: the turn before it is the current one again.

    `doubted`: it may have, so that a failed member is not prompted again for that failure. Unless a look, or the
    agent's own word, has seen it begin: then the answer is true, and it is proved after all.
    """
    if member is None or member.turn is None or member.turn.event != ticket:
        return member, False
    if member.turn.submitted:
        return prove(member, ticket, now_ms), True
    earlier = msgspec.structs.replace(
        member, turn=before.turn, count=before.count, past=before.past, earlier=before.earlier, resumed=before.resumed,
        attempt=None, doubted=before.turn.event if doubted and before.turn else before.doubted,
    )  # fmt: skip
    if before.state in FAILED:
        earlier = entered(earlier, before.state, now_ms, before.failure_reason)
    return earlier, False


def replied(member: MemberState | None, ticket: str, now_ms: int) -> MemberState | None:
    """A reply settled the ticket: the member is done, and the turn's own verdict comes too late."""
    if member is None:
        return None
    if ticket in member.earlier:
        return msgspec.structs.replace(member, earlier=[other for other in member.earlier if other != ticket])
    if member.turn is None or member.turn.open_ticket != ticket:
        return member
    after = msgspec.structs.replace(member, turn=msgspec.structs.replace(member.turn, resolved=False))
    return after if member.state in (*FAILED, "released") else entered(after, "done", now_ms)
