"""What a look at a pane makes of its member: turns, tickets and states follow."""

from typing import Any, NamedTuple

import msgspec

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.members import ends, turns
from fleettools.policy.members.ends import PROOF_MS, Doubt, End
from fleettools.policy.members.roster import (
    AGENT_GONE,
    FAILED,
    GONE,
    STOPPED,
    UNMARKED,
    Answer,
    MemberState,
    Settled,
    Stepped,
    clocked,
    ending,
    entered,
    is_member,
    joined,
    settling,
)
from fleettools.policy.members.tickets import Settlement
from fleettools.policy.members.turns import AT_WORK, BASELINE, Fit, TurnState

Kept = tuple[MemberState, Answer]
DOUBTED = "its end is not proved yet"
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


class Look(NamedTuple):
    """A look at a pane, `at` by the member's clock; `before`: the last look at the same process before it."""

    seen: records.Verdict
    at: Moment
    before: Moment | None

    @property
    def ms(self) -> int:
        """When it was."""
        return self.at.ms

    def ts(self, ms: int) -> str:
        """A moment of the member's clock by the clock that the verdict was stamped with."""
        return records.to_ts(records.to_ms(self.seen.ts) - (self.at.ms - ms))


def step(member: MemberState | None, seen: records.Verdict, settled: Settled, at: Moment) -> Stepped:
    """What a look at a pane, at a moment of the store's clock, makes of its member."""
    now = clocked(member, at)
    after, answer = _step(member, Look(seen, now, member.looked if member else None), settled)
    if after is None or answer.asks or not answer.known or after.state == "released":
        return after, answer
    if after.looked and after.looked.ms >= now.ms:
        return after, answer
    return msgspec.structs.replace(after, looked=now), answer


def _step(member: MemberState | None, look: Look, settled: Settled) -> Stepped:
    """First match wins: no member yet, another process, let go, no longer marked, gone, and last a look at a turn."""
    seen = look.seen
    if member is None:
        if seen.gone or seen.unmarked or not is_member(seen):
            resolved = not (seen.gone or seen.unmarked)
            return None, Answer("no member is known in that pane", seen.event, resolved, known=not seen.gone)
        return _looked(joined(seen, "idle", look.ms), look, settled)
    if seen.pid is not None and member.pid not in (None, seen.pid):
        return _another_process(member, look, settled)
    if member.state == "released":
        known = bool(seen.unmarked)  # fleet-release took the marks off
        return member, Answer(f"released: {member.reason}", seen.event, resolved=False, known=known)
    if seen.unmarked and not seen.gone:
        return _unmarked(member, look, settled)
    return _looked(member, look, settled)


def _another_process(member: MemberState, look: Look, settled: Settled) -> Kept:
    """A respawned pane keeps its id: another process in it is another member, or a late look at the one before."""
    seen = look.seen
    if seen.gone or seen.unmarked or look.ms < member.joined_ms or not is_member(seen):
        return member, Answer("another process of that pane", seen.event, resolved=False, known=False)
    asks = () if member.state == "released" else ending(member, settled, "gone", GONE, look.ms)
    if asks:
        return member, Answer(GONE, asks=asks)
    fresh = joined(seen, "idle", look.ms)
    fresh.count, fresh.past = member.count, turns.remembered(member.past, member.turn)
    return _looked(fresh, look._replace(before=None), settled)


def _unmarked(member: MemberState, look: Look, settled: Settled) -> Stepped:
    """A pane that lives and is a member's no more leaves nothing behind; marked again it joins anew."""
    if look.before and look.ms < look.before.ms:
        return member, Answer("was marked when it was last looked at", look.seen.event, resolved=False)
    asks = ending(member, settled, "gone", UNMARKED, look.ms)
    if asks:
        return member, Answer(UNMARKED, asks=asks)
    turn = member.turn
    return None, Answer(UNMARKED, turn.event if turn else look.seen.event, ticket=turn.ticket if turn else None)


