"""JSON with comments and trailing commas as text: where its values stand, for changes that leave all else as it is."""

import re
from typing import NamedTuple

from fleettools.errors import BadInput

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR = re.compile(r"[^\s,\]}/]+")
_DEEPEST = 200


class Member(NamedTuple):
    """One of the values of an object or list in a text: it stands from `start` (of its name) to `end`."""

    start: int
    value: int
    end: int
    name: str = ""


def root(text: str) -> int:
    """Where the one object of a text begins; raises BadInput when it holds anything else."""
    at = skip(text, 1 if text.startswith("\ufeff") else 0)
    if text[at : at + 1] != "{":
        raise BadInput("it holds no JSON object", "mend it, or move it away")
    end = _value_end(text, at)
    if skip(text, end) != len(text):
        raise BadInput("something follows its JSON object", "mend it")
    return at


def members(text: str, opening: int) -> dict[str, Member]:
    """The members of the object that begins at `opening`, by name; raises BadInput when it is none."""
    if text[opening : opening + 1] != "{":
        raise _bad(text, opening)
    return {one.name: one for one in items(text, opening)}


def items(text: str, opening: int) -> list[Member]:
    """What the object or list that begins at `opening` holds; raises BadInput when it is neither."""
    closing = {"{": "}", "[": "]"}.get(text[opening : opening + 1])
    if closing is None:
        raise _bad(text, opening)
    found: list[Member] = []
    at = skip(text, opening + 1)
    while text[at : at + 1] != closing:
        start, name = at, None
        if closing == "}":
            name = _STRING.match(text, at)
            if name is None:
                raise _bad(text, at)
            at = skip(text, name.end())
            if text[at : at + 1] != ":":
                raise _bad(text, at)
            at = skip(text, at + 1)
        end = _value_end(text, at)
        found.append(Member(start, at, end, name[0][1:-1] if name else ""))
        at = skip(text, end)
        if text[at : at + 1] == ",":
            at = skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _bad(text, at)
    return found


def without(text: str, beside: list[Member], gone: Member) -> str:
    """The text without one of the values of an object or list, all of which are `beside`, and without its comma."""
    place = beside.index(gone)
    if place + 1 < len(beside):
        return text[: gone.start] + text[beside[place + 1].start :]
    if place:
        return text[: beside[place - 1].end] + text[gone.end :]
    after = skip(text, gone.end)
    return text[: gone.start] + text[after + 1 if text[after : after + 1] == "," else gone.end :]


def skip(text: str, at: int) -> int:
    """The first place that is neither space nor comment."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value_end(text: str, at: int, depth: int = 0) -> int:
    """Where the value that begins at `at` ends; raises BadInput for a text that is no JSON."""
    opening = text[at : at + 1]
    if opening and opening in "{[":
        if depth > _DEEPEST:
            raise BadInput("nested too deeply", "mend it")
        closing = "}" if opening == "{" else "]"
        at = skip(text, at + 1)
        while text[at : at + 1] != closing:
            at = skip(text, _value_end(text, at, depth + 1))
            if text[at : at + 1] in (",", ":") and at < len(text):
                at = skip(text, at + 1)
            elif text[at : at + 1] != closing:
                raise _bad(text, at)
        return at + 1
    match = _STRING.match(text, at) or _SCALAR.match(text, at)
    if match is None:
        raise _bad(text, at)
    return match.end()


def _bad(text: str, at: int) -> BadInput:
    return BadInput(f"not JSON at line {text.count(chr(10), 0, at) + 1}", "mend it there")
