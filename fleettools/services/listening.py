"""Whether agents are heard: for each, if its hooks are in, when it last said something, and who has gone silent."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fleettools import records
from fleettools.errors import BadInput
from fleettools.moments import Moment
from fleettools.moments import of as made_at
from fleettools.policy.members import hearing, roster
from fleettools.policy.members.roster import MemberState
from fleettools.screens.look import Look
from fleettools.services import hooks
from fleettools.services.hooks import Read
from fleettools.services.signaling import SIGNALS
from fleettools.services.store import Store, read_all


class Heard(NamedTuple):
    """What there is to say of one agent; with a `mend` it is a warning."""

    what: str
    mend: str = ""


def members(store: Store) -> list[MemberState]:
    """All members that are still known, those that are gone, too."""
    return [member for _, member in read_all(store, roster.MEMBERS, MemberState)]


def look(
    looks: Iterable[Look], store: Store, env_of: Callable[[str], Sequence[Mapping[str, str]]], read: Read
) -> Iterator[Heard]:
    """One finding for each of these agents that can tell of its turns, in each environment that it runs in."""
    known, waiting = members(store), _waiting(store)
    now = store.moment()
    for one in looks:
        if one.hooks is None:
            continue
        own = [member for member in known if member.agent == one.name]
        moments = [member.spoke for member in own if member.spoke] + waiting.get(one.name, [])
        ages = [max(0, now.since(moment)) // 1000 for moment in moments]
        places = {hooks.place(one.hooks, None, env): hooks.is_in(one, env, read) for env in env_of(one.name)}
        yield _said(one, places, min(ages, default=None), sorted(_silent(own, now)))


def _silent(own: Iterable[MemberState], now: Moment) -> Iterator[str]:
    here = (member for member in own if member.state != "released" and not member.gone)
    return (member.name or member.target for member in here if hearing.is_silent(member, now))


def _said(one: Look, places: Mapping[str, bool | None], age: int | None, silent: list[str]) -> Heard:
    """`places`: the settings that the agent may read, each with whether our hooks are in, None when nobody can tell."""
    heard = "not heard yet" if age is None else f"last heard {_span(age)} ago"
    if broken := [place for place, installed in places.items() if installed is None]:
        return Heard(f"{one.name}: {broken[0]} cannot be read; {heard}", "make it a sound file of your own")
    installed = [place for place, installed in places.items() if installed]
    where = f"its hooks are in {' and '.join(installed)}"
    if silent and (installed or age is not None):
        where = where if installed else "it was heard before"
        what = f"{one.name}: {where}, but {' '.join(silent)} completed a turn and said nothing; {heard}"
        return Heard(what, f"start it anew if it began before they were put in, or see fleet-hook --install {one.name}")
    if installed:
        missing = "".join(f", not in {place}" for place in places if place not in installed)
        return Heard(f"{one.name}: {where}{missing}, {heard}")
    if age is not None:
        return Heard(f"{one.name}: {'its session log tells' if one.log else 'hooks of a project tell'}, {heard}")
    return Heard(f"{one.name}: no hooks, its screen counts alone (fleet-hook --install {one.name})")


def _span(seconds: int) -> str:
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _waiting(store: Store) -> dict[str, list[Moment]]:
    """When what nobody has taken up yet was said, by agent."""
    found: dict[str, list[Moment]] = {}
    for _, value, _ in store.scan(SIGNALS):
        try:
            word = records.decode(value, records.Signal)
            found.setdefault(word.agent or "", []).append(store.placed(made_at(word)))
        except BadInput:
            continue  # fleet-resolve says and drops it
    return found
