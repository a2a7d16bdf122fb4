"""What a sweep remembers of a pane, and whether a look at it is worth a record."""

from typing import NamedTuple

STILL = 2.0  # seconds after the last record that differed, at which a pane is sent once more: what proves an end


class Trace(NamedTuple):
    """A pane as it was sent last. `outside`: all that a record says beside its text, `text` a hash of that.

    `changed`: the `ts` of the look that first showed this text, None for the text of the first look. `differed`: when,
    in seconds, a record last differed from the one before; `settled`: it was sent once more since.
    """

    outside: tuple[object, ...]
    text: int
    changed: str | None
    differed: float
    settled: bool = False


def due(trace: Trace | None, now: float) -> bool:
    """Whether a pane is to be looked at although nothing shows that it changed."""
    return trace is None or (not trace.settled and now - trace.differed >= STILL)


def noticed(trace: Trace | None, outside: tuple[object, ...], text: int, ts: str, now: float) -> tuple[Trace, bool]:
    """What to remember after a look, and whether it is worth a record: it differs, or it is the one that proves."""
    if trace is None:
        return Trace(outside, text, None, now), True
    changed = trace.changed if text == trace.text else ts
    if text != trace.text or outside != trace.outside:
        return Trace(outside, text, changed, now), True
    return (trace._replace(settled=True), True) if due(trace, now) else (trace, False)
