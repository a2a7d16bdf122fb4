"""Our entries in an agent's own settings: put in as text and taken out again, everything else byte for byte.

A settings file is JSON, often with comments and trailing commas, so it is never parsed and written anew: the places
where an entry goes are looked up, and what goes in is text of one fixed form, which is how it is found again.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from fleettools.errors import BadInput

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR = re.compile(r"[^\s,\]}/]+")
_DEEPEST = 200
_NEW = "{\n\n}\n"  # what a file of ours is made from: nobody else leaves an empty object so


class Member(NamedTuple):
    """A value in a text: where it begins and ends."""

    start: int
    end: int


def hooked(text: str, events: Iterable[str], command: str) -> str:
    """The settings with one entry for each event that runs the command; those that it has already are not added.

    Raises BadInput when the text is no settings object, or has something else where hooks go.
    """
    for event in events:
        if not _has(text, event, command):
            text = _with(text or _NEW, event, command)
    return text


def unhooked(text: str, events: Iterable[str], command: str) -> str:
    """The settings without our entries, and without the lists and the object that were made for them."""
    for event in reversed(list(events)):
        text = _without(text, event, command)
    return "" if text == _NEW else text


def _without(text: str, event: str, command: str) -> str:
    entry = _entry(command)
    for made in (_hooks_member(event, entry), _list_member(event, entry)):
        for written in (made + ",", made):
            if written in text:
                return text.replace(written, "", 1)
    found = _place(text, event) if text else None
    if found is None:
        return text
    inner, item = text[found.start : found.end], _item(entry)
    inner = inner.replace(item + ",", "", 1) if item + "," in inner else inner.replace(item, "", 1)
    return text[: found.start] + inner + text[found.end :]


def events_of(text: str, events: Iterable[str], command: str) -> list[str]:
    """The events for which the settings hold our entry."""
    return [event for event in events if _has(text, event, command)]


def _entry(command: str) -> str:
    quoted = command.replace("\\", "\\\\").replace('"', '\\"')
    return f'{{"hooks": [{{"type": "command", "command": "{quoted}"}}]}}'


def _item(entry: str) -> str:
    return f"\n      {entry}"


def _list_member(event: str, entry: str) -> str:
    return f'\n    "{event}": [{_item(entry)}\n    ]'


def _hooks_member(event: str, entry: str) -> str:
    return f'\n  "hooks": {{{_list_member(event, entry)}\n  }}'


def _has(text: str, event: str, command: str) -> bool:
    found = _place(text, event) if text else None
    return found is not None and _entry(command) in text[found.start : found.end]


def _place(text: str, event: str) -> Member | None:
    """Where the list of an event's hooks stands."""
    hooks = members(text, _root(text)).get("hooks")
    return members(text, hooks.start).get(event) if hooks and text[hooks.start] == "{" else None


def _with(text: str, event: str, command: str) -> str:
    entry, root = _entry(command), _root(text)
    top = members(text, root)
    hooks = top.get("hooks")
    if hooks is None:
        return _put(text, root, _hooks_member(event, entry), bool(top))
    if text[hooks.start] != "{":
        raise BadInput("its `hooks` is no object", "make it one, or add the entries by hand")
    known = members(text, hooks.start)
    listed = known.get(event)
    if listed is None:
        return _put(text, hooks.start, _list_member(event, entry), bool(known))
    if text[listed.start] != "[":
        raise BadInput(f"its hooks for {event} are no list", "make it one, or add the entry by hand")
    after = _SPACE.match(text, listed.start + 1)
    return _put(text, listed.start, _item(entry), bool(after) and text[after.end()] != "]")  # type: ignore[union-attr]


def _put(text: str, opening: int, made: str, more: bool) -> str:
    """What was made stands first behind an opening bracket; a comma follows when there is more."""
    return text[: opening + 1] + made + ("," if more else "") + text[opening + 1 :]


def _root(text: str) -> int:
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if text[at : at + 1] != "{":
        raise BadInput("it holds no JSON object", "mend it, or move it away")
    end = _value_end(text, at)
    if _skip(text, end) != len(text):
        raise BadInput("something follows its JSON object", "mend it")
    return at


def members(text: str, opening: int) -> dict[str, Member]:
    """The members of the object that begins at `opening`, by name; raises BadInput when it is none."""
    found: dict[str, Member] = {}
    at = _skip(text, opening + 1)
    while text[at : at + 1] != "}":
        name = _STRING.match(text, at)
        if name is None:
            raise _bad(text, at)
        at = _skip(text, name.end())
        if text[at : at + 1] != ":":
            raise _bad(text, at)
        start = _skip(text, at + 1)
        end = _value_end(text, start)
        found[name[0][1:-1]] = Member(start, end)
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "}":
            raise _bad(text, at)
    return found


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value_end(text: str, at: int, depth: int = 0) -> int:
    opening = text[at : at + 1]
    if opening and opening in "{[":
        if depth > _DEEPEST:
            raise BadInput("nested too deeply", "mend it")
        closing = "}" if opening == "{" else "]"
        at = _skip(text, at + 1)
        while text[at : at + 1] != closing:
            at = _skip(text, _value_end(text, at, depth + 1))
            if text[at : at + 1] in (",", ":") and at < len(text):
                at = _skip(text, at + 1)
            elif text[at : at + 1] != closing:
                raise _bad(text, at)
        return at + 1
    match = _STRING.match(text, at) or _SCALAR.match(text, at)
    if match is None:
        raise _bad(text, at)
    return match.end()


def _bad(text: str, at: int) -> BadInput:
    return BadInput(f"not JSON at line {text.count(chr(10), 0, at) + 1}", "mend it there")
