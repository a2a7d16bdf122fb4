"""What the journal holds: news, and once for each event and outcome the end of a turn; by UTC days."""

import hashlib
import re
from collections.abc import Iterable

from fleettools import records

_NAME = re.compile(r"(?a)\d{4}-\d\d-\d\d\.jsonl")
_DAY_MS = 86_400_000


def file_of(ts: str) -> str:
    """The name of the file that a record made at `ts` stands in; raises BadInput when that is no time."""
    return _named(records.to_ms(ts))


def _named(ms: int) -> str:
    return f"{records.to_ts(ms)[:10]}.jsonl"


def end_of(verdict: records.Heading) -> str | None:
    """What tells the end of a member's turn from others; None when the verdict is no such end."""
    if verdict.outcome not in records.ENDINGS or verdict.resolved is False or verdict.role == "lead":
        return None
    turn = verdict.event or f"{verdict.server} {verdict.target} {verdict.ts}"
    return hashlib.sha256(f"{turn} {verdict.outcome}".encode()).hexdigest()[:12]


def outdated(names: Iterable[str], now_ms: int, days: int) -> list[str]:
    """The journal's files that are more than `days` days old; other files are none of ours."""
    oldest = _named(now_ms - days * _DAY_MS)
    return [name for name in names if _NAME.fullmatch(name) and name < oldest]
