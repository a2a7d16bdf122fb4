"""What there is to tell: of records to leads and people, and of tickets that nobody collects."""

from typing import Any

import msgspec
import pytest

from fleettools import records
from fleettools.policy.members.tickets import TicketState
from fleettools.policy.notices import news
from fleettools.policy.notices.news import Audience
from fleettools.policy.notices.nudge import Again
from fleettools.policy.notices.outbox import Item
from fleettools.records import NoticeItem

NOW = 1_767_225_600_000  # 2026-01-01T00:00:00Z
TS = records.to_ts(NOW)
SERVER = "h:/s:1"


def ticket(**more: Any) -> TicketState:
    given = {"state": "settled", "lead": "%1", "settled_ms": NOW, "outcome": "completed"} | more
    return TicketState(id="t", server="h:/s:1", target="%2", event="t", opened_ms=NOW - 9, **given)


def known(*numbers: int, state: str = "confirmed") -> list[Item]:
    given: dict[str, Any] = {"about": NoticeItem(kind="ticket"), "made_ms": NOW, "changed_ms": NOW, "state": state}
    return [Item(id=news.reminder_id("t", number), server=SERVER, target="%1", **given) for number in numbers]


REMINDERS: dict[str, tuple[TicketState, list[Item], int, str | None]] = {
    "a finished ticket is said at once": (ticket(), [], 0, "ticket:t"),
    "an open one is not": (ticket(state="open"), [], 0, None),
    "a collected one is not": (ticket(collected_ms=NOW), [], 0, None),
    "one without a lead is not": (ticket(lead=None), [], 0, None),
    "it is not said again before a minute": (ticket(), known(0), 59_999, None),
    "after a minute it is": (ticket(), known(0), 60_000, "ticket:t:1"),
    "that is said once": (ticket(), known(0, 1), 299_999, None),
    "after five minutes again": (ticket(), known(0, 1), 300_000, "ticket:t:2"),
    "after fifteen for the last time": (ticket(), known(0, 1, 2), 900_000, "ticket:t:3"),
    "then no more": (ticket(), known(0, 1, 2, 3), 10**9, None),
    "a reminder does not pile up on a notice that waits": (ticket(), known(0, state="pending"), 900_000, None),
    "missed reminders are one": (ticket(), known(0), 900_000, "ticket:t:3"),
}


@pytest.mark.parametrize(("one", "items", "after", "expected"), REMINDERS.values(), ids=REMINDERS.keys())
def test_reminders(one: TicketState, items: list[Item], after: int, expected: str | None) -> None:
    new = news.reminder(one, items, [60, 300, 900], NOW + after)
    assert (new and new.id) == expected
    assert new is None or news.ticket_of(new.id) == "t"


LEAD = records.LeadPane(server=SERVER, target="%1")
OUTAGE: dict[str, Any] = {"ts": TS, "id": "i", "credential_id": "c", "leads": [LEAD], "profiles": ["p"]}
INCIDENT = records.Incident(**OUTAGE, window_seconds=60, cooling_off_for_seconds=60)
QUARANTINE = records.Quarantine(
    **OUTAGE, quarantined_for_seconds=600, until=records.to_ts(NOW + 600_000), source="usage"
)
UNMAPPED = records.Unmapped(ts=TS, id="unmapped:e", event="e", reason="r", server=SERVER, target="%2", lead="%1")
ENDED = records.Ended(ts=TS, id="i", kind="incident", credential_id="c", seconds=60, why="time")
NEARLY = records.Nearly(ts=TS, id="n", credential_id="c", window="5h", used_percent=80)
WHO: dict[str, Any] = {"ts": TS, "server": SERVER, "target": "%2", "lead": "%1", "role": "member", "event": "e"}


def verdict(outcome: str, **more: Any) -> records.Verdict:
    return records.Verdict(**WHO | {"outcome": outcome} | more)


