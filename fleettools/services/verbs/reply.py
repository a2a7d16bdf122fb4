"""The answer to a ticket, unless something else has settled it."""

from fleettools.errors import Unknown
from fleettools.policy.members import handover, roster, tickets
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.tickets import Settlement, TicketState
from fleettools.screens.scrub import scrubbed
from fleettools.services import members
from fleettools.services.ports import Clock
from fleettools.services.store import Store, change, read

LONGEST = 1 << 20  # bytes of a reply


def reply(store: Store, clock: Clock, ticket: str, text: str) -> TicketState:
    """Settle a ticket with this text, secrets taken out; raises Unknown when it was settled before, or is not there."""
    end = Settlement(ticket, "reply", "completed", "answered", store.now_ms(), reply=scrubbed(text))
    first, reason = members.settle(store, end)
    settled = read(store, tickets.ticket_key(ticket), TicketState)
    if not first or settled is None:
        code = "settled_ticket" if settled else "unknown_ticket"
        raise Unknown(f"{ticket}: {reason}", "this reply is dropped", code=code)
    key = roster.member_key(settled.server, settled.target)
    at_ms = members.now_ms(store, clock, read(store, key, MemberState))
    change(store, key, MemberState, lambda member: (handover.replied(member, ticket, at_ms), None))
    return settled
