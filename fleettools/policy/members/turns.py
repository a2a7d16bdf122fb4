"""Turns and their events: which looks at a member's pane belong together (design section 2).

A turn begins with a ticket, another last prompt, a higher ordinal, or working/retrying after an end. A lower ordinal
or no prompt on the screen is the same turn, and a ticket's first prompt belongs to the ticket's turn.
"""

from typing import Literal, NamedTuple

import msgspec

from fleettools import records

DELIVERY_MS = 60_000  # a fleet-send that has proved nothing by then has died
KEPT = 8
HIGHER = "a higher ordinal"
AT_WORK = frozenset({"working", "retrying"})


class PastTurn(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """What is still known of an earlier turn, for looks that come late or come again."""

    event: str
    began_ms: int
    screen: str | None = None
    ticket: str | None = None
    resolved: bool | None = None


class TurnState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A member's current turn; times in ms. `event` is its id; a ticket's turn has the ticket's id.

    `screen`: prompt hash and ordinal at the last look, None until a prompt was seen. `worked`: it was seen at work.
    `resolved`: whether this turn's verdict settled its ticket, None while that is open. `seen_ms`: the last look that
    changed something. `delivered_at_ms`: when the ticket's prompt was pasted; `proven_ms`: when it was seen submitted,
    None while fleet-send is still at it.
    """

    event: str
    ticket: str | None = None
    screen: str | None = None
    outcome: records.Outcome | None = None
    worked: bool = False
    resolved: bool | None = None
    began_ms: int
    seen_ms: int = 0
    delivered_at_ms: int | None = None
    proven_ms: int | None = None
    baseline: str | None = None

    @property
    def ended(self) -> bool:
        """Whether an outcome ended it."""
        return self.outcome in records.ENDINGS

    @property
    def open_ticket(self) -> str | None:
        """Its ticket, unless that is settled."""
        return self.ticket if self.resolved is None else None


class Place(NamedTuple):
    """Where a look belongs: to the current turn, a new one, an earlier one, or to no turn at all, and why."""

    kind: Literal["same", "new", "old", "waiting", "none"]
    reason: str
    past: PastTurn | None = None


def place(turn: TurnState | None, past: list[PastTurn], look: records.Verdict, ts_ms: int) -> Place:
    """The turn that a look belongs to; first match wins."""
    prompt = prompt_of(look)
    if turn is None:
        begins = prompt is not None or look.outcome in records.ENDINGS or look.outcome in AT_WORK
        return Place("new", "the first look") if begins else Place("none", "no turn yet")
    if turn.delivered_at_ms is not None and turn.screen is None and not turn.ended:
        return _first_prompt(turn, past, look, ts_ms)
    if ts_ms < turn.began_ms and look.event != turn.event:
        return Place("old", "a look at an earlier turn", _at(past, ts_ms))
    if prompt is not None and turn.screen is not None:
        moved = _moved(turn.screen, prompt)
        if moved and not (moved == HIGHER and ts_ms < turn.seen_ms):
            return Place("new", moved)
    if turn.ended and look.outcome in AT_WORK and ts_ms >= turn.seen_ms:
        return Place("new", f"{look.outcome} after an end")
    return Place("same", "the same turn")


def _first_prompt(turn: TurnState, past: list[PastTurn], look: records.Verdict, ts_ms: int) -> Place:
    """A look at a ticket's turn of which no prompt was seen yet: it may still show what was there before the paste."""
    prompt = prompt_of(look)
    if ts_ms < (turn.delivered_at_ms or 0) and look.event != turn.event:
        return Place("old", "from before the delivery", _at(past, ts_ms))
    before = past[-1] if past and past[-1].screen == prompt else None
    if turn.proven_ms is None and ts_ms < turn.began_ms + DELIVERY_MS and (before or not past or prompt is None):
        return Place("waiting", "a prompt is being delivered", before)
    if before and prompt is not None and (turn.proven_ms is None or ts_ms < turn.proven_ms):
        return Place("old", "from before the delivery", before)
    return Place("same", "the ticket's first prompt")


def prompt_of(look: records.Verdict) -> str | None:
    """The `screen` of a look, None when there is no prompt on it: classify then says ordinal 0."""
    return None if look.screen is None or look.screen.endswith(":0") else look.screen


def _moved(last: str, screen: str) -> str:
    """How a screen's prompt differs from the last one's so that it begins a turn; empty when it does not."""
    old_hash, _, old = last.rpartition(":")
    new_hash, _, new = screen.rpartition(":")
    if old_hash != new_hash:
        return "another last prompt"
    return HIGHER if new.isdigit() and old.isdigit() and int(new) > int(old) else ""


def _at(past: list[PastTurn], ts_ms: int) -> PastTurn | None:
    """The turn that was under way at a moment before the current one."""
    return next((turn for turn in reversed(past) if turn.began_ms <= ts_ms), None)


def event_of(server: str | None, target: str | None, screen: str | None, turns: int) -> str:
    """The event of a pane's turn number `turns` (from 1): unique, and the same whenever it is worked out again.

    The first one is what classify says without a store, so that a look before and after resolve was added agree.
    """
    plain = f"{screen or ''}@{server or ''}/{target or ''}"
    return plain if turns == 1 else f"{plain}#{turns}"


def remembered(past: list[PastTurn], turn: TurnState | None) -> list[PastTurn]:
    """The earlier turns with one more, the oldest forgotten."""
    if turn is None:
        return past
    entry = PastTurn(
        event=turn.event, began_ms=turn.began_ms, screen=turn.screen, ticket=turn.ticket, resolved=turn.resolved
    )
    return [*past[1 - KEPT :], entry]


def final(first: records.Outcome | None, then: records.Outcome) -> records.Outcome:
    """A turn's outcome after another ended one: the first stays, but backend_error and exhausted replace completed."""
    if (
        first is None
        or first not in records.ENDINGS
        or (first == "completed" and then in ("backend_error", "exhausted"))
    ):
        return then
    return first
