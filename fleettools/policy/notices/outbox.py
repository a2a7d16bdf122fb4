"""The outbox: one item per event and lead, told exactly once or honestly given up (design section 5).

    pending -> claimed -> typed -> confirmed          nothing is typed before `typed` is stored, so what a crash
                  |         |----> stuck, unknown     leaves claimed is pending again, and what it leaves typed
                  v         |----> refused            is looked for on the lead's screen, never typed again
               pending <----/ (tried again, at most `attempts` times)
    pending -> expired

Times are in ms. Every step gives the next item and the reason.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from fleettools import records
from fleettools.policy.members.tickets import TicketState
from fleettools.policy.notices.lease import Lease, Owner, free
from fleettools.policy.notices.nudge import Facts, facts_of, word, worker

State = Literal["pending", "claimed", "typed", "confirmed", "stuck", "refused", "unknown", "expired"]
OPEN = frozenset({"pending", "claimed", "typed"})
OUTBOX = "outbox/"
BACK_OFF_MS = (2_000, 5_000, 15_000, 45_000)
TELL_OVER_MS = 600_000  # what ended so long ago is not worth telling
KEEP_MS = 7 * 86_400_000  # ended items stay as long, so that a record that comes again changes nothing
LEASE_S = 60.0


class Item(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is stored under `outbox/<id>/<server>/<target>`: one thing to tell one lead.

    `token` stands in the text of the last attempt; `next_ms`: not before; `changed_ms`: when `state` began.
    """

    id: str
    server: str
    target: str
    facts: Facts
    made_ms: int
    changed_ms: int
    state: State = "pending"
    reason: str = ""
    attempts: int = 0
    next_ms: int = 0
    token: str | None = None
    lease: Lease | None = None


def item_key(item: str, server: str, target: str) -> str:
    """Where the store keeps an item."""
    return f"{OUTBOX}{item}/{server}/{target}"


def add(before: Item | None, new: Item) -> tuple[Item, bool]:
    """The item after its record came, and whether it is new: a repeated id changes nothing."""
    return (new, True) if before is None else (before, False)


def _to(item: Item, state: State, reason: str, now_ms: int, **more: object) -> Item:
    return msgspec.structs.replace(item, state=state, reason=reason, changed_ms=now_ms, **more)


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What is known beyond the item when it is about to be told.

    `free_ms`: the store says that the credential has been free since then; `own`: the lead itself works on it;
    `settled`: why a ticket or question needs no telling any more.
    """

    free_ms: int | None = None
    own: bool = False
    settled: str = ""


Decision = Literal["tell", "tell over", "wait", "drop"]


def decide(item: Item, standing: Standing, now_ms: int) -> tuple[Decision, str]:
    """What to do with a pending item now, and why.

    The record is its own fact, true until `until_ms`; the store can only end it sooner.
    """
    if standing.settled:
        return "drop", standing.settled
    until = item.facts.until_ms
    if until is not None:
        ended = until if standing.free_ms is None else min(until, standing.free_ms)
        if now_ms >= ended:
            if item.attempts == 0 and now_ms - ended > TELL_OVER_MS:
                return "drop", "over for more than 10 minutes"
            return "tell over", "over by now"
        if standing.own:
            return "wait", "the lead works on that credential; it is told when that is over"
    if now_ms < item.next_ms:
        return "wait", f"attempt {item.attempts} failed: {item.reason}"
    return "tell", "due"


def claim(item: Item | None, me: Owner, token: str, now_ms: int, ended: bool) -> tuple[Item | None, bool]:
    """Take a pending item, or one that was left claimed, for an attempt; `ended`: its owner is no more."""
    if item is None or item.state not in ("pending", "claimed"):
        return item, False
    if not free(item.lease, me, now_ms, ended):
        return item, False
    lease = Lease(owner=me, until_ms=now_ms + round(LEASE_S * 1000))
    return _to(item, "claimed", item.reason, now_ms, lease=lease, token=token), True


def release(item: Item | None, me: Owner, reason: str, now_ms: int) -> tuple[Item | None, bool]:
    """Put a claimed item back: nothing was typed, so this was no attempt."""
    if not _mine(item, me, "claimed"):
        return item, False
    assert item is not None
    return _to(item, "pending", reason, now_ms, lease=None, token=None), True


def typing(item: Item | None, me: Owner, now_ms: int) -> tuple[Item | None, bool]:
    """Say that the text is about to be typed: from here on a crash leaves a doubt."""
    if not _mine(item, me, "claimed"):
        return item, False
    assert item is not None
    return _to(item, "typed", item.reason, now_ms, attempts=item.attempts + 1), True


def settle(
    item: Item | None, me: Owner, outcome: str, reason: str, now_ms: int, attempts: int
) -> tuple[Item | None, bool]:
    """The end of an attempt. A refused one (nothing was typed) is tried again until `attempts` are used up."""
    if not _mine(item, me, "typed"):
        return item, False
    assert item is not None
    if outcome == "submitted":
        return _to(item, "confirmed", reason, now_ms, lease=None), True
    if outcome == "queued":  # it stands with the agent, which will read it: looked for again, never typed again
        return _to(item, "typed", reason, now_ms, lease=None), True
    if outcome == "refused" and item.attempts < attempts:
        wait = BACK_OFF_MS[min(item.attempts, len(BACK_OFF_MS)) - 1]
        return _to(item, "pending", reason, now_ms, lease=None, token=None, next_ms=now_ms + wait), True
    state: State = outcome if outcome in ("stuck", "refused") else "unknown"  # type: ignore[assignment]
    return _to(item, state, reason, now_ms, lease=None), True


def recover(item: Item | None, me: Owner, now_ms: int, ended: bool) -> tuple[Item | None, bool]:
    """Take over an item that was left typed, to look for it on the lead's screen."""
    if item is None or item.state != "typed" or not free(item.lease, me, now_ms, ended):
        return item, False
    lease = Lease(owner=me, until_ms=now_ms + round(LEASE_S * 1000))
    return msgspec.structs.replace(item, lease=lease), True


