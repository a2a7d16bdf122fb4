"""What a look at a member's current turn makes of it: it is under way, was stopped, or has ended."""

from typing import Any, NamedTuple

import msgspec

from fleettools import records
from fleettools.policy.members import ends, turns
from fleettools.policy.members.ends import PROOF_MS, Doubt, End
from fleettools.policy.members.roster import FAILED, STOPPED, Answer, MemberState, Settled, entered, settling
from fleettools.policy.members.sightings import Sighting
from fleettools.policy.members.tickets import Settlement
from fleettools.policy.members.turns import AT_WORK, Fit, TurnState
from fleettools.records import BASELINE, CLEARED

Kept = tuple[MemberState, Answer]
FAILURES = frozenset({"backend_error", "exhausted"})
DOUBTED = "its end is not proved yet"
STATES: dict[records.Outcome, records.State] = {
    "working": "busy",
    "retrying": "busy",
    "blocked": "blocked",
    "idle": "idle",
    "completed": "done",
    "backend_error": "backend_error",
    "failed": "failed",
    "exhausted": "failed",
}


def of_the_turn(member: MemberState, sight: Sighting, settled: Settled, fit: Fit) -> Kept:
    """A look at the current turn: it ends it, tells nothing of it, or shows it under way."""
    seen, turn = sight.seen, member.turn
    assert turn is not None
    late = fit.kind == "same" and sight.ms < max(turn.seen_ms, member.since_ms)
    bare = seen.pattern == BASELINE or (seen.outcome == "idle" and not seen.stopped)
    if seen.outcome in records.ENDINGS:
        after, answer = _ended(member, sight, settled, fit, late)
    elif late or fit.kind == "still" or (seen.outcome == "stale" and not bare):
        return member, Answer(fit.reason)
    else:
        after, answer = _under_way(member, sight, settled, fit, bare)
    if answer.asks or late or seen.pattern in (BASELINE, CLEARED):
        return after, answer
    return _drawn(after, sight), answer


def _drawn(member: MemberState, sight: Sighting) -> MemberState:
    """Keep which prompt the screen shows, and what the turn has drawn when it rests."""
    seen, turn = sight.seen, member.turn
    assert turn is not None
    news: dict[str, Any] = {"screen": turns.prompt_of(seen)}
    if seen.block is not None:
        news |= {"drew": True} if seen.outcome in AT_WORK else {"drew": True, "block": seen.block}
    news = {name: new for name, new in news.items() if new is not None and new != getattr(turn, name)}
    if not news:
        return member
    return msgspec.structs.replace(member, turn=msgspec.structs.replace(turn, **news, seen_ms=sight.ms))


def _under_way(member: MemberState, sight: Sighting, settled: Settled, fit: Fit, bare: bool) -> Kept:
    """A look at a turn that has not ended: the member's state follows, unless it failed in this very turn."""
    outcome = sight.seen.outcome
    after, stop = stopped(member, sight, settled, bare)
    if stop.asks:
        return member, Answer(STOPPED, asks=stop.asks)
    turn = after.turn
    assert turn is not None
    if not turn.has_ended and outcome != "stale" and (turn.outcome, turn.doubt) != (outcome, None):
        turn = msgspec.structs.replace(turn, outcome=outcome, doubt=None, seen_ms=sight.ms)
        after = msgspec.structs.replace(after, turn=turn)
    if after.state in FAILED and fit.kind == "same":
        return after, Answer("failed until a person starts another turn")
    if stop.done:
        return entered(after, "idle", sight.ms), Answer(STOPPED)
    # As long as a ticket's turn may only not have begun to draw, a quiet screen says nothing of its member.
    quiet = outcome == "stale" or (bare and turn.open_ticket is not None)
    return (after if quiet else entered(after, STATES[outcome], sight.ms)), Answer(fit.reason)


class Stop(NamedTuple):
    """Whether a look showed that a person stopped the turn of an open ticket; `asks`: settle these first."""

    done: bool
    asks: tuple[Settlement, ...] = ()


def stopped(member: MemberState, sight: Sighting, settled: Settled, bare: bool) -> tuple[MemberState, Stop]:
    """The member after a look that may show that a person stopped its turn, or cleared its screen.

    The agent's own stop mark shows it at once; a screen that is `bare`, no more on it than before the delivery, when
    it stays so although the prompt had been seen submitted.
    """
    before, seen = member.turn, sight.seen
    assert before is not None
    fresh = seen.pattern == CLEARED and before.screen is not None
    since = (before.bare_ms or sight.ms) if bare and before.open_ticket and before.submitted else None
    turn = msgspec.structs.replace(before, cleared=before.cleared or bool(fresh), bare_ms=since)
    done = False
    if turn.open_ticket and not turn.has_ended:
        done = bool(seen.stopped) or (since is not None and sight.ms - since >= PROOF_MS)
    if done:
        asks, won = settling(member, settled, "verdict", "failed", STOPPED, sight.ms, turn.event)
        if asks:
            return member, Stop(True, asks)
        turn = msgspec.structs.replace(turn, resolved=won)
    if turn == before:
        return member, Stop(done)
    turn = msgspec.structs.replace(turn, seen_ms=sight.ms)
    return msgspec.structs.replace(member, turn=turn, earlier=[] if done else member.earlier), Stop(done)


