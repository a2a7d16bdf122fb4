"""How fleetd keeps its pipe up: the pause before each start, what a reload changes, and what is watched with what."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fleettools.records import Coverage

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
SETTLED = 60.0  # a pipe that ran for so many seconds has proved itself
WAITS = ("agents", "errorPattern", "exhaustedPattern", "state")  # keys that a reload leaves as they are
LEGACY = "only a line with 'API Error:' counts; give it an agent or an errorPattern"


def pause(last: float, ran: float) -> float:
    """The seconds to wait before the pipe starts again, after `last` seconds the time before and a run of `ran`."""
    return FIRST_PAUSE if not last or ran >= SETTLED else min(2 * last, LONGEST_PAUSE)


class Reload(NamedTuple):
    """What to run with from now on; the keys that changed now, and those that wait for a restart."""

    config: dict[str, Any]
    now: list[str]
    waiting: list[str]


def waits(key: str) -> bool:
    """Whether a reload leaves this key (`profiles.codex-b.errorPattern`) as it is until fleetd is restarted."""
    return key.rpartition(".")[2] in WAITS


def reloaded(running: Mapping[str, Any], wanted: Mapping[str, Any]) -> Reload:
    """Take over what is wanted, but keep what is running of the keys that wait."""
    now: list[str] = []
    waiting: list[str] = []
    return Reload(_merged(running, wanted, "", now, waiting), now, waiting)


def _merged(
    running: Mapping[str, Any], wanted: Mapping[str, Any], place: str, now: list[str], waiting: list[str]
) -> dict[str, Any]:
    """What runs with what is wanted in its place, but for keys that wait; `now` and `waiting` get the changed ones."""
    made: dict[str, Any] = {}
    for key in (*running, *(key for key in wanted if key not in running)):
        old, new, inner = running.get(key), wanted.get(key), f"{place}{key}"
        if isinstance(new, Mapping) and (old is None or isinstance(old, Mapping)) and not waits(inner):
            if old is None and not new:
                now.append(inner)
            made[key] = _merged(old or {}, new, f"{inner}.", now, waiting)
        elif old == new:
            made[key] = new
        elif waits(inner):
            waiting.append(inner)
            made[key] = old
        else:
            now.append(inner)
            made[key] = new
    return {key: value for key, value in made.items() if value is not None}


def coverage(has_patterns: bool, is_seen: bool | None) -> Coverage:
    """What a profile's screens are judged with: patterns of its own, those of its agent's file, or one old rule.

    `is_seen`: whether the real agent stands behind its file; None when there is no file.
    """
    if has_patterns:
        return "configured"
    return "legacy" if is_seen is None else "bundled" if is_seen else "unseen"


def coverage_line(profiles: Iterable[tuple[str, Coverage]]) -> str:
    """The profiles by what they are judged with, in one line; a legacy one comes with its mend."""
    names: dict[Coverage, list[str]] = {"configured": [], "bundled": [], "unseen": [], "legacy": []}
    for name, kind in profiles:
        names[kind].append(name)
    if not names["unseen"]:
        del names["unseen"]
    parts = [f"{kind}: {', '.join(sorted(names[kind])) or 'none'}" for kind in names]
    if names["legacy"]:
        parts[-1] += f" ({LEGACY})"
    return "coverage: " + "; ".join(parts)
