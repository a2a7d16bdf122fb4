"""The fleet views as they stand on a terminal."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from fleettools.commands.views.layout import Cell, Rows
from fleettools.policy.views import View

NAMES = ("member", "profile", "credential")  # what is shortened on a narrow terminal

_STYLES = {
    "starting": "cyan",
    "idle": "dim",
    "busy": "green",
    "blocked": "yellow",
    "done": "green",
    "failed": "red",
    "backend_error": "bold red",
    "released": "dim",
}
_UNITS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s"))


def fleet(view: View) -> RenderableType:
    """The members, below them the profiles and the health coverage."""
    profiles = view["profiles"]
    members = _table(
        ("member", "pane", "state", "age", "profile", "credential", "left", "reason"),
        (_member(member, profiles.get(member.get("profile"), {})) for member in view["members"]),
    )
    coverage = Text(f"health: {view['healthCoverage']}", style="dim")
    return Group(members if view["members"] else Text("no members", style="dim"), "", _profiles(profiles), "", coverage)


def profiles(view: View) -> RenderableType:
    """The profiles, below them the credentials that are out though no profile of theirs is listed."""
    listed = {profile["credentialId"] for profile in view["profiles"].values()}
    others = [
        (credential, (word, "red"), _left(seconds))
        for key, word in (("quarantined", "quarantined"), ("coolingOff", "cooling off"))
        for credential, seconds in view[key].items()
        if credential not in listed
    ]
    drawn = _profiles(view["profiles"])
    return Group(drawn, "", _table(("credential", "state", "left"), others)) if others else drawn


def _profiles(profiles: Mapping[str, View]) -> RenderableType:
    if not profiles:
        return Text("no profiles", style="dim")
    headings = ("profile", "credential", "free", "state", "left", "reason")
    return _table(headings, (_profile(name, profile) for name, profile in profiles.items()))


def _member(member: View, profile: View) -> Sequence[Cell]:
    seconds = profile.get("quarantinedForSeconds", profile.get("coolingOffForSeconds"))
    return [
        member.get("name", "-"),
        member["target"],
        (member["state"], _STYLES[member["state"]]),
        _age(member["ageSeconds"]),
        member.get("profile", "-"),
        _other(member.get("credentialId"), member.get("profile")),
        _left(seconds),
        member.get("failureReason", member.get("reason", "")),
    ]


def _profile(name: str, profile: View) -> Sequence[Cell]:
    """A profile's row; a quarantine outranks a cool-off."""
    free = profile["free"]
    if "quarantine" in profile:
        state, seconds, reason = ("quarantined", "red"), profile["quarantinedForSeconds"], profile["quarantine"]["why"]
    elif "coolOff" in profile:
        state, seconds, reason = ("cooling off", "red"), profile["coolingOffForSeconds"], profile["coolOff"]["why"]
    else:
        state, seconds, reason = ("full", "yellow") if free == 0 else ("free", "green"), None, ""
    places = "any" if free is None else str(free)
    return [name, _other(profile["credentialId"] or "-", name), places, state, _left(seconds), reason]


def _other(credential: str | None, profile: str | None) -> str:
    """The credential where it is not called as the profile; a column with nothing in it is left out."""
    return "" if credential in (None, profile) else str(credential)


def _left(seconds: int | None) -> str:
    return "" if seconds is None else f"{seconds} s"


def _age(seconds: int) -> str:
    for size, unit, part, smaller in _UNITS:
        if seconds >= size:
            return f"{seconds // size}{unit}{seconds % size // part}{smaller}"
    return f"{seconds}s"


def _table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Rows:
    return Rows(headings, rows, NAMES)