# Rule: the items of a record, by the ids of those for its leads, and of those for people who want all.
NEWS: dict[str, tuple[records.Record, list[str], list[str]]] = {
    "an incident": (INCIDENT, ["i"], ["i"]),
    "a quarantine": (QUARANTINE, ["i"], ["i"]),
    "an incident without a lead": (msgspec.structs.replace(INCIDENT, leads=[]), [], ["i"]),
    "a failure of no profile": (UNMAPPED, ["unmapped:e"], ["unmapped:e"]),
    "an end is no lead's, and another item than its beginning": (ENDED, [], ["ended:i"]),
    "most of a plan is used up": (NEARLY, [], ["n"]),
    "a question": (verdict("blocked"), ["blocked:e"], []),
    "a ticket that is settled": (verdict("completed", ticket="t"), ["ticket:t"], []),
    "a ticket that fails is a member's failure, too": (verdict("failed", ticket="t"), ["ticket:t"], ["failed:e"]),
    "a failure without a ticket": (verdict("exhausted"), [], ["failed:e"]),
    "a ticket that something else has settled": (verdict("failed", ticket="t", resolved=False), [], []),
    "an end that is not proved yet": (verdict("failed", proved=False, resolved=False), [], []),
    "a lead's own failure": (verdict("backend_error", role="lead"), [], []),
    "a member at work": (verdict("working"), [], []),
}
EVERYTHING = [Audience("all", {"incident", "quarantine", "unmapped", "ended", "nearly", "failed"})]


@pytest.mark.parametrize(("record", "leads", "people"), NEWS.values(), ids=NEWS.keys())
def test_what_a_record_tells(record: records.Record, leads: list[str], people: list[str]) -> None:
    told, sent = news.items_of(record, NOW), news.alerts_of(record, EVERYTHING, "host", NOW)
    assert [(item.id, item.server, item.target) for item in told] == [(name, SERVER, "%1") for name in leads]
    assert [(item.id, item.server, item.target) for item in sent] == [(name, "host", "alert:all") for name in people]
    assert all(item.record and item.record["type"] and item.is_alert for item in sent)


def test_what_is_nearly_used_up_is_told_to_a_lead_that_spends_it_and_no_other() -> None:
    (item,) = news.items_of(NEARLY, NOW, [LEAD])
    assert (item.id, item.target, item.about.kind, item.about.window) == ("n", "%1", "nearly", "5h")
    assert news.items_of(INCIDENT, NOW, [records.LeadPane(server=SERVER, target="%9")])[0].target == "%1"


def test_each_alert_is_told_what_it_asked_for() -> None:
    audiences = [Audience("a", {"incident"}), Audience("b", {"ended"}), Audience("c", {"incident", "ended"})]
    assert [item.target for item in news.alerts_of(INCIDENT, audiences, "h", NOW)] == ["alert:a", "alert:c"]
    assert [item.target for item in news.alerts_of(ENDED, audiences, "h", NOW)] == ["alert:b", "alert:c"]


@pytest.mark.parametrize(
    ("record", "after", "told"),
    [
        pytest.param(INCIDENT, 60 + 600, True, id="over for ten minutes"),
        pytest.param(INCIDENT, 60 + 601, False, id="over for longer, as when a stored stream is replayed"),
        pytest.param(QUARANTINE, 1200, True, id="a long one, counted from its end"),
        pytest.param(ENDED, 601, False, id="an end of long ago"),
    ],
)
def test_people_are_not_told_of_long_ago(record: records.Record, after: int, told: bool) -> None:
    assert bool(news.alerts_of(record, EVERYTHING, "h", NOW + after * 1000)) is told


def earlier(name: str, minutes: float, kind: Any = "incident", credential: str = "c") -> Item:
    made = NOW - round(minutes * 60_000)
    about = NoticeItem(kind=kind, credential=credential)
    return Item(id=name, server=SERVER, target="%1", about=about, made_ms=made, changed_ms=made, state="confirmed")


# Rule: incidents of one credential, each within 10 minutes of the next.
AGAIN: dict[str, tuple[list[Item], Again | None]] = {
    "the first one": ([], None),
    "the second within ten minutes": ([earlier("a", 10)], Again(2, NOW - 600_000)),
    "one of before that": ([earlier("a", 10.1)], None),
    "a chain of them": ([earlier("a", 18), earlier("b", 9)], Again(3, NOW - 18 * 60_000)),
    "a chain that is broken": ([earlier("a", 20), earlier("b", 9)], Again(2, NOW - 9 * 60_000)),
    "another credential's": ([earlier("a", 1, credential="d")], None),
    "a quarantine is something else": ([earlier("a", 1, kind="quarantine")], None),
    "its own item": ([earlier("i", 0)], None),
}


@pytest.mark.parametrize(("others", "expected"), AGAIN.values(), ids=AGAIN.keys())
def test_what_has_happened_before(others: list[Item], expected: Again | None) -> None:
    (item,) = news.items_of(INCIDENT, NOW)
    assert news.again(item, [item, *others]) == expected
