"""A record as a person at a terminal reads it: a coloured sentence, and below it the line that decided.

Texts of panes are hostile: what does not print is escaped.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from fleettools.adapters.streams import printable

BELOW = "\n"  # what follows stands on a line of its own
RESET = "\x1b[0m"
COLOURS = {"red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36", "dim": "2", "bold": "1"}
OUTCOMES = {
    "completed": "green", "failed": "red", "backend_error": "red", "exhausted": "magenta", "working": "cyan",
    "retrying": "yellow", "blocked": "yellow", "idle": "dim", "stale": "dim",
}  # fmt: skip
Record = dict[str, Any]
Said = Iterator[tuple[str, str]]  # a part of a sentence, and its colour


def sentence(line: bytes) -> bytes:
    """What a person is shown in place of a line of output; lines that are no records stay as they are."""
    if not line.startswith(b'{"type":"'):
        return line
    try:
        record = msgspec.json.decode(line)
        made = _SENTENCES.get(record["type"], _other)(record)
        return (
            "".join(_coloured(printable(text) if text != "\n" else text, colour) for text, colour in made)
        ).encode() + b"\n"
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
        return escaped(line)


def escaped(line: bytes) -> bytes:
    """The same JSON, with what does not print on a terminal as JSON escapes it."""
    text = line.decode(errors="replace").rstrip("\n")
    if text.isprintable():
        return line
    return "".join(c if c.isprintable() else _escape(c) for c in text).encode() + b"\n"


def _escape(letter: str) -> str:
    number = ord(letter)
    if number < 0x10000:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"


def _coloured(text: str, colour: str) -> str:
    text = text if text == BELOW else printable(text)
    if not colour or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{COLOURS[colour]}m{text}{RESET}"


def _who(record: Record) -> Said:
    name = record.get("name") or record.get("target")
    if name:
        yield name, "bold"
        pane = record.get("target")
        inner = ", ".join(each for each in (pane if pane != name else None, record.get("profile")) if each)
        yield f" ({inner})  " if inner else "  ", "dim"


def _verdict(record: Record) -> Said:
    yield from _who(record)
    outcome = str(record["outcome"])
    cause = record.get("cause")
    yield outcome.replace("_", " "), OUTCOMES.get(outcome, "")
    yield f" ({cause})" if cause else "", ""
    yield f": {record['reason']}" if record.get("reason") else "", ""
    if record.get("resetsAt"):
        yield f"; resets at {record['resetsAt']}", "yellow"
    if record.get("proved") is False:
        yield "; not proved yet", "dim"
    if record.get("resolved") is False:
        yield "; it does not count", "dim"
    if record.get("line"):
        yield BELOW, ""
        yield f"    {record['line']}", "dim"


def _incident(record: Record) -> Said:
    yield str(record["credentialId"]), "bold"
    yield f" cools off for {record['coolingOffForSeconds']:g} s", "red"
    yield from _concerned(record)


def _quarantine(record: Record) -> Said:
    yield str(record["credentialId"]), "bold"
    yield f" is in quarantine until {record['until']}", "magenta"
    yield from _concerned(record)


def _concerned(record: Record) -> Said:
    names = [each.get("name") or each.get("target") for each in record.get("targets", ())]
    yield f": {', '.join(names)} failed" if names else "", ""
    yield ", again" if record.get("again") else "", ""


def _ended(record: Record) -> Said:
    yield str(record["credentialId"]), "bold"
    yield f" is free again after {record['seconds']:g} s", "green"
    yield f" ({record['why']})", "dim"


def _nearly(record: Record) -> Said:
    yield str(record["credentialId"]), "bold"
    yield f" has used {record['usedPercent']:g} % of its {record['window']} limit", "yellow"


def _unmapped(record: Record) -> Said:
    yield record.get("target") or "a member", "bold"
    yield f" failed, and counts for no credential: {record['reason']}", "yellow"


def _delivery(record: Record) -> Said:
    good = record["outcome"] == "submitted"
    yield f"{record['target']} {'was told' if good else 'was not told'}", "cyan" if good else "red"
    yield f" of {record['id']}: {record['reason']}", ""


def _decision(record: Record) -> Said:
    profile = record.get("profile") or "no profile"
    yield profile, "bold"
    yield (" may spawn", "green") if record["allowed"] else (" may not spawn", "red")
    yield f": {record['reason'].removeprefix(f'{profile}: ')}", ""


def _ticket(record: Record) -> Said:
    yield f"ticket {record['id']} ", "bold"
    yield f"{record['state']} {record.get('outcome') or ''}".strip(), "cyan"
    yield (
        f": {record['reply'] if record.get('reply') else record['reason']}" if _any(record, "reply", "reason") else "",
        "",
    )


def _any(record: Record, *names: str) -> bool:
    return any(record.get(name) for name in names)


def _member(record: Record) -> Said:
    yield from _who(record)
    yield str(record.get("state") or "unknown"), "cyan"
    yield f": {record['reason']}" if record.get("reason") else "", ""


def _credential(record: Record) -> Said:
    yield str(record["credentialId"]), "bold"
    yield f": {record['reason']}", ""


def _tmux(record: Record) -> Said:
    yield f"tmux server {record['server']} is {record['state']}", "green" if record["state"] == "up" else "red"
    yield f": {record['reason']}" if record.get("reason") else "", ""


def _pane(record: Record) -> Said:
    yield from _who(record)
    yield "is gone" if record.get("gone") else f"{record.get('cols', '?')}x{record.get('rows', '?')}", "cyan"
    yield f" {record['title']}" if record.get("title") else "", "dim"


def _resume(record: Record) -> Said:
    yield f"{record['target']} {'is tried again' if record.get('probe') else 'goes on'}", "cyan"
    yield f" on {record['credentialId']}, {record['outcome']}: {record['reason']}", ""


def _other(record: Record) -> Said:
    """Any other record: its fields, one after the other."""
    yield str(record["type"]), "bold"
    yield (
        "".join(f" {key}={value}" for key, value in record.items() if key not in ("type", "v", "ts", "boot", "up")),
        "",
    )


_SENTENCES: dict[str, Callable[[Record], Said]] = {
    "verdict": _verdict, "incident": _incident, "quarantine": _quarantine, "ended": _ended, "nearly": _nearly,
    "unmapped": _unmapped, "delivery": _delivery, "decision": _decision, "ticket": _ticket, "member": _member,
    "credential": _credential, "tmux": _tmux, "pane": _pane, "resume": _resume,
}  # fmt: skip
