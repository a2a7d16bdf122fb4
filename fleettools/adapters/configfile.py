"""Finds and reads `fleetd.yaml`."""

import os

from fleettools.config import Config
from fleettools.errors import Fault

WORDS = ("discover",)  # keys that take `off` as a word


def find(path: str | None) -> Config:
    """The file of `-c`, else $FLEET_CONFIG, ./fleetd.yaml, $XDG_CONFIG_HOME/fleettools/fleetd.yaml, else defaults."""
    found = located(path)
    return Config() if found is None else load(found)


def located(path: str | None) -> str | None:
    """The file that `find` reads, None when defaults hold."""
    if path is not None:
        return path
    if named := os.environ.get("FLEET_CONFIG"):
        return named
    home = os.environ.get("XDG_CONFIG_HOME", "")
    home = home if os.path.isabs(home) else os.path.expanduser("~/.config")
    candidates = ("fleetd.yaml", os.path.join(home, "fleettools", "fleetd.yaml"))
    return next((candidate for candidate in candidates if os.path.lexists(candidate)), None)


def load(path: str) -> Config:
    """The configuration in a file, `~` expanded; raises BadConfig with the place and the mend of every mistake."""
    from fleettools.adapters import shapes, yamlfile
    from fleettools.configcheck import faults

    found: list[Fault] = []
    data = yamlfile.read(path, found, WORDS)
    config = shapes.fitted({} if data is None else data, Config, found)
    placed = {fault.place for fault in found}  # what does not fit cannot be missing as well
    found += [fault for fault in faults(config) if fault.place not in placed]
    yamlfile.refuse(path, found)
    if config.agents:
        config.agents = os.path.join(os.path.dirname(path), os.path.expanduser(config.agents))
    for profile in config.profiles.values():
        profile.cwd = profile.cwd and os.path.expanduser(profile.cwd)
    return config
