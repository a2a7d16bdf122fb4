"""A prompt on its way into a member's pane: its ticket is opened right before it is typed, and it goes in or ends."""

import secrets
from collections.abc import Callable
from typing import NamedTuple

from fleettools import records
from fleettools.policy.members import handover, roster, tickets
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.tickets import TicketState
from fleettools.screens.scrub import scrubbed
from fleettools.services.delivery.inject import Site, deliver
from fleettools.services.delivery.ways import Result
from fleettools.services.members import now_ms, settle
from fleettools.services.owner import Ownership
from fleettools.services.ports import Clock, Messages
from fleettools.services.store import Store, change, read

LEASE_WAIT = 10.0  # seconds to wait for another writer to the same pane
POLL = 0.2

May = Callable[[MemberState | None, int], str]  # why a member may not be sent anything now, "" when it may


class Sent(NamedTuple):
    """What became of a prompt: its ticket if one was opened, and whether it went in."""

    ticket: TicketState | None
    submitted: bool
    result: Result


class Order(NamedTuple):
    """What a prompt is: its ticket's id ("" for a new one), the failed ticket that it continues, whether it is kept.

    `resumed`: its member has failed, and is prompted again. `lead`: who is told of its end, None for the member's own.
    """

    ticket: str = ""
    again: str | None = None
    resumed: bool = False
    kept: bool = False
    lead: str | None = None


PLAIN = Order()


def opened(store: Store, member: MemberState, order: Order, prompt: str, now_ms: int) -> None:
    """Store the ticket of a member's new turn, unless it is there; the one that it continues leads to it."""
    who = records.who(TicketState, member) | ({"lead": order.lead} if order.lead else {})
    ticket = TicketState(
        **who, id=order.ticket, event=order.ticket, opened_ms=now_ms, again=order.again,
        prompt=prompt if order.kept and scrubbed(prompt) == prompt else None,
    )  # fmt: skip
    change(store, tickets.ticket_key(ticket.id), TicketState, lambda known: (known or ticket, None))
    if order.again:
        key = tickets.ticket_key(order.again)
        change(store, key, TicketState, lambda old: (tickets.followed(old, ticket.id), None))


class Sending:
    """Sends one prompt. `may` decides who may be sent one: not everybody types to a member that has failed."""

    def __init__(
        self, store: Store, owner: Ownership, clock: Clock, messages: Messages, member: MemberState,
        may: May = handover.may_be_sent, order: Order = PLAIN,
    ) -> None:  # fmt: skip
        self._store, self._owner, self._clock, self._messages = store, owner, clock, messages
        self._member, self._may, self._order = member, may, order
        self._key = roster.member_key(member.server, member.target)
        self._ticket = order.ticket or f"t-{secrets.token_hex(6)}"
        self._prompt = ""
        self._opened = False

    def pause(self, seconds: float) -> None:
        """Wait. What has been begun to be typed is ended, and its ticket told, before a signal takes effect."""
        (self._clock.hold if self._opened else self._clock.sleep)(seconds)

    def run(self, site: Site, prompt: str) -> Sent:
        """Type the prompt and see it submitted, once nobody else types there."""
        server, target = self._member.server, self._member.target
        until = self._clock.monotonic() + LEASE_WAIT
        while not self._owner.take(server, target):
            if self._clock.monotonic() >= until:
                return Sent(None, False, Result(None, "another process types there", "busy"))
            self._clock.sleep(POLL)
        self._prompt = prompt
        result = Result("unknown", "the sender was ended")
        try:
            result = deliver(site, prompt, None, lambda step: step != "typed" or self._open(site))
        finally:
            sent = self._finished(result)
            self._owner.drop(server, target)
        return sent

    def _open(self, site: Site) -> bool:
        """Open the ticket, with what the pane shows as the baseline of its turn; False when the member changed."""
        baseline = scrubbed(site.see().text)
        now = self._now()

        def begin(member: MemberState | None) -> tuple[MemberState | None, MemberState | None]:
            if member is None or self._may(member, now):
                return member, None
            return handover.open_ticket(member, self._ticket, baseline, now, self._order.resumed), member

        before = change(self._store, self._key, MemberState, begin)
        if before is None:
            return False
        self._member, self._opened = before, True
        opened(self._store, before, self._order._replace(ticket=self._ticket), self._prompt, now)
        self._messages.debug(f"{self._ticket} opened at {records.to_ts(now)}")
        return True

    def _now(self) -> int:
        return now_ms(self._store, self._clock, self._member)

    def _finished(self, result: Result) -> Sent:
        """Submitted, its turn has begun; else the ticket ends and the turn before goes on."""
        if not self._opened:
            return Sent(None, False, result)
        now = self._now()

        def end(member: MemberState | None) -> tuple[MemberState | None, bool]:
            if result.outcome == "submitted":
                return handover.prove(member, self._ticket, now), True
            doubted = result.outcome not in (None, "refused")
            return handover.withdraw(member, self._member, self._ticket, now, doubted)

        submitted = change(self._store, self._key, MemberState, end)
        if not submitted:
            known = result.outcome not in ("unknown", "queued")
            why = f"not {'submitted' if known else 'seen submitted'}: {result.reason}"
            settle(self._store, tickets.Settlement(self._ticket, "send", "failed", why, now, told=True))
        return Sent(read(self._store, tickets.ticket_key(self._ticket), TicketState), submitted, result)
