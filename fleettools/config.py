"""The configuration, `fleetd.yaml`: its keys with their types and defaults, and how it is found and read."""

import os
from typing import Literal

import msgspec

from fleettools import records
from fleettools.errors import BadConfig


class Section(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A mapping of the file; keys that it does not have are errors."""


class Extend(Section):
    """Patterns that add to the bundled ones of their kind."""

    extend: list[str]


Pattern = str | list[str] | Extend | None


class Profile(Section):
    """How one kind of member is run, and the credential that it spends."""

    agent: str | None = None
    command: str | None = None
    credential_id: str | None = None
    max_members: int | None = None
    priority: int = 0
    cwd: str | None = None
    env: dict[str, str] = {}
    error_pattern: Pattern = None
    exhausted_pattern: Pattern = None


class CredentialLimits(Section):
    """What holds for all profiles of one credential together."""

    max_members: int | None = None


class PaneRule(Section):
    """Makes a member of every pane that matches all the globs given; `lead` is a pane (`session:window.pane`, `%7`)."""

    session: str | None = None
    window: str | None = None
    title: str | None = None
    command: str | None = None
    profile: str | None = None
    agent: str | None = None
    lead: str | None = None
    name: str | None = None


class OutageRules(Section):
    """When backend errors on one credential are an incident (design.md section 4)."""

    threshold: int = 2
    window_seconds: float = 60
    cool_off_seconds: float = 60
    count_retries_from: int = 5
    ignore_causes: list[records.Cause] = ["context", "request"]


class Placement(Section):
    """Which profile --auto prefers."""

    policy: Literal["priority", "least-loaded"] = "priority"


class Notify(Section):
    """How often a notice is tried, and after how many seconds an uncollected ticket is said again."""

    attempts: int = 5
    reminders: list[float] = [60, 300, 900]


class Health(Section):
    """What the health check is told to do."""

    enabled: bool = True
    webhook: str | None = None


class Config(Section):
    """The whole file. Without one, every default holds and a profile's name is its credential."""

    profiles: dict[str, Profile] = {}
    credentials: dict[str, CredentialLimits] = {}
    panes: list[PaneRule] = []
    outage: OutageRules = OutageRules()
    quarantine_cooldown_seconds: float = 1800
    min_turn_seconds: float = 2
    placement: Placement = Placement()
    notify: Notify = Notify()
    agents: str | None = None
    state: str | None = None
    health: Health = Health()

    def credential_of(self, profile: str | None) -> str | None:
        """The effective credential of a profile: its credentialId, else its name; None when nobody configured it.

        With no profiles configured at all, every valid profile name is its own credential.
        """
        if profile is None:
            return None
        if not self.profiles:
            return profile
        found = self.profiles.get(profile)
        return None if found is None else found.credential_id or profile


def find(path: str | None) -> Config:
    """The file of `-c`, else $FLEET_CONFIG, ./fleetd.yaml, $XDG_CONFIG_HOME/fleettools/fleetd.yaml, else defaults."""
    named = path or os.environ.get("FLEET_CONFIG")
    if named:
        return load(named)
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    for candidate in ("fleetd.yaml", os.path.join(home, "fleettools", "fleetd.yaml")):
        if os.path.exists(candidate):
            return load(candidate)
    return Config()


def load(path: str) -> Config:
    """The configuration in a file; raises BadConfig naming the key and the mend."""
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            data = yaml.load(file, yaml.CSafeLoader)
        return msgspec.convert(data or {}, Config)
    except (OSError, yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise BadConfig(str(error), "see fleetd.yaml(5)", path) from None
