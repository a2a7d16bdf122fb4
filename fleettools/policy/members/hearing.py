"""What an agent's own word makes of its member: a signal joins the turn that the screen shows, or begins one.

By time: a word belongs to the turn that had begun when it was said, and the screen may show a turn later than the
agent says it, by as much as lies between two looks. The agent's own id of a prompt goes before all that.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.members import progress, turns
from fleettools.policy.members.roster import FAILED, Answer, MemberState, Settled, Stepped, clocked, entered
from fleettools.policy.members.sightings import Sighting
from fleettools.policy.members.turns import AT_WORK, KEPT, LAG_MS, Fit, PastTurn, TurnState

HEARD = 32  # signals remembered of a member
PATIENCE_MS = 10_000  # so long after a turn's end its word may still be on its way
LONGEST = 300  # characters of its words that a verdict carries
UNDER_WAY = AT_WORK | {"blocked"}
USED_UP = frozenset({"quota", "credits"})
WHY = {"begin": "began", "end": "ended", "failure": "failed", "blocked": "asks a person something"}


class Turn(NamedTuple):
    """The turn that a word is about: the `current` one, a `new` one, or one of the `past`."""

    kind: str
    past: PastTurn | None = None


def hear(member: MemberState | None, signal: records.Signal, settled: Settled, at: Moment) -> Stepped:
    """What a signal of a turn, said at a moment of the store's clock, makes of its member.

    The answer is not `known` when no verdict follows; else its `fields` are those that make one of the member's seat.
    """
    if member is None or member.state == "released" or member.gone:
        return member, Answer("no member is known in that pane", known=False)
    now = clocked(member, at)
    if now.ms < member.joined_ms - LAG_MS:
        return member, Answer("from before the process in that pane", known=False)
    after, answer = _hear(member, signal, settled, now)
    if answer.asks or after is None or (after.spoke and after.spoke.ms >= now.ms):
        return after, answer
    return msgspec.structs.replace(after, spoke=now), answer


def is_silent(member: MemberState, now: Moment) -> bool:
    """Whether the screen has shown a turn complete of which the agent itself has said no word."""
    turn = member.turn
    if turn is None or turn.outcome != "completed" or turn.at_ms is None:
        return False
    unheard = turn.told_ms is None and turn.worded_ms is None and turn.prompt is None
    return unheard and clocked(member, now).ms > turn.at_ms + PATIENCE_MS


def _hear(member: MemberState, signal: records.Signal, settled: Settled, now: Moment) -> Stepped:
    """What a signal of this process, said at this moment by the member's clock, makes of it."""
    about = turn_of(member, signal, now.ms)
    if about is None:
        return member, Answer("of a turn that nobody knows any more", known=False)
    sight = Sighting(verdict(member, signal), now, None)
    if about.past:
        return _of_the_past(member, signal, sight, about.past)
    if about.kind == "current" and _contradicts(member, signal, now.ms):
        return member, Answer("the screen showed it at work after that", known=False)
    after = _told(member, signal, now.ms) if about.kind == "new" else _confirmed(member, signal, now.ms)
    after, answer = progress.of_the_turn(
        after, sight, settled, Fit("new" if about.kind == "new" else "same", "it says so")
    )
    if answer.asks:
        return member, answer
    after = _worded(after, signal, now.ms)
    turn = after.turn
    assert turn is not None
    fields = {"began": sight.ts(turn.began_ms)} | dict(answer.fields or {})
    resolved = answer.resolved and turn.resolved is not False
    return after, answer._replace(event=turn.event, resolved=resolved, ticket=turn.ticket, fields=fields)


def verdict(member: MemberState, signal: records.Signal) -> records.Verdict:
    """What the agent said of its turn, as a verdict of the member."""
    return _verdict(signal, records.who(records.Verdict, member) | {"role": "member"})


