"""The agents' data files: bundled ones, and a person's own that replace or extend them.

A file of one's own, `<folder>/<agent>.yaml`, replaces the bundled one; with `extends: <agent>` it adds to it: lists
and mappings grow (its own entries first), everything else is replaced.
"""

import os
import re
from functools import cache
from typing import Any

import msgspec

from fleettools.config import Drawn
from fleettools.errors import BadConfig
from fleettools.screens.look import Look, Wordings, check
from fleettools.screens.look import drawn as look_of

BUNDLED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "agents")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_loaded: dict[tuple[str, str | None], Look | None] = {}


def names(folder: str | None = None) -> list[str]:
    """The names of the agents that have a file, in the bundled folder or one's own."""
    found: set[str] = set()
    for place in filter(None, (BUNDLED, folder and os.path.expanduser(folder))):
        try:
            found |= {name[:-5] for name in os.listdir(place) if name.endswith(".yaml") and not name.startswith("_")}
        except FileNotFoundError:
            continue  # a folder that is still to be made holds nothing
        except OSError as error:
            raise BadConfig(f"agents: {error.strerror}", "name a folder with agent files", place) from None
    return sorted(found)


def faults(folder: str | None) -> list[BadConfig]:
    """What is wrong with the files of one's own, an error a file."""
    found: list[BadConfig] = []
    if folder and os.path.isdir(folder):
        for file in sorted(os.listdir(folder)):
            try:
                load(file.removesuffix(".yaml") if file.endswith(".yaml") else "", folder)
            except BadConfig as error:
                found.append(error)
    return found


def load(agent: str, folder: str | None = None) -> Look | None:
    """The look of an agent, None when no file describes it; raises BadConfig naming a file that is wrong."""
    key = (agent, folder)
    if key not in _loaded:
        _loaded[key] = _load(agent, folder) if _NAME.fullmatch(agent) else None
    return _loaded[key]


def drawn(name: str, shown: Drawn) -> Look:
    """The look that the profile of that name describes."""
    look = look_of(name, shown.prompt, shown.busy, shown.error, shown.composer)
    look.backends = _backends()
    return look


def _load(agent: str, folder: str | None) -> Look | None:
    own = os.path.join(os.path.expanduser(folder), f"{agent}.yaml") if folder else ""
    bundled = os.path.join(BUNDLED, f"{agent}.yaml")
    if own and os.path.exists(own):
        data = _read(own)
        base = data.pop("extends", None)
        if base is not None:
            path = os.path.join(BUNDLED, f"{base}.yaml")
            if not _NAME.fullmatch(str(base)) or not os.path.exists(path):
                raise BadConfig(f"extends: {base} is no bundled agent", f"one of {', '.join(names())}", own)
            data = _extended(_read(path), data)
        return _look(own, data | {"name": agent}, checked=True)
    return _look(bundled, _read(bundled) | {"name": agent}, checked=False) if os.path.exists(bundled) else None


def _look(path: str, data: dict[str, Any], checked: bool) -> Look:
    try:
        look = msgspec.convert(data, Look)
        look.backends = _backends()
        if checked:
            check(look)
    except (msgspec.ValidationError, ValueError) as error:
        raise BadConfig(str(error), "see AGENT FILES in fleettools(7)", path) from None
    return look


@cache
def _backends() -> Wordings:
    return msgspec.convert(_read(os.path.join(BUNDLED, "_backends.yaml")), Wordings)


def _read(path: str) -> dict[str, Any]:
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            data = yaml.load(file, yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadConfig(" ".join(str(error).split()), "mend the file", path) from None
    if not isinstance(data, dict):
        raise BadConfig("holds no mapping", "see AGENT FILES in fleettools(7)", path)
    return data


def _extended(base: Any, own: Any) -> Any:
    if isinstance(base, dict) and isinstance(own, dict):
        return base | {key: _extended(base[key], value) if key in base else value for key, value in own.items()}
    return own + base if isinstance(base, list) and isinstance(own, list) else own
