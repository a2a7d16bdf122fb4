"""The roster: who is in the fleet and in which state; what looks make of it is in marking.py.

A step gets the member, what happened, and how the tickets it asked for were settled. While it has to know more it
changes nothing and answers with the settlements to try; whoever commits it settles those tickets and asks again.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from fleettools import records
from fleettools.errors import UsageError
from fleettools.moments import Moment
from fleettools.policy.members import turns
from fleettools.policy.members.tickets import By, Settlement
from fleettools.policy.members.turns import PastTurn, TurnState

MEMBERS = "member/"
GONE = "pane gone"
AGENT_GONE = "agent gone"  # its pane lives on
STOPPED = "stopped by a person"
DOWN = "its tmux server ended"
UNMARKED = "no longer marked"
FOLLOWED = "another ticket followed before its end was seen"

FAILED = frozenset({"failed", "backend_error"})


class Attempt(msgspec.Struct, kw_only=True, frozen=True):
    """What a failed member was before it was prompted again, kept until that prompt is seen submitted or did not go in.

    `ticket` is the prompt's own.
    """

    ticket: str
    state: records.State
    reason: str | None
    turn: TurnState


class MemberState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is stored under `member/<server>/<target>`; times in ms.

    `since_ms`: when `state` began. `joined_ms`: the first look at this pane process (`pid`). A `released` one is a
    tombstone of server, target and pid; `reason` says why. `gone`: the pane has vanished or is dead, so it holds no
    slot. `count` numbers the turns under this key, whatever the process; `past` are the last few of them, oldest
    first. `earlier`: tickets that were still open when another was sent. `looked`: the last look at this process, by
    whose clock all times here go as long as the machine runs. `heard`: the last signals, each with its turn's event;
    `spoke`: when its own word was last said. `resumed`: so many times in a row it was prompted again; `attempt`: it is
    being prompted again; `doubted`: the event of the failed turn after which a prompt was typed that nobody saw go in,
    so that none is typed any more.
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
    count: int = 0
    past: list[PastTurn] = []
    earlier: list[str] = []
    looked: Moment | None = None
    heard: dict[str, str] = {}
    spoke: Moment | None = None
    resumed: int = 0
    attempt: Attempt | None = None
    doubted: str | None = None

    @property
    def holds_slot(self) -> bool:
        """Whether it counts against `maxMembers`: every member but a released one and one whose pane is gone."""
        return self.state != "released" and not self.gone


class Answer(NamedTuple):
    """What a step says: whose event it was, whether it is `resolved`, the ticket, and why.

    `asks`: settle these first and step again. `known` is false for a pane that is not, or no longer, in the roster.
    `fields`: what the verdict says from now on in place of what it said.
    """

    reason: str
    event: str | None = None
    resolved: bool = True
    ticket: str | None = None
    known: bool = True
    asks: tuple[Settlement, ...] = ()
    fields: Mapping[str, Any] | None = None


def clocked(member: MemberState | None, at: Moment) -> Moment:
    """A moment of the store's clock by the clock that a member goes by: that of its last look, which never steps."""
    looked = member.looked if member else None
    return at if looked is None else Moment(looked.ms + at.since(looked), at.boot, at.up_ms)


Settled = Mapping[str, bool]
Stepped = tuple[MemberState | None, Answer]


def member_key(server: str, target: str) -> str:
    """Where the store keeps the member in a pane."""
    return f"{MEMBERS}{server}/{target}"


def find(members: Iterable[MemberState], target: str, server: str | None) -> MemberState | None:
    """The member that a TARGET means, a pane id or an exact name; one on `server` goes before those elsewhere.

    Raises UsageError when several are left.
    """
    found = [m for m in members if target in (m.target, m.name) and m.state != "released"]
    found = [m for m in found if m.server == server] or found
    if len(found) > 1:
        where = ", ".join(f"{m.target} on {m.server}" for m in found[:5])
        raise UsageError(f"{target} is more than one member: {where}", "name a pane id, and its server with -S or -L")
    return found[0] if found else None


