"""Who of those that failed is prompted again when a credential is free: one first, the rest once it shows work.

A backend that has just come back gets one request of ours. What that one's turn does decides: it draws something, and
the rest follow with a pause between them; it fails, and a new cool-off begins; it does neither, and nobody follows.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from fleettools import moments
from fleettools.moments import Moment
from fleettools.policy.accounts import periods
from fleettools.policy.accounts.credential import MAX_EVIDENCE, CredentialState
from fleettools.policy.accounts.periods import Period, Probe
from fleettools.policy.accounts.rounds import Round
from fleettools.policy.members.roster import FAILED, MemberState

TAKEN_UP_MS = 600_000  # a period that ended longer ago is over for resuming, too
PROBE_MS = 60_000
SPREAD_MS = 60_000  # over so long are those spread whose limit has reset at the same moment
FAILURES = frozenset({"backend_error", "exhausted"})


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How members are prompted again: so many times in a row at most, with so long a pause between two of them."""

    most: int = 3
    apart_ms: int = 5_000
    ignore_causes: frozenset[str] = frozenset()


class Next(NamedTuple):
    """What is to be done: prompt these in turn until one takes it, or nothing now (`wait`) or any more (`done`).

    `left`: who failed likewise and is prompted no more, and why.
    """

    what: Literal["probe", "prompt", "wait", "done"]
    reason: str
    members: tuple[MemberState, ...] = ()
    left: tuple[tuple[MemberState, str], ...] = ()


def begun(state: CredentialState, kind: Literal["incident", "quarantine"], now: Moment) -> CredentialState:
    """The state in which the end of its last period of that kind has begun a round; the same when that is long ago."""
    period = state.cool_off if kind == "incident" else state.quarantine
    known = state.round
    if period is None or period.runs(now) or (known is not None and known.period == period.id):
        return state
    end = period.begin.plus(period.length_ms)
    if now.since(end) > TAKEN_UP_MS or (known is not None and end.since(known.begin) <= 0):
        return state
    left = known if known is not None and period.begin.since(known.begin) <= TAKEN_UP_MS else None
    return replace(state, round=_round(period, kind, end, left))


def _round(period: Period, kind: Literal["incident", "quarantine"], begin: Moment, left: Round | None = None) -> Round:
    """The round of those that failed in a period, and of those that one right before it has left.

    What raised a period had happened before it began.
    """
    begins = [period.since_ms, *(one.at_ms for one in period.evidence if not one.undated)]
    events = [*(left.events if left else ()), *(one.event for one in period.evidence)]
    return Round(
        period=period.id, kind=kind, begin=begin, since_ms=min([*begins, left.since_ms] if left else begins),
        until_ms=period.until_ms, events=list(dict.fromkeys(events))[-MAX_EVIDENCE:],
    )  # fmt: skip


def forced(state: CredentialState, now: Moment) -> CredentialState:
    """The state in which a person begins a round of the last period, however long ago that ended."""
    ended = [(p, kind) for p, kind in ((state.cool_off, "incident"), (state.quarantine, "quarantine")) if p is not None]
    if not ended:
        return state
    period, kind = max(ended, key=lambda pair: pair[0].until_ms)
    return replace(state, round=_round(period, kind, now))  # type: ignore[arg-type]


def upcoming(state: CredentialState, members: Iterable[MemberState], rules: Rules, now: Moment) -> Next:
    """The next step of a credential's round; `members` are those that spend it."""
    round_ = state.round
    if round_ is None:
        return Next("done", "no period has ended lately")
    if now.since(round_.begin) > TAKEN_UP_MS and round_.probe is None:
        return Next("done", "its period ended too long ago")
    if round_.shown and round_.last and now.since(round_.last) > TAKEN_UP_MS:
        return Next("done", "nobody took a prompt for too long")
    failed = [(member, _barred(member, rules)) for member in members if not _outside(member, round_, rules)]
    # Who was prompted less often goes first, so that a long outage does not use up one of them.
    taken = tuple(sorted((one for one, reason in failed if not reason), key=lambda one: one.resumed))
    left = tuple((one, reason) for one, reason in failed if reason)
    if not taken:
        return Next("done", "nobody is left who failed of it", left=left)
    for period, what in ((state.quarantine, "is in quarantine"), (state.cool_off, "cools off")):
        if period is not None and period.runs(now):
            return Next("wait", f"it {what}")
    if round_.probe is None:
        return Next("probe", "the first one", taken, left)
    if not round_.shown:
        return Next("wait", "the first one's turn has shown no work yet")
    since = now.since(round_.last) if round_.last else pause_ms(round_, rules)
    if since < pause_ms(round_, rules):
        return Next("wait", f"the next one follows in {moments.seconds(pause_ms(round_, rules) - since)} s")
    return Next("prompt", "the first one's turn has shown work", taken, left)


