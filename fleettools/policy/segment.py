"""The fleet in a few characters, for tmux's status line; colours in tmux's own syntax."""

from collections.abc import Mapping, Sequence
from typing import Any

from fleettools.policy.members.roster import FAILED

LONGEST = 16  # letters of a name
MOST = 3  # credentials that are named


def segment(members: Sequence[Mapping[str, Any]], out: Mapping[str, Any]) -> str:
    """The members, and the credentials that are out by fleet-profiles' view, as `5 ok 1 failed team-a 42s`."""
    gone = {name: (seconds, "red") for name, seconds in out["coolingOff"].items()}
    gone |= {name: (seconds, "magenta") for name, seconds in out["quarantined"].items()}
    failed = sum(member["state"] in FAILED for member in members)
    asking = sum(member["state"] == "blocked" for member in members)
    parts = [_painted("green", f"{len(members) - failed - asking} ok")] if members else []
    parts += [_painted("yellow", f"{asking} asks")] if asking else []
    parts += [_painted("red", f"{failed} failed")] if failed else []
    for credential, (seconds, colour) in sorted(gone.items())[:MOST]:
        parts.append(_painted(colour, f"{_name(credential)} {_short(seconds)}"))
    if len(gone) > MOST:
        parts.append(_painted("red", f"+{len(gone) - MOST}"))
    return " ".join(parts)


def _painted(colour: str, text: str) -> str:
    return f"#[fg={colour}]{text}#[default]"


def _name(text: str) -> str:
    """A name that tmux does not take for a format."""
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return "".join(c for c in cut if c.isprintable()).replace("#", "##")


def _short(seconds: int) -> str:
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
