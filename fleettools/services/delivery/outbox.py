"""The outbox in the store: every change of an item is committed here, and what the store knows about it is read."""

import os
import signal
from collections.abc import Callable, Iterable
from typing import NamedTuple

from fleettools import records
from fleettools.config import Config
from fleettools.moments import Moment
from fleettools.policy.accounts import placement
from fleettools.policy.accounts.credential import (
    CredentialState,
    cooling_seconds,
    credential_key,
    quarantined_seconds,
)
from fleettools.policy.members import roster
from fleettools.policy.members.roster import MEMBERS, MemberState, member_key
from fleettools.policy.members.tickets import TicketState, ticket_key
from fleettools.policy.notices import news, nudge, outbox
from fleettools.policy.notices.outbox import Item, Standing
from fleettools.records import NoticeItem
from fleettools.services.delivery.ways import Result, To
from fleettools.services.fleet import situation_of
from fleettools.services.owner import Ownership
from fleettools.services.ports import Clock
from fleettools.services.store import Store, change, read, read_all

DOUBT_MS = 2_000  # what was typed so recently may still be on its way to the screen


class Rules(NamedTuple):
    """How often a notice is tried, after how many seconds an uncollected ticket is said again, and who may spawn."""

    attempts: int
    reminders: list[float]
    fleet: Config