def alone(signal: records.Signal) -> records.Verdict:
    """What an agent said of its turn where nobody knows a member; its words of one prompt are one event."""
    seat = {"server": signal.server, "target": signal.target, "agent": signal.agent}
    turn = signal.id if signal.prompt is None else f"{signal.session or ''}.{signal.prompt}"
    return _verdict(signal, seat | {"event": turns.event_of(signal.server, signal.target, f"said-{turn}", 1)})


def _verdict(signal: records.Signal, seat: Mapping[str, Any]) -> records.Verdict:
    cause = signal.cause or "unknown"
    failed: records.Outcome = "exhausted" if cause in USED_UP else "backend_error"
    outcomes: dict[str, records.Outcome] = {"begin": "working", "end": "completed", "blocked": "blocked"}
    is_failure = signal.said == "failure"
    return records.Verdict(
        ts=signal.ts, boot=signal.boot, up=signal.up, **seat, at=signal.ts,
        outcome=outcomes.get(signal.said, failed),
        reason=f"the agent itself says that its turn {WHY.get(signal.said, '')}",
        line=(signal.text or "")[:LONGEST] or None,
        cause=cause if is_failure else None, resets_at=signal.resets_at if is_failure else None,
        source="log" if signal.source == "log" else "hook",
    )  # fmt: skip


def turn_of(member: MemberState, signal: records.Signal, ms: int) -> Turn | None:
    """Whose word it is; first match wins. None: of a turn that is forgotten."""
    turn, past = member.turn, member.past
    before = member.heard.get(signal.id)
    if before is not None:
        return _named(turn, past, lambda one: one.event == before)
    if signal.prompt is not None:
        found = _named(turn, past, lambda one: one.prompt == signal.prompt)
        if found:
            return found
    if turn is None:
        return Turn("new")
    other = signal.prompt is not None and turn.prompt is not None
    if signal.said == "begin":
        return _begun(turn, past, ms, other)
    if ms < turn.began_ms:
        # The first look at a turn comes after its beginning, and what ended quickly was said in between.
        if _is_after_floor(turn, ms) and not other and (not past or past[-1].outcome not in UNDER_WAY):
            return Turn("current")
        return _earlier(member, signal, ms)
    if other:
        # The end of a turn of which nothing else was ever heard: an agent's own, as the one that finds a title.
        return None if signal.said == "end" else Turn("new")
    return Turn("new") if signal.said == "failure" and _is_over(member, turn, ms) else Turn("current")


def _is_over(member: MemberState, turn: TurnState, ms: int) -> bool:
    """Whether a turn that failed then, without any beginning that is known, was another than the current one."""
    if turn.has_ended:
        return turn.worded_ms is not None or ms > turn.seen_ms + LAG_MS
    return turn.outcome == member.state == "idle" and ms > member.since_ms + LAG_MS


def _is_after_floor(turn: TurnState, ms: int) -> bool:
    return turn.floor_ms is None or ms >= turn.floor_ms


def _begun(turn: TurnState, past: list[PastTurn], ms: int, other: bool) -> Turn | None:
    """Whose beginning it is: that of a turn which fleet-send or the screen knows already, or of a new one."""
    if not _is_after_floor(turn, ms):
        return _at(past, ms)
    if turn.screen is None and turn.delivered_at_ms is not None and not turn.has_ended and not other:
        return Turn("current")
    if turn.told_ms is None and not other and ms <= _latest_begin(turn):
        return Turn("current")
    return Turn("new") if ms > turn.began_ms else _at(past, ms)


def _latest_begin(turn: TurnState) -> int:
    """Until when a beginning is said to be this turn's: its hook may start a moment after the screen has shown it."""
    shown_ms = max(turn.began_ms, turn.proven_ms or 0) + LAG_MS
    if turn.has_ended:
        return min(shown_ms, turn.at_ms or turn.began_ms)
    return shown_ms if turn.outcome in UNDER_WAY else turn.began_ms


