"""The outbox as a state machine, the rule over each row."""

from typing import Any

import msgspec
import pytest

from fleettools.policy.members.tickets import TicketState
from fleettools.policy.notices import lease, outbox
from fleettools.policy.notices.lease import Lease, Owner
from fleettools.policy.notices.nudge import Facts
from fleettools.policy.notices.outbox import Item, Standing

ME, OTHER = Owner(id="me", pid=1), Owner(id="other", pid=2)
NOW = 10_000_000


def held(by: Owner = ME, until: int = NOW + 60_000) -> Lease:
    return Lease(owner=by, until_ms=until)


def item(state: str = "pending", **more: Any) -> Item:
    given: dict[str, Any] = {"facts": Facts(kind="incident", credential="c", until_ms=NOW + 30_000)} | more
    return Item(id="i", server="h:/s:1", target="%1", made_ms=NOW, changed_ms=NOW, state=state, **given)


MINE, THEIRS = {"lease": held()}, {"lease": held(OTHER)}
TYPED = item("typed", attempts=1, **MINE)
STEPS: dict[str, tuple[Item, str, tuple[Any, ...], str, bool]] = {
    "a pending item is claimed": (item(), "claim", (ME, "t", NOW, False), "claimed", True),
    "one that another process has claimed is left to it": (
        item("claimed", **THEIRS), "claim", (ME, "t", NOW, False), "claimed", False),
    "one whose claimer has ended is claimed at once": (
        item("claimed", **THEIRS), "claim", (ME, "t", NOW, True), "claimed", True),
    "one whose claim is over is claimed": (
        item("claimed", lease=held(OTHER, NOW)), "claim", (ME, "t", NOW, False), "claimed", True),
    "one that may have been typed is never claimed": (
        item("typed", **THEIRS), "claim", (ME, "t", NOW, True), "typed", False),
    "a confirmed one is never claimed": (item("confirmed"), "claim", (ME, "t", NOW, True), "confirmed", False),
    "an unknown one is never claimed": (item("unknown"), "claim", (ME, "t", NOW, True), "unknown", False),
    "a stuck one is never claimed": (item("stuck"), "claim", (ME, "t", NOW, True), "stuck", False),
    "what was not typed is given back": (item("claimed", **MINE), "release", (ME, "busy", NOW), "pending", True),
    "what another has is not given back": (item("claimed", **THEIRS), "release", (ME, "x", NOW), "claimed", False),
    "typed is said before it is typed": (item("claimed", **MINE), "typing", (ME, NOW), "typed", True),
    "a lost claim is not typed": (item("claimed", **THEIRS), "typing", (ME, NOW), "claimed", False),
    "a dropped item is not typed": (item("expired"), "typing", (ME, NOW), "expired", False),
    "submitted confirms": (
        TYPED, "settle", (ME, "submitted", "r", NOW, 5), "confirmed", True),
    "queued is looked for again": (TYPED, "settle", (ME, "queued", "r", NOW, 5), "typed", True),
    "stuck is the end": (TYPED, "settle", (ME, "stuck", "r", NOW, 5), "stuck", True),
    "unknown is the end": (TYPED, "settle", (ME, "unknown", "r", NOW, 5), "unknown", True),
    "refused is tried again": (item("typed", attempts=4, **MINE),
        "settle", (ME, "refused", "r", NOW, 5), "pending", True),
    "refused for the fifth time is the end": (
        item("typed", attempts=5, **MINE), "settle", (ME, "refused", "r", NOW, 5), "refused", True),
    "another's attempt is not ended": (
        item("typed", **THEIRS), "settle", (ME, "submitted", "r", NOW, 5), "typed", False),
    "what a crash left typed is taken over": (item("typed", **THEIRS), "recover", (ME, NOW, True), "typed", True),
    "what another is typing is left to it": (item("typed", **THEIRS), "recover", (ME, NOW, False), "typed", False),
    "only what is typed is looked for": (item("claimed", **THEIRS), "recover", (ME, NOW, True), "claimed", False),
    "a pending item expires": (item(), "expire", ("r", NOW), "expired", True),
    "one that is being told does not": (item("claimed", **MINE), "expire", ("r", NOW), "claimed", False),
    "a person ends a pending item": (item(), "drop", ("r", NOW), "expired", True),
    "a person takes an unknown item off the list": (item("unknown"), "drop", ("r", NOW), "expired", True),
    "a confirmed one stays confirmed": (item("confirmed"), "drop", ("r", NOW), "confirmed", False),
}  # fmt: skip


