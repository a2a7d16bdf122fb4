"""What a look at a pane makes of its member: turns, tickets and states follow."""

import msgspec

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.members import progress, turns
from fleettools.policy.members.progress import STATES
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
)
from fleettools.policy.members.sightings import Sighting
from fleettools.policy.members.turns import Fit, PastTurn, TurnState

Kept = tuple[MemberState, Answer]
LOOKED_MS = 5_000


def step(
    member: MemberState | None, seen: records.Verdict, settled: Settled, at: Moment, last: Moment | None = None
) -> Stepped:
    """What a look at a pane, at a moment of the store's clock, makes of its member.

    `last`: the caller's own last look at this process, which the store may know only to within LOOKED_MS.
    """
    now = clocked(member, at)
    before = member.looked if member else None
    if before and last and clocked(member, last).ms > before.ms:
        before = clocked(member, last)
    after, answer = _step(member, Sighting(seen, now, before), settled)
    if after is None or answer.asks or not answer.known or after.state == "released":
        return after, answer
    since = None if after.looked is None else now.ms - after.looked.ms
    # A look at which nothing changes need not be written each second.
    if since is not None and (since <= 0 or (after is member and since < LOOKED_MS)):
        return after, answer
    return msgspec.structs.replace(after, looked=now), answer


def _step(member: MemberState | None, sight: Sighting, settled: Settled) -> Stepped:
    """First match wins: no member yet, another process, let go, no longer marked, gone, and last a look at a turn."""
    seen = sight.seen
    if member is None:
        if seen.gone or seen.unmarked or not is_member(seen):
            resolved = not (seen.gone or seen.unmarked)
            return None, Answer("no member is known in that pane", seen.event, resolved, known=not seen.gone)
        return _looked(joined(seen, "idle", sight.ms), sight, settled)
    if seen.pid is not None and member.pid not in (None, seen.pid):
        return _another_process(member, sight, settled)
    if member.state == "released":
        known = bool(seen.unmarked)  # fleet-release took the marks off
        return member, Answer(f"released: {member.reason}", seen.event, resolved=False, known=known)
    if seen.unmarked and not seen.gone:
        return _unmarked(member, sight, settled)
    return _looked(member, sight, settled)


def _another_process(member: MemberState, sight: Sighting, settled: Settled) -> Kept:
    """A respawned pane keeps its id: another process in it is another member, or a late look at the one before."""
    seen = sight.seen
    if seen.gone or seen.unmarked or sight.ms < member.joined_ms or not is_member(seen):
        return member, Answer("another process of that pane", seen.event, resolved=False, known=False)
    asks = () if member.state == "released" else ending(member, settled, "gone", GONE, sight.ms)
    if asks:
        return member, Answer(GONE, asks=asks)
    fresh = joined(seen, "idle", sight.ms)
    fresh.count, fresh.past = member.count, turns.remembered(member.past, member.turn)
    return _looked(fresh, sight._replace(before=None), settled)


def _unmarked(member: MemberState, sight: Sighting, settled: Settled) -> Stepped:
    """A pane that lives and is a member's no more leaves nothing behind; marked again it joins anew."""
    if sight.before and sight.ms < sight.before.ms:
        return member, Answer("was marked when it was last looked at", sight.seen.event, resolved=False)
    asks = ending(member, settled, "gone", UNMARKED, sight.ms)
    if asks:
        return member, Answer(UNMARKED, asks=asks)
    turn = member.turn
    return None, Answer(UNMARKED, turn.event if turn else sight.seen.event, ticket=turn.ticket if turn else None)


def _looked(member: MemberState, sight: Sighting, settled: Settled) -> Kept:
    """A look at the member's own process."""
    seen = sight.seen
    who = records.who(MemberState, seen)
    news = {name: new for name, new in who.items() if new is not None and new != getattr(member, name)}
    seated = msgspec.structs.replace(member, **news) if news else member
    if seen.gone or seen.dead:
        return _vanished(member, seated, sight, settled)
    if seated.gone and not (sight.before and sight.ms < sight.before.ms):
        seated = _came_back(seated, sight)
    fit = turns.fit(seated.turn, seated.past, seen, sight.ms)
    if fit.kind == "back":
        return _taken_back(member, sight, settled, fit)
    if fit.kind in ("old", "waiting"):
        return _of_another_turn(member, sight, fit)
    after = _begun(seated, sight) if fit.kind == "new" else seated
    if after.turn is None:
        stays = after.state in FAILED or sight.ms < after.since_ms
        state = after.state if stays else STATES.get(seen.outcome, after.state)
        return entered(after, state, sight.ms), Answer(fit.reason, seen.event)
    after, answer = progress.of_the_turn(after, sight, settled, fit)
    if answer.asks:
        return member, answer
    turn = after.turn
    assert turn is not None
    fields = {"began": sight.ts(turn.began_ms)} | dict(answer.fields or {})
    resolved = answer.resolved and turn.resolved is not False
    return after, answer._replace(event=turn.event, resolved=resolved, ticket=turn.ticket, fields=fields)


