"""One cell of the matrix: a failure is served in a situation, and what the pipe said of it is compared with the truth.

Every wait is for a condition with a deadline; the moments come from the backend's log and from the records.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from live.backend import STORY, Step
from live.cells import QUOTING, Cell
from live.failures import FAILURES, quotation
from live.lab import Pane, Pipe, Verdict, moment

from fleettools.records import ENDINGS

STAYS = 2.5  # seconds that an end has to stand before it counts as the last word
SLOW = 60.0  # seconds for what has nothing to do with a failure: an answer, a tool call


class Check(NamedTuple):
    """What was right at one point of a cell, what was said, and how many `seconds` after what the backend did."""

    point: str
    right: list[str]
    said: str
    seconds: float | None
    screen: str
    title: str
    line: str

    @property
    def ok(self) -> bool:
        return self.said in self.right


class Result(NamedTuple):
    """A cell with its checks; `note` says why something else was expected than the failure's own truth."""

    agent: str
    version: str
    cell: Cell
    checks: list[Check]
    note: str

    @property
    def ok(self) -> bool:
        return bool(self.checks) and all(check.ok for check in self.checks)


def word(verdict: Verdict | None) -> str:
    """A verdict in one word: its outcome, and the cause where it has one."""
    if verdict is None:
        return "nothing"
    cause = verdict.get("cause")
    return f"{verdict['outcome']}/{cause}" if cause and verdict["outcome"] != "idle" else str(verdict["outcome"])


def ended(verdict: Verdict) -> bool:
    """Whether a verdict is the end of a turn that counts."""
    return verdict["outcome"] in ENDINGS and verdict.get("resolved") is not False


def _differs(seen: Verdict, other: Verdict) -> bool:
    return other is not seen and word(other) != word(seen)