def _looked(member: MemberState, look: Look, settled: Settled) -> Kept:
    """A look at the member's own process."""
    seen = look.seen
    news = {name: new for name, new in records.who(MemberState, seen).items() if new is not None}
    news = {name: new for name, new in news.items() if new != getattr(member, name)}
    seated = msgspec.structs.replace(member, **news) if news else member
    if seen.gone or seen.dead:
        return _vanished(member, seated, look, settled)
    fit = turns.fit(seated.turn, seated.past, seen, look.ms)
    if fit.kind == "back":
        return _taken_back(member, look, settled, fit)
    if fit.kind in ("old", "waiting"):
        return _of_another_turn(member, look, fit)
    after = _begun(seated, look) if fit.kind == "new" else seated
    if after.turn is None:
        stays = after.state in FAILED or look.ms < after.since_ms
        state = after.state if stays else _STATE.get(seen.outcome, after.state)
        return entered(after, state, look.ms), Answer(fit.reason, seen.event)
    after, answer = _of_the_turn(after, look, settled, fit)
    if answer.asks:
        return member, answer
    turn = after.turn
    assert turn is not None
    fields = {"began": look.ts(turn.began_ms)} | dict(answer.fields or {})
    resolved = answer.resolved and turn.resolved is not False
    return after, answer._replace(event=turn.event, resolved=resolved, ticket=turn.ticket, fields=fields)


def _of_another_turn(member: MemberState, look: Look, fit: Fit) -> Kept:
    """A look that is not, or not yet, the current turn's: it changes nothing."""
    if fit.past:
        old = fit.past
        fields = {"began": look.ts(old.began_ms)}
        return member, Answer(fit.reason, old.event, old.resolved is not False, old.ticket, fields=fields)
    if fit.kind == "waiting" and member.turn:
        return member, Answer(fit.reason, member.turn.event, ticket=member.turn.ticket)
    return member, Answer(fit.reason, look.seen.event)


def _taken_back(member: MemberState, look: Look, settled: Settled, fit: Fit) -> Kept:
    """A person took the current prompt back, so that the screen of an earlier turn stands there again."""
    turn = member.turn
    if turn is None or turn.has_ended or look.ms < max(turn.seen_ms, member.since_ms):
        return _of_another_turn(member, look, fit)
    after, stop = _stopped(member, look, settled, bare=True)
    if stop.asks:
        return member, Answer(STOPPED, asks=stop.asks)
    if stop.done or turn.open_ticket is None:
        after = entered(after, "idle", look.ms)
    return after, _of_another_turn(member, look, fit)[1]


def _begun(member: MemberState, look: Look) -> MemberState:
    """Begin a turn, which reinstates a failed member; a ticket that is still open goes with it."""
    seen, before = look.seen, member.turn
    turn = TurnState(
        event=turns.event_of(seen.server, seen.target, seen.screen, member.count + 1),
        screen=turns.prompt_of(seen),
        ticket=before.open_ticket if before else None,
        began_ms=look.ms,
        seen_ms=look.ms,
    )
    past = turns.remembered(member.past, before)
    after = msgspec.structs.replace(member, turn=turn, count=member.count + 1, past=past, gone=False)
    failed = before is not None and member.state in FAILED
    return entered(after, "idle", look.ms) if failed else after


def _of_the_turn(member: MemberState, look: Look, settled: Settled, fit: Fit) -> Kept:
    """A look at the current turn: it ends it, tells nothing of it, or shows it under way."""
    seen, turn = look.seen, member.turn
    assert turn is not None
    late = fit.kind == "same" and look.ms < max(turn.seen_ms, member.since_ms)
    bare = seen.pattern == BASELINE or (seen.outcome == "idle" and not seen.stopped)
    if seen.outcome in records.ENDINGS:
        after, answer = _ended(member, look, settled, fit, late)
    elif late or fit.kind == "still" or (seen.outcome == "stale" and not bare):
        return member, Answer(fit.reason)
    else:
        after, answer = _under_way(member, look, settled, fit, bare)
    if answer.asks or late or seen.pattern == BASELINE:
        return after, answer
    return _drawn(after, look), answer


