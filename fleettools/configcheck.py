"""What the types of a configuration cannot say: patterns that do not compile, and what does not go together."""

import re

from fleettools.config import HEALTH, Config, Drawn, Extend, Pattern, adds, foreign_store, listed
from fleettools.errors import Fault
from fleettools.screens import patterns


def faults(config: Config) -> list[Fault]:
    """What the types cannot say: patterns that do not compile, stores that are none, reminders out of order."""
    found = []
    for name, profile in config.profiles.items():
        for key, value in (("errorPattern", profile.error_pattern), ("exhaustedPattern", profile.exhausted_pattern)):
            found += _bad_patterns(f"profiles.{name}.{key}", value)
        found += _bad_look(f"profiles.{name}.look", profile.look)
    if foreign := foreign_store(config.state or ""):
        found.append(Fault("state", f"{foreign} is no store", "use sqlite:PATH, memory: or postgresql://..."))
    if config.notify.reminders != sorted(set(config.notify.reminders)):
        found.append(Fault("notify.reminders", "each has to come later than the one before", "put them in order"))
    return found + _bad_alerts(config)


def _bad_alerts(config: Config) -> list[Fault]:
    found: list[Fault] = []
    names = [HEALTH] if config.health.webhook else []
    for i, alert in enumerate(config.alerts):
        place = f"alerts[{i}]"
        if (alert.exec is None) == (alert.webhook is None):
            found.append(Fault(place, "it needs either exec or webhook", "say a command, or an address"))
        if alert.exec and alert.shape != "json":
            found.append(Fault(f"{place}.shape", "a command is handed JSON", "leave it out, or use webhook"))
        if alert.name in names:
            found.append(Fault(f"{place}.name", f"another alert is called {alert.name}", "give each a name of its own"))
        names.append(alert.name)
    return found


def _bad_look(place: str, look: Drawn | None) -> list[Fault]:
    found = []
    for key in ("prompt", "busy", "error", "composer"):
        error = _place_error((look and getattr(look, key)) or "")
        if error:
            found.append(Fault(f"{place}.{key}", error, "mend the regular expression, or put \\ before the character"))
    return found


def _place_error(pattern: str) -> str | None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        return str(error)
    return "holds a group that is not looked at: (?:...)" if groups else None


def _bad_patterns(place: str, value: Pattern) -> list[Fault]:
    found = []
    if isinstance(value, Extend):
        if (value.extend is None) == (value.pattern is None):
            what = "missing" if value.extend is None else "does not go with pattern"
            return [Fault(f"{place}.extend", what, "write {extend: [...]}, or {pattern: text, anywhere: true}")]
        place = f"{place}.extend" if value.pattern is None else f"{place}.pattern"
    several = isinstance(value, list) or adds(value)
    for i, each in enumerate(listed(value)):
        error = patterns.fault(each if isinstance(each, str) else each.pattern)
        if error:
            at = f"{place}[{i}]" if several else place
            found.append(Fault(at, error, "mend the regular expression, or put \\ before the character"))
    return found
