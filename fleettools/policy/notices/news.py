"""What there is to tell: the items that a record, or a ticket that nobody collects, puts into the outbox."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from fleettools import records
from fleettools.policy.members.tickets import TicketState
from fleettools.policy.notices.nudge import Again, word, worker
from fleettools.policy.notices.outbox import ALERT, OPEN, TELL_OVER_MS, Item
from fleettools.records import NoticeItem

AGAIN_MS = 600_000  # what follows so soon on the one before is told as "again"
UNDATED_MS = 1_800_000  # what is nearly used up without a reset time is news for so long
_FAILURES = frozenset({"failed", "backend_error", "exhausted"})


class Audience(NamedTuple):
    """Who asked for alerts: a name, and of which kinds."""

    name: str
    kinds: Collection[str]


def items_of(record: records.Record, now_ms: int, spenders: Iterable[records.LeadPane] = ()) -> list[Item]:
    """An item for each lead that a record concerns; raises BadInput when one of its times is none.

    `spenders`: the leads that themselves spend the record's credential; they are told when it is nearly used up.
    """
    made = records.to_ms(record.ts)

    def item(name: str, server: str, target: str, about: NoticeItem) -> Item:
        return Item(id=name, server=server, target=target, about=about, made_ms=made, changed_ms=now_ms)

    if isinstance(record, records.Outage):
        about = about_of(record)
        return [item(record.id, lead.server, lead.target, about) for lead in record.leads] if about else []
    if isinstance(record, records.Nearly):
        nearly = about_of(record)
        return [item(record.id, lead.server, lead.target, nearly) for lead in spenders] if nearly else []
    if isinstance(record, records.Unmapped) and record.server and record.lead:
        return [item(record.id, record.server, record.lead, _unmapped(record))]
    if isinstance(record, records.Verdict) and record.server and record.lead and record.role != "lead":
        workers = _called(record.name, record.target)
        if record.outcome == "blocked" and record.event:
            about = NoticeItem(kind="blocked", workers=workers, member=record.target)
            return [item(f"blocked:{record.event}", record.server, record.lead, about)]
        if record.outcome in records.ENDINGS and record.ticket and record.resolved is not False:
            about = NoticeItem(kind="ticket", ticket=record.ticket, outcome=record.outcome, workers=workers)
            return [item(reminder_id(record.ticket, 0), record.server, record.lead, about)]
    return []


def alerts_of(record: records.Record, audiences: Iterable[Audience], host: str, now_ms: int) -> list[Item]:
    """An item for each alert of this host that asked for such a record; none for what was over long ago.

    Raises BadInput when one of its times is none.
    """
    about = about_of(record)
    if about is None:
        return []
    made = records.to_ms(record.ts)
    if now_ms - max(made, about.until_ms or made) > TELL_OVER_MS:
        return []
    kept: dict[str, Any] = msgspec.to_builtins(record)
    return [
        Item(id=_alert_id(record, about), server=host, target=f"{ALERT}{audience.name}", about=about, made_ms=made,
             changed_ms=now_ms, record=kept)
        for audience in audiences if about.kind in audience.kinds
    ]  # fmt: skip


def _alert_id(record: records.Record, about: NoticeItem) -> str:
    """The id of an alert's item: an end is another one than its beginning, whose id it bears."""
    if isinstance(record, records.Verdict):
        return f"failed:{record.event}"
    name = str(getattr(record, "id", ""))
    return f"ended:{name}" if about.kind == "ended" else name


def about_of(record: records.Record) -> NoticeItem | None:
    """What a record tells people, None for nothing; raises BadInput when one of its times is none."""
    if isinstance(record, records.Outage):
        return _outage(record)
    if isinstance(record, records.Unmapped):
        return _unmapped(record)
    if isinstance(record, records.Ended):
        return NoticeItem(kind="ended", credential=record.credential_id, seconds=record.seconds, why=record.why)
    if isinstance(record, records.Nearly):
        resets = records.to_ms(record.resets_at) if record.resets_at else None
        return NoticeItem(
            kind="nearly", credential=record.credential_id, window=record.window, used_percent=record.used_percent,
            resets_ms=resets,
        )  # fmt: skip
    if isinstance(record, records.Verdict) and record.outcome in _FAILURES and record.event:
        if record.role == "lead" or record.resolved is False:
            return None
        return NoticeItem(
            kind="failed", outcome=record.outcome, cause=record.cause, workers=_called(record.name, record.target),
            profiles=_known([record.profile]),
        )  # fmt: skip
    return None


def _outage(record: records.Outage) -> NoticeItem | None:
    """What is told of an incident or a quarantine, and until when it is true."""
    if isinstance(record, records.Incident):
        until = records.to_ms(record.ts) + round(record.cooling_off_for_seconds * 1000)
    elif isinstance(record, records.Quarantine):
        until = records.to_ms(record.until)
    else:
        return None
    return NoticeItem(
        kind="incident" if isinstance(record, records.Incident) else "quarantine",
        credential=record.credential_id,
        profiles=_known(record.profiles),
        workers=[name for one in record.targets for name in _called(one.name, one.target)],
        until_ms=until,
        again=bool(record.again),
    )


def _unmapped(record: records.Unmapped) -> NoticeItem:
    return NoticeItem(kind="unmapped", profiles=_known([record.profile]), workers=_called(None, record.target))


def _known(names: Iterable[str | None]) -> list[str]:
    return [name for name in map(word, names) if name]


def _called(name: str | None, target: str | None) -> list[str]:
    called = worker(name, target)
    return [called] if called else []


def again(item: Item, others: Iterable[Item]) -> Again | None:
    """How often it had happened before, each time within 10 minutes of the next; None when it had not.

    `others` are the items of the same reader.
    """
    about = item.about
    earlier = [one.made_ms for one in others if one.id != item.id and _alike(one.about, about)]
    since, count = item.made_ms, 1
    for made in sorted((made for made in earlier if made <= item.made_ms), reverse=True):
        if since - made > AGAIN_MS:
            break
        since, count = made, count + 1
    return Again(count, since) if count > 1 else None


def _alike(one: NoticeItem, other: NoticeItem) -> bool:
    return one.kind == other.kind == "incident" and one.credential == other.credential


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
    workers = _called(ticket.name, ticket.target)
    about = NoticeItem(kind="ticket", ticket=ticket.id, outcome=ticket.outcome, workers=workers)
    return Item(id=new, server=ticket.server, target=ticket.lead, made_ms=settled, changed_ms=now_ms, about=about)


def reminder_id(ticket: str, number: int) -> str:
    """The id of a ticket's first notice (0) and of each reminder."""
    return f"ticket:{ticket}" if number == 0 else f"ticket:{ticket}:{number}"


def ticket_of(item: str) -> str:
    """The ticket that an item of `reminder_id` tells of."""
    return item.removeprefix("ticket:").partition(":")[0]
