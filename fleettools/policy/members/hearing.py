"""What an agent's own word makes of its member: a signal joins the turn that the screen shows, or begins one."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.members import progress, turns
from fleettools.policy.members.roster import FAILED, Answer, MemberState, Settled, Stepped, clocked, entered
from fleettools.policy.members.sightings import Sighting
from fleettools.policy.members.turns import AT_WORK, LAG_MS, Fit, PastTurn, TurnState
from fleettools.policy.members.whose import FORGOTTEN, NEW, Word, latest_begin, turn_of

HEARD = 32  # signals remembered of a member
PATIENCE_MS = 10_000  # so long after a turn's end its word may still be on its way
LONGEST = 300  # characters of its words that a verdict carries
USED_UP = frozenset({"quota", "credits"})
WHY = {"begin": "began", "end": "ended", "failure": "failed", "blocked": "asks a person something"}
OUTCOMES: dict[str, records.Outcome] = {"begin": "working", "end": "completed", "blocked": "blocked"}


def hear(member: MemberState | None, signal: records.Signal, settled: Settled, at: Moment) -> Stepped:
    """What a signal of a turn, said at a moment of the store's clock, makes of its member.

    The answer is not `known` when no verdict follows; else its `fields` are those that make one of the member's seat.
    """
    if member is None or member.state == "released" or member.gone:
        return member, Answer("no member is known in that pane", known=False)
    now = clocked(member, at)
    if now.ms < member.joined_ms - LAG_MS:
        return member, Answer("from before the process in that pane", known=False)
    after, answer = _hear(Word(member, signal, now.ms), settled, now)
    if answer.asks or after is None or (after.spoke and after.spoke.ms >= now.ms):
        return after, answer
    return replace(after, spoke=now), answer


def is_silent(member: MemberState, now: Moment) -> bool:
    """Whether the screen has shown a turn complete of which the agent itself has said no word."""
    turn = member.turn
    if turn is None or turn.outcome != "completed" or turn.at_ms is None:
        return False
    unheard = turn.told_ms is None and turn.worded_ms is None and turn.prompt is None
    return unheard and clocked(member, now).ms > turn.at_ms + PATIENCE_MS


def _hear(word: Word, settled: Settled, now: Moment) -> Stepped:
    """What a signal of this process, said at this moment by the member's clock, makes of it."""
    member, signal = word.member, word.signal
    about = turn_of(word)
    if about == FORGOTTEN:
        return member, Answer("of a turn that nobody knows any more", known=False)
    sight = Sighting(verdict(member, signal), now, None)
    if about.past:
        return _of_the_past(word, sight, about.past)
    if about == NEW:
        before, fit = _told(word), Fit("new", "it says so")
    elif _contradicts(word):
        return member, Answer("the screen showed it at work after that", known=False)
    else:
        before, fit = _confirmed(word), Fit("same", "it says so")
    after, answer = progress.of_the_turn(before, sight, settled, fit)
    if answer.asks:
        return member, answer
    after, turn = _worded(after, signal, now.ms)
    fields = {"began": sight.ts(turn.began_ms)} | dict(answer.fields or {})
    resolved = answer.resolved and turn.resolved is not False
    return after, answer._replace(event=turn.event, resolved=resolved, ticket=turn.ticket, fields=fields)


def _contradicts(word: Word) -> bool:
    """Whether the screen showed the current turn at work well after the agent is said to have ended it."""
    looked = word.member.looked
    if looked is None or word.signal.said not in ("end", "failure"):
        return False
    return word.turn.outcome in AT_WORK and looked.ms > word.ms + LAG_MS


