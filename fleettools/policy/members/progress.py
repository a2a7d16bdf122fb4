"""What a look at a member's current turn makes of it: it is under way, was stopped, or has ended."""

from typing import Any, NamedTuple

from msgspec.structs import replace

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
UNNAMED = (None, "unknown")
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
    late = fit.kind == "same" and sight.ms < max(_turn(member).seen_ms, member.since_ms)
    if sight.seen.outcome in records.ENDINGS:
        after, answer = _ended(member, sight, settled, fit, late)
    elif late or fit.kind == "still" or (sight.seen.outcome == "stale" and not _is_bare(sight.seen)):
        return member, Answer(fit.reason)
    else:
        after, answer = _under_way(member, sight, settled, fit)
    # What a person opened or cleared, and what stood there before the delivery, was not drawn by the turn.
    if answer.asks or late or sight.seen.pattern in (BASELINE, CLEARED):
        return after, answer
    return _drawn(after, sight), answer


def _turn(member: MemberState) -> TurnState:
    """The current turn of a member that has one: whoever calls has begun it, or found it."""
    assert member.turn is not None
    return member.turn


def _is_bare(seen: records.Verdict) -> bool:
    """Whether a look shows no more than what stood there before the delivery."""
    return seen.pattern == BASELINE or (seen.outcome == "idle" and not seen.stopped)


def _drawn(member: MemberState, sight: Sighting) -> MemberState:
    """Keep which prompt the screen shows, and what the turn has drawn when it rests."""
    seen, turn = sight.seen, _turn(member)
    news: dict[str, Any] = {"screen": turns.prompt_of(seen)}
    if seen.block is not None:
        news |= {"drew": True} if seen.outcome in AT_WORK else {"drew": True, "block": seen.block}
    news = {name: new for name, new in news.items() if new is not None and new != getattr(turn, name)}
    return replace(member, turn=replace(turn, **news, seen_ms=sight.ms)) if news else member


# -- a turn that goes on, or was stopped


def _under_way(member: MemberState, sight: Sighting, settled: Settled, fit: Fit) -> Kept:
    """A look at a turn that has not ended: the member's state follows, unless it failed in this very turn."""
    seen = sight.seen
    after, stop = stopped(member, sight, settled, _is_bare(seen))
    if stop.asks:
        return member, Answer(STOPPED, asks=stop.asks)
    after = _going_on(after, sight)
    if after.state in FAILED and fit.kind == "same":
        return after, Answer("failed until a person starts another turn")
    if stop.done:
        return entered(after, "idle", sight.ms), Answer(STOPPED)
    # As long as a ticket's turn may only not have begun to draw, a quiet screen says nothing of its member.
    if seen.outcome == "stale" or (_is_bare(seen) and _turn(after).open_ticket is not None):
        return after, Answer(fit.reason)
    return entered(after, STATES[seen.outcome], sight.ms), Answer(fit.reason)


def _going_on(member: MemberState, sight: Sighting) -> MemberState:
    """The outcome of a turn that has not ended is that of its last look, and an end that was in doubt was none."""
    turn, outcome = _turn(member), sight.seen.outcome
    if turn.has_ended or outcome == "stale" or (turn.outcome, turn.doubt) == (outcome, None):
        return member
    return replace(member, turn=replace(turn, outcome=outcome, doubt=None, seen_ms=sight.ms))


class Stop(NamedTuple):
    """Whether a look showed that a person stopped the turn of an open ticket; `asks`: settle these first."""

    done: bool
    asks: tuple[Settlement, ...] = ()


def stopped(member: MemberState, sight: Sighting, settled: Settled, bare: bool) -> tuple[MemberState, Stop]:
    """The member after a look that may show that a person stopped its turn, or cleared its screen.

    `bare`: it shows no more than what stood there before the delivery.
    """
    before, seen = _turn(member), sight.seen
    fresh = seen.pattern == CLEARED and before.screen is not None
    turn = replace(before, cleared=before.cleared or fresh, bare_ms=_bare_since(before, sight.ms) if bare else None)
    done = _is_stop(turn, seen, sight.ms)
    if done:
        asks, won = settling(member, settled, "verdict", "failed", STOPPED, sight.ms, turn.event)
        if asks:
            return member, Stop(True, asks)
        turn = replace(turn, resolved=won)
    if turn == before:
        return member, Stop(done)
    return replace(member, turn=replace(turn, seen_ms=sight.ms), earlier=[] if done else member.earlier), Stop(done)


def _bare_since(turn: TurnState, now_ms: int) -> int | None:
    """Since when the screen is bare although the prompt of an open ticket had been seen submitted."""
    return (turn.bare_ms or now_ms) if turn.open_ticket and turn.submitted else None


def _is_stop(turn: TurnState, seen: records.Verdict, now_ms: int) -> bool:
    """The agent's own stop mark shows a stop at once, a bare screen when it stays so."""
    if not turn.open_ticket or turn.has_ended:
        return False
    return bool(seen.stopped) or (turn.bare_ms is not None and now_ms - turn.bare_ms >= PROOF_MS)


# -- a turn that has ended


