"""The strict door to YAML files: what YAML 1.1 and 1.2 read differently is refused, with its place and the mend.

Refused are duplicate keys, anchors, aliases, merge keys, tags, several documents, and unquoted words such as `on`,
`012` and `22:22`. All that is wrong in a file is said at once.
"""

import re
from collections.abc import Collection, Iterator
from typing import Any

from fleettools.adapters.libyaml import yaml
from fleettools.errors import BadConfig, Fault

MAX_SIZE = 1 << 20
MAX_DEPTH = 16
REFUSED = object()  # stands for a value that has been said to be wrong, so that nothing more is said about it


def refuse(path: str, faults: list[Fault]) -> None:
    """Raise BadConfig with every fault; does nothing when there is none."""
    errors = [BadConfig(what, mend, f"{path}: {place}" if place else path) for place, what, mend in faults]
    if errors:
        errors[0].also = tuple(errors[1:])
        raise errors[0]


def read(path: str, faults: list[Fault], words: Collection[str] = ()) -> Any:
    """The mappings, lists, texts, numbers and booleans in a file; adds to `faults`, raises BadConfig if unreadable.

    `words`: the places at which a word such as `off` can mean nothing but itself.
    """
    text = _text(path)
    try:
        return _Reader(yaml.parse(text, Loader=yaml.CLoader), faults, words).document()
    except yaml.MarkedYAMLError as error:
        what, mark = error.problem or error.context or "not YAML", error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadConfig(what, "mend the YAML there", f"{path}{line}") from None
    except yaml.reader.ReaderError as error:
        number = text.count("\n", 0, error.position) + 1
        raise BadConfig(f"{error.reason} (#x{error.character:02x})", "remove it", f"{path}, line {number}") from None


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_SIZE + 1)
        if len(data) > MAX_SIZE:
            raise BadConfig(f"larger than {MAX_SIZE >> 20} MiB", "name a configuration file", path)
        return data.decode("utf-8-sig")
    except OSError as error:
        raise BadConfig(error.strerror or str(error), "name a file that can be read", path) from None
    except UnicodeDecodeError as error:
        raise BadConfig(f"not UTF-8 (byte {error.start})", "save it as UTF-8", path) from None


class _Reader:
    """Builds the values of one document from the events of the C parser."""

    def __init__(self, events: Iterator[Any], faults: list[Fault], words: Collection[str]) -> None:
        self._events = events
        self._words = words
        self._faults = faults

    def document(self) -> Any:
        """The one document of the file, as plain values."""
        next(self._events)  # the start of the stream
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        value = self._value(next(self._events), "", 0)
        next(self._events)  # the end of the document
        if not isinstance(next(self._events), yaml.StreamEndEvent):
            self._fault("", "several documents in one file", "keep one; remove the --- between them")
        return value

    def _fault(self, place: str, what: str, mend: str) -> Any:
        self._faults.append(Fault(place, what, mend))
        return REFUSED

    def _value(self, event: Any, place: str, depth: int) -> Any:
        """A value at a place; aliases, anchors and tags are faults."""
        if isinstance(event, yaml.AliasEvent):
            return self._fault(place, f"an alias (*{event.anchor})", "write the value out")
        if event.anchor:
            self._fault(place, f"an anchor (&{event.anchor})", "write the value out at each place")
        if event.tag:
            self._fault(place, f"a tag ({event.tag})", "leave it out")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, place)
        if depth == MAX_DEPTH:
            raise BadConfig(f"{place}: nested more than {MAX_DEPTH} deep", "see fleetd.yaml(5)")
        return (self._mapping if isinstance(event, yaml.MappingStartEvent) else self._list)(place, depth + 1)

    def _list(self, place: str, depth: int) -> list[Any]:
        values: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            values.append(self._value(event, f"{place}[{len(values)}]", depth))
        return values

    def _mapping(self, place: str, depth: int) -> dict[str, Any]:
        """A mapping; a key that is named twice is a fault."""
        values: dict[str, Any] = {}
        lines: dict[str, int] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._key(event, place, depth)
            name = key if isinstance(key, str) else "?"
            inner = f"{place}.{name}" if place else name
            value = self._value(next(self._events), inner, depth)
            if not isinstance(key, str):
                continue
            line = event.start_mark.line + 1
            if key in values:
                self._fault(inner, f"named twice, in lines {lines[key]} and {line}", "keep one of them")
            values[key], lines[key] = value, line
        return values

    def _key(self, event: Any, place: str, depth: int) -> Any:
        if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
            return self._fault(place, "a merge key (<<)", "write the keys out")
        if isinstance(event, yaml.ScalarEvent) and _SURPRISES[0][0].fullmatch(event.value) and not event.anchor:
            return event.value  # `on:`; a key is text in any case
        key = self._value(event, place, depth)
        if key is not REFUSED and not isinstance(key, str):
            shown = event.value if isinstance(event, yaml.ScalarEvent) else "a mapping or list"
            return self._fault(place, f"the key {shown} is no text", f"quote it: {shown!r}")
        return key

    def _scalar(self, event: Any, place: str) -> Any:
        """A text, number, yes or no; what YAML 1.1 would read as something else is a fault."""
        text: str = event.value
        if not event.implicit[0] or (place in self._words and text.isalpha()):
            return text
        for pattern, what in _SURPRISES:
            if pattern.fullmatch(text):
                return self._fault(
                    place,
                    f"{text} {what}",
                    f"quote it, '{text}', or write {_INSTEAD.get(text.lower(), 'a plain number')}",
                )
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text):
            return int(text) if len(text) < 20 else self._fault(place, "a number this long", "shorten it, or quote it")
        return float(text) if _FLOAT.fullmatch(text) else text


_WORDS: dict[str, bool | None] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]{1,2})?")
_INSTEAD = dict.fromkeys(("yes", "on", "y"), "true") | dict.fromkeys(("no", "off", "n"), "false")
_SURPRISES = [
    (re.compile(r"(?i:yes|no|on|off|y|n)"), "is true or false in YAML 1.1 and text in YAML 1.2"),
    (
        re.compile(r"[-+]?0[0-9_]+|[-+]?0[xob][0-9a-fA-F_]+"),
        "is octal, hexadecimal or decimal, depending on the reader",
    ),
    (re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"), "is a number to the base of 60 in YAML 1.1"),
    (re.compile(r"[-+]?[0-9][0-9.]*_[0-9_.]*"), "is a number in YAML 1.1 and text in YAML 1.2"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?"), "is a date in YAML 1.1 and text in YAML 1.2"),
    (re.compile(r"(?i:[-+]?\.inf|\.nan)|="), "is no text and no number to count with"),
]
