"""Looks at a member's pane, one a second, and what they make of it."""

from fleettools import moments, records
from fleettools.policy.members import handover, marking
from fleettools.policy.members.roster import Answer, MemberState

T0 = 1_000_000
SERVER = "h:/s:7"


def look(outcome: str, screen: str | None = "fix:1", **more: object) -> records.Verdict:
    """A verdict; `at` counts seconds from T0 to the look, `ms` milliseconds more."""
    late = 1000 * int(str(more.pop("at", 0))) + int(str(more.pop("ms", 0)))
    fields = {"server": SERVER, "target": "%3", "pid": 30, "profile": "claude-a", "reason": outcome} | more
    return records.Verdict(ts=records.to_ts(T0 + late), outcome=outcome, screen=screen, **fields)  # type: ignore[arg-type]


def at(seen: records.Verdict) -> moments.Moment:
    """Its moment, as resolve takes it from a store in memory."""
    return moments.of(seen)


def run(
    *looks: records.Verdict, member: MemberState | None = None, won: bool = True
) -> tuple[MemberState | None, Answer, list[str]]:
    """The member after the looks, the last answer, and what was asked to be settled: `ticket by outcome`."""
    answer, asked = Answer(""), []
    for seen in looks:
        settled: dict[str, bool] = {}
        member, answer = marking.step(member, seen, settled, at(seen))
        while answer.asks:
            asked += [f"{ask.ticket} {ask.by} {ask.outcome}" for ask in answer.asks]
            settled |= {ask.ticket: won for ask in answer.asks}
            member, answer = marking.step(member, seen, settled, at(seen))
    return member, answer, asked


def after(*outcomes: str) -> MemberState:
    """A member of whom these were seen, one a second, in one turn."""
    member, _, _ = run(*(look(outcome, at=second) for second, outcome in enumerate(outcomes)))
    assert member is not None
    return member


def sent(member: MemberState, ticket: str = "t1", at: int = 10) -> MemberState:
    """The member with a ticket delivered to it."""
    opened = handover.open_ticket(member, ticket, "baseline", T0 + 1000 * at)
    proven = handover.prove(opened, ticket, T0 + 1000 * at + 500)
    assert proven is not None
    return proven