@pytest.mark.parametrize(("before", "step", "values", "state", "changed"), STEPS.values(), ids=STEPS.keys())
def test_steps(before: Item, step: str, values: tuple[Any, ...], state: str, changed: bool) -> None:
    after, answer = getattr(outbox, step)(before, *values)
    assert (after.state, answer) == (state, changed)
    if not changed:
        assert after == before


def test_a_repeated_id_changes_nothing() -> None:
    told = item("confirmed", reason="told")
    assert outbox.add(told, item()) == (told, False)
    assert outbox.add(None, item()) == (item(), True)


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 2), (2, 5), (3, 15), (4, 45)])
def test_a_refused_attempt_is_followed_by_the_next_after_2_5_15_and_45_seconds(attempts: int, seconds: int) -> None:
    after, _ = outbox.settle(item("typed", attempts=attempts, lease=held()), ME, "refused", "r", NOW, 5)
    assert after is not None and after.next_ms == NOW + seconds * 1000


UNTIL = NOW + 30_000
DECISIONS: dict[str, tuple[Item, Standing, int, str]] = {
    "what holds is told": (item(), Standing(), NOW, "tell"),
    "it holds up to its last millisecond": (item(), Standing(), UNTIL - 1, "tell"),
    "then it is told as over": (item(), Standing(), UNTIL, "tell over"),
    "10 minutes long": (item(), Standing(), UNTIL + 600_000, "tell over"),
    "and after that no more": (item(), Standing(), UNTIL + 600_001, "drop"),
    "what was tried before is told however late": (item(attempts=1), Standing(), UNTIL + 600_001, "tell over"),
    "the store ends it sooner": (item(), Standing(free_ms=NOW - 1), NOW, "tell over"),
    "the store does not make it longer": (item(), Standing(free_ms=UNTIL + 9), UNTIL, "tell over"),
    "a lead on that credential waits": (item(), Standing(own=True), NOW, "wait"),
    "and is told when it is over": (item(), Standing(own=True), UNTIL, "tell over"),
    "a failed attempt waits for its time": (item(attempts=1, next_ms=NOW + 1), Standing(), NOW, "wait"),
    "and is made then": (item(attempts=1, next_ms=NOW), Standing(), NOW, "tell"),
    "what is settled is dropped": (item(), Standing(settled="collected"), NOW, "drop"),
    "a ticket has no end of its own": (item(facts=Facts(kind="ticket")), Standing(), NOW + 10**9, "tell"),
}


@pytest.mark.parametrize(("one", "standing", "now", "decision"), DECISIONS.values(), ids=DECISIONS.keys())
def test_decisions(one: Item, standing: Standing, now: int, decision: str) -> None:
    decided, reason = outbox.decide(one, standing, now)
    assert decided == decision and reason


def ticket(**more: Any) -> TicketState:
    given = {"state": "settled", "lead": "%1", "settled_ms": NOW, "outcome": "completed"} | more
    return TicketState(id="t", server="h:/s:1", target="%2", event="t", opened_ms=NOW - 9, **given)


def known(*numbers: int, state: str = "confirmed") -> list[Item]:
    return [msgspec.structs.replace(item(state), id=outbox.reminder_id("t", number)) for number in numbers]


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
    new = outbox.reminder(one, items, [60, 300, 900], NOW + after)
    assert (new and new.id) == expected
    assert new is None or outbox.ticket_of(new.id) == "t"


LEASES: dict[str, tuple[Lease | None, bool, bool]] = {
    "nobody's is taken": (None, False, True),
    "another's is not": (held(OTHER), False, False),
    "that of a process that has ended is": (held(OTHER), True, True),
    "one whose time is over is": (held(OTHER, NOW), False, True),
    "one's own is prolonged": (held(ME, NOW + 1), False, True),
}


@pytest.mark.parametrize(("before", "ended", "mine"), LEASES.values(), ids=LEASES.keys())
def test_leases(before: Lease | None, ended: bool, mine: bool) -> None:
    after, got = lease.take(before, ME, NOW, ended, 60)
    assert got == mine
    assert after == (held() if mine else before)
    assert lease.drop(after, ME) == ((None, True) if mine else (after, False))