def expire(item: Item | None, reason: str, now_ms: int) -> tuple[Item | None, bool]:
    """End an item that nobody is telling just now."""
    if item is None or item.state != "pending":
        return item, False
    return _to(item, "expired", reason, now_ms, lease=None), True


def drop(item: Item | None, reason: str, now_ms: int) -> tuple[Item | None, bool]:
    """End an item because a person said so, whatever is happening to it."""
    if item is None or item.state in ("confirmed", "expired"):
        return item, False
    return _to(item, "expired", reason, now_ms, lease=None), True


def note(item: Item | None, reason: str) -> tuple[Item | None, bool]:
    """Keep why a pending item waits."""
    if item is None or item.state != "pending" or item.reason == reason:
        return item, False
    return msgspec.structs.replace(item, reason=reason), True


def forgotten(item: Item, now_ms: int) -> bool:
    """Whether an ended item is so old that its record will not come again."""
    return item.state not in OPEN and now_ms - item.changed_ms > KEEP_MS


def _mine(item: Item | None, me: Owner, state: State) -> bool:
    return item is not None and item.state == state and item.lease is not None and item.lease.owner.id == me.id


def reminder(ticket: TicketState, known: Iterable[Item], reminders: Sequence[float], now_ms: int) -> Item | None:
    """The item that an uncollected finished ticket needs now: the first notice at once, then one for each reminder.

    A reminder that is due while an earlier notice still waits is left out.
    """
    if ticket.state != "settled" or ticket.collected_ms is not None or ticket.lead is None:
        return None
    settled = ticket.settled_ms or ticket.opened_ms
    due = sum(now_ms >= settled + round(seconds * 1000) for seconds in reminders)
    mine = {item.id: item for item in known}
    new = reminder_id(ticket.id, due)
    if new in mine or any(item.state in OPEN for item in mine.values()):
        return None
    facts = Facts(kind="ticket", ticket=ticket.id, outcome=ticket.outcome, workers=_worker(ticket.name, ticket.target))
    return Item(id=new, server=ticket.server, target=ticket.lead, made_ms=settled, changed_ms=now_ms, facts=facts)


def reminder_id(ticket: str, number: int) -> str:
    """The id of a ticket's first notice (0) and of each reminder."""
    return f"ticket:{ticket}" if number == 0 else f"ticket:{ticket}:{number}"


def ticket_of(item: str) -> str:
    """The ticket that an item of `reminder_id` tells of."""
    return item.removeprefix("ticket:").partition(":")[0]


def items_of(record: records.Record, now_ms: int) -> list[Item]:
    """An item for each lead that a record concerns; raises BadInput when one of its times is none."""
    made = records.to_ms(record.ts)

    def item(name: str, server: str, target: str, facts: Facts) -> Item:
        return Item(id=name, server=server, target=target, facts=facts, made_ms=made, changed_ms=now_ms)

    if isinstance(record, records.Incident | records.Quarantine):
        facts = facts_of(record)
        return [item(record.id, lead.server, lead.target, facts) for lead in record.leads]
    if isinstance(record, records.Unmapped) and record.server and record.lead:
        profiles = [record.profile] if word(record.profile) and record.profile else []
        facts = Facts(kind="unmapped", profiles=profiles, workers=_worker(None, record.target))
        return [item(record.id, record.server, record.lead, facts)]
    if isinstance(record, records.Verdict) and record.server and record.lead and record.role != "lead":
        workers = _worker(record.name, record.target)
        if record.outcome == "blocked" and record.event:
            facts = Facts(kind="blocked", workers=workers, member=record.target)
            return [item(f"blocked:{record.event}", record.server, record.lead, facts)]
        if record.outcome in records.ENDINGS and record.ticket and record.resolved is not False:
            facts = Facts(kind="ticket", ticket=record.ticket, outcome=record.outcome, workers=workers)
            return [item(reminder_id(record.ticket, 0), record.server, record.lead, facts)]
    return []


def _worker(name: str | None, target: str | None) -> list[str]:
    called = worker(name, target)
    return [called] if called else []
