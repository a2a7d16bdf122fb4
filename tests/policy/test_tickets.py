"""Tickets: settled exactly once, by whoever is first."""

import pytest

from fleettools.policy.members import tickets
from fleettools.policy.members.tickets import Settlement, TicketState

OPEN = TicketState(id="t1", server="h:/s:1", target="%3", event="t1", opened_ms=1)
REPLY = Settlement("t1", "reply", "completed", "answered", 5, reply="done")
VERDICT = Settlement("t1", "verdict", "backend_error", "overloaded", 6, "t1")
GONE = Settlement("t1", "gone", "failed", "pane gone", 7, "t1")


@pytest.mark.parametrize(
    ("ends", "won"),
    [
        pytest.param([REPLY, VERDICT], [True, False], id="a reply before the verdict"),
        pytest.param([VERDICT, REPLY], [True, False], id="a verdict before the reply"),
        pytest.param([VERDICT, VERDICT], [True, True], id="the same verdict again settled it still"),
        pytest.param([VERDICT, VERDICT._replace(event="t2")], [True, False], id="the verdict on another turn"),
        pytest.param([REPLY, REPLY], [True, False], id="a second reply"),
        pytest.param([GONE, VERDICT], [True, False], id="a verdict on a pane that has gone"),
        pytest.param([GONE, GONE], [True, True], id="a pane that is gone twice"),
    ],
)
def test_the_first_settlement_wins_and_stays(ends: list[Settlement], won: list[bool]) -> None:
    ticket: TicketState | None = OPEN
    for end, expected in zip(ends, won, strict=True):
        ticket, (first, reason) = tickets.settle(ticket, end)
        assert (first, bool(reason)) == (expected, True)
    assert ticket is not None
    assert (ticket.state, ticket.by, ticket.settled_ms) == ("settled", ends[0].by, ends[0].at_ms)
    assert (ticket.outcome, ticket.reason, ticket.reply) == (ends[0].outcome, ends[0].reason, ends[0].reply)


def test_a_ticket_that_the_store_no_longer_has_stands_in_no_verdicts_way() -> None:
    assert tickets.settle(None, VERDICT) == (None, (True, "no such ticket"))
    assert tickets.settle(None, REPLY) == (None, (False, "no such ticket"))


def test_a_ticket_is_collected_once_and_only_when_it_is_settled() -> None:
    assert tickets.collect(OPEN, 9) == (OPEN, False)
    settled, _ = tickets.settle(OPEN, REPLY)
    collected, first = tickets.collect(settled, 9)
    assert first and collected is not None and collected.collected_ms == 9
    assert tickets.collect(collected, 10) == (collected, False)


def test_whoever_was_told_at_once_need_not_collect() -> None:
    settled, _ = tickets.settle(OPEN, VERDICT._replace(told=True))
    assert settled is not None and settled.collected_ms == 6
