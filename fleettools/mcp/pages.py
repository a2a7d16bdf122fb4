"""Long lists in pages: a cursor names the last item that was given, so that nothing is left out when others go."""

import base64
import binascii
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from fleettools.errors import BadInput

T = TypeVar("T")
Key = tuple[str | int, ...]


def page(items: Iterable[T], key: Callable[[T], Key], cursor: str | None, limit: int) -> tuple[list[T], str | None]:
    """The items after the cursor in the order of their keys, and the cursor for what follows, None at the end."""
    after = _key(cursor) if cursor else None
    try:
        rows = sorted((one for one in items if after is None or key(one) > after), key=key)
    except TypeError:  # a cursor of another tool
        raise _bad(str(cursor)) from None
    shown = rows[:limit]
    return shown, _cursor(key(shown[-1])) if len(rows) > limit else None


def _cursor(key: Key) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def _key(cursor: str) -> Key:
    try:
        data = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        return msgspec.json.decode(data, type=Key)
    except (binascii.Error, ValueError):
        raise _bad(cursor) from None


def _bad(cursor: str) -> BadInput:
    return BadInput(f"{cursor[:80]!r} is no cursor of this list", "give a nextCursor as it was given, or none")
