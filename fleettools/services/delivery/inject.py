"""Text into a live agent's pane: typed only into the agent itself, and never said to be sent without proof."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from fleettools import records
from fleettools.errors import NoPane, NoServer, Unavailable
from fleettools.policy import foreground
from fleettools.screens import judge, typed
from fleettools.screens.look import Look
from fleettools.screens.patterns import Rules
from fleettools.screens.sgr import squeezed
from fleettools.services.delivery.ways import Result, Step
from fleettools.services.ports import Clock, Keys, PaneRow, Terminals

BETWEEN_LOOKS = 1.0
BETWEEN_INFERRED = 2.0  # where nothing but a quiet screen says that the turn has ended
SETTLE = 0.3  # seconds from seeing the text to Enter: Codex takes an Enter within 0.12 s of a paste for a newline
APPEAR, LEAVE, LEAVE_AGAIN = 3.0, 1.5, 3.0  # seconds for the text to be seen, and to leave the composer
POLL = 0.15
HISTORY = 2000
_TYPING = frozenset({"working", "retrying"})
_FOLDED = re.compile(r"((?:\[[^\[\]]*\])+)(.*)", re.DOTALL)  # how agents show a paste that is too long for them


class Sight(NamedTuple):
    """One look at a pane: what became of the turn, and what stands in the composer, blind to its wrapping."""

    verdict: records.Verdict
    composer: Literal["empty", "draft", "absent"]
    draft: str
    text: str

    @property
    def at_work(self) -> bool:
        """Whether the agent works, or tries again by itself."""
        return self.verdict.outcome in _TYPING

    @property
    def asks(self) -> bool:
        """Whether the agent asks a question that Enter would answer, or has left a menu open at a limit."""
        return self.verdict.outcome in ("blocked", "exhausted") and self.composer == "absent"


class Doors(NamedTuple):
    """What typing reaches outside through. `pause` waits for some seconds."""

    tmux: Keys
    terminals: Terminals
    clock: Clock
    pause: Callable[[float], None]


class Pasted(NamedTuple):
    """What was put into the composer: how it begins and ends, the same when all of it is known; and a word of it alone.

    Without a `token` (a long prompt, which agents fold) a composer that fills and empties is the proof.
    """

    head: str
    tail: str
    token: str | None

    def foreign(self, draft: str) -> str:
        """What else stands in a composer that shows this, "" when nothing does, or when it cannot be told."""
        head, tail = squeezed(self.head), squeezed(self.tail)
        if head == tail:
            before, ours, after = draft.partition(head)
            if ours:
                return before + after
            folded = _FOLDED.fullmatch(draft)
            return folded[2] if folded and not head.startswith("[") else ""
        return "" if draft.startswith(head) and draft.endswith(tail) else draft


class Site:
    """A pane to type into: the row that was seen, its agent's look, and the names of programs that are the agent."""

    def __init__(self, doors: Doors, row: PaneRow, look: Look, programs: frozenset[str]) -> None:
        self.tmux, self.terminals, self.clock, self.pause = doors
        self.row, self.look, self.programs = row, look, programs

    def see(self, history: int = 0) -> Sight:
        """Look at it now; raises NoPane when it has vanished.

        A line that was wrapped before the pane was resized stays joined to what is drawn below it since, so where no
        composer is to be seen the lines are taken as they stand, too.
        """
        sight = self._look(history, joined=True)
        if sight.composer != "absent" or sight.verdict.outcome == "blocked":
            return sight
        plain = self._look(history, joined=False)
        return sight if plain.composer == "absent" else plain

    def _look(self, history: int, joined: bool) -> Sight:
        text = self.tmux.capture([self.row.id], history, joined=joined).get(self.row.id)
        if text is None:
            raise self.tmux.error(f"no pane {self.row.id}", "", NoPane)
        now = records.to_ts(self.clock.now_ms())
        pane = records.Pane(ts=now, text=text, agent=self.look.name, title=self.row.title, dead=self.row.dead or None)
        composer = typed.composer(text, self.look)
        return Sight(judge.judge(pane, self.look, Rules()), composer.state, squeezed(composer.text), text)

    def place(self, sight: Sight, token: str | None) -> str:
        """Where the token stands: `composer`, `above` or `none`. With no token, whether anything is in the composer."""
        if token is not None:
            return typed.holds(sight.text, self.look, token)
        return "composer" if sight.composer == "draft" else "above" if sight.composer == "empty" else "none"

    def hindrance(self, anew: bool = True) -> str:
        """Why nothing may be typed into the pane, "" when it may: what it is, and which program reads it."""
        look_up = self.terminals.foreground if anew else self.terminals.seen
        return refusal(self.row) or foreground.hindrance(look_up(self.row.pid), self.programs)


def breaks(text: str, look: Look) -> bool:
    """Whether its agent would take each line of a text as a prompt of its own."""
    return "\n" in text and not look.bracketed_paste


def refusal(row: PaneRow) -> str:
    """Why a pane takes no keys, "" when it does."""
    if row.dead:
        return "its process has ended"
    if row.in_mode:
        return "it is in copy mode"
    if row.input_off:
        return "its input is off"
    if row.synchronized:
        return "its window types into all its panes at once"
    return ""


UNREADY = {
    "busy": "its agent is at work",
    "draft": "somebody's draft stands in its composer",
    "asks": "its agent asks a question",
    "no_composer": "no composer is to be seen",
    "hidden": "something hides what its agent is at",
}