def _of_the_past(word: Word, sight: Sighting, old: PastTurn) -> Stepped:
    """A word that comes when its turn is over: a failure still counts for it, once, and marks nobody."""
    member, signal = word.member, word.signal
    named = replace(old, prompt=old.prompt or signal.prompt)
    past = sorted([*(one for one in member.past if one.event != old.event), named], key=lambda one: one.began_ms)
    after = replace(member, past=past, heard=_kept(member, signal.id, old.event))
    if signal.said != "failure":
        return after, Answer("of an earlier turn", known=False)
    fields = {"began": sight.ts(old.began_ms)}
    return after, Answer("of an earlier turn", old.event, old.resolved is not False, old.ticket, fields=fields)


def _told(word: Word) -> MemberState:
    """Begin the turn of which the agent speaks; its prompt will be seen later."""
    member, signal, ms = word
    turn = TurnState(
        event=turns.event_of(member.server, member.target, f"said-{signal.id}", member.count + 1),
        ticket=member.turn.open_ticket if member.turn else None,
        began_ms=ms, seen_ms=ms, told_ms=ms, prompt=signal.prompt,
    )  # fmt: skip
    past = turns.remembered(member.past, member.turn)
    after = replace(member, turn=turn, count=member.count + 1, past=past)
    return entered(after, "idle", ms) if member.state in FAILED else after


def _confirmed(word: Word) -> MemberState:
    """The current turn with what the word says of it beside its outcome: the prompt's id, and that it has begun."""
    signal, turn = word.signal, word.turn
    news: dict[str, object] = {}
    if signal.prompt is not None and turn.prompt is None:
        news["prompt"] = signal.prompt
    if signal.said == "begin" and turn.delivered_at_ms is not None and turn.proven_ms is None:
        news["proven_ms"] = max(word.ms, turn.delivered_at_ms)
    if signal.said == "begin" and turn.told_ms is None and turn.screen is not None and word.ms <= latest_begin(turn):
        news["told_ms"] = word.ms
    return replace(word.member, turn=replace(turn, **news)) if news else word.member


def _worded(member: MemberState, signal: records.Signal, ms: int) -> tuple[MemberState, TurnState]:
    """The member with its current turn once the word is taken: it was heard, and how the turn ended was said."""
    turn = member.turn
    assert turn is not None
    if signal.said in ("end", "failure") and turn.worded_ms is None:
        turn = replace(turn, worded_ms=ms)
    return replace(member, turn=turn, heard=_kept(member, signal.id, turn.event)), turn


def _kept(member: MemberState, signal: str, event: str) -> dict[str, str]:
    """The signals that were heard, with one more, the oldest forgotten."""
    if signal in member.heard:
        return member.heard
    return dict([*member.heard.items(), (signal, event)][-HEARD:])


# -- a word as a verdict


def verdict(member: MemberState, signal: records.Signal) -> records.Verdict:
    """What the agent said of its turn, as a verdict of the member."""
    return _verdict(signal, records.who(records.Verdict, member) | {"role": "member"})


def alone(signal: records.Signal) -> records.Verdict:
    """What an agent said of its turn where nobody knows a member; its words of one prompt are one event."""
    seat = {"server": signal.server, "target": signal.target, "agent": signal.agent}
    turn = signal.id if signal.prompt is None else f"{signal.session or ''}.{signal.prompt}"
    return _verdict(signal, seat | {"event": turns.event_of(signal.server, signal.target, f"said-{turn}", 1)})


def _verdict(signal: records.Signal, seat: Mapping[str, Any]) -> records.Verdict:
    """The verdict that a signal makes, of whoever sits there."""
    cause = signal.cause or "unknown"
    failed: records.Outcome = "exhausted" if cause in USED_UP else "backend_error"
    is_failure = signal.said == "failure"
    return records.Verdict(
        ts=signal.ts, boot=signal.boot, up=signal.up, **seat, at=signal.ts,
        outcome=OUTCOMES.get(signal.said, failed),
        reason=f"the agent itself says that its turn {WHY.get(signal.said, '')}",
        line=(signal.text or "")[:LONGEST] or None,
        cause=cause if is_failure else None, resets_at=signal.resets_at if is_failure else None,
        source="log" if signal.source == "log" else "hook",
    )  # fmt: skip
