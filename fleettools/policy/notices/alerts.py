"""How an alert is handed on: as environment and JSON to a command, and in the shape that a web service expects."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from fleettools import records

Shape = Literal["json", "slack", "ntfy"]
_GOOD = frozenset({"ended"})
_PRESSING = frozenset({"incident", "quarantine", "unmapped"})


class Post(NamedTuple):
    """A body and its headers."""

    body: bytes
    headers: dict[str, str]


def environment(alert: records.Alert) -> dict[str, str]:
    """What a command finds in its environment, beside the record on its standard input."""
    about = alert.record or {}
    return {
        "FLEET_TEXT": alert.text,
        "FLEET_KIND": alert.kind,
        "FLEET_ID": alert.id,
        "FLEET_ALERT": alert.name,
        "FLEET_HOST": alert.host,
        "FLEET_CREDENTIAL": str(about.get("credentialId") or ""),
        "FLEET_AGAIN": str(alert.again or ""),
    }


def post(alert: records.Alert, shape: Shape) -> Post:
    """The alert in that shape; every one carries its id, for those who want to know what they have seen."""
    made = _SHAPES[shape](alert)
    return Post(made.body, made.headers | {"User-Agent": "fleettools", "Idempotency-Key": _plain(alert.id)})


def _json(alert: records.Alert) -> Post:
    return Post(records.encode(alert), {"Content-Type": "application/json"})


def _slack(alert: records.Alert) -> Post:
    text = alert.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Post(msgspec.json.encode({"text": text}), {"Content-Type": "application/json"})


def _ntfy(alert: records.Alert) -> Post:
    tag = "white_check_mark" if alert.kind in _GOOD or alert.over else "warning"
    priority = "high" if alert.kind in _PRESSING and not alert.over else "default"
    headers = {"Title": f"fleet {alert.kind} on {_plain(alert.host)}", "Tags": tag, "Priority": priority}
    return Post(alert.text.encode(), headers | {"Content-Type": "text/plain; charset=utf-8"})


_SHAPES: dict[Shape, Callable[[records.Alert], Post]] = {"json": _json, "slack": _slack, "ntfy": _ntfy}


def _plain(text: str) -> str:
    """A text that may stand in a header."""
    return "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in text)[:200]