def _came_back(member: MemberState, sight: Sighting) -> MemberState:
    """An agent was started again in its pane; one that had failed before its agent went has failed still."""
    if member.failure_reason == AGENT_GONE:
        return entered(member, "idle", sight.ms)
    return msgspec.structs.replace(member, gone=False)


def _of_another_turn(member: MemberState, sight: Sighting, fit: Fit) -> Kept:
    """A look that is not, or not yet, the current turn's: it changes nothing but what is known of that one."""
    seen = sight.seen
    old = fit.past
    if old is None and fit.kind == "old":
        # What is older than all turns that are still known may have been counted long ago.
        if len(member.past) >= turns.KEPT:
            return member, Answer(fit.reason, seen.event, resolved=False)
        prompt = turns.prompt_of(seen)
        if prompt and seen.event and seen.outcome in records.ENDINGS:
            old = PastTurn(event=seen.event, began_ms=sight.ms, screen=prompt, outcome=seen.outcome)
            return _knowing(member, old), Answer(fit.reason, old.event)
    if old:
        fields = {"began": sight.ts(old.began_ms)}
        answer = Answer(fit.reason, old.event, old.resolved is not False, old.ticket, fields=fields)
        prompt = turns.prompt_of(seen)
        unseen = old.screen is None and prompt and fit.kind == "old"
        return (_knowing(member, msgspec.structs.replace(old, screen=prompt)) if unseen else member), answer
    if fit.kind == "waiting" and member.turn:
        return member, Answer(fit.reason, member.turn.event, ticket=member.turn.ticket)
    return member, Answer(fit.reason, seen.event)


def _knowing(member: MemberState, old: PastTurn) -> MemberState:
    """The member with this among its earlier turns."""
    past = [one for one in member.past if one.event != old.event]
    return msgspec.structs.replace(member, past=sorted([*past, old], key=lambda one: one.began_ms))


def _taken_back(member: MemberState, sight: Sighting, settled: Settled, fit: Fit) -> Kept:
    """A person took the current prompt back, so that the screen of an earlier turn stands there again."""
    turn = member.turn
    if turn is None or turn.has_ended or sight.ms < max(turn.seen_ms, member.since_ms):
        return _of_another_turn(member, sight, fit)
    after, stop = progress.stopped(member, sight, settled, bare=True)
    if stop.asks:
        return member, Answer(STOPPED, asks=stop.asks)
    if stop.done or turn.open_ticket is None:
        after = entered(after, "idle", sight.ms)
    return after, _of_another_turn(member, sight, fit)[1]


def _begun(member: MemberState, sight: Sighting) -> MemberState:
    """Begin a turn, which reinstates a failed member; a ticket that is still open goes with it."""
    seen, before = sight.seen, member.turn
    turn = TurnState(
        event=turns.event_of(seen.server, seen.target, seen.screen, member.count + 1),
        screen=turns.prompt_of(seen),
        ticket=before.open_ticket if before else None,
        began_ms=sight.ms,
        earliest_ms=sight.before.ms if sight.before else None,
        seen_ms=sight.ms,
    )
    past = turns.remembered(member.past, before)
    after = msgspec.structs.replace(
        member, turn=turn, count=member.count + 1, past=past, gone=False, resumed=0, attempt=None
    )
    failed = before is not None and member.state in FAILED
    return entered(after, "idle", sight.ms) if failed else after


def _vanished(member: MemberState, seated: MemberState, sight: Sighting, settled: Settled) -> Kept:
    """A vanished or dead pane: failed, whatever its screen says; one that had failed before keeps its reason."""
    gone = AGENT_GONE if sight.seen.unmarked else GONE
    asks = ending(seated, settled, "gone", gone, sight.ms)
    if asks:
        return member, Answer(gone, asks=asks)
    turn = seated.turn
    if turn and turn.open_ticket:
        turn = msgspec.structs.replace(turn, resolved=settled.get(turn.open_ticket), outcome="failed", seen_ms=sight.ms)
    after = msgspec.structs.replace(seated, gone=True, turn=turn, earlier=[])
    if seated.state not in FAILED:
        after = entered(after, "failed", sight.ms, gone)
    resolved = turn is None or turn.resolved is not False
    # It is no evidence against a credential.
    fields = {"outcome": "failed", "reason": gone, "cause": None}
    event, ticket = (turn.event, turn.ticket) if turn else (sight.seen.event, None)
    return after, Answer(gone, event, resolved, ticket, fields=fields)
