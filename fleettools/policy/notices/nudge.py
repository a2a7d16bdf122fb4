"""What a notice says: template words and validated fields on one line, the token and the essentials first."""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from fleettools import records

LONGEST = 400
RUN = "run fleet-list"
SHORTEST = 80  # a notice of one item without names
ROWS = 8  # that many rows of what is typed does every composer show
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
_PANE = re.compile(r"%[0-9]{1,9}")

Kind = Literal["incident", "quarantine", "unmapped", "ticket", "blocked"]


class Facts(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True, rename="camel"):
    """What an item is about. `until_ms`: when it stops being true, None for what stays true until it changes."""

    kind: Kind
    credential: str | None = None
    profiles: list[str] = []
    workers: list[str] = []
    ticket: str | None = None
    outcome: str | None = None
    member: str | None = None  # the pane of the member that asks
    until_ms: int | None = None


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


def notice(token: str, items: Sequence[tuple[Facts, bool]], now_ms: int, whole: int) -> str:
    """The one text for all items, each with whether it is over by now; at most 400 characters, or `whole` if less.

    Names give way before items do, and items that still have no room are counted.
    """
    room = min(LONGEST, whole)
    for detail in (99, 3, 1):
        text = _joined(token, [_said(facts, over, now_ms, detail) for facts, over in items], 0)
        if len(text) <= room:
            return text
    for detail in (1, 0):
        for shown in range(len(items) - 1 if detail else len(items), 0, -1):
            said = [_said(facts, over, now_ms, detail) for facts, over in items[:shown]]
            text = _joined(token, said, len(items) - shown)
            if len(text) <= room:
                return text
    return _joined(token, [], len(items))


def _joined(token: str, said: list[str], more: int) -> str:
    end = f"and {more} more: {RUN}" if more else RUN
    return f"fleet notice {token}: " + ", ".join((*said, end))


def _said(facts: Facts, over: bool, now_ms: int, detail: int) -> str:
    workers = _names(facts.workers, "worker", detail)
    if facts.kind == "ticket":
        outcome = (facts.outcome or "ended").replace("_", " ")
        return f"ticket {word(facts.ticket) or 'unknown'}{workers} is settled as {outcome}"
    if facts.kind == "blocked":
        return f"a question waits for its answer{workers}"
    if facts.kind == "unmapped":
        profile = word(facts.profiles[0]) if facts.profiles else None
        return f"failure {f'of profile {profile}, not configured' if profile else 'without a profile'}{workers}"
    state = "cool-off" if facts.kind == "incident" else "quarantine"
    credential = f"credential {word(facts.credential) or 'unknown'}"
    profiles = _names(facts.profiles, "profile", detail)
    if over:
        return f"{credential} is free again, its {state} is over{profiles}{workers}"
    seconds = max(1, -(-((facts.until_ms or now_ms) - now_ms) // 1000))
    verb = "cools off" if facts.kind == "incident" else "is in quarantine"
    return f"{credential} {verb} for {seconds} s{profiles}{workers}"


def _names(names: Sequence[str], what: str, most: int) -> str:
    known = [name for name in names if word(name)]
    if not known or not most:
        return ""
    shown, more = known[:most], len(known) - most
    text = f", {what}{'s' if len(known) > 1 else ''} {' '.join(shown)}"
    return f"{text} and {more} more" if more > 0 else text


def facts_of(record: records.Incident | records.Quarantine) -> Facts:
    """The facts of an incident or quarantine; raises BadInput when one of its times is none."""
    if isinstance(record, records.Incident):
        until = records.to_ms(record.ts) + round(record.cooling_off_for_seconds * 1000)
    else:
        until = records.to_ms(record.until)
    return Facts(
        kind="incident" if isinstance(record, records.Incident) else "quarantine",
        credential=record.credential_id,
        profiles=[name for name in map(word, record.profiles) if name],
        workers=[name for name in (worker(one.name, one.target) for one in record.targets) if name],
        until_ms=until,
    )
