"""Wordings of failures that no list knows: each new one is said once a store, so that it gets a name."""

import hashlib
import re

import msgspec

WORDINGS = "wording/"
MOST = 200  # wordings kept of one agent: a screen could show ever new ones
_NUMBERS = re.compile(r"[0-9][0-9a-f]{5,}|[0-9]+|\b[0-9a-f]{8,}\b|req_\w+", re.IGNORECASE)


class Wording(msgspec.Struct, kw_only=True):
    """What is stored under `wording/<agent>/<hash>`: the cleaned line, and when it was first seen."""

    line: str
    first_ms: int


def wording_key(agent: str | None, line: str) -> str:
    """Where the store keeps a wording; white space, case, numbers and ids do not make another one."""
    words = " ".join(_NUMBERS.sub("#", line).casefold().split())
    return f"{WORDINGS}{agent or 'unknown'}/{hashlib.sha256(words.encode(errors='replace')).hexdigest()[:16]}"
