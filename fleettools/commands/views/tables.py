"""The fleet views as they stand on a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from fleettools.adapters.streams import printable
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
BAR = 10  # cells of a bar of usage
_UNITS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s"))


def fleet(view: View) -> RenderableType:
    """The members, below them the profiles and the health coverage."""
    profiles = view["profiles"]
    members = _table(
        ("member", "pane", "state", "age", "profile", "credential", "left", "reason"),
        (_member(member, profiles.get(member.get("profile"), {})) for member in view["members"]),
    )
    words = [f"health: {view['healthCoverage']}"]
    for one in view.get("daemons", ()):
        words.append(f"fleetd on {printable(one['socket'])}: {one['state']}, seen {_age(one['ageSeconds'])} ago")
    coverage = Text("\n".join(words), style="dim")
    return Group(members if view["members"] else Text("no members", style="dim"), "", _profiles(profiles), "", coverage)


def profiles(view: View) -> RenderableType:
    """The profiles; below them when each credential last worked and how much of its plan is used, and those credentials
    that are out though no profile of theirs is listed.
    """
    listed = {profile["credentialId"] for profile in view["profiles"].values()}
    others = [
        (credential, (word, "red"), _left(seconds))
        for key, word in (("quarantined", "quarantined"), ("coolingOff", "cooling off"))
        for credential, seconds in view[key].items()
        if credential not in listed
    ]
    parts: list[RenderableType] = [_profiles(view["profiles"])]
    if plans := list(_plans(view["profiles"].values())):
        parts += ["", _table(("credential", "last worked", "used", "resets in"), plans)]
    if others:
        parts += ["", _table(("credential", "state", "left"), others)]
    return Group(*parts)


def _plans(profiles: Iterable[View]) -> Iterator[Sequence[Cell]]:
    """A row for each credential, and for each further window of its plan."""
    by_credential = {profile["credentialId"]: profile for profile in profiles if profile["credentialId"]}
    for credential, profile in sorted(by_credential.items()):
        ago = profile.get("lastWorkedSecondsAgo")
        windows = profile.get("usage", [])
        if ago is None and not windows:
            continue
        first, *rest = [_window(one) for one in windows] or [("", "")]
        yield credential, "-" if ago is None else f"{_age(ago)} ago", *first
        yield from (("", "", *window) for window in rest)


def _window(window: View) -> tuple[Cell, Cell]:
    """A bar of what is used, `5h ████████░░ 82 %`, and when that window resets."""
    percent = window["usedPercent"]
    filled = min(BAR, round(percent / 100 * BAR))
    bar = f"{window['window']} {'█' * filled}{'░' * (BAR - filled)} {percent:g} %"
    resets = window.get("resetsInSeconds")
    style = "red" if percent >= 95 else "yellow" if percent >= 80 else ""
    return (bar, style), "" if resets is None else _age(resets)


def _profiles(profiles: Mapping[str, View]) -> RenderableType:
    if not profiles:
        return Text("no profiles", style="dim")
    headings = ("profile", "credential", "free", "state", "left", "reason")
    return _table(headings, (_profile(name, profile) for name, profile in profiles.items()))


def _member(member: View, profile: View) -> Sequence[Cell]:
    seconds = profile.get("quarantinedForSeconds", profile.get("coolingOffForSeconds"))
    return [
        member.get("name", ""),
        member["target"],
        (member["state"], _STYLES[member["state"]]),
        _age(member["ageSeconds"]),
        member.get("profile", ""),
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
    elif "triedForSeconds" in profile:
        worker = profile["triedBy"] or "one worker"
        state, seconds, reason = ("being tried", "yellow"), profile["triedForSeconds"], f"{worker} tries it first"
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
