"""The roster: who is in the fleet and in which state (design section 5).

A step gets the member, what happened, and how the tickets it asked for were settled. While it has to know more it
changes nothing and answers with the settlements to try; whoever commits it settles those tickets and asks again.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from fleettools import records
from fleettools.errors import UsageError
from fleettools.policy import turns
from fleettools.policy.tickets import By, Settlement
from fleettools.policy.turns import PastTurn, TurnState

MEMBERS = "member/"
GONE = "pane gone"
STOPPED = "stopped by a person"
DOWN = "its tmux server ended"
FOLLOWED = "another ticket followed before its end was seen"

FAILED = frozenset({"failed", "backend_error"})
_STATE: dict[records.Outcome, records.State] = {
    "working": "busy",
    "retrying": "busy",
    "blocked": "blocked",
    "idle": "idle",
    "completed": "done",
    "backend_error": "backend_error",
    "failed": "failed",
    "exhausted": "failed",
}


class MemberState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is stored under `member/<server>/<target>`; times in ms.

    `since_ms`: when `state` began. `joined_ms`: the first look at this pane process (`pid`). A `released` one is a
    tombstone of server, target and pid; `reason` says why. `gone`: the pane has vanished or is dead, so it holds no
    slot. `count` numbers the turns under this key, whatever the process; `past` are the last few of them, oldest
    first. `earlier`: tickets that were still open when another was sent.
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

    @property
    def holds_slot(self) -> bool:
        """Whether it counts against `maxMembers`: every member but a released one and one whose pane is gone."""
        return self.state != "released" and not self.gone


class Answer(NamedTuple):
    """What a step says: whose event it was, `resolved` (design section 2), the ticket, and why.

    `asks`: settle these first and step again. `known` is false for a pane that is not, or no longer, in the roster.
    """

    reason: str
    event: str | None = None
    resolved: bool = True
    ticket: str | None = None
    known: bool = True
    asks: tuple[Settlement, ...] = ()


Settled = Mapping[str, bool]
Stepped = tuple[MemberState | None, Answer]
Kept = tuple[MemberState, Answer]


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


def is_member(look: records.Verdict) -> bool:
    """Whether a verdict is about a member: it sits in a pane and says so, or carries a member's profile or name."""
    if look.server is None or look.target is None or look.role == "lead":
        return False
    return look.role == "member" or look.profile is not None or look.name is not None


def step(member: MemberState | None, look: records.Verdict, settled: Settled) -> Stepped:
    """What a look at a pane makes of its member; first match wins."""
    ts_ms = records.to_ms(look.ts)
    if member is None:
        if look.gone or not is_member(look):
            return None, Answer("no member is known in that pane", look.event, not look.gone, known=not look.gone)
        return _look(_joined(look, ts_ms), look, ts_ms, settled)
    if look.pid is not None and member.pid not in (None, look.pid):
        return _other_process(member, look, ts_ms, settled)
    if member.state == "released":
        return member, Answer(f"released: {member.reason}", look.event, resolved=False, known=False)
    return _look(member, look, ts_ms, settled)


def _joined(look: records.Verdict, ts_ms: int) -> MemberState:
    assert look.server is not None and look.target is not None
    return MemberState(
        server=look.server, target=look.target, pid=look.pid, state="idle", since_ms=ts_ms, joined_ms=ts_ms
    )


def _other_process(member: MemberState, look: records.Verdict, ts_ms: int, settled: Settled) -> Kept:
    """A respawned pane keeps its id: another process in it is another member, or a late look at the one before."""
    if look.gone or ts_ms < member.joined_ms or not is_member(look):
        return member, Answer("another process of that pane", look.event, resolved=False, known=False)
    asks = () if member.state == "released" else _open(member, settled, "gone", "failed", GONE, ts_ms)
    if asks:
        return member, Answer(GONE, asks=asks)
    fresh = _joined(look, ts_ms)
    fresh.count, fresh.past = member.count, turns.remembered(member.past, member.turn)
    return _look(fresh, look, ts_ms, settled)


