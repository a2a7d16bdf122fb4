"""The fleet in a few characters, for tmux's status line; colours in tmux's own syntax."""

from collections.abc import Collection, Mapping

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.accounts.credential import CredentialState, cooling_seconds, quarantined_seconds
from fleettools.policy.members.roster import FAILED

LONGEST = 16  # letters of a name
MOST = 3  # credentials that are named


def segment(states: Collection[records.State], credentials: Mapping[str, CredentialState], now: Moment) -> str:
    """The members by their states, and the credentials that are out, as `5 ok 1 failed team-a 42s`."""
    shown = [state for state in states if state != "released"]
    gone = {}
    for name, known in credentials.items():
        for seconds, colour in ((cooling_seconds(known, now), "red"), (quarantined_seconds(known, now), "magenta")):
            if seconds is not None:
                gone[name] = seconds, colour
    failed = sum(state in FAILED for state in shown)
    asking = sum(state == "blocked" for state in shown)
    parts = [_painted("green", f"{len(shown) - failed - asking} ok")] if shown else []
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