def unready(sight: Sight) -> str:
    """Why not now, "" when a text would be taken as an answer or a new prompt."""
    return UNREADY.get(_unready(sight), "")


def _unready(sight: Sight) -> str:
    """The key of UNREADY that holds for it, "" for none."""
    if sight.at_work:
        return "busy"
    if sight.composer == "draft":
        return "draft"
    if sight.composer == "absent":
        return "asks" if sight.asks else "no_composer"
    return "hidden" if sight.verdict.outcome == "stale" else ""


def deliver(site: Site, text: str, token: str | None, step: Step = lambda _: True) -> Result:
    """Put a text into the pane and submit it, with proof.

    `token` is a word of the text that is shown nowhere else, if it has one. `step` is told each step before it is
    done, and stops it by False. Raises Unavailable only as long as nothing can have been typed.
    """
    if refused := _refused(site):
        return refused
    if not step("typed"):
        return Result(None, "another process has taken it over")
    try:
        reason = site.hindrance()
        if not reason and not site.tmux.paste(site.row, text):
            reason = _why(site)
    except NoServer as error:
        return Result("refused", error.what)
    except Unavailable as error:
        return Result("unknown", f"while the text was pasted: {error.what}")
    if reason:
        return Result("refused", reason)
    step("pasted")
    try:
        return _submit(site, Pasted(text, text, token), step)
    except Unavailable as error:
        return Result("unknown", f"pasted, then: {error.what}")


def _refused(site: Site) -> Result | None:
    """Why nothing is typed there now, by two looks; None when it may be."""
    if reason := site.hindrance():
        return Result(None, reason, "not_the_agent")
    first = site.see()
    code = _unready(first)
    if not code:
        inferred = first.verdict.proved is False
        site.pause(BETWEEN_INFERRED if inferred else BETWEEN_LOOKS)
        second = site.see()
        code = _unready(second)
        if not code and inferred and second.verdict.block != first.verdict.block:
            return Result(None, "its agent may still be at work: its screen goes on", "busy")
    return Result(None, UNREADY[code], code) if code else None


def finish(site: Site, left: Pasted, step: Step = lambda _: True) -> Result:
    """End what another process began: find the token on the screen or above it, and press Enter if that is missing."""
    sight = site.see(HISTORY)
    where = site.place(sight, left.token)
    if where == "above":
        return Result("submitted", "found above the composer")
    if where == "none":
        return Result("unknown", "the process that typed it ended, and the pane shows no trace of it")
    reason = site.hindrance()
    return Result(None, reason) if reason else _submit(site, left, step)


def _submit(site: Site, pasted: Pasted, step: Step) -> Result:
    """See the text in the composer, press Enter, see it leave; press Enter once more if it stays."""
    sight, where = _wait(site, pasted.token, ("composer",), APPEAR)
    if where != "composer":
        return Result("stuck", "the text is not to be seen in the composer, so Enter was not pressed")
    busy = sight.at_work
    step("shown")
    for patience in (LEAVE, LEAVE_AGAIN):
        reason = _not_alone(site, pasted)
        if reason:
            return Result("stuck", f"the text is in the composer, Enter was not pressed: {reason}")
        if not site.tmux.enter(site.row):
            return Result("stuck", f"the text is in the composer, Enter was refused: {_why(site)}")
        step("entered")
        sight, where = _wait(site, pasted.token, ("above",), patience)
        if where != "composer":
            break
    if where == "composer":
        return Result("stuck", "the text stays in the composer")
    if where == "none" and not sight.at_work:
        where = site.place(site.see(HISTORY), pasted.token)
        if where != "above":
            return Result("unknown", "the text has left the composer and is not to be seen above it")
    return Result("queued", "its agent was at work") if busy else Result("submitted", "seen above the composer")


def _not_alone(site: Site, pasted: Pasted) -> str:
    """Why Enter would do more than submit the text, "" when it would not: the last look before it.

    The composer has to stand still first, since an agent may still be drawing. What a person has typed meanwhile is
    not ours to clear, and cannot be cleared for certain: all of it is left there.
    """
    end = site.clock.monotonic() + APPEAR
    before = site.see()
    while True:
        site.pause(SETTLE)
        reason = site.hindrance()
        now = site.see()
        still = now.draft == before.draft
        if reason or now.asks or still or site.clock.monotonic() >= end:
            break
        before = now
    if reason or now.asks:
        return reason or "its agent asks a question that Enter would answer"
    if site.place(now, pasted.token) != "composer":
        return "the text has left it again"
    if not still or pasted.foreign(now.draft):
        return "somebody types there, too"
    return ""


def _why(site: Site) -> str:
    """Why the guard inside tmux did not let a key through."""
    try:
        now = site.tmux.pane(site.row.id)
    except NoPane:
        return "the pane has vanished"
    if (now.pid, now.server_pid) != (site.row.pid, site.row.server_pid):
        return "another process runs in the pane now"
    return refusal(now) or "the pane had changed for a moment"


def _wait(site: Site, token: str | None, places: tuple[str, ...], seconds: float) -> tuple[Sight, str]:
    """Look until the token stands in one of the places or the time is over; the last look, and where it stood."""
    end = site.clock.monotonic() + seconds
    while True:
        sight = site.see()
        where = site.place(sight, token)
        at_work = where == "none" and sight.at_work and "above" in places
        if where in places or at_work or site.clock.monotonic() >= end:
            return sight, where
        site.pause(POLL)
