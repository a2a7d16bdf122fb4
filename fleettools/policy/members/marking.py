"""What a look at a pane makes of its member: turns, tickets and states follow (design section 5)."""

import msgspec

from fleettools import records
from fleettools.policy.members import turns
from fleettools.policy.members.roster import (
    FAILED,
    GONE,
    STOPPED,
    Answer,
    MemberState,
    Settled,
    Stepped,
    ending,
    entered,
    is_member,
    settling,
)
from fleettools.policy.members.turns import TurnState

Kept = tuple[MemberState, Answer]
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
    asks = () if member.state == "released" else ending(member, settled, "gone", GONE, ts_ms)
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
        stays = after.state in FAILED or ts_ms < after.since_ms
        state = after.state if stays else _STATE.get(look.outcome, after.state)
        return entered(after, state, ts_ms), Answer(found.reason, look.event)
    late = found.kind == "same" and ts_ms < max(after.turn.seen_ms, after.since_ms)
    if look.outcome in records.ENDINGS:
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
    if before is None or member.state not in FAILED or look.outcome in records.ENDINGS:
        return after
    return entered(after, "idle", ts_ms)


def _under_way(member: MemberState, look: records.Verdict, ts_ms: int, settled: Settled, found: turns.Place) -> Kept:
    """A look at a turn that has not ended: the member's state follows, unless it failed in this very turn."""
    turn = member.turn
    assert turn is not None
    changes: dict[str, object] = {}
    if look.outcome == "idle" and turn.worked and turn.open_ticket and not turn.ended:
        asks, won = settling(member, settled, "verdict", "failed", STOPPED, ts_ms, turn.event)
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
    return entered(member, _STATE[look.outcome], ts_ms), Answer(found.reason)


def _ended(member: MemberState, look: records.Verdict, ts_ms: int, settled: Settled, reason: str) -> Kept:
    """An ended outcome: settle the ticket, then mark the member, unless something else had settled it."""
    turn = member.turn
    assert turn is not None
    outcome = turns.final(turn.outcome, look.outcome)
    why = look.reason or look.line or look.outcome
    resolved = turn.resolved
    if turn.open_ticket or member.earlier:
        asks, won = settling(member, settled, "verdict", look.outcome, why, ts_ms, turn.event)
        if asks:
            return member, Answer(why, asks=asks)
        resolved = won if turn.open_ticket else resolved
    if outcome == turn.outcome and resolved == turn.resolved and not member.earlier:
        return member, Answer("the turn's outcome stays" if look.outcome != outcome else reason)
    turn = msgspec.structs.replace(turn, outcome=outcome, resolved=resolved, seen_ms=max(ts_ms, turn.seen_ms))
    after = msgspec.structs.replace(member, turn=turn, earlier=[])
    if resolved is False:
        # A losing verdict is no evidence; that the turn is over is all it says.
        return entered(after, after.state if after.state in FAILED else "done", ts_ms), Answer(reason)
    return entered(after, _STATE[outcome], ts_ms, None if outcome == "completed" else why), Answer(reason)


def _vanished(member: MemberState, seated: MemberState, look: records.Verdict, ts_ms: int, settled: Settled) -> Kept:
    """A vanished or dead pane: failed, whatever its screen says; one that had failed before keeps its reason."""
    asks = ending(seated, settled, "gone", GONE, ts_ms)
    if asks:
        return member, Answer(GONE, asks=asks)
    turn = seated.turn
    if turn and turn.open_ticket:
        turn = msgspec.structs.replace(turn, resolved=settled.get(turn.open_ticket), outcome="failed", seen_ms=ts_ms)
    after = msgspec.structs.replace(seated, gone=True, turn=turn, earlier=[])
    if seated.state not in FAILED:
        after = entered(after, "failed", ts_ms, GONE)
    resolved = turn is None or turn.resolved is not False
    return after, Answer(GONE, turn.event if turn else look.event, resolved, turn.ticket if turn else None)
