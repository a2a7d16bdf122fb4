"""An agent that nobody described: its failures are told apart by what is new on the screen since the look before."""

from fleettools.screens import operators
from fleettools.screens.case import Case, Earlier, Outcome
from fleettools.screens.patterns import Own
from fleettools.screens.sgr import lines_of, squeezed

PATTERN = Own("legacy", r"(?i)\bAPI Error\s*:")
LINES = 20
_BUSY_ANYWHERE = ("esctointerrupt", "esctocancel", "escinterrupt", "ctrl+ctointerrupt", "ctrl+ctostop")


def judged(case: Case, earlier: Earlier | None) -> tuple[Outcome | None, int]:
    """What the last lines say, and how many failures the pane has shown by now; None: nothing about an end.

    A failure among the lines that are new since the look before is one more; the same one again is none.
    """
    lines = [line for line in case.screen.lines if line]
    if case.pane.turn and case.pane.turn.baseline:
        old = set(lines_of(case.pane.turn.baseline))
        lines = [line for line in lines if line not in old]
    count = earlier.failures if earlier else 0
    new = lines if earlier is None else _new(lines, [line for line in lines_of(earlier.text) if line])
    if found := _failure(case, new):
        return found, count + 1
    if any(sign in squeezed(line) for sign in _BUSY_ANYWHERE for line in lines[-6:]):
        return Outcome("working", "a sign of work stands at the foot of the screen"), count
    if len(new) < len(lines) and (found := _failure(case, lines)):
        if not new:
            return found, count
        return Outcome("stale", "the failure is that of an earlier look", found.line), count
    return None, count


def _failure(case: Case, lines: list[str]) -> Outcome | None:
    legacy: tuple[Own, ...] = () if case.rules.configured or not case.rules.error.bundled else (PATTERN,)
    return operators.anywhere(case, lines[-LINES:], legacy)


def _new(now: list[str], before: list[str]) -> list[str]:
    """The lines below those that were there before, wherever these have scrolled to."""
    for start in range(len(before)):
        kept = before[start:]
        if now[: len(kept)] == kept:
            return now[len(kept) :]
    common = 0
    while common < min(len(now), len(before)) and now[common] == before[common]:
        common += 1  # what stood at the foot has changed
    return now[common:]


def screen_id(failures: int) -> str:
    """What takes the place of prompt and ordinal where no prompt can be seen."""
    return f"legacy:{failures}"
