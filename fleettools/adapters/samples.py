"""The samples that come with fleettools: configurations, scripts and pages, from a checkout or as installed."""

import os
import sysconfig

from fleettools.errors import UsageError

PLACES = (
    os.path.join(os.path.dirname(__file__), "..", "..", "samples"),  # a checkout
    os.path.join(sysconfig.get_path("data"), "share", "fleettools", "samples"),  # installed
)


def folder() -> str:
    """Where the samples are; raises UsageError when they did not come along."""
    for place in PLACES:
        if os.path.exists(os.path.join(place, "fleetd.yaml")):
            return os.path.realpath(place)
    raise UsageError("the samples are not installed", "they are in samples/ of the source")


def names() -> list[str]:
    """Every sample that can be printed."""
    top = folder()
    found = []
    for place, _, files in os.walk(top):
        inner = os.path.relpath(place, top)
        if not inner.startswith("screens"):
            found += [os.path.normpath(os.path.join(inner, name)) for name in files]
    return sorted(found)


def path(name: str) -> str:
    """The file of a sample, by its name or the last part of it; raises UsageError when there is none."""
    known = names()
    found = [one for one in known if name in (one, os.path.basename(one))]
    if not found:
        raise UsageError(f"no sample is called {name}", f"there are {', '.join(known)}")
    return os.path.join(folder(), found[0])
