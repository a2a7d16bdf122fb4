"""The agents' data files: bundled ones, and a person's own that replace or extend them.

A file of one's own, `<folder>/<agent>.yaml`, replaces the bundled one; with `extends: <agent>` it adds to it: lists
and mappings grow (its own entries first), everything else is replaced.
"""

import os
import re
from functools import cache
from typing import Any

import msgspec

from fleettools.config import Config, Drawn
from fleettools.errors import BadConfig, Fault, FleetError
from fleettools.screens.agentdata import Wordings
from fleettools.screens.agentfile import budgeted
from fleettools.screens.agentfile import drawn as look_of
from fleettools.screens.agentfile import faults as look_faults
from fleettools.screens.look import Look

BUNDLED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "agents")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MANUAL = "AGENT FILES in fleettools(7)"
_loaded: dict[tuple[str, str | None], Look | None] = {}
_described: dict[tuple[str | None, ...], Look] = {}


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


def faults(folder: str | None) -> list[FleetError]:
    """Everything that is wrong with the files of one's own."""
    found: list[FleetError] = []
    if folder and os.path.isdir(folder):
        for file in sorted(os.listdir(folder)):
            try:
                load(file.removesuffix(".yaml") if file.endswith(".yaml") else "", folder)
            except BadConfig as error:
                found += [error, *error.also]
    return found


def load(agent: str, folder: str | None = None) -> Look | None:
    """The look of an agent, None when no file describes it; raises BadConfig naming a file that is wrong."""
    key = (agent, folder)
    if key not in _loaded:
        _loaded[key] = _load(agent, folder) if _NAME.fullmatch(agent) else None
    return _loaded[key]


def of(config: Config, profile: str | None, agent: str | None) -> Look | None:
    """The look of who runs on a profile: the one that the profile describes, else its agent's; None without either."""
    configured = config.profiles.get(profile or "")
    if configured and configured.look:
        return _drawn(profile or "", configured.look)
    name = agent or (configured.agent if configured else None)
    return load(name, config.agents) if name else None


def _drawn(name: str, shown: Drawn) -> Look:
    """The look that the profile of that name describes; each of its patterns has a time budget."""
    key = (name, *msgspec.structs.astuple(shown))
    if key not in _described:
        look = look_of(name, shown.prompt, shown.busy, shown.error, shown.composer, f"profiles.{name}.look")
        look.backends = _backends()
        _described[key] = look
    return _described[key]


def _load(agent: str, folder: str | None) -> Look | None:
    own = os.path.join(os.path.expanduser(folder), f"{agent}.yaml") if folder else ""
    bundled = os.path.join(BUNDLED, f"{agent}.yaml")
    if own and os.path.exists(own):
        return _look(_own(own, agent) | {"name": agent})
    return _look(_read(bundled) | {"name": agent}) if os.path.exists(bundled) else None


def _own(path: str, agent: str) -> dict[str, Any]:
    """The data of a person's own file, with those of the bundled one that it extends; raises BadConfig."""
    from fleettools.adapters import shapes, yamlfile

    found: list[Fault] = []
    data = yamlfile.read(path, found)
    data = {} if data is None else data
    if not isinstance(data, dict):
        what = f"expected a mapping, got {'a list' if isinstance(data, list) else 'a text'}"
        yamlfile.refuse(path, [*found, Fault("", what, f"see {_MANUAL}")])
    base = data.pop("extends", None)
    extended = os.path.join(BUNDLED, f"{base}.yaml")
    if base is not None and not (_NAME.fullmatch(str(base)) and os.path.exists(extended)):
        found.append(Fault("extends", f"{base} is no bundled agent", f"one of {', '.join(names())}"))
    found += look_faults(shapes.fitted(data | {"name": agent}, Look, found))
    yamlfile.refuse(path, [fault._replace(mend=fault.mend.replace("fleetd.yaml(5)", _MANUAL)) for fault in found])
    data = budgeted(data, os.path.basename(path))
    return data if base is None else _extended(_read(extended), data)


def _look(data: dict[str, Any]) -> Look:
    look = msgspec.convert(data, Look)
    look.backends = _backends()
    return look


@cache
def _backends() -> Wordings:
    return msgspec.convert(_read(os.path.join(BUNDLED, "_backends.yaml")), Wordings)


def _read(path: str) -> Any:
    """The data of a bundled file, which the tests have checked: the strict reader takes ten times as long."""
    from fleettools.adapters.libyaml import yaml

    with open(path, encoding="utf-8") as file:
        return yaml.load(file, yaml.CSafeLoader)


def _extended(base: Any, own: Any) -> Any:
    if isinstance(base, dict) and isinstance(own, dict):
        return base | {key: _extended(base[key], value) if key in base else value for key, value in own.items()}
    return own + base if isinstance(base, list) and isinstance(own, list) else own
