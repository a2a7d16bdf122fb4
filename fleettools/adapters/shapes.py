"""Plain values into msgspec structs, with every misfit named by its place instead of only the first."""

import re
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from fleettools.adapters.yamlfile import REFUSED
from fleettools.errors import Fault

T = TypeVar("T")

_KINDS = {"int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "array": "a list"}
_KINDS |= {"object": "a mapping", "null": "nothing"}


def fitted(value: Any, shape: type[T], faults: list[Fault], place: str = "") -> T:
    """The struct that a mapping describes, without what does not fit: that is added to `faults`.

    A key without a value is the same as no key.
    """
    made: T | None = _fit(value, shape, place, faults)
    return shape() if made is None else made


def _fit(value: Any, shape: Any, place: str, faults: list[Fault]) -> Any:
    """The value as `shape` wants it, None for what does not fit, which `faults` then tell."""
    if value is REFUSED:
        return None
    kind, parts = get_origin(shape), get_args(shape)
    if kind in (Union, types.UnionType) and isinstance(value, dict):
        shape = next((part for part in parts if _is_struct(part)), shape)
    if _is_struct(shape) and isinstance(value, dict | None):
        return _section(value or {}, shape, place, faults)
    if kind is dict and isinstance(value, dict):
        for key in value:
            _leaf(key, parts[0], f"{place}.{key}", faults)
        pairs = {key: _fit(item, parts[1], f"{place}.{key}", faults) for key, item in value.items()}
        return {key: item for key, item in pairs.items() if item is not None}
    if kind is list and isinstance(value, list):
        items = [_fit(item, parts[0], f"{place}[{i}]", faults) for i, item in enumerate(value)]
        return [item for item in items if item is not None]
    return _leaf(value, shape, place, faults)


def _is_struct(shape: Any) -> bool:
    return isinstance(shape, type) and issubclass(shape, msgspec.Struct)


def _section(value: dict[str, Any], shape: type[msgspec.Struct], place: str, faults: list[Fault]) -> Any:
    """A mapping as a struct: unknown keys, and required ones that are missing, are faults."""
    known = {field.encode_name: field for field in msgspec.structs.fields(shape)}
    made = {}
    for key, item in value.items():
        inner = f"{place}.{key}" if place else key
        if key not in known:
            faults.append(Fault(inner, "unknown key", nearest(key, list(known))))
        elif item is not None:
            fit = _fit(item, known[key].type, inner, faults)
            if fit is not None:
                made[known[key].name] = fit
    missing = [key for key, field in known.items() if field.required and field.name not in made]
    for key in missing:
        if value.get(key) is None:
            faults.append(Fault(f"{place}.{key}" if place else key, "missing", "give it a value"))
    return None if missing else shape(**made)


def _leaf(value: Any, shape: Any, place: str, faults: list[Fault]) -> Any:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        what, mend = _said(str(error), value, shape)
        faults.append(Fault(place, what, mend))
        return None


def _said(error: str, value: Any, shape: Any) -> tuple[str, str]:
    """A validation error in words, and its mend."""
    metas = [meta for part in (shape, *get_args(shape)) for meta in getattr(part, "__metadata__", ())]
    private = any((meta.extra or {}).get("private") for meta in metas)
    shown = _shown(value) if not private or isinstance(value, dict | list) else _kind(value)
    if "matching regex" in error:
        return f"{shown} does not fit", next((meta.description for meta in metas if meta.description), "")
    choices = [choice for part in (shape, *get_args(shape)) if get_origin(part) is Literal for choice in get_args(part)]
    if choices and isinstance(value, str):
        return f"{shown} is not known here", nearest(value, choices)
    wanted = error.removeprefix("Expected ").partition(", got")[0].partition(" - at")[0].removesuffix(".0")
    wanted = re.sub(r"`([^`]*)`", lambda found: _worded(found[1]), wanted)
    quotable = "`str" in error and not isinstance(value, dict | list | str)
    quote = "quote it" if private else f"quote it: '{shown}'"
    return f"expected {wanted}, got {shown}", quote if quotable else "see fleetd.yaml(5)"


def _kind(value: Any) -> str:
    """What may be said of a value that may be a password."""
    return _KINDS.get(type(value).__name__, "this value") if not isinstance(value, str) else "this value"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    shown = repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    return shown if len(shown) <= 40 else f"{shown[:36]}..."


def _worded(kinds: str) -> str:
    return " or ".join(_KINDS.get(kind, kind) for kind in kinds.split(" | ") if kind != "null")


def nearest(word: str, known: list[str]) -> str:
    """Which of the known words was probably meant, as a mend."""
    import difflib

    plain = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower().replace("_", "").replace("-", ""), plain, 1, 0.5)
    close = close or difflib.get_close_matches(word.lower(), plain, 1, 0.5)
    return f"did you mean {plain[close[0]]}?" if close else f"there are {', '.join(known)}"


class Key(NamedTuple):
    """A key that a file may hold: its place (`profiles.NAME.agent`), what it takes, and its default as YAML."""

    place: str
    takes: str
    default: str


def keys(shape: type[msgspec.Struct], place: str = "") -> Iterator[Key]:
    """Every key of a struct and of the structs below it."""
    for field in msgspec.structs.fields(shape):
        inner = f"{place}{field.encode_name}"
        kind, parts = get_origin(field.type), get_args(field.type)
        inside = [part for part in parts or (field.type,) if part is not type(None)]
        if len(inside) == 1 and kind in (None, Union, types.UnionType) and _has_defaults(inside[0]):
            yield from keys(inside[0], f"{inner}.")
        elif kind is dict and _is_struct(parts[1]):
            yield from keys(parts[1], f"{inner}.NAME.")
        elif kind is list and _is_struct(parts[0]):
            yield from keys(parts[0], f"{inner}[].")
        else:
            default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
            yield Key(inner, described(field.type), "" if default is None else msgspec.json.encode(default).decode())


def _has_defaults(shape: Any) -> bool:
    """Whether a section may be written in part, so that each of its keys is one of its own."""
    return _is_struct(shape) and not any(field.required for field in msgspec.structs.fields(shape))


def described(shape: Any) -> str:
    """A type in the words of the manual."""
    kind, parts = get_origin(shape), get_args(shape)
    if kind is Annotated:
        limits = [f"at least {m.ge:g}" for m in shape.__metadata__ if m.ge is not None]
        limits += [f"more than {m.gt:g}" for m in shape.__metadata__ if m.gt is not None]
        return " ".join([described(parts[0]), *limits])
    if kind is Literal:
        return " | ".join(parts)
    if kind in (Union, types.UnionType):
        return " | ".join(described(part) for part in parts if part is not type(None))
    if kind is list:
        return f"[{described(parts[0])}, ...]"
    if kind is dict:
        return f"{{name: {described(parts[1])}, ...}}"
    if _is_struct(shape):
        fields = msgspec.structs.fields(shape)
        return "{" + ", ".join(f"{field.encode_name}: {described(field.type)}" for field in fields) + "}"
    return _KINDS[shape.__name__].removeprefix("a ")