class Trial:
    """Tries the cells of one session in one pane."""

    def __init__(self, pane: Pane, pipe: Pipe, version: str) -> None:
        self.pane, self.pipe, self.version = pane, pipe, version
        self._checks: list[Check] = []
        self._count = 0
        self._worked = False  # whether the last turn was one that worked
        self._before: Verdict | None = None  # what was said last before a prompt was typed

    def open(self) -> bool:
        """Start the agent and get it to its first composer; false when it does not get there."""
        self.pane.start()
        began = time.time()
        for _ in self.pane.agent.opening:
            if self._until(began, lambda one: one["outcome"] == "blocked", SLOW) is None:
                return False
            began = time.time()
            self.pane.keys(*self.pane.agent.opening)
        ready = self.pane.agent.ready
        return (
            self.pane.until(lambda: ready in self.pane.text(), 2 * SLOW)
            and self._still()
            and self._until(began, lambda one: one["outcome"] == "idle", SLOW) is not None
            and self._heeds()
        )

    def _heeds(self) -> bool:
        """Whether it takes keys: some draw a composer that they do not read yet."""
        self.pane.type("xyz")
        taken = "xyz" in self.pane.text()
        for _ in range(10):
            self.pane.keys(*["BSpace"] * 3)
            if self.pane.until(lambda: "xy" not in self.pane.text(), 3):
                return taken
        return False

    def _still(self) -> bool:
        """Wait until the screen stays as it is for a second: what is typed before an agent has drawn itself is lost."""
        last, since = self.pane.text(), time.monotonic()

        def same() -> bool:
            nonlocal last, since
            text = self.pane.text()
            if text != last:
                last, since = text, time.monotonic()
            return time.monotonic() - since > 1

        return self.pane.until(same, SLOW)

    def run(self, cell: Cell) -> Result:
        """Try one cell."""
        self._checks = []
        agent, right, note = self.pane.agent, *self._truth(cell)
        if cell.situation == "later" and not self._worked:
            self._plain()
        self._worked = False
        if cell.situation in QUOTING:
            self._quoted(cell)
        else:
            self._failing(cell, right)
        self._tidy(cell)
        return Result(agent.name, self.version, cell, self._checks, note)

    def lost(self, cell: Cell, why: str) -> Result:
        """A cell that could not be tried."""
        screen = self.pane.screen() if self.pane.id else ""
        return Result(
            self.pane.agent.name, self.version, cell, [Check("start", ["idle"], "nothing", None, screen, "", "")], why
        )

    def _truth(self, cell: Cell) -> tuple[list[str], str]:
        """What may be said of a failure, and the note where this agent shows something else."""
        agent, failure = self.pane.agent, FAILURES[cell.failure]
        causes = failure.causes
        right = [f"{failure.outcome}/{cause}" for cause in causes] if causes else [failure.outcome]
        if cell.situation in QUOTING:
            return ["completed"], ""
        if cell.failure in agent.forever:
            tried = [f"retrying/{cause}" for cause in causes]
            return ["working", "retrying", "retrying/unknown", *tried], "it tries again for longer than this waits"
        if cell.failure in agent.hides:
            return ["completed", *right], agent.hides[cell.failure]
        if cell.failure in agent.shows:
            return [*right, *agent.shows[cell.failure]], "its screen says less than the backend did"
        return right, ""

    # -- situations

    def _failing(self, cell: Cell, right: list[str]) -> None:
        asked = self._ask(self._prompt(cell), *self._steps(cell))
        if cell.situation == "question":
            self._check("question", ["blocked"], asked, self._until(asked, lambda one: one["outcome"] == "blocked"))
            self.pane.keys(*self.pane.agent.approve)
        if cell.situation == "long":
            self._check("streaming", ["working"], asked, self._until(asked, lambda one: one["outcome"] == "working"))
        if cell.situation == "esc":
            self._stopped(asked, right)
            return
        seen = self._failed(cell, asked, right)
        self._check("failure", right, self._served(asked, seen), seen)
        self._on_the_way(right, asked, seen)
        follow = {"draft": self._draft, "popup": self._popup, "resize": self._resize, "clear": self._cleared}
        if cell.situation in follow:
            follow[cell.situation](right)

    def _on_the_way(self, right: list[str], asked: float, seen: Verdict | None) -> None:
        """An end that was said and taken back is wrong, too: by then somebody has been told."""
        if word(seen) in right:
            said = filter(self._anew, self.pipe.between(self.pane.id, asked))
            early = next((one for one in said if ended(one) and word(one) not in right), None)
            if early is not None:
                self._check("on the way", right, None, early)

    def _failed(self, cell: Cell, asked: float, right: list[str]) -> Verdict | None:
        """The last word on a failing turn: its end, or what is said of it when the agent's patience is over."""
        if "working" in right:  # no end is to come: it must not be called one
            served = self._until(asked, lambda one: one["outcome"] in ("working", "retrying"))
            over = self.pipe.wait(self.pane.id, asked, lambda one: ended(one) and self._anew(one), 8.0)
            return over or self._last(asked) or served
        return self._end(asked, self.pane.agent.patience, cell.situation in ("tool", "question"))

    def _end(self, asked: float, patience: float, asks: bool = False) -> Verdict | None:
        """The end of a turn that stands for STAYS seconds; a question of a tool's is answered on the way."""
        deadline = time.monotonic() + patience
        begins = asked
        while time.monotonic() < deadline:
            left = deadline - time.monotonic()
            seen = self.pipe.wait(self.pane.id, begins, self._over, left)
            if seen is None:
                return self._last(asked)
            if seen["outcome"] == "blocked":
                if not asks:
                    return seen
                self.pane.keys(*self.pane.agent.approve)
                begins = moment(seen) + 0.5
                continue
            later = self.pipe.wait(self.pane.id, moment(seen), partial(_differs, seen), STAYS)
            if later is None:
                return seen
            begins = moment(later)
        return self._last(asked)

    def _stopped(self, asked: float, right: list[str]) -> None:
        """Esc as soon as the turn is seen to go on; one that had ended before stays what it was."""
        seen = self._until(asked, lambda one: ended(one) or one["outcome"] in ("working", "retrying"), self._patience())
        if seen is not None and not ended(seen):
            self.pane.until(lambda: self.pane.backend.since(asked), SLOW)
        pressed, over = time.time(), None
        for _ in range(3):  # an agent that is busy drawing may miss one
            self.pane.keys(*self.pane.agent.stop)
            over = self._until(pressed, lambda one: ended(one) or one["outcome"] == "idle", 10.0)
            if over is not None:
                break
        allowed = ["idle"] if seen is None or not ended(seen) else right
        before = self._before or {}
        if over is not None and over.get("event") == before.get("event") and word(over) == word(before):
            allowed = [word(over)]  # the prompt went back into the composer: the screen is that of the turn before
        self._check("stopped", allowed, pressed, over)

    def _draft(self, right: list[str]) -> None:
        self.pane.type("and then look at the other one")
        self._look("draft", [*right, "stale"])
        self.pane.keys(*self.pane.agent.empty)

    def _popup(self, right: list[str]) -> None:
        self.pane.box.tmux("send-keys", "-t", self.pane.id, "-l", self.pane.agent.popup)
        time.sleep(0.5)
        self._look("popup", [*right, "stale"])
        self.pane.keys("BSpace")
        self._look("popup closed", right)

    def _resize(self, right: list[str]) -> None:
        self.pane.resize(84)
        self._look("narrow", [*right, "stale"])
        self.pane.resize(110)
        self._look("wide", right)

    def _cleared(self, _: list[str]) -> None:
        if self._halt():
            self.pane.keys(*self.pane.agent.empty)  # where the prompt may have gone back to
        self.pane.type(self.pane.agent.clear)
        pressed = time.time()
        self.pane.keys("Enter")
        seen = self._until(pressed, lambda one: one["outcome"] == "idle")
        self._check("cleared", ["idle"], pressed, seen)
        self.pane.keys(*self.pane.agent.cleared)

    def _quoted(self, cell: Cell) -> None:
        error, said = quotation(cell.failure), "I have read it; nothing is wrong with this run."
        steps, prompt = [Step(text=said)], self._prompt(cell)
        if cell.situation == "quote-reply":
            steps = [Step(text=f"The log of last night holds one line:\n\n{error}\n\nThis run is sound.")]
        elif cell.situation == "quote-tool":
            (self.pane.work / "night.log").write_text(f"start\n{error}\nend\n")
            steps = [Step(tool="cat night.log", text="I look at the log.", times=1), *steps]
        else:
            prompt = f"what does {error} mean, {prompt}"
        asked = self._ask(prompt, *steps)
        seen = self._end(asked, SLOW, asks=True)
        self._check("reply", ["completed"], self._served(asked, seen), seen)
        self._worked = self._checks[-1].ok

    # -- turns

    def _plain(self) -> None:
        """A turn that works, so that the one after it is a later one."""
        asked = self._ask(f"say hello, number-{self._count}", Step(text="Hello from the backend."))
        self._end(asked, SLOW)

    def _steps(self, cell: Cell) -> list[Step]:
        failure = cell.failure
        text = STORY if cell.situation == "long" or failure == "cut-middle" else "I begin to answer."
        fails = Step(failure=failure, text=text, pace=0.3 if cell.situation == "long" else 0.02)
        steps = [fails._replace(times=1), Step(text="It works again.")] if failure == "recovers" else [fails]
        if cell.situation == "tool":
            (self.pane.work / "notes.txt").write_text("first note\nsecond note\n")
            return [Step(tool="cat notes.txt", text="I look at the notes.", times=1), *steps]
        if cell.situation == "question":
            made = f"made-{self._count}.txt"
            return [Step(tool=f"touch {made}", text="I make the file.", asks=True, times=1), *steps]
        return steps

    def _prompt(self, cell: Cell) -> str:
        self._count += 1
        return f"look at the notes, case-{self._count}"

    def _ask(self, prompt: str, *steps: Step) -> float:
        """Ask the agent; gives the moment from which on looks can show the new turn."""
        backend, pane = self.pane.backend, self.pane
        backend.serve(*steps)
        self._before = self._last(0)
        pane.type(prompt)
        began = time.time()
        deadline = began + SLOW
        while time.time() < deadline:
            pane.keys("Enter")
            # An Enter while an agent is still at something is lost: pressed again, unless the turn is seen to go on.
            if pane.until(lambda: backend.since(began) or self._taken(began), 5):
                break
            if prompt.split()[-1] not in pane.text():  # nor was the prompt taken for one
                pane.type(prompt)
        if backend.refuses:
            return began + 0.5
        pane.until(lambda: backend.since(began), SLOW)
        asked = backend.since(began)
        return asked[0].came if asked else began

    def _anew(self, one: Verdict) -> bool:
        """Whether a verdict is of the turn that was asked for; the one before may be on the screen yet."""
        return one.get("event") is None or one.get("event") != (self._before or {}).get("event")

    def _over(self, one: Verdict) -> bool:
        return self._anew(one) and (ended(one) or one["outcome"] == "blocked")

    def _taken(self, began: float) -> bool:
        """Whether a prompt was taken: its turn goes on, or has failed with a new event."""
        old = (self._before or {}).get("event")
        return any(
            one["outcome"] in ("working", "retrying") or (ended(one) and one.get("event") != old)
            for one in self.pipe.between(self.pane.id, began + 0.3)
        )

    def _served(self, asked: float, seen: Verdict | None) -> float | None:
        """When the backend did what a verdict tells: its last answer before that look; None where it did nothing."""
        until = moment(seen) if seen else time.time()
        answers = self.pane.backend.since(asked - 0.01)
        return max((one.served for one in answers if one.served <= until and one.got != "hang"), default=None)

    def _patience(self) -> float:
        return self.pane.agent.patience

    def _until(self, since: float, true: Callable[[Verdict], bool], patience: float = 30.0) -> Verdict | None:
        return self.pipe.wait(self.pane.id, since, true, patience)

    def _last(self, since: float) -> Verdict | None:
        said = self.pipe.between(self.pane.id, since)
        return said[-1] if said else None

    def _look(self, point: str, right: list[str]) -> None:
        """Let the screen as it is now be judged; where nothing new is said, what was said last still holds."""
        since = time.time()
        self.pipe.wait(self.pane.id, since, lambda one: word(one) not in right and one["outcome"] != "stale", 3.5)
        self._check(point, right, None, self._last(since) or self._last(0))

    def _check(self, point: str, right: list[str], since: float | None, seen: Verdict | None) -> None:
        seconds = round(max(0.0, moment(seen) - since), 1) if seen is not None and since is not None else None
        screen, title = self.pane.screen(), self.pane.said("#{pane_title}")
        line = str((seen or {}).get("line") or "")
        self._checks.append(Check(point, right, word(seen), seconds, screen, title, line))

    def _tidy(self, cell: Cell) -> None:
        """End what still goes on, and empty the composer."""
        pane, agent = self.pane, self.pane.agent
        pane.backend.serve(Step(text="All is well."))
        self._halt()
        if cell.situation == "esc" or FAILURES[cell.failure].how == "hang" or cell.failure in agent.forever:
            pane.keys(*agent.empty)

    def _halt(self) -> bool:
        """Stop a turn that goes on; whether there was one."""
        last = self._last(0)
        for tried in range(3):
            if last is None or last["outcome"] not in ("working", "retrying", "blocked"):
                return tried > 0
            since = time.time()
            self.pane.keys(*self.pane.agent.stop)
            last = self._until(since, lambda one: ended(one) or one["outcome"] == "idle", 8) or self._last(0)
        return True