def leads(members: Iterable[MemberState]) -> list[MemberState]:
    """Those members that are leads of others, and live."""
    known = [member for member in members if member.state != "released" and not member.gone]
    led = {(member.server, member.lead) for member in known}
    return [member for member in known if (member.server, member.target) in led]


def is_member(seen: records.Verdict) -> bool:
    """Whether a verdict is about a member: it sits in a pane and says so, or carries a member's profile or name."""
    if seen.server is None or seen.target is None or seen.role == "lead":
        return False
    return seen.role == "member" or seen.profile is not None or seen.name is not None


def joined(source: object, state: records.State, now_ms: int) -> MemberState:
    """A member that enters the roster now: `source` says who it is."""
    return MemberState(**records.who(MemberState, source), state=state, since_ms=now_ms, joined_ms=now_ms)


def entered(member: MemberState, state: records.State, ts_ms: int, failure: str | None = None) -> MemberState:
    """The member in a state; `failure_reason` is there only on a failed one."""
    if state in FAILED:
        failure = failure or member.failure_reason
    if (state, failure) == (member.state, member.failure_reason):
        return member
    since = member.since_ms if state == member.state else ts_ms
    gone = member.gone and state in FAILED
    return msgspec.structs.replace(member, state=state, failure_reason=failure, since_ms=since, gone=gone)


def settling(
    member: MemberState,
    settled: Settled,
    by: By,
    outcome: records.Outcome,
    reason: str,
    ts_ms: int,
    event: str,
) -> tuple[tuple[Settlement, ...], bool]:
    """The settlements still to try, and, when there are none, whether the current turn's own was the first."""
    current = member.turn.open_ticket if member.turn else None
    asks = [Settlement(current, by, outcome, reason, ts_ms, event)] if current else []
    asks += [Settlement(ticket, by, "failed", FOLLOWED, ts_ms, event) for ticket in member.earlier]
    left = tuple(ask for ask in asks if ask.ticket not in settled)
    return left, settled.get(current or "", True)


def ending(member: MemberState, settled: Settled, by: By, reason: str, at_ms: int) -> tuple[Settlement, ...]:
    """The settlements still to try so that all open tickets of a member that is no more end as failed."""
    event = member.turn.event if member.turn else ""
    asks, _ = settling(member, settled, by, "failed", reason, at_ms, event)
    return tuple(ask._replace(reason=reason) for ask in asks)


def starting(member: MemberState | None, spawned: MemberState) -> MemberState:
    """Enter a member that was just spawned, unless a look at its pane was faster."""
    if member is None or member.pid != spawned.pid:
        return spawned
    return member


def release(member: MemberState | None, reason: str, by: By, now_ms: int, settled: Settled) -> Stepped:
    """Let a member go: a tombstone stays, and its open tickets end. An unknown or released one is an explicit false."""
    if member is None:
        return None, Answer("no member is known in that pane", resolved=False, known=False)
    if member.state == "released":
        return member, Answer(f"already released: {member.reason}", resolved=False, known=False)
    asks = ending(member, settled, by, reason, now_ms)
    if asks:
        return member, Answer(reason, asks=asks)
    after = msgspec.structs.replace(
        member, state="released", since_ms=now_ms, reason=reason, failure_reason=None, earlier=[], turn=None,
        past=turns.remembered(member.past, member.turn),
    )  # fmt: skip
    return after, Answer(reason)


def reinstate(member: MemberState | None, at: Moment) -> Stepped:
    """Make a failed member ready for work again, by a person's word; its failed turn stays as it ended."""
    if member is None or member.state == "released":
        return member, Answer("no member of the fleet", resolved=False, known=False)
    if member.gone or member.state not in FAILED:
        reason = "its pane is gone" if member.gone else f"it has not failed, it is {member.state}"
        return member, Answer(reason, resolved=False)
    return entered(member, "idle", clocked(member, at).ms), Answer("reinstated by a person")


def record(member: MemberState, credential: str | None, reason: str, **stamp: Any) -> records.Member:
    """The member as the record of a change to it; `stamp` is its `ts`, `boot` and `up`."""
    who = records.who(records.Member, member)
    return records.Member(**stamp, **who, credential_id=credential, state=member.state, reason=reason, changed=True)
