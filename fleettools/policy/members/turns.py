"""Turns and their events: which looks at a member's pane belong together.

A turn begins with a ticket, another last prompt, a higher ordinal, or working/retrying after an end. A lower ordinal
or no prompt on the screen is the same turn, and a ticket's first prompt belongs to the ticket's turn. When a turn has
ended is the matter of ends.py.
"""

from typing import Literal, NamedTuple

import msgspec

from fleettools import records
from fleettools.policy.members.ends import Doubt
from fleettools.records import BASELINE, CLEARED

DELIVERY_MS = 60_000  # a fleet-send that has proved nothing by then has died
LAG_MS = 3_000  # so long after an agent's own word its screen may still show what was before
KEPT = 8
HIGHER, LOWER = "a higher ordinal", "a lower ordinal"
AT_WORK = frozenset({"working", "retrying"})


class PastTurn(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """What is still known of an earlier turn, for looks and words that come late or come again.

    `floor_ms`: it had not begun before that; `told`: the agent itself said that it began.
    """

    event: str
    began_ms: int
    screen: str | None = None
    block: str | None = None
    prompt: str | None = None
    outcome: records.Outcome | None = None
    ticket: str | None = None
    resolved: bool | None = None
    floor_ms: int | None = None
    told: bool = False


class TurnState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A member's current turn; times in ms. `event` is its id; a ticket's turn has the ticket's id.

    `screen`: prompt hash and ordinal at the last look, None until a prompt was seen. `drew`: it has drawn something;
    `block`: what it had drawn when it ended. `cleared`: its screen was cleared since. `resolved`: whether this turn's
    verdict settled its ticket, None while that is open. `seen_ms`: the last look that changed something.
    `delivered_at_ms`: when the ticket's prompt was pasted; `proven_ms`: when it was seen submitted, None while
    fleet-send is still at it; `bare_ms`: since when the screen shows no more than before the delivery.
    `at_ms`: when its end happened, `undated` when nothing told; `cause`, `resets_at` and `source`: what is known of a
    failure, and who said it; `fast`: it failed only by ending too fast; `doubt`: an end that is not proved yet.
    `earliest_ms`: the last look before the one that showed it. The agent's own word: `prompt` is its id of the turn's
    prompt, `told_ms` when it said that it began, `worded_ms` when it said how it ended.
    """

    event: str
    ticket: str | None = None
    screen: str | None = None
    outcome: records.Outcome | None = None
    drew: bool = False
    block: str | None = None
    cleared: bool = False
    resolved: bool | None = None
    began_ms: int
    seen_ms: int = 0
    delivered_at_ms: int | None = None
    proven_ms: int | None = None
    baseline: str | None = None
    bare_ms: int | None = None
    at_ms: int | None = None
    undated: bool = False
    cause: records.Cause | None = None
    resets_at: str | None = None
    source: records.Source | None = None
    fast: bool = False
    doubt: Doubt | None = None
    earliest_ms: int | None = None
    prompt: str | None = None
    told_ms: int | None = None
    worded_ms: int | None = None

    @property
    def has_ended(self) -> bool:
        """Whether an outcome ended it."""
        return self.outcome in records.ENDINGS

    @property
    def open_ticket(self) -> str | None:
        """Its ticket, unless that is settled."""
        return self.ticket if self.resolved is None else None

    @property
    def floor_ms(self) -> int | None:
        """It had not begun before that; None when nothing tells."""
        if self.delivered_at_ms is not None:
            return self.delivered_at_ms
        if self.told_ms is not None:
            return self.told_ms
        return None if self.earliest_ms is None else self.earliest_ms + 1

    @property
    def submitted(self) -> bool:
        """Whether its ticket's prompt was seen submitted, by fleet-send or by a look."""
        return self.proven_ms is not None or self.screen is not None or self.told_ms is not None


class Fit(NamedTuple):
    """Where a look belongs and why: to the `same` turn, a `new` one, an `old` one, or to no turn at all.

    `still`: the same turn, which has ended, and nothing was drawn since. `waiting`: a prompt is just being delivered.
    `back`: the screen of an earlier turn (`past`) stands there again.
    """

    kind: Literal["same", "still", "new", "old", "back", "waiting", "none"]
    reason: str
    past: PastTurn | None = None


def fit(turn: TurnState | None, past: list[PastTurn], seen: records.Verdict, now_ms: int) -> Fit:
    """The turn that a look at `now_ms` belongs to; first match wins."""
    prompt = prompt_of(seen)
    if turn is None:
        begins = prompt is not None or seen.outcome in records.ENDINGS or seen.outcome in AT_WORK
        return Fit("new", "the first look") if begins else Fit("none", "no turn yet")
    if turn.screen is None and (turn.told_ms is not None or (turn.delivered_at_ms is not None and not turn.has_ended)):
        return _first_prompt(turn, past, seen, now_ms)
    if now_ms < turn.began_ms and seen.event != turn.event:
        return Fit("old", "a look at an earlier turn", _at(past, prompt, now_ms))
    if seen.outcome == "stale" or seen.pattern in (BASELINE, CLEARED):
        return Fit("same", "it tells of no turn")
    if prompt is not None and turn.cleared and now_ms >= turn.seen_ms:
        return Fit("new", "a prompt on a cleared screen")
    if prompt is not None and turn.screen is not None:
        moved = _moved(turn.screen, prompt)
        before = _standing_again(turn, past, prompt, seen, moved)
        if before:
            return Fit("back", "the screen of an earlier turn again", before)
        if moved and moved != LOWER and not (moved == HIGHER and now_ms < turn.seen_ms):
            return Fit("new", moved)
    if turn.has_ended and seen.outcome in AT_WORK and now_ms >= turn.seen_ms:
        # Something beside the turn moves: a spinner of the title, a footer that counts.
        if seen.outcome == "working" and seen.block is not None and seen.block == turn.block:
            return Fit("still", "nothing was drawn since its end")
        if turn.worded_ms is not None and now_ms < turn.worded_ms + LAG_MS:
            return Fit("still", "the agent itself has said how it ended")
        return Fit("new", f"{seen.outcome} after an end")
    return Fit("same", "the same turn")


def _first_prompt(turn: TurnState, past: list[PastTurn], seen: records.Verdict, now_ms: int) -> Fit:
    """A look at a turn of which no prompt was seen yet: it may still show what was there before.

    Such a turn is a ticket's, whose prompt is pasted, or one that the agent itself has said to have begun.
    """
    prompt = prompt_of(seen)
    if now_ms < (turn.told_ms or turn.delivered_at_ms or 0) and seen.event != turn.event:
        return Fit("old", "from before it began", _at(past, prompt, now_ms))
    before = past[-1] if past and past[-1].screen == prompt else None
    shown_ms = turn.proven_ms if turn.told_ms is None else turn.told_ms + LAG_MS
    if shown_ms is None and now_ms < turn.began_ms + DELIVERY_MS and (before or not past or prompt is None):
        return Fit("waiting", "a prompt is being delivered", before)
    if before and prompt is not None and (shown_ms is None or now_ms < shown_ms):
        return Fit("old", "from before it began", before)
    if before and _is_unmoved(before, seen) and seen.pattern != BASELINE:
        return Fit("back", "the screen from before it began again", before)
    return Fit("same", "its first prompt")


def prompt_of(seen: records.Verdict) -> str | None:
    """The `screen` of a look, None when there is no prompt on it: classify then says ordinal 0."""
    return None if seen.screen is None or seen.screen.endswith(":0") else seen.screen


def _moved(last: str, screen: str) -> str:
    """How a screen's prompt differs from the last one's; empty when it does not."""
    old_hash, _, old = last.rpartition(":")
    new_hash, _, new = screen.rpartition(":")
    if old_hash != new_hash:
        return "another last prompt"
    if not (new.isdigit() and old.isdigit()) or int(new) == int(old):
        return ""
    return HIGHER if int(new) > int(old) else LOWER


def _standing_again(
    turn: TurnState, past: list[PastTurn], prompt: str, seen: records.Verdict, moved: str
) -> PastTurn | None:
    """The earlier turn whose last screen stands there again: a person took the newer prompt back."""
    # An equal prompt's ordinal also falls when the one before it scrolls away; but then the turn has drawn something.
    if moved in ("", HIGHER) or (moved == LOWER and turn.drew):
        return None
    return next((old for old in reversed(past) if old.screen == prompt and _is_unmoved(old, seen)), None)


def _is_unmoved(old: PastTurn, seen: records.Verdict) -> bool:
    return seen.block is not None and seen.block == old.block and seen.outcome not in AT_WORK


def _at(past: list[PastTurn], prompt: str | None, now_ms: int) -> PastTurn | None:
    """The turn that was under way at a moment before the current one; None when its screen shows another prompt."""
    found = next((turn for turn in reversed(past) if turn.began_ms <= now_ms), None)
    if prompt is None or (found and (found.screen is None or not _differs(found.screen, prompt))):
        return found
    return next((turn for turn in reversed(past) if turn.screen == prompt), None)


def _differs(screen: str, prompt: str) -> bool:
    return screen.rpartition(":")[0] != prompt.rpartition(":")[0]


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
        event=turn.event, began_ms=turn.began_ms, screen=turn.screen, block=turn.block, prompt=turn.prompt,
        outcome=turn.outcome, ticket=turn.ticket, resolved=turn.resolved,
        floor_ms=turn.floor_ms, told=turn.told_ms is not None,
    )  # fmt: skip
    return [*past[1 - KEPT :], entry]


def final(turn: TurnState, then: records.Outcome) -> records.Outcome:
    """A turn's outcome after another ended one: the first stays, but a worse one may replace what was too mild.

    backend_error and exhausted replace completed and what failed only by ending too fast; exhausted replaces
    backend_error.
    """
    first = turn.outcome
    if first is None or not turn.has_ended:
        return then
    mild = first == "completed" or (first == "failed" and turn.fast)
    worse = then == "exhausted" and first == "backend_error"
    return then if worse or (mild and then in ("backend_error", "exhausted")) else first