def _ended(member: MemberState, sight: Sighting, settled: Settled, fit: Fit, late: bool) -> Kept:
    """An ended outcome: when it counts, settle the ticket, then mark the member, unless something else settled it."""
    seen, turn = sight.seen, member.turn
    assert turn is not None
    owes = turn.open_ticket is not None or bool(member.earlier)
    if turn.has_ended and not owes and turns.final(turn, seen.outcome) == turn.outcome:
        return _of_the_same_end(member, sight, fit.reason)
    end = ends.weighed(turn.doubt, seen, sight.ms, sight.before)
    if isinstance(end, Doubt):
        return _doubted(member, sight, end, late)
    outcome = turns.final(turn, end.outcome)
    why = (end.said or {}).get("reason") or seen.reason or seen.line or end.outcome
    path = end.said["path"] if end.said else seen.path
    resolved = turn.resolved
    if owes:
        asks, won = settling(member, settled, "verdict", end.outcome, why, sight.ms, turn.event)
        if asks:
            return member, Answer(why, asks=asks)
        resolved = won if turn.open_ticket else resolved
    if outcome == turn.outcome and resolved == turn.resolved and not member.earlier:
        return _of_the_same_end(member, sight, "the turn's outcome stays")
    cause, resets_at, source = _merged(turn, outcome, sight)
    turn = msgspec.structs.replace(
        turn, outcome=outcome, cause=cause, resets_at=resets_at, source=source, resolved=resolved, at_ms=end.at_ms,
        undated=end.undated, fast=path == "fast", seen_ms=max(sight.ms, turn.seen_ms),
        doubt=turn.doubt if end.said else None,
    )  # fmt: skip
    resumed = 0 if outcome == "completed" else member.resumed
    after = msgspec.structs.replace(member, turn=turn, earlier=[], resumed=resumed)
    answer = Answer(fit.reason, fields=_dated(turn, sight, end))
    if resolved is False:
        # A losing verdict is no evidence; that the turn is over is all it says.
        return entered(after, after.state if after.state in FAILED else "done", sight.ms), answer
    return entered(after, STATES[outcome], sight.ms, None if outcome == "completed" else why), answer


def _doubted(member: MemberState, sight: Sighting, doubt: Doubt, late: bool) -> Kept:
    """An end that is not proved: the turn has begun, its member is busy, and nothing else follows."""
    turn = member.turn
    assert turn is not None
    answer = Answer(DOUBTED, resolved=False, fields={"at": sight.ts(doubt.at_ms), "undated": doubt.undated or None})
    if late:
        return member, answer
    if turn.doubt != doubt:
        turn = msgspec.structs.replace(turn, doubt=doubt, bare_ms=None, seen_ms=sight.ms)
        member = msgspec.structs.replace(member, turn=turn)
    stays = turn.has_ended or member.state in FAILED
    return (member if stays else entered(member, "busy", sight.ms)), answer


def _of_the_same_end(member: MemberState, sight: Sighting, reason: str) -> Kept:
    """One more look at a turn that has ended: it says of the end what was said first, and may name what was unknown."""
    before, seen = member.turn, sight.seen
    assert before is not None and before.outcome is not None
    cause, resets_at, source = _merged(before, before.outcome, sight)
    turn = before
    if (cause, resets_at) != (before.cause, before.resets_at):
        turn = msgspec.structs.replace(before, cause=cause, resets_at=resets_at, source=source)
        member = msgspec.structs.replace(member, turn=turn)
    doubt = turn.doubt
    proved = doubt is not None and doubt.outcome == turn.outcome and doubt.block == seen.block
    alike = seen.outcome == turn.outcome or {seen.outcome, turn.outcome} <= FAILURES
    if turn.at_ms is None or not (proved or alike):
        return member, Answer(reason)
    said = ends.said(doubt) if doubt and proved and seen.proved is False else None
    return member, Answer(reason, fields=_dated(turn, sight, End(seen.outcome, turn.at_ms, turn.undated, said)))


def _merged(
    turn: TurnState, outcome: records.Outcome, sight: Sighting
) -> tuple[records.Cause | None, str | None, records.Source | None]:
    """Cause, reset time and their source for a turn with this outcome: known words go before unknown ones.

    Of one failure, screen and agent may speak one after the other: the first keeps its word, the other adds to it.
    """
    seen = sight.seen
    if seen.outcome not in FAILURES or outcome not in FAILURES:
        return turn.cause, turn.resets_at, turn.source
    raised = outcome != turn.outcome
    if not raised and seen.outcome != outcome:
        return turn.cause, turn.resets_at, turn.source
    named = raised or (turn.cause in (None, "unknown") and seen.cause not in (None, "unknown"))
    resets_at = seen.resets_at or turn.resets_at if raised else turn.resets_at or seen.resets_at
    return (seen.cause, resets_at, seen.source or "screen") if named else (turn.cause, resets_at, turn.source)


def _dated(turn: TurnState, sight: Sighting, end: End) -> dict[str, Any]:
    """What a verdict says of an end that counts: when it happened, and what the look that first showed it said."""
    fields: dict[str, Any] = {"at": sight.ts(end.at_ms), "undated": end.undated or None}
    if end.said is not None:
        fields |= end.said | {"proved": True}
    elif sight.seen.proved is False and sight.seen.outcome == turn.outcome:
        fields["proved"] = True
    if turn.outcome in FAILURES and (turn.cause or turn.resets_at):
        fields |= {"outcome": turn.outcome, "cause": turn.cause, "resets_at": turn.resets_at}
        fields |= {"source": turn.source} if turn.source else {}
    return fields
