"""The outbox: one item per event and reader, told exactly once or honestly given up.

    pending -> claimed -> typed -> confirmed          nothing is typed before `typed` is stored, so what a crash
                  |         |----> stuck, unknown     leaves claimed is pending again, and what it leaves typed
                  v         |----> refused            is looked for on the lead's screen, never typed again
               pending <----/ (tried again, at most `attempts` times)
    pending -> expired

An alert may come twice rather than not at all: what a crash leaves typed is sent again, for a day.

Times are in ms. Every step gives the next item and the reason.
"""

from typing import Any, Literal

import msgspec

from fleettools.policy.notices.lease import Lease, Owner, free
from fleettools.records import NoticeItem

State = Literal["pending", "claimed", "typed", "confirmed", "stuck", "refused", "unknown", "expired"]
OPEN = frozenset({"pending", "claimed", "typed"})
OUTBOX = "outbox/"
ALERT = "alert:"  # how the target of an alert's item begins; its server is the host that sends it
BACK_OFF_MS = (2_000, 5_000, 15_000, 45_000)
ALERT_BACK_OFF_MS, ALERT_MOST_MS = 2_000, 600_000  # the first pause of an alert, and the longest that doubling leads to
ALERT_MS = 86_400_000  # for so long an alert is tried
TELL_OVER_MS = 600_000  # what ended so long ago is not worth telling
KEEP_MS = 7 * 86_400_000  # ended items stay as long, so that a record that comes again changes nothing
LEASE_S = 60.0


class Item(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is stored under `outbox/<id>/<server>/<target>`: one thing to tell one reader.

    `token` stands in the text of the last attempt; `next_ms`: not before; `changed_ms`: when `state` began. `record`:
    what an alert tells of.
    """

    id: str
    server: str
    target: str
    about: NoticeItem = msgspec.field(name="facts")  # as stores of the first release have it
    made_ms: int
    changed_ms: int
    state: State = "pending"
    reason: str = ""
    attempts: int = 0
    next_ms: int = 0
    token: str | None = None
    lease: Lease | None = None
    record: dict[str, Any] | None = None

    @property
    def is_alert(self) -> bool:
        """Whether people are told, and not a lead."""
        return self.target.startswith(ALERT)


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
    `out`: the credential that the lead works on cools off or is in quarantine; `settled`: why a ticket or question
    needs no telling any more.
    """

    free_ms: int | None = None
    own: bool = False
    out: bool = False
    settled: str = ""


Decision = Literal["tell", "tell over", "wait", "drop"]


def decide(item: Item, standing: Standing, now_ms: int) -> tuple[Decision, str]:
    """What to do with a pending item now, and why.

    The record is its own fact, true until `until_ms`; the store can only end it sooner.
    """
    if standing.settled:
        return "drop", standing.settled
    if item.is_alert and now_ms - item.made_ms > ALERT_MS:
        return "drop", "not delivered for a day"
    until, over = item.about.until_ms, False
    if until is not None:
        ended = until if standing.free_ms is None else min(until, standing.free_ms)
        over = now_ms >= ended
        if over and item.attempts == 0 and now_ms - ended > TELL_OVER_MS and not item.is_alert:
            return "drop", "over for more than 10 minutes"
        if standing.own and not over:
            return "wait", "the lead works on that credential; it is told when that is over"
    if item.about.kind == "ticket" and standing.out:
        return "wait", "the lead's own credential is out; it is told when that is over"
    if now_ms < item.next_ms:
        return "wait", f"attempt {item.attempts} failed: {item.reason}"
    return ("tell over", "over by now") if over else ("tell", "due")


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
    """The end of an attempt. A refused one (nothing was typed) is tried again until `attempts` are used up.

    An alert is tried again whatever became of it, as long as a day is not over.
    """
    if not _mine(item, me, "typed"):
        return item, False
    assert item is not None
    if outcome == "submitted":
        return _to(item, "confirmed", reason, now_ms, lease=None), True
    if outcome == "queued":  # it stands with the agent, which will read it: looked for again, never typed again
        return _to(item, "typed", reason, now_ms, lease=None), True
    wait = _pause(item, outcome, attempts)
    if wait is not None:
        return _to(item, "pending", reason, now_ms, lease=None, token=None, next_ms=now_ms + wait), True
    state: State = outcome if outcome in ("stuck", "refused") else "unknown"  # type: ignore[assignment]
    return _to(item, state, reason, now_ms, lease=None), True


def _pause(item: Item, outcome: str, attempts: int) -> int | None:
    """The pause before the next attempt, None when there is none."""
    if item.is_alert:
        return min(ALERT_BACK_OFF_MS << min(item.attempts - 1, 20), ALERT_MOST_MS)
    if outcome != "refused" or item.attempts >= attempts:
        return None
    return BACK_OFF_MS[min(item.attempts, len(BACK_OFF_MS)) - 1]


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
