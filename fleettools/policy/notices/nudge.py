"""What a notice says: template words and validated fields on one line, the token and the essentials first."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fleettools import records
from fleettools.records import NoticeItem

LONGEST = 400
RUN = "run fleet-list"
SHORTEST = 80  # a notice of one item without names
ROWS = 8  # that many rows of what is typed does every composer show
ALL = 99  # names
LONG_MS = 600_000  # who is out for longer is worth working elsewhere
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
_PANE = re.compile(r"%[0-9]{1,9}")


class Again(NamedTuple):
    """That something has happened before: so many `times` by now, the first time at `since_ms`."""

    times: int
    since_ms: int


class Told(NamedTuple):
    """One item as it is told now: what it is about, whether that is `over`, and whether it had happened before.

    `elsewhere`: another profile of the same agent that is free, where the credential stays out for long.
    """

    about: NoticeItem
    over: bool = False
    again: Again | None = None
    elsewhere: str | None = None


def word(text: str | None) -> str | None:
    """A name that may be typed: of letters, digits and `._@+-`, or a pane id; None for any other."""
    return text if text and (_PLAIN.fullmatch(text) or _PANE.fullmatch(text)) else None


def worker(name: str | None, target: str | None) -> str | None:
    """How a notice calls a member: by its name, else its pane."""
    return word(name) or word(target)


def room(whole: int, cols: int, rows: int) -> int:
    """How long a text may be for an agent that shows `whole` characters, in a pane of that size.

    In a small one the composer scrolls, and the token at the head of the text would be out of sight.
    """
    shown = (cols - 10) * min(rows - 8, ROWS) * 9 // 10  # borders, and what wrapping wastes
    return min(whole, max(shown, SHORTEST))


def head(token: str) -> str:
    """How a notice begins; it ends with RUN."""
    return f"fleet notice {token}:"


def notice(token: str, items: Sequence[Told], now_ms: int, whole: int) -> str:
    """The one text for all items, at most 400 characters, or `whole` if less.

    Names give way before items do, and items that still have no room are counted.
    """
    room = min(LONGEST, whole)
    for detail in (ALL, 3, 1):
        text = _joined(token, [said(told, now_ms, detail) for told in items], 0)
        if len(text) <= room:
            return text
    for detail in (1, 0):
        for shown in range(len(items) - 1 if detail else len(items), 0, -1):
            text = _joined(token, [said(told, now_ms, detail) for told in items[:shown]], len(items) - shown)
            if len(text) <= room:
                return text
    return _joined(token, [], len(items))


def _joined(token: str, parts: list[str], more: int) -> str:
    end = f"and {more} more: {RUN}" if more else RUN
    return f"{head(token)} " + ", ".join((*parts, end))


def said(told: Told, now_ms: int, detail: int = ALL) -> str:
    """What is told of one item, with at most `detail` names of a kind."""
    return _SAID[told.about.kind](told, now_ms, detail)


def _outage(told: Told, now_ms: int, detail: int) -> str:
    about = told.about
    state, verb = _OUTAGES[about.kind]
    names = _names(about.profiles, "profile", detail) + _names(about.workers, "worker", detail)
    credential = f"credential {_credential(about)}"
    if told.over:
        return f"{credential} is free again, its {state} is over{names}"
    seconds = max(1, -(-((about.until_ms or now_ms) - now_ms) // 1000))
    other = word(told.elsewhere) if detail else None
    mend = f", free is {other}: fleet-spawn {other}" if other else ""
    return f"{credential} {verb} for {seconds} s{_again(told)}{names}{mend}"


def _again(told: Told) -> str:
    if told.again is None:
        return " again" if told.about.again else ""
    return f" again, {told.again.times} times since {_clock(told.again.since_ms)}"


def _clock(ms: int) -> str:
    return f"{records.to_ts(ms)[11:16]} UTC"


def _unmapped(told: Told, now_ms: int, detail: int) -> str:
    profile = word(told.about.profiles[0]) if told.about.profiles else None
    what = f"of profile {profile}, not configured" if profile else "without a profile"
    return f"failure {what}{_names(told.about.workers, 'worker', detail)}"


def _ticket(told: Told, now_ms: int, detail: int) -> str:
    outcome = (told.about.outcome or "ended").replace("_", " ")
    named = f"ticket {word(told.about.ticket) or 'unknown'}{_names(told.about.workers, 'worker', detail)}"
    return f"{named} is settled as {outcome}"


def _blocked(told: Told, now_ms: int, detail: int) -> str:
    return f"a question waits for its answer{_names(told.about.workers, 'worker', detail)}"


def _ended(told: Told, now_ms: int, detail: int) -> str:
    about = told.about
    why = _WHY.get(about.why or "", "it is over")
    return f"credential {_credential(about)} is free again after {_span(about.seconds or 0)}, {why}"


def _nearly(told: Told, now_ms: int, detail: int) -> str:
    about = told.about
    until = f", until {_clock(about.resets_ms)}" if about.resets_ms else ""
    used = f"{about.used_percent or 0:.0f} % of its {word(about.window) or 'plan'} window"
    return f"credential {_credential(about)} has used {used}{until}"


def _failed(told: Told, now_ms: int, detail: int) -> str:
    about = told.about
    kind = (about.outcome or "failed").replace("_", " ")
    cause = f" of cause {about.cause.replace('_', ' ')}" if word(about.cause) and about.cause else ""
    who = _names(about.workers, "worker", detail).removeprefix(", ") or "a member"
    return f"{who} failed, {kind}{cause}{_names(about.profiles, 'profile', detail)}"


_OUTAGES = {"incident": ("cool-off", "cools off"), "quarantine": ("quarantine", "is in quarantine")}
_WHY = {"time": "its time is over", "released": "a person has lifted it", "worked": "a turn has worked"}
_SAID: dict[records.NewsKind, Callable[[Told, int, int], str]] = {
    "incident": _outage,
    "quarantine": _outage,
    "unmapped": _unmapped,
    "ticket": _ticket,
    "blocked": _blocked,
    "ended": _ended,
    "nearly": _nearly,
    "failed": _failed,
}


def _credential(about: NoticeItem) -> str:
    return word(about.credential) or "unknown"


def _span(seconds: float) -> str:
    """A duration as people say it, seconds rounded up."""
    whole = -(-int(seconds * 1000) // 1000)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def _names(names: Sequence[str], what: str, most: int) -> str:
    known = [name for name in names if word(name)]
    if not known or not most:
        return ""
    shown, more = known[:most], len(known) - most
    text = f", {what}{'s' if len(known) > 1 else ''} {' '.join(shown)}"
    return f"{text} and {more} more" if more > 0 else text
