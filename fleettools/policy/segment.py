"""The fleet in a few characters, for tmux's status line; colours in tmux's own syntax."""

from collections.abc import Mapping
from typing import Any

from fleettools.policy.members.roster import FAILED

LONGEST = 16  # letters of a name
MOST = 3  # credentials that are named


def segment(view: Mapping[str, Any]) -> str:
    """What the view of fleet-list says, as `6 ok`, `5 ok 1 failed team-a 42s`; "" for a fleet without members."""
    members, profiles = view["members"], view["profiles"].values()
    out: dict[str, tuple[int, str]] = {}
    for profile in profiles:
        cooling, gone = profile.get("coolingOffForSeconds"), profile.get("quarantinedForSeconds")
        if gone is not None or cooling is not None:
            colour = "red" if gone is None else "magenta"
            out[str(profile["credentialId"])] = (gone if gone is not None else cooling, colour)
    failed = sum(member["state"] in FAILED for member in members)
    asking = sum(member["state"] == "blocked" for member in members)
    parts = [_painted("green", f"{len(members) - failed - asking} ok")] if members else []
    parts += [_painted("yellow", f"{asking} asks")] if asking else []
    parts += [_painted("red", f"{failed} failed")] if failed else []
    for credential, (seconds, colour) in sorted(out.items())[:MOST]:
        parts.append(_painted(colour, f"{_name(credential)} {_short(seconds)}"))
    if len(out) > MOST:
        parts.append(_painted("red", f"+{len(out) - MOST}"))
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