def _drawn(member: MemberState, look: Look) -> MemberState:
    """Keep which prompt the screen shows, and what the turn has drawn when it rests."""
    seen, turn = look.seen, member.turn
    assert turn is not None
    news: dict[str, Any] = {"screen": turns.prompt_of(seen)}
    if seen.block is not None:
        news |= {"drew": True} if seen.outcome in AT_WORK else {"drew": True, "block": seen.block}
    news = {name: new for name, new in news.items() if new is not None and new != getattr(turn, name)}
    if not news:
        return member
    return msgspec.structs.replace(member, turn=msgspec.structs.replace(turn, **news, seen_ms=look.ms))


def _under_way(member: MemberState, look: Look, settled: Settled, fit: Fit, bare: bool) -> Kept:
    """A look at a turn that has not ended: the member's state follows, unless it failed in this very turn."""
    outcome = look.seen.outcome
    after, stop = _stopped(member, look, settled, bare)
    if stop.asks:
        return member, Answer(STOPPED, asks=stop.asks)
    turn = after.turn
    assert turn is not None
    if not turn.has_ended and outcome != "stale" and (turn.outcome, turn.doubt) != (outcome, None):
        turn = msgspec.structs.replace(turn, outcome=outcome, doubt=None, seen_ms=look.ms)
        after = msgspec.structs.replace(after, turn=turn)
    if after.state in FAILED and fit.kind == "same":
        return after, Answer("failed until a person starts another turn")
    if stop.done:
        return entered(after, "idle", look.ms), Answer(STOPPED)
    # As long as a ticket's turn may only not have begun to draw, a quiet screen says nothing of its member.
    quiet = outcome == "stale" or (bare and turn.open_ticket is not None)
    return (after if quiet else entered(after, _STATE[outcome], look.ms)), Answer(fit.reason)


class Stop(NamedTuple):
    """Whether a look showed that a person stopped the turn of an open ticket; `asks`: settle these first."""

    done: bool
    asks: tuple[Settlement, ...] = ()


def _stopped(member: MemberState, look: Look, settled: Settled, bare: bool) -> tuple[MemberState, Stop]:
    """The member after a look that may show that a person stopped its turn, or cleared its screen.

    The agent's own stop mark shows it at once; a screen that is `bare`, no more on it than before the delivery, when
    it stays so although the prompt had been seen submitted.
    """
    before, seen = member.turn, look.seen
    assert before is not None
    fresh = seen.stopped and turns.prompt_of(seen) is None and seen.block is None and before.screen is not None
    since = (before.bare_ms or look.ms) if bare and before.open_ticket and before.submitted else None
    turn = msgspec.structs.replace(before, cleared=before.cleared or bool(fresh), bare_ms=since)
    done = False
    if turn.open_ticket and not turn.has_ended:
        done = bool(seen.stopped) or (since is not None and look.ms - since >= PROOF_MS)
    if done:
        asks, won = settling(member, settled, "verdict", "failed", STOPPED, look.ms, turn.event)
        if asks:
            return member, Stop(True, asks)
        turn = msgspec.structs.replace(turn, resolved=won)
    if turn == before:
        return member, Stop(done)
    turn = msgspec.structs.replace(turn, seen_ms=look.ms)
    return msgspec.structs.replace(member, turn=turn, earlier=[] if done else member.earlier), Stop(done)


