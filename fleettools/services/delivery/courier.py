"""Carries the outbox to the leads: the store, tmux and the policy of notices brought together, one tick at a time."""

import os
import queue
import secrets
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from fleettools import records
from fleettools.adapters import clock
from fleettools.errors import FleetError
from fleettools.moments import Moment
from fleettools.policy.accounts.credential import CredentialState, credential_key
from fleettools.policy.members.roster import MemberState, member_key
from fleettools.policy.members.tickets import TicketState, ticket_key
from fleettools.policy.notices import nudge, outbox
from fleettools.policy.notices.lease import Owner
from fleettools.policy.notices.outbox import Item, Standing
from fleettools.services import owner
from fleettools.services.delivery.inject import Result
from fleettools.services.store import Store, change, read, read_all

DOUBT_MS = 2_000  # what was typed so recently may still be on its way to the screen


class Way(Protocol):
    """How a text reaches a lead."""

    def unready(self, server: str, target: str) -> str:
        """Why nothing can be told to that lead now, "" when it can; raises LeadGone."""

    def room(self, server: str, target: str) -> int:
        """The longest text that it shows whole."""

    def credential(self, server: str, target: str) -> str | None:
        """The credential that the lead itself works on."""

    def tell(
        self, server: str, target: str, token: str, text: str, about: list[Item], step: Callable[[str], bool]
    ) -> Result:
        """Tell it, with proof."""

    def look_for(self, server: str, target: str, token: str, step: Callable[[str], bool]) -> Result:
        """What became of a text whose teller has ended."""


class LeadGone(Exception):
    """The lead's pane, or its tmux server, is no more; the text says which."""


class Attempt:
    """One text for one lead on its way; `typed` are the items for which that is committed."""

    def __init__(self, server: str, target: str, token: str, text: str, told: list[Item]) -> None:
        self.server, self.target, self.token, self.text, self.told = server, target, token, text, told
        self.typed: list[Item] = []
        self.answers: queue.SimpleQueue[bool] = queue.SimpleQueue()