def paced(coming: Next, others: Iterable[CredentialState], rules: Rules, now: Moment) -> Next:
    """The next step, unless it has to wait for other credentials of the same backend.

    Accounts that come back together would else bring one request each to a backend that has just come back.
    """
    for state in others:
        round_ = state.round
        if round_ is None or round_.last is None:
            continue
        if coming.what == "probe" and not round_.shown and state.probe is not None and state.probe.runs(now):
            return Next("wait", "another credential of the same agent is being tried")
        if now.since(round_.last) < rules.apart_ms:
            return Next("wait", "one on another credential of the same agent was prompted just now")
    return coming


def pause_ms(round_: Round, rules: Rules) -> int:
    """The pause between two: longer after a reset, when few have a minute between them."""
    if round_.kind == "quarantine" and round_.many > 1:
        return max(rules.apart_ms, SPREAD_MS // round_.many)
    return rules.apart_ms


def _outside(member: MemberState, round_: Round, rules: Rules) -> str:
    """Why a member is none of the round's, "" when it is: its last turn has to be a failure of one of its periods."""
    turn = member.turn
    if member.state not in FAILED or turn is None or turn.outcome not in FAILURES:
        return "its last turn did not fail of its backend"
    if turn.cause in rules.ignore_causes:
        return f"cause {turn.cause} is its request's own"
    within = round_.since_ms <= (turn.at_ms or member.since_ms) <= round_.until_ms
    return "" if within or turn.event in round_.events else "it failed outside of the period"


def _barred(member: MemberState, rules: Rules) -> str:
    """Why a member of the round is prompted no more, "" when it may be."""
    if member.gone:
        return "its pane has gone"
    if member.turn is not None and member.doubted == member.turn.event:
        return "it may have been prompted already, nobody saw that go in"
    return f"it was prompted {member.resumed} times in a row" if member.resumed >= rules.most else ""


def tried(state: CredentialState, event: str, name: str | None, many: int, now: Moment) -> CredentialState:
    """The state right before a member is prompted: the first one is its probe, and the gate lets nobody else in."""
    round_ = state.round
    if round_ is None:
        return state
    if round_.probe is not None:
        return replace(state, round=replace(round_, last=now))
    probe = Probe(event=event, name=name, **periods.spanning(now, PROBE_MS))
    return replace(state, probe=probe, round=replace(round_, probe=event, last=now, many=many))


def untried(state: CredentialState, event: str) -> CredentialState:
    """The state after a prompt that certainly did not go in: another may be the first one."""
    round_ = state.round
    if round_ is None or round_.probe != event:
        return state
    probe = None if state.probe and state.probe.event == event else state.probe
    return replace(state, probe=probe, round=replace(round_, probe=None))


def looked(state: CredentialState, members: Iterable[MemberState], rules: Rules, now: Moment) -> CredentialState:
    """The state that knows what the first one's turn has done: drawn something, or ended otherwise than by its backend.

    Where it was stopped, or failed by its own request, it has told nothing, and another may be the first. So when the
    process that claimed it died before it typed.
    """
    round_ = state.round
    if round_ is None or round_.probe is None or round_.shown:
        return state
    for member in members:
        turn = member.turn
        if turn is None or turn.event != round_.probe:
            continue
        if turn.outcome == "completed" or (turn.drew and not turn.has_ended and turn.outcome != "retrying"):
            gone = state.probe and state.probe.event == round_.probe
            return replace(state, probe=None if gone else state.probe, round=replace(round_, shown=True))
        stopped = turn.resolved is not None and not turn.has_ended
        own_fault = turn.outcome == "backend_error" and turn.cause in rules.ignore_causes
        told_nothing = turn.outcome == "failed" or stopped or own_fault or member.gone
        return untried(state, round_.probe) if told_nothing else state
    since = now.since(round_.last) if round_.last else PROBE_MS
    return untried(state, round_.probe) if since >= PROBE_MS else state