def _ended(member: MemberState, look: Look, settled: Settled, fit: Fit, late: bool) -> Kept:
    """An ended outcome: when it counts, settle the ticket, then mark the member, unless something else settled it."""
    seen, turn = look.seen, member.turn
    assert turn is not None
    owes = turn.open_ticket is not None or bool(member.earlier)
    if turn.has_ended and not owes and turns.final(turn, seen.outcome) == turn.outcome:
        return member, _of_the_same_end(turn, look, fit.reason)
    end = ends.weighed(turn.doubt, seen, look.ms, look.before)
    if isinstance(end, Doubt):
        return _doubted(member, look, end, late)
    outcome = turns.final(turn, end.outcome)
    why = (end.said or {}).get("reason") or seen.reason or seen.line or end.outcome
    path = end.said["path"] if end.said else seen.path
    resolved = turn.resolved
    if owes:
        asks, won = settling(member, settled, "verdict", end.outcome, why, look.ms, turn.event)
        if asks:
            return member, Answer(why, asks=asks)
        resolved = won if turn.open_ticket else resolved
    if outcome == turn.outcome and resolved == turn.resolved and not member.earlier:
        return member, _of_the_same_end(turn, look, "the turn's outcome stays")
    turn = msgspec.structs.replace(
        turn, outcome=outcome, resolved=resolved, seen_ms=max(look.ms, turn.seen_ms), at_ms=end.at_ms,
        undated=end.undated, fast=path == "fast", doubt=turn.doubt if end.said else None,
    )  # fmt: skip
    after = msgspec.structs.replace(member, turn=turn, earlier=[])
    answer = Answer(fit.reason, fields=_dated(turn, look, end))
    if resolved is False:
        # A losing verdict is no evidence; that the turn is over is all it says.
        return entered(after, after.state if after.state in FAILED else "done", look.ms), answer
    return entered(after, _STATE[outcome], look.ms, None if outcome == "completed" else why), answer


def _doubted(member: MemberState, look: Look, doubt: Doubt, late: bool) -> Kept:
    """An end that is not proved: the turn has begun, its member is busy, and nothing else follows."""
    turn = member.turn
    assert turn is not None
    answer = Answer(DOUBTED, resolved=False, fields={"at": look.ts(doubt.at_ms), "undated": doubt.undated or None})
    if late:
        return member, answer
    if turn.doubt != doubt:
        turn = msgspec.structs.replace(turn, doubt=doubt, bare_ms=None, seen_ms=look.ms)
        member = msgspec.structs.replace(member, turn=turn)
    stays = turn.has_ended or member.state in FAILED
    return (member if stays else entered(member, "busy", look.ms)), answer


def _of_the_same_end(turn: TurnState, look: Look, reason: str) -> Answer:
    """The answer about one more look at a turn that has ended: it says of the end what was said first."""
    seen, doubt = look.seen, turn.doubt
    proved = doubt is not None and doubt.outcome == turn.outcome and doubt.block == seen.block
    if turn.at_ms is None or not (proved or seen.outcome == turn.outcome):
        return Answer(reason)
    said = ends.said(doubt) if doubt and proved and seen.proved is False else None
    return Answer(reason, fields=_dated(turn, look, End(seen.outcome, turn.at_ms, turn.undated, said)))


def _dated(turn: TurnState, look: Look, end: End) -> dict[str, Any]:
    """What a verdict says of an end that counts: when it happened, and what the look that first showed it said."""
    fields: dict[str, Any] = {"at": look.ts(end.at_ms), "undated": end.undated or None}
    if end.said is not None:
        fields |= end.said | {"proved": True}
    elif look.seen.proved is False and look.seen.outcome == turn.outcome:
        fields["proved"] = True
    return fields


def _vanished(member: MemberState, seated: MemberState, look: Look, settled: Settled) -> Kept:
    """A vanished or dead pane: failed, whatever its screen says; one that had failed before keeps its reason."""
    gone = AGENT_GONE if look.seen.unmarked else GONE
    asks = ending(seated, settled, "gone", gone, look.ms)
    if asks:
        return member, Answer(gone, asks=asks)
    turn = seated.turn
    if turn and turn.open_ticket:
        turn = msgspec.structs.replace(turn, resolved=settled.get(turn.open_ticket), outcome="failed", seen_ms=look.ms)
    after = msgspec.structs.replace(seated, gone=True, turn=turn, earlier=[])
    if seated.state not in FAILED:
        after = entered(after, "failed", look.ms, gone)
    resolved = turn is None or turn.resolved is not False
    # It is no evidence against a credential.
    fields = {"outcome": "failed", "reason": gone, "cause": None}
    event, ticket = (turn.event, turn.ticket) if turn else (look.seen.event, None)
    return after, Answer(gone, event, resolved, ticket, fields=fields)