def _earlier(member: MemberState, signal: records.Signal, ms: int) -> Turn | None:
    """The turn before the current one that a word of then is about; one of its own, if another prompt's was then."""
    found = _at(member.past, ms)
    old = found.past if found else None
    if old and (None in (old.prompt, signal.prompt) or not old.told):
        return found
    if signal.prompt is None or signal.said != "failure" or len(member.past) >= KEPT:
        return None
    event = turns.event_of(member.server, member.target, f"said-{signal.id}", 1)
    return Turn("past", PastTurn(event=event, began_ms=ms, prompt=signal.prompt, outcome="backend_error"))


def _named(turn: TurnState | None, past: list[PastTurn], fits: Any) -> Turn | None:
    if turn is not None and fits(turn):
        return Turn("current")
    found = next((old for old in reversed(past) if fits(old)), None)
    return Turn("past", found) if found else None


def _at(past: list[PastTurn], ms: int) -> Turn | None:
    begun = (old.began_ms if old.floor_ms is None else min(old.floor_ms, old.began_ms) for old in past)
    found = next((old for old, since in zip(reversed(past), reversed(list(begun)), strict=True) if since <= ms), None)
    return Turn("past", found) if found else None


def _contradicts(member: MemberState, signal: records.Signal, ms: int) -> bool:
    """Whether the screen showed the turn at work well after the agent is said to have ended it."""
    turn, looked = member.turn, member.looked
    if turn is None or looked is None or signal.said not in ("end", "failure"):
        return False
    return turn.outcome in AT_WORK and looked.ms > ms + LAG_MS


def _of_the_past(member: MemberState, signal: records.Signal, sight: Sighting, old: PastTurn) -> Stepped:
    """A word that comes when its turn is over: a failure still counts for it, once, and marks nobody."""
    named = msgspec.structs.replace(old, prompt=old.prompt or signal.prompt)
    past = sorted([*(one for one in member.past if one.event != old.event), named], key=lambda one: one.began_ms)
    after = msgspec.structs.replace(member, past=past, heard=_kept(member, signal.id, old.event))
    if signal.said != "failure":
        return after, Answer("of an earlier turn", known=False)
    fields = {"began": sight.ts(old.began_ms)}
    return after, Answer("of an earlier turn", old.event, old.resolved is not False, old.ticket, fields=fields)


def _told(member: MemberState, signal: records.Signal, ms: int) -> MemberState:
    """Begin the turn of which the agent speaks; its prompt will be seen later."""
    before = member.turn
    turn = TurnState(
        event=turns.event_of(member.server, member.target, f"said-{signal.id}", member.count + 1),
        ticket=before.open_ticket if before else None,
        began_ms=ms, seen_ms=ms, told_ms=ms, prompt=signal.prompt,
    )  # fmt: skip
    past = turns.remembered(member.past, before)
    after = msgspec.structs.replace(member, turn=turn, count=member.count + 1, past=past)
    return entered(after, "idle", ms) if member.state in FAILED else after


def _confirmed(member: MemberState, signal: records.Signal, ms: int) -> MemberState:
    """The current turn with what the word says of it beside its outcome: the prompt's id, and that it has begun."""
    turn = member.turn
    assert turn is not None
    news: dict[str, object] = {}
    if signal.prompt is not None and turn.prompt is None:
        news["prompt"] = signal.prompt
    if signal.said == "begin" and turn.delivered_at_ms is not None and turn.proven_ms is None:
        news["proven_ms"] = max(ms, turn.delivered_at_ms)
    if signal.said == "begin" and turn.told_ms is None and turn.screen is not None and ms <= _latest_begin(turn):
        news["told_ms"] = ms
    return msgspec.structs.replace(member, turn=msgspec.structs.replace(turn, **news)) if news else member


def _worded(member: MemberState, signal: records.Signal, ms: int) -> MemberState:
    turn = member.turn
    assert turn is not None
    if signal.said in ("end", "failure") and turn.worded_ms is None:
        turn = msgspec.structs.replace(turn, worded_ms=ms)
    return msgspec.structs.replace(member, turn=turn, heard=_kept(member, signal.id, turn.event))


def _kept(member: MemberState, signal: str, event: str) -> dict[str, str]:
    if signal in member.heard:
        return member.heard
    return dict([*member.heard.items(), (signal, event)][-HEARD:])