def _look(member: MemberState, look: records.Verdict, ts_ms: int, settled: Settled) -> Kept:
    known = {"pid": look.pid, "name": look.name, "profile": look.profile, "agent": look.agent, "lead": look.lead}
    news = {field: value for field, value in known.items() if value is not None and value != getattr(member, field)}
    seated = msgspec.structs.replace(member, **news) if news else member
    if look.gone or look.dead:
        return _vanished(member, seated, look, ts_ms, settled)
    found = turns.place(seated.turn, seated.past, look, ts_ms)
    if found.kind in ("old", "waiting"):
        return member, _of_another(member, look, found)
    after = seated if found.kind != "new" else _new_turn(seated, look, ts_ms)
    if after.turn is None:
        state = after.state if after.state in FAILED else _STATE.get(look.outcome, after.state)
        return _entered(after, state, ts_ms), Answer(found.reason, look.event)
    late = found.kind == "same" and ts_ms < after.turn.seen_ms
    if look.outcome in records.ENDED:
        after, answer = _ended(after, look, ts_ms, settled, found.reason)
    elif late or look.outcome == "stale":
        answer = Answer(found.reason)
    else:
        after, answer = _under_way(after, look, ts_ms, settled, found)
    if answer.asks:
        return member, answer
    assert after.turn is not None
    prompt = turns.prompt_of(look)
    if prompt is not None and not late and prompt != after.turn.screen:
        after = msgspec.structs.replace(after, turn=msgspec.structs.replace(after.turn, screen=prompt, seen_ms=ts_ms))
    turn = after.turn
    assert turn is not None
    resolved = turn.resolved is not False
    return after, answer._replace(event=turn.event, resolved=resolved, ticket=turn.ticket)


def _of_another(member: MemberState, look: records.Verdict, found: turns.Place) -> Answer:
    """The answer about a look that is not, or not yet, the current turn's: it changes nothing."""
    if found.past:
        past = found.past
        return Answer(found.reason, past.event, past.resolved is not False, past.ticket)
    if found.kind == "waiting" and member.turn:
        return Answer(found.reason, member.turn.event, ticket=member.turn.ticket)
    return Answer(found.reason, look.event)


def _new_turn(member: MemberState, look: records.Verdict, ts_ms: int) -> MemberState:
    """Begin a turn; a ticket that is still open goes with it."""
    count = member.count + 1
    before = member.turn
    turn = TurnState(
        event=turns.event_of(look.server, look.target, look.screen, count),
        screen=turns.prompt_of(look),
        ticket=before.open_ticket if before else None,
        began_ms=ts_ms,
        seen_ms=ts_ms,
    )
    past = turns.remembered(member.past, before)
    after = msgspec.structs.replace(member, turn=turn, count=count, past=past, gone=False)
    if before is None or member.state not in FAILED or look.outcome in records.ENDED:
        return after
    return _entered(after, "idle", ts_ms)


def _under_way(member: MemberState, look: records.Verdict, ts_ms: int, settled: Settled, found: turns.Place) -> Kept:
    """A look at a turn that has not ended: the member's state follows, unless it failed in this very turn."""
    turn = member.turn
    assert turn is not None
    changes: dict[str, object] = {}
    if look.outcome == "idle" and turn.worked and turn.open_ticket and not turn.ended:
        asks, won = _settling(member, settled, "verdict", "failed", STOPPED, ts_ms, turn.event)
        if asks:
            return member, Answer(STOPPED, asks=asks)
        member = msgspec.structs.replace(member, earlier=[])
        changes = {"resolved": won, "worked": False}
    elif look.outcome != "idle" and not turn.worked:
        changes = {"worked": True}
    if not turn.ended and look.outcome != turn.outcome:
        changes["outcome"] = look.outcome
    if changes:
        turn = msgspec.structs.replace(turn, **changes, seen_ms=ts_ms)
        member = msgspec.structs.replace(member, turn=turn)
    if member.state in FAILED and found.kind == "same":
        return member, Answer("failed until a person starts another turn")
    return _entered(member, _STATE[look.outcome], ts_ms), Answer(found.reason)


def _ended(member: MemberState, look: records.Verdict, ts_ms: int, settled: Settled, reason: str) -> Kept:
    """An ended outcome: settle the ticket, then mark the member, unless something else had settled it."""
    turn = member.turn
    assert turn is not None
    outcome = turns.final(turn.outcome, look.outcome)
    why = look.reason or look.line or look.outcome
    resolved = turn.resolved
    if turn.open_ticket or member.earlier:
        asks, won = _settling(member, settled, "verdict", look.outcome, why, ts_ms, turn.event)
        if asks:
            return member, Answer(why, asks=asks)
        resolved = won if turn.open_ticket else resolved
    if outcome == turn.outcome and resolved == turn.resolved and not member.earlier:
        return member, Answer("the turn's outcome stays" if look.outcome != outcome else reason)
    turn = msgspec.structs.replace(turn, outcome=outcome, resolved=resolved, seen_ms=max(ts_ms, turn.seen_ms))
    after = msgspec.structs.replace(member, turn=turn, earlier=[])
    if resolved is False:
        # A losing verdict is no evidence; that the turn is over is all it says.
        return _entered(after, after.state if after.state in FAILED else "done", ts_ms), Answer(reason)
    return _entered(after, _STATE[outcome], ts_ms, None if outcome == "completed" else why), Answer(reason)


