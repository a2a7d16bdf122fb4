"""The outbox as a state machine, the rule over each row."""

from typing import Any

import msgspec
import pytest

from fleettools.policy.notices import lease, outbox
from fleettools.policy.notices.lease import Lease, Owner
from fleettools.policy.notices.outbox import Item, Standing
from fleettools.records import NoticeItem

ME, OTHER = Owner(id="me", pid=1), Owner(id="other", pid=2)
NOW = 10_000_000


def held(by: Owner = ME, until: int = NOW + 60_000) -> Lease:
    return Lease(owner=by, until_ms=until)


def item(state: str = "pending", **more: Any) -> Item:
    given: dict[str, Any] = {"about": NoticeItem(kind="incident", credential="c", until_ms=NOW + 30_000)} | more
    return Item(id="i", server="h:/s:1", target="%1", made_ms=NOW, changed_ms=NOW, state=state, **given)


def alert(state: str = "pending", **more: Any) -> Item:
    return msgspec.structs.replace(item(state, **more), server="h", target="alert:ops")


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


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 2), (2, 4), (3, 8), (8, 256), (9, 512), (10, 600), (500, 600)])
@pytest.mark.parametrize("outcome", ["refused", "unknown"])
def test_an_alert_is_tried_again_after_2_seconds_and_twice_as_long_each_time_up_to_10_minutes(
    attempts: int, seconds: int, outcome: str
) -> None:
    after, _ = outbox.settle(alert("typed", attempts=attempts, lease=held()), ME, outcome, "r", NOW, 5)
    assert after is not None and (after.state, after.next_ms) == ("pending", NOW + seconds * 1000)


def test_an_item_of_the_first_release_is_read() -> None:
    old = (
        b'{"id":"i","server":"h:/s:1","target":"%1","facts":{"kind":"incident","credential":"c","untilMs":9},'
        b'"made_ms":1,"changed_ms":1}'
    )
    assert msgspec.json.decode(old, type=Item).about == NoticeItem(kind="incident", credential="c", until_ms=9)


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
    "what is over waits for its next attempt, too": (item(attempts=1, next_ms=UNTIL + 1), Standing(), UNTIL, "wait"),
    "a ticket waits while the lead's own credential is out": (
        item(about=NoticeItem(kind="ticket")),
        Standing(out=True),
        NOW,
        "wait",
    ),
    "an incident elsewhere does not": (item(), Standing(out=True), NOW, "tell"),
    "an alert is not too late for what is over": (alert(), Standing(), UNTIL + 600_001, "tell over"),
    "but for a day it is": (alert(), Standing(), NOW + 86_400_001, "drop"),
    "a ticket has no end of its own": (item(about=NoticeItem(kind="ticket")), Standing(), NOW + 10**9, "tell"),
}


@pytest.mark.parametrize(("one", "standing", "now", "decision"), DECISIONS.values(), ids=DECISIONS.keys())
def test_decisions(one: Item, standing: Standing, now: int, decision: str) -> None:
    decided, reason = outbox.decide(one, standing, now)
    assert decided == decision and reason


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
