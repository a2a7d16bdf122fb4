"""Whose word it is: the turn of its member that an agent's signal is about.

By time: a word belongs to the turn that had begun when it was said, and the screen may show a turn later than the
agent says it, by as much as lies between two looks. The agent's own id of a prompt goes before all that: see RULES.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from fleettools import records
from fleettools.policy.members import turns
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.turns import AT_WORK, KEPT, LAG_MS, PastTurn, TurnState

UNDER_WAY = AT_WORK | {"blocked"}


class Word(NamedTuple):
    """A signal of a member's, and when it was said, by the clock that the member goes by."""

    member: MemberState
    signal: records.Signal
    ms: int

    @property
    def turn(self) -> TurnState:
        """The member's current turn; ask only where there is one."""
        assert self.member.turn is not None
        return self.member.turn

    @property
    def names_another(self) -> bool:
        """Whether the agent calls the current turn's prompt by another id than this word's."""
        return None not in (self.signal.prompt, self.turn.prompt) and self.signal.prompt != self.turn.prompt

    @property
    def may_be_of_it(self) -> bool:
        """Whether the current turn may have begun when this was said."""
        return self.turn.floor_ms is None or self.ms >= self.turn.floor_ms


class Turn(NamedTuple):
    """The turn that a word is about: the `current` one, a `new` one, one of the `past`, or one that is `forgotten`."""

    kind: Literal["current", "new", "past", "forgotten"]
    past: PastTurn | None = None


CURRENT, NEW, FORGOTTEN = Turn("current"), Turn("new"), Turn("forgotten")


def _heard_before(word: Word) -> Turn | None:
    event = word.member.heard.get(word.signal.id)
    return None if event is None else _named(word, lambda turn: turn.event == event) or FORGOTTEN


def _of_its_prompt(word: Word) -> Turn | None:
    prompt = word.signal.prompt
    return None if prompt is None else _named(word, lambda turn: turn.prompt == prompt)


def _first(word: Word) -> Turn | None:
    return NEW if word.member.turn is None else None


def _beginning(word: Word) -> Turn | None:
    """First match wins: an earlier turn's, one just delivered, one that the screen showed first, a new one's."""
    if word.signal.said != "begin":
        return None
    turn = word.turn
    if not word.may_be_of_it:
        return _then(word) or FORGOTTEN
    if turn.screen is None and turn.delivered_at_ms is not None and not turn.has_ended and not word.names_another:
        return CURRENT
    if turn.told_ms is None and not word.names_another and word.ms <= latest_begin(turn):
        return CURRENT
    return NEW if word.ms > turn.began_ms else _then(word) or FORGOTTEN


def _before_the_turn_showed(word: Word) -> Turn | None:
    """The first look at a turn comes after its beginning, and what ended quickly was said in between."""
    if word.ms >= word.turn.began_ms:
        return None
    past = word.member.past
    was_at_rest = not past or past[-1].outcome not in UNDER_WAY
    if word.may_be_of_it and not word.names_another and was_at_rest:
        return CURRENT
    return _earlier(word) or FORGOTTEN


def _of_another_prompt(word: Word) -> Turn | None:
    if not word.names_another:
        return None
    # The end of a turn of which nothing else was ever heard: an agent's own, as the one that finds a title.
    return FORGOTTEN if word.signal.said == "end" else NEW


def _failed_after(word: Word) -> Turn | None:
    """A turn that failed then, without any beginning that is known."""
    if word.signal.said != "failure":
        return None
    turn, member = word.turn, word.member
    if turn.has_ended:
        over = turn.worded_ms is not None or word.ms > turn.seen_ms + LAG_MS
    else:
        over = turn.outcome == member.state == "idle" and word.ms > member.since_ms + LAG_MS
    return NEW if over else None


# First match wins. Each step is pure, and answers None when its rule does not apply.
RULES: tuple[tuple[str, Callable[[Word], Turn | None]], ...] = (
    ("a word that was heard before is of the turn that it was of", _heard_before),
    ("the agent's own id of a prompt names its turn", _of_its_prompt),
    ("where no turn was seen, it begins the first", _first),
    ("a beginning is that of a turn which fleet-send or the screen knows, else of a new one", _beginning),
    ("what was said before the current turn showed is of the one then, unless that one ended quickly",
     _before_the_turn_showed),
    ("a word of another prompt is of a turn that nobody has seen", _of_another_prompt),
    ("a failure well after the current turn was over is another turn's", _failed_after),
    ("all else is of the current turn", lambda _: CURRENT),
)  # fmt: skip


def turn_of(word: Word) -> Turn:
    """Whose word it is."""
    return next(found for _, step in RULES if (found := step(word)) is not None)


def latest_begin(turn: TurnState) -> int:
    """Until when a beginning is said to be this turn's: its hook may start a moment after the screen has shown it."""
    shown_ms = max(turn.began_ms, turn.proven_ms or 0) + LAG_MS
    if turn.has_ended:
        return min(shown_ms, turn.at_ms or turn.began_ms)
    return shown_ms if turn.outcome in UNDER_WAY else turn.began_ms


def _earlier(word: Word) -> Turn | None:
    """The turn before the current one that a word of then is about; one of its own, if another prompt's was then."""
    member, signal = word.member, word.signal
    found = _then(word)
    old = found.past if found else None
    # The agent has told of no other prompt that was that turn's.
    if old and (None in (old.prompt, signal.prompt) or not old.told):
        return found
    if signal.prompt is None or signal.said != "failure" or len(member.past) >= KEPT:
        return None
    event = turns.event_of(member.server, member.target, f"said-{signal.id}", 1)
    return Turn("past", PastTurn(event=event, began_ms=word.ms, prompt=signal.prompt, outcome="backend_error"))


def _named(word: Word, fits: Callable[[TurnState | PastTurn], bool]) -> Turn | None:
    """The current turn if it fits, else the last earlier one that does."""
    if word.member.turn is not None and fits(word.member.turn):
        return CURRENT
    found = next((old for old in reversed(word.member.past) if fits(old)), None)
    return Turn("past", found) if found else None


def _then(word: Word) -> Turn | None:
    """The last earlier turn that may have begun when this was said."""
    for old in reversed(word.member.past):
        if word.ms >= (old.began_ms if old.floor_ms is None else min(old.floor_ms, old.began_ms)):
            return Turn("past", old)
    return None
