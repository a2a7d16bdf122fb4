"""Members and tickets in the store: a roster step is committed when the tickets that it asks for are settled."""

from collections.abc import Callable

from fleettools import moments, records
from fleettools.moments import Moment
from fleettools.policy.members import roster, tickets
from fleettools.policy.members.roster import Answer, MemberState, Settled
from fleettools.policy.members.tickets import Settlement, TicketState
from fleettools.services.ports import Clock
from fleettools.services.store import Store, change

Step = Callable[[MemberState | None, Settled], tuple[MemberState | None, Answer]]


def commit(store: Store, server: str, target: str, step: Step) -> Answer:
    """Change the member in a pane. Its tickets are settled first, so a crash in between is made good by a rerun."""
    settled: dict[str, bool] = {}
    while True:
        answer = change(store, roster.member_key(server, target), MemberState, lambda member: step(member, settled))
        if not answer.asks:
            return answer
        for ask in answer.asks:
            settled[ask.ticket], _ = settle(store, ask)


def settle(store: Store, end: Settlement) -> tuple[bool, str]:
    """Settle a ticket: whether it is this that ended it, and why (not)."""
    return change(store, tickets.ticket_key(end.ticket), TicketState, lambda ticket: tickets.settle(ticket, end))


def at(store: Store, made: records.Record, member: MemberState | None) -> Moment:
    """When a record was made, by the store's clock, and from then on by that of the member's looks."""
    own = moments.of(made)
    return roster.clocked(member, Moment(store.placed(own).ms, own.boot, own.up_ms))


def unseen_seconds(store: Store, clock: Clock, member: MemberState) -> float:
    """For how long nobody has looked at a member."""
    last = member.looked.ms if member.looked else member.since_ms
    return (now_ms(store, clock, member) - last) / 1000


def now_ms(store: Store, clock: Clock, member: MemberState | None) -> int:
    """The time of what happens to a member now: the store's, on the clock that its looks go by."""
    return roster.clocked(member, moment(store, clock)).ms


def moment(store: Store, clock: Clock) -> Moment:
    """Now, by the store's clock and this machine's uptime."""
    here = clock.moment()
    return Moment(store.now_ms(), here.boot, here.up_ms)