class Courier:
    """Tells each lead its pending items, all in one text; every change is committed before and after the telling."""

    def __init__(
        self, store: Store, way: Way, ours: Callable[[str], bool], attempts: int, reminders: list[float],
        emit: Callable[[records.Delivery], None], outcome_of: Callable[[str, str], str], warn: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._store, self._way, self._ours, self._emit = store, way, ours, emit
        self._outcome_of, self._warn = outcome_of, warn
        self._attempts, self._reminders = attempts, reminders
        self._me: Owner = owner.me()
        self._unsettled: list[tuple[Item, Result]] = []
        self._crash_at = os.environ.get("FLEET_CRASH_AT")  # for the crash tests: die at this step

    def add(self, items: Iterable[Item]) -> None:
        """Put items into the outbox; those that are there already change nothing."""
        for item in items:
            change(self._store, _key(item), Item, lambda before, new=item: outbox.add(before, new))  # type: ignore[misc]
        self._at("added")

    def tick(self) -> int:
        """Tell what is due; the number of items that are still to be told."""
        self._settle_late()
        now = self._store.now_ms()
        items = self._remind([item for _, item in read_all(self._store, outbox.OUTBOX, Item)], now)
        leads: dict[tuple[str, str], list[Item]] = {}
        for item in items:
            if outbox.forgotten(item, now):
                change(self._store, _key(item), Item, lambda before: (None, True))
            elif item.state in outbox.OPEN and self._ours(item.server):
                leads.setdefault((item.server, item.target), []).append(item)
        attempts = [self._prepared(server, target, mine) for (server, target), mine in leads.items()]
        self._tell([attempt for attempt in attempts if attempt])
        return sum(self._is_open(item) for mine in leads.values() for item in mine)

    def _remind(self, items: list[Item], now: int) -> list[Item]:
        known: dict[str, list[Item]] = {}
        for item in items:
            if item.facts.kind == "ticket":
                known.setdefault(outbox.ticket_of(item.id), []).append(item)
        for _, ticket in read_all(self._store, "ticket/", TicketState):
            new = outbox.reminder(ticket, known.get(ticket.id, ()), self._reminders, now)
            if new is not None:
                self.add([new])
                items.append(new)
        return items

    def _prepared(self, server: str, target: str, items: list[Item]) -> "Attempt | None":
        """Clear up what a crash left with one lead, and take what is due if it can be told now."""
        try:
            unready = self._way.unready(server, target)
            for group in _by_token(items, self._doubtful):
                self._recover(server, target, group)
            due = [(item, over) for item in items if item.state != "typed" for over in self._due(item)]
            if due and not unready:
                return self._claimed(server, target, due)
            for item, _ in due:
                self._change(item, outbox.note, unready)
        except LeadGone as gone:
            for item in items:
                self._end(item, str(gone))
        return None

    def _claimed(self, server: str, target: str, due: list[tuple[Item, bool]]) -> "Attempt | None":
        """An attempt with what this process could take; None when another one is at that pane."""
        if not owner.take_pane(self._store, server, target, self._me):
            return None
        token, now = secrets.token_hex(4), self._store.now_ms()
        told = [one for one in due if self._change(one[0], outbox.claim, self._me, token, now, _orphaned(one[0]))]
        self._at("claimed")
        if not told:
            owner.drop_pane(self._store, server, target, self._me)
            return None
        text = nudge.notice(token, [(item.facts, over) for item, over in told], now, self._way.room(server, target))
        return Attempt(server, target, token, text, [item for item, _ in told])

    def _due(self, item: Item) -> list[bool]:
        """[whether it is told as over] when an item is due, [] when it is not; one that needs no telling is ended."""
        decision, reason = outbox.decide(item, self.standing(item), self._store.now_ms())
        if decision == "drop":
            self._change(item, outbox.expire, reason, self._store.now_ms())
        elif decision == "wait" and reason != item.reason and item.attempts == 0:
            self._change(item, outbox.note, reason)
        return [decision == "tell over"] if decision.startswith("tell") else []

    def now_ms(self) -> int:
        """The store's clock."""
        return self._store.now_ms()

    def preview(self, new: Iterable[Item]) -> Iterator[tuple[tuple[str, str], list[tuple[Item, bool]], list[str], str]]:
        """For each lead what would be told now, why the rest would not, and why the lead cannot be told anything."""
        items = {_key(item): item for item in new} | dict(read_all(self._store, outbox.OUTBOX, Item))
        leads: dict[tuple[str, str], list[Item]] = {}
        for item in items.values():
            if item.state == "pending" and self._ours(item.server):
                leads.setdefault((item.server, item.target), []).append(item)
        for (server, target), mine in leads.items():
            try:
                unready = self._way.unready(server, target)
            except LeadGone as gone:
                unready = str(gone)
            decided = [(item, *outbox.decide(item, self.standing(item), self.now_ms())) for item in mine]
            told = [(item, decision == "tell over") for item, decision, _ in decided if decision.startswith("tell")]
            reasons = [f"{item.id}: {reason}" for item, decision, reason in decided if not decision.startswith("tell")]
            yield (server, target), told, reasons, unready

    def standing(self, item: Item) -> Standing:
        """What the store knows beyond the item itself."""
        facts = item.facts
        if facts.kind in ("incident", "quarantine") and facts.credential:
            state = read(self._store, credential_key(facts.credential), CredentialState)
            own = self._way.credential(item.server, item.target) == facts.credential
            return Standing(free_ms=_free_since(state, item, self._store.moment()), own=own)
        if facts.kind == "ticket" and facts.ticket:
            ticket = read(self._store, ticket_key(facts.ticket), TicketState)
            return Standing(settled="its outcome was collected" if ticket and ticket.collected_ms else "")
        if facts.kind == "blocked" and facts.member:
            heard = self._outcome_of(item.server, facts.member)
            if heard:
                return Standing(settled="" if heard == "blocked" else "its question is answered")
            member = read(self._store, member_key(item.server, facts.member), MemberState)
            return Standing(settled="its question is answered" if member and member.state != "blocked" else "")
        return Standing()

    # -- one notice

    def _tell(self, attempts: "list[Attempt]") -> None:
        """Make all attempts at the same time; the store is touched by this thread alone."""
        asks: queue.SimpleQueue[tuple[Attempt, str | Result | Exception]] = queue.SimpleQueue()
        for attempt in attempts:
            threading.Thread(target=self._carry, args=(attempt, asks), daemon=True).start()
        left, failure = len(attempts), None
        while left:
            attempt, what = asks.get()
            left -= not isinstance(what, str)
            agreed = False
            try:
                if isinstance(what, str):
                    agreed = self._agreed(attempt, what)
                else:
                    self._ended(attempt, what)
            except FleetError as error:
                failure = error
            if isinstance(what, str):
                attempt.answers.put(agreed)
        if failure:
            raise failure

    def _carry(self, attempt: "Attempt", asks: "queue.SimpleQueue[tuple[Attempt, str | Result | Exception]]") -> None:
        """One attempt, in a thread of its own; it asks before each step."""

        def step(name: str) -> bool:
            asks.put((attempt, name))
            return attempt.answers.get()

        try:
            way = self._way.tell
            asks.put((attempt, way(attempt.server, attempt.target, attempt.token, attempt.text, attempt.told, step)))
        except Exception as error:
            asks.put((attempt, error))

    def _agreed(self, attempt: "Attempt", step: str) -> bool:
        """Commit that the text is about to be typed; False when another process has taken any of it over."""
        if step == "typed":
            if not owner.take_pane(self._store, attempt.server, attempt.target, self._me):
                return False
            for item in attempt.told:
                if not self._change(item, outbox.typing, self._me, self._store.now_ms()):
                    return False
                attempt.typed.append(item)
        self._at(step)
        return True

    def _ended(self, attempt: "Attempt", result: Result | Exception) -> None:
        """Commit how an attempt ended. What was not tried goes back, and waits with the reason."""
        if isinstance(result, Exception) and not isinstance(result, FleetError | LeadGone):
            raise result
        try:
            if isinstance(result, Exception) or result.outcome is None:
                reason = str(result) if isinstance(result, Exception) else result.reason
                for item in attempt.typed:
                    self._change(item, outbox.settle, self._me, "refused", reason, self._store.now_ms(), 99)
                for item in attempt.told:
                    self._change(item, outbox.release, self._me, reason, self._store.now_ms())
            else:
                self._settle([(item, result) for item in attempt.told])
        finally:
            owner.drop_pane(self._store, attempt.server, attempt.target, self._me)

    def _settle(self, ends: list[tuple[Item, Result]]) -> None:
        """Commit the end of an attempt, then say it; what the store does not take now is committed later."""
        self._unsettled += ends
        self._settle_late()

    def _settle_late(self) -> None:
        while self._unsettled:
            item, (outcome, reason) = self._unsettled[0]
            assert outcome is not None
            mine = self._change(item, outbox.settle, self._me, outcome, reason, self._store.now_ms(), self._attempts)
            del self._unsettled[0]
            self._at("settled")
            if mine:
                self._emit(
                    records.Delivery(
                        **clock.stamp(),
                        id=item.id,
                        server=item.server,
                        target=item.target,
                        outcome=outcome,
                        reason=reason,
                    )
                )

    # -- what a crash left

    def _doubtful(self, item: Item) -> bool:
        old = self._store.now_ms() - item.changed_ms >= DOUBT_MS
        free = item.lease is None or _orphaned(item) or self._store.now_ms() >= item.lease.until_ms
        return item.state == "typed" and old and free

    def _recover(self, server: str, target: str, items: list[Item]) -> None:
        """Look for a text whose teller has ended."""
        if not owner.take_pane(self._store, server, target, self._me):
            return
        try:
            now = self._store.now_ms()
            mine = [item for item in items if self._change(item, outbox.recover, self._me, now, _orphaned(item))]
            if mine:
                self._at("recovering")
                result = self._way.look_for(server, target, mine[0].token or "", self._step)
                if result.outcome is not None:
                    self._settle([(item, result) for item in mine])
        finally:
            owner.drop_pane(self._store, server, target, self._me)

    def _end(self, item: Item, reason: str) -> None:
        """End an item whose lead is no more; what may have been typed stays in doubt."""
        now = self._store.now_ms()
        if not self._doubtful(item):
            if self._change(item, outbox.expire, reason, now):
                self._warn(f"{item.id} is not told to {item.target}: {reason}")
        elif self._change(item, outbox.recover, self._me, now, _orphaned(item)):
            self._settle([(item, Result("unknown", reason))])

    def _is_open(self, item: Item) -> bool:
        now = read(self._store, _key(item), Item)
        return now is not None and now.state in outbox.OPEN

    def _step(self, name: str) -> bool:
        self._at(name)
        return True

    def _at(self, name: str) -> None:
        if name == self._crash_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def _change(self, item: Item, step: Callable[..., tuple[Item | None, bool]], *values: object) -> bool:
        return change(self._store, _key(item), Item, lambda before: step(before, *values))


def _key(item: Item) -> str:
    return outbox.item_key(item.id, item.server, item.target)


def _orphaned(item: Item) -> bool:
    return item.lease is not None and owner.ended(item.lease.owner)


def _by_token(items: list[Item], doubtful: Callable[[Item], bool]) -> list[list[Item]]:
    groups: dict[str, list[Item]] = {}
    for item in items:
        if doubtful(item):
            groups.setdefault(item.token or "", []).append(item)
    return list(groups.values())


def _free_since(state: CredentialState | None, item: Item, now: Moment) -> int | None:
    """Since when the store says that the very period of this item is over; None when it does not say so."""
    period = state and (state.cool_off if item.facts.kind == "incident" else state.quarantine)
    return period.until_ms if period and period.id == item.id and not period.runs(now) else None