def _vanished(member: MemberState, seated: MemberState, look: records.Verdict, ts_ms: int, settled: Settled) -> Kept:
    """A vanished or dead pane: failed, whatever its screen says; one that had failed before keeps its reason."""
    asks = _open(seated, settled, "gone", "failed", GONE, ts_ms)
    if asks:
        return member, Answer(GONE, asks=asks)
    turn = seated.turn
    if turn and turn.open_ticket:
        turn = msgspec.structs.replace(turn, resolved=settled.get(turn.open_ticket), outcome="failed", seen_ms=ts_ms)
    after = msgspec.structs.replace(seated, gone=True, turn=turn, earlier=[])
    if seated.state not in FAILED:
        after = _entered(after, "failed", ts_ms, GONE)
    resolved = turn is None or turn.resolved is not False
    return after, Answer(GONE, turn.event if turn else look.event, resolved, turn.ticket if turn else None)


def _entered(member: MemberState, state: records.State, ts_ms: int, failure: str | None = None) -> MemberState:
    """The member in a state; `failure_reason` is there only on a failed one."""
    if state in FAILED:
        failure = failure or member.failure_reason
    if (state, failure) == (member.state, member.failure_reason):
        return member
    since = member.since_ms if state == member.state else ts_ms
    gone = member.gone and state in FAILED
    return msgspec.structs.replace(member, state=state, failure_reason=failure, since_ms=since, gone=gone)


def _settling(
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


def _open(
    member: MemberState, settled: Settled, by: By, outcome: records.Outcome, reason: str, ts_ms: int
) -> tuple[Settlement, ...]:
    event = member.turn.event if member.turn else ""
    asks = _settling(member, settled, by, outcome, reason, ts_ms, event)[0]
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
    asks = _open(member, settled, by, "failed", reason, now_ms)
    if asks:
        return member, Answer(reason, asks=asks)
    after = msgspec.structs.replace(
        member, state="released", since_ms=now_ms, reason=reason, failure_reason=None, earlier=[], turn=None,
        past=turns.remembered(member.past, member.turn),
    )  # fmt: skip
    return after, Answer(reason)


def may_be_sent(member: MemberState | None, now_ms: int) -> str:
    """Why no prompt may be delivered to a member, empty when one may."""
    if member is None or member.state == "released":
        return "is no member of the fleet"
    if member.gone:
        return "has lost its pane"
    if member.state in FAILED:
        return f"has failed ({member.failure_reason}); start a new turn in its pane to reinstate it"
    if member.state == "blocked":
        return "is asking a person something"
    turn = member.turn
    if turn and turn.delivered_at_ms and turn.proven_ms is None and now_ms < turn.began_ms + turns.DELIVERY_MS:
        return "is being sent another prompt"
    return ""


def open_ticket(member: MemberState, ticket: str, baseline: str, now_ms: int) -> MemberState:
    """Begin a ticket's turn, before its prompt is pasted; looks wait until `prove` or `withdraw`."""
    turn = TurnState(event=ticket, ticket=ticket, began_ms=now_ms, delivered_at_ms=now_ms, baseline=baseline)
    before = member.turn.open_ticket if member.turn else None
    return msgspec.structs.replace(
        member,
        turn=turn,
        count=member.count + 1,
        past=turns.remembered(member.past, member.turn),
        earlier=[*member.earlier, before] if before else member.earlier,
    )


def prove(member: MemberState | None, ticket: str, now_ms: int) -> MemberState | None:
    """The prompt was seen submitted: from now on what the pane shows is the ticket's turn."""
    if member is None or member.turn is None or member.turn.event != ticket:
        return member
    seen = member.turn.outcome is not None
    after = msgspec.structs.replace(member, turn=msgspec.structs.replace(member.turn, proven_ms=now_ms))
    return after if seen else _entered(after, "busy", now_ms)


def withdraw(
    member: MemberState | None, before: MemberState, ticket: str, now_ms: int
) -> tuple[MemberState | None, bool]:
    """The prompt did not go in: the turn before it is the current one again.

    Unless a look has seen the prompt submitted: then the answer is true, and it is proved after all.
    """
    if member is None or member.turn is None or member.turn.event != ticket:
        return member, False
    if member.turn.screen is not None:
        return prove(member, ticket, now_ms), True
    earlier = msgspec.structs.replace(
        member, turn=before.turn, count=before.count, past=before.past, earlier=before.earlier
    )
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
    return after if member.state in (*FAILED, "released") else _entered(after, "done", now_ms)


def record(member: MemberState, credential: str | None, reason: str, **stamp: Any) -> records.Member:
    """The member as the record of a change to it; `stamp` is its `ts`, `boot` and `up`."""
    return records.Member(
        **stamp,
        server=member.server,
        target=member.target,
        pid=member.pid,
        name=member.name,
        profile=member.profile,
        credential_id=credential,
        agent=member.agent,
        lead=member.lead,
        state=member.state,
        reason=reason,
        changed=True,
    )