def _ended(member: MemberState, sight: Sighting, settled: Settled, fit: Fit, late: bool) -> Kept:
    """An ended outcome: one more look at a known end, one that is not proved yet, or an end that counts.

    An end that counts settles the tickets that wait for it before it marks the member.
    """
    turn, seen = _turn(member), sight.seen
    waited_for = turn.open_ticket is not None or bool(member.earlier)
    if turn.has_ended and not waited_for and turns.final(turn, seen.outcome) == turn.outcome:
        return _of_the_same_end(member, sight, fit.reason)
    end = ends.weighed(turn.doubt, seen, sight.ms, sight.before)
    if isinstance(end, Doubt):
        return _doubted(member, sight, end, late)
    why = (end.said or {}).get("reason") or seen.reason or seen.line or end.outcome
    resolved = turn.resolved
    if waited_for:
        asks, won = settling(member, settled, "verdict", end.outcome, why, sight.ms, turn.event)
        if asks:
            return member, Answer(why, asks=asks)
        resolved = won if turn.open_ticket else resolved
    if (turns.final(turn, end.outcome), resolved) == (turn.outcome, turn.resolved) and not member.earlier:
        return _of_the_same_end(member, sight, "the turn's outcome stays")
    return _counted(member, sight, fit, end, why, resolved)


def _counted(member: MemberState, sight: Sighting, fit: Fit, end: End, why: str, resolved: bool | None) -> Kept:
    """An end that counts is the turn's, and marks the member unless something else had settled its ticket."""
    before = _turn(member)
    outcome = turns.final(before, end.outcome)
    known = _known(before, outcome, sight.seen)
    turn = replace(
        before, outcome=outcome, cause=known.cause, resets_at=known.resets_at, source=known.source, resolved=resolved,
        at_ms=end.at_ms, undated=end.undated, fast=(end.said["path"] if end.said else sight.seen.path) == "fast",
        seen_ms=max(sight.ms, before.seen_ms), doubt=before.doubt if end.said else None,
    )  # fmt: skip
    after = replace(member, turn=turn, earlier=[], resumed=0 if outcome == "completed" else member.resumed)
    answer = Answer(fit.reason, fields=_dated(turn, sight, end))
    if resolved is False:
        # A losing verdict is no evidence; that the turn is over is all it says.
        return entered(after, after.state if after.state in FAILED else "done", sight.ms), answer
    return entered(after, STATES[outcome], sight.ms, None if outcome == "completed" else why), answer


def _doubted(member: MemberState, sight: Sighting, doubt: Doubt, late: bool) -> Kept:
    """An end that is not proved: the turn has begun, its member is busy, and nothing else follows."""
    turn = _turn(member)
    answer = Answer(DOUBTED, resolved=False, fields={"at": sight.ts(doubt.at_ms), "undated": doubt.undated or None})
    if late:
        return member, answer
    if turn.doubt != doubt:
        turn = replace(turn, doubt=doubt, bare_ms=None, seen_ms=sight.ms)
        member = replace(member, turn=turn)
    stays = turn.has_ended or member.state in FAILED
    return (member if stays else entered(member, "busy", sight.ms)), answer


def _of_the_same_end(member: MemberState, sight: Sighting, reason: str) -> Kept:
    """One more look at a turn that has ended: it says of the end what was said first, and may name what was unknown."""
    turn, seen = _turn(member), sight.seen
    assert turn.outcome is not None
    known = _known(turn, turn.outcome, seen)
    if (known.cause, known.resets_at) != (turn.cause, turn.resets_at):
        turn = replace(turn, cause=known.cause, resets_at=known.resets_at, source=known.source)
        member = replace(member, turn=turn)
    doubt = turn.doubt
    proved = doubt is not None and doubt.outcome == turn.outcome and doubt.block == seen.block
    alike = seen.outcome == turn.outcome or {seen.outcome, turn.outcome} <= FAILURES
    if turn.at_ms is None or not (proved or alike):
        return member, Answer(reason)
    said = ends.said(doubt) if doubt and proved and seen.proved is False else None
    return member, Answer(reason, fields=_dated(turn, sight, End(seen.outcome, turn.at_ms, turn.undated, said)))


# -- what is known of an end


class Known(NamedTuple):
    """What is known of a failure, and who said it."""

    cause: records.Cause | None
    resets_at: str | None
    source: records.Source | None


def _known(turn: TurnState, outcome: records.Outcome, seen: records.Verdict) -> Known:
    """What is known of a turn's end once its outcome is this one; first match wins.

    Of one failure, screen and agent may speak one after the other: the first keeps its word, the other adds to it.
    """
    before = Known(turn.cause, turn.resets_at, turn.source)
    now = Known(seen.cause, seen.resets_at, seen.source or "screen")
    # A look that shows no failure, or ends a turn that is none, says nothing of one.
    if seen.outcome not in FAILURES or outcome not in FAILURES:
        return before
    # A worse failure than the one before goes by its own word; when the limit resets may be known from that.
    if outcome != turn.outcome:
        return now._replace(resets_at=now.resets_at or before.resets_at)
    # A milder one adds nothing.
    if seen.outcome != outcome:
        return before
    # The same one again names what was unknown.
    resets_at = before.resets_at or now.resets_at
    named = before.cause in UNNAMED and now.cause not in UNNAMED
    return (now if named else before)._replace(resets_at=resets_at)


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