class Outbox:
    """Items in the store. `emit` writes a record; `outcome_of`: a member's last outcome in the stream, "" for none."""

    def __init__(
        self, store: Store, owner: Ownership, clock: Clock, rules: Rules,
        emit: Callable[[records.Record], None], outcome_of: Callable[[str, str], str],
    ) -> None:  # fmt: skip
        self._store, self._clock, self._rules = store, clock, rules
        self._emit, self._outcome_of = emit, outcome_of
        self.owner = owner
        self._unsettled: list[tuple[Item, Result]] = []
        self._crash_at = os.environ.get("FLEET_CRASH_AT")  # for the crash tests: die at this step

    def now_ms(self) -> int:
        """The store's clock."""
        return self._store.now_ms()

    def add(self, items: Iterable[Item]) -> None:
        """Put items into the outbox; those that are there already change nothing."""
        for item in items:
            change(self._store, key_of(item), Item, lambda before, new=item: outbox.add(before, new))  # type: ignore[misc]
        self.at("added")

    def stored(self) -> list[Item]:
        """Every item."""
        return [item for _, item in read_all(self._store, outbox.OUTBOX, Item)]

    def upkeep(self, items: Iterable[Item]) -> list[Item]:
        """Of these without what ended long ago, which is forgotten, and with the reminders that are due now."""
        now, kept = self.now_ms(), []
        for item in items:
            if outbox.forgotten(item, now):
                self._change(item, lambda before: (None, True))
            else:
                kept.append(item)
        return kept + self._remind(kept, now)

    def _remind(self, items: list[Item], now: int) -> list[Item]:
        """Add the notices and reminders that finished tickets need now; these are the answer."""
        known: dict[str, list[Item]] = {}
        for item in items:
            if item.about.kind == "ticket":
                known.setdefault(news.ticket_of(item.id), []).append(item)
        made = []
        for _, ticket in read_all(self._store, "ticket/", TicketState):
            new = news.reminder(ticket, known.get(ticket.id, ()), self._rules.reminders, now)
            if new is not None:
                self.add([new])
                made.append(new)
        return made

    def standing(self, item: Item, credential: str | None) -> Standing:
        """What the store knows beyond the item itself; `credential` is that of the lead's own profile."""
        about, now = item.about, self._store.moment()
        if about.kind in ("incident", "quarantine") and about.credential:
            state = read(self._store, credential_key(about.credential), CredentialState)
            return Standing(free_ms=_free_since(state, item, now), own=credential == about.credential)
        if about.kind == "ticket" and about.ticket:
            ticket = read(self._store, ticket_key(about.ticket), TicketState)
            settled = "its outcome was collected" if ticket and ticket.collected_ms else ""
            return Standing(settled=settled, out=not settled and self._is_out(credential, now))
        if about.kind == "nearly" and not item.is_alert:
            over = now.ms >= (about.resets_ms or item.made_ms + news.UNDATED_MS)
            return Standing(settled="its window has reset" if over else "")
        if about.kind == "blocked" and about.member:
            heard = self._outcome_of(item.server, about.member)
            if not heard:
                member = read(self._store, member_key(item.server, about.member), MemberState)
                heard = member.state if member else "blocked"
            return Standing(settled="" if heard == "blocked" else "its question is answered")
        return Standing()

    def spenders(self, credential: str) -> list[records.LeadPane]:
        """The leads that themselves spend a credential."""
        members = [member for _, member in read_all(self._store, MEMBERS, MemberState)]
        return [
            records.LeadPane(server=lead.server, target=lead.target)
            for lead in roster.leads(members) if self._rules.fleet.credential_of(lead.profile) == credential
        ]  # fmt: skip

    def elsewhere(self, about: NoticeItem, since_ms: int) -> str | None:
        """Another profile of the same agent that is free, when the credential that this is about stays out for long.

        It is out since then, again and again.
        """
        fleet = self._rules.fleet
        if about.kind not in ("incident", "quarantine") or (about.until_ms or 0) - since_ms <= nudge.LONG_MS:
            return None
        agents = {fleet.profiles[name].agent for name in about.profiles if name in fleet.profiles}
        others = [
            name for name, profile in fleet.profiles.items()
            if profile.agent in agents and profile.command and fleet.credential_of(name) != about.credential
        ]  # fmt: skip
        if not others:
            return None
        known = situation_of(self._store, fleet, others)
        choice = placement.choose(fleet, others, fleet.placement.policy, known)
        return choice.profile if choice.allowed else None

    def _is_out(self, credential: str | None, now: Moment) -> bool:
        state = read(self._store, credential_key(credential), CredentialState) if credential else None
        return bool(cooling_seconds(state, now) or quarantined_seconds(state, now))

    # -- one attempt

    def claim(self, item: Item, token: str) -> bool:
        """Take an item for an attempt; False when another process has it."""
        return self._change(item, outbox.claim, self.owner.me, token, self.now_ms(), self.orphaned(item))

    def typing(self, item: Item) -> bool:
        """Commit that a claimed item is about to be told; False when it was taken over."""
        return self._change(item, outbox.typing, self.owner.me, self.now_ms())

    def give_back(self, item: Item, typed: bool, reason: str) -> None:
        """Commit that nothing was tried with a claimed item, or one that is `typed`, after all."""
        now = self.now_ms()
        if typed:
            self._change(item, outbox.settle, self.owner.me, "refused", reason, now, item.attempts + 2)
        self._change(item, outbox.release, self.owner.me, reason, now)

    def wait(self, item: Item, reason: str) -> None:
        """Keep why a pending item waits."""
        self._change(item, outbox.note, reason)

    def expire(self, item: Item, reason: str) -> bool:
        """End an item that nobody is telling; False when somebody is."""
        return self._change(item, outbox.expire, reason, self.now_ms())

    def recover(self, item: Item) -> bool:
        """Take over an item that was left typed."""
        return self._change(item, outbox.recover, self.owner.me, self.now_ms(), self.orphaned(item))

    def settle(self, items: Iterable[Item], result: Result) -> None:
        """Commit the end of an attempt, then say it; what the store does not take now is committed later."""
        self._unsettled += [(item, result) for item in items]
        self.settle_late()

    def settle_late(self) -> None:
        """Commit what the store did not take before; raises Unavailable as long as it does not."""
        while self._unsettled:
            item, (outcome, reason, _) = self._unsettled[0]
            assert outcome is not None
            mine = self._change(
                item, outbox.settle, self.owner.me, outcome, reason, self.now_ms(), self._rules.attempts
            )
            del self._unsettled[0]
            self.at("settled")
            if mine:
                self._emit(
                    records.Delivery(
                        **self._clock.stamp(), id=item.id, server=item.server, target=item.target, outcome=outcome,
                        reason=reason, attempt=self._attempts(item),
                    )
                )  # fmt: skip

    def _attempts(self, item: Item) -> int | None:
        now = read(self._store, key_of(item), Item)
        return now.attempts if now else None

    # -- what a crash left

    def doubtful(self, item: Item) -> bool:
        """Whether it was left typed, by somebody who has ended or by us: of what we tell just now nobody asks."""
        now = self.now_ms()
        free = item.lease is None or item.lease.owner == self.owner.me or self.orphaned(item)
        free = free or (item.lease is not None and now >= item.lease.until_ms)
        return item.state == "typed" and now - item.changed_ms >= DOUBT_MS and free

    def orphaned(self, item: Item) -> bool:
        """Whether the process that has an item has ended."""
        return item.lease is not None and self.owner.ended(item.lease.owner)

    def at(self, step: str) -> None:
        """A step is reached."""
        if step == self._crash_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def _change(self, item: Item, step: Callable[..., tuple[Item | None, bool]], *values: object) -> bool:
        return change(self._store, key_of(item), Item, lambda before: step(before, *values))


def key_of(item: Item) -> str:
    """Where the store keeps an item."""
    return outbox.item_key(item.id, item.server, item.target)


def to_of(item: Item) -> To:
    """Who an item is for."""
    return To(item.server, item.target)


def _free_since(state: CredentialState | None, item: Item, now: Moment) -> int | None:
    """Since when the store says that the very period of this item is over; None when it does not say so."""
    period = state and (state.cool_off if item.about.kind == "incident" else state.quarantine)
    return period.until_ms if period and period.id == item.id and not period.runs(now) else None
