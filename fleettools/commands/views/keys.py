"""The keys of the configuration, each with what is set and what it takes, for `fleetd check`."""

from collections.abc import Iterator

from fleettools import config as configuration
from fleettools.adapters import shapes
from fleettools.config import Config
from fleettools.policy import upkeep

# These may hold secrets, which are not for a screen.
_PRIVATE = ("profiles.NAME.env", "alerts[].webhook", "alerts[].exec", "health.webhook", "state")


def key_table(config: Config) -> Iterator[str]:
    """Every key with what is set, what it takes, its default, and when a change of it holds."""
    values = configuration.plain(config)
    for key in shapes.keys(Config):
        found = [shown for shown in _values(values, key.place.split(".")) if not shown.endswith(("null", "{}"))]
        shown = ("set" if key.place in _PRIVATE else ", ".join(found)) if found else "not set"
        when = "after a restart" if upkeep.waits(key.place) else "on a reload"
        yield f"{key.place}: {shown}  ({key.takes}; default {key.default or 'none'}; a change holds {when})"


def _values(value: object, path: list[str], name: str = "") -> Iterator[str]:
    """What is set at a place, with the names that NAME stands for."""
    if not path:
        import msgspec

        yield f"{name}{msgspec.json.encode(value).decode()}"
        return
    head, *rest = path
    key = head.removesuffix("[]")
    if key == "NAME" and isinstance(value, dict):
        for each, item in value.items():
            yield from _values(item, rest, f"{each}=")
    elif isinstance(value, dict) and key in value:
        items = value[key] if head.endswith("[]") else [value[key]]
        for item in items:
            yield from _values(item, rest, name)
