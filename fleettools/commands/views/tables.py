"""The fleet views as rich tables. Texts of panes are hostile: what does not print is escaped, markup is not read."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fleettools.adapters.streams import printable
from fleettools.policy.views import View

Cell = str | tuple[str, str]  # a text, or a text and its style

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
        member.get("credentialId", "-"),
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
    return [name, profile["credentialId"] or "-", places, state, _left(seconds), reason]


def _left(seconds: int | None) -> str:
    return "" if seconds is None else f"{seconds} s"


def _age(seconds: int) -> str:
    for size, unit, part, smaller in _UNITS:
        if seconds >= size:
            return f"{seconds // size}{unit}{seconds % size // part}{smaller}"
    return f"{seconds}s"


def _table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Table:
    """A table whose last column gives way when the terminal is narrow."""
    drawn = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        drawn.add_column(heading, no_wrap=heading != headings[-1])
    for row in rows:
        drawn.add_row(*map(_text, row))
    return drawn


def _text(cell: Cell) -> Text:
    text, style = (cell, "") if isinstance(cell, str) else cell
    return Text(printable(text), style=style, no_wrap=True, overflow="ellipsis")
