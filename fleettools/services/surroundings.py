"""What `fleetd check` looks at: the configuration, and what fleetd finds around it; each fault with its mend."""

import os
import shlex
import shutil
import stat
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from fleettools.config import Config
from fleettools.errors import BadConfig, Exit, FleetError, NoServer
from fleettools.policy import upkeep
from fleettools.policy.members import seats
from fleettools.screens.look import Look
from fleettools.services import listening
from fleettools.services.finder import Finder
from fleettools.services.ports import PaneRow, Panes
from fleettools.services.store import Store


class Finding(NamedTuple):
    """One thing looked at. `status`: what a command would end with because of it, OK when all is well.

    With a `mend` and OK it is a warning: fleettools works, but probably not as it is meant to.
    """

    what: str
    mend: str = ""
    status: Exit = Exit.OK

    def __str__(self) -> str:
        grade = "FAULT" if self.status else "WARN" if self.mend else "ok"
        return f"{grade:5}  {self.what}" + (f"; {self.mend}" if self.mend else "")


class Agents(Protocol):
    """The agents' files."""

    def names(self, folder: str | None = None) -> list[str]:
        """The agents that have a file, bundled or in one's own folder."""

    def load(self, agent: str, folder: str | None = None) -> Look | None:
        """The file of an agent; raises BadConfig naming one that is wrong."""

    def faults(self, folder: str | None) -> Sequence[FleetError]:
        """What is wrong with the files of one's own."""


class Server(Panes, Protocol):
    """The tmux server."""

    def version(self) -> str:
        """What tmux calls itself; raises Unusable when there is none."""


class Doors(NamedTuple):
    """What the look reaches outside through. `nearest`: which of the known words was meant, as a mend.

    `open_store` opens a URL and says what it has to say; `default_store` is the place of a store that nobody named;
    `finder` finds members that nobody marked; `read` gives the text of a file, None when there is none.
    """

    agents: Agents
    nearest: Callable[[str, list[str]], str]
    open_store: Callable[[str | None, Callable[[object], None]], Store]
    default_store: Callable[[], str]
    tmux: Server
    finder: Finder | None
    read: Callable[[str], str | None]


def look(config: Config | None, state_url: str | None, doors: Doors) -> Iterator[Finding]:
    """Everything around fleetd, in the order in which a person would mend it.

    Without a `config`, because it cannot be read, nothing is said of what hangs on it.
    """
    url = state_url or os.environ.get("FLEET_STATE")
    if config is None:
        yield from _locale()
        if url:
            yield from _store(url, doors)
        yield from _server(doors)
        return
    url = url or config.state
    yield from _profiles(config, doors)
    yield from _locale()
    yield from _store(url, doors)
    found = yield from _panes(config, doors)
    yield from _heard(config, url, found, doors)


def _profiles(config: Config, doors: Doors) -> Iterator[Finding]:
    """What is wrong with agents, profiles, credentials and rules, as far as this machine shows."""
    agentfiles, nearest = doors.agents, doors.nearest
    agents = agentfiles.names(config.agents)
    if config.agents and not os.path.isdir(config.agents):
        yield Finding(f"agents: {config.agents} is no folder", "make it, or leave the key out")
    for error in agentfiles.faults(config.agents):
        yield Finding(f"{error.where}: {error.what}", error.mend, error.exit)
    for name, profile in config.profiles.items():
        place = f"profiles.{name}"
        if profile.agent and profile.agent not in agents:
            mend = nearest(profile.agent, agents)
            yield Finding(f"{place}.agent: no agent file describes {profile.agent}", mend, Exit.BAD_CONFIG)
        elif not profile.agent and not profile.has_patterns:
            yield Finding(f"{place}: its failures are judged by one old rule alone", f"{upkeep.LEGACY}")
        if profile.cwd and not os.path.isdir(profile.cwd):
            yield Finding(f"{place}.cwd: {profile.cwd} is no folder", "make it, or name another")
        words = _words(profile.command)
        if words and not shutil.which(words[0], path=profile.env.get("PATH")):
            yield Finding(f"{place}.command: {words[0]} is not on the PATH", "install it, or give its whole path")
    used = {config.credential_of(name) for name in config.profiles}
    for unused in config.credentials.keys() - used:
        yield Finding(f"credentials.{unused}: no profile spends it", nearest(unused, sorted(filter(None, used))))
    for i, rule in enumerate(config.panes):
        if rule.profile and rule.profile not in config.profiles:
            mend = nearest(rule.profile, list(config.profiles))
            yield Finding(f"panes[{i}].profile: nobody configured {rule.profile}", mend, Exit.BAD_CONFIG)
        if not (rule.session or rule.window or rule.title or rule.command):
            mend = "if that is not meant, give it a session, window, title or command"
            yield Finding(f"panes[{i}]: it has no glob, so every pane is a member", mend)


def _words(command: str | None) -> list[str]:
    try:
        return shlex.split(command or "")
    except ValueError:
        return []


def _locale() -> Iterator[Finding]:
    said = next((os.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "C")
    if "utf8" in said.lower().replace("-", ""):
        yield Finding(f"locale {said}")
    else:
        yield Finding(f"locale {said} knows no UTF-8: fleettools reads screens all the same", "export LANG=C.UTF-8")


def _store(url: str | None, doors: Doors) -> Iterator[Finding]:
    """Whether the store can be opened, with its place but no password."""
    said: list[object] = []
    shown = url or f"sqlite:{doors.default_store()}"
    if "://" in shown:  # a password may stand before the last @, and behind the ?
        scheme, _, place = shown.partition("://")
        shown = f"{scheme}://{'...@' if '@' in place else ''}{place.rpartition('@')[2].partition('?')[0]}"
    try:
        doors.open_store(url, said.append).close()
        yield Finding(f"state {shown}")
    except FleetError as error:
        yield Finding(f"state {error.where or shown}: {error.what}", error.mend, error.exit)
    yield from (Finding(f"state: {text}", "see what became of it") for text in said)
    if url is None or url.startswith("sqlite:") or ":" not in url:
        yield from _permissions(os.path.expanduser((url or doors.default_store()).removeprefix("sqlite:")))


def _permissions(path: str) -> Iterator[Finding]:
    for place, right in ((os.path.dirname(os.path.abspath(path)), 0o700), (path, 0o600)):
        if os.path.exists(place) and stat.S_IMODE(os.stat(place).st_mode) & 0o077:
            mode = stat.S_IMODE(os.stat(place).st_mode)
            mend = f"chmod {right:o} {shlex.quote(place)}"
            yield Finding(f"state: {place} is open to others (mode {mode:o}), and holds what screens showed", mend)


def _heard(config: Config, url: str | None, found: Mapping[str, seats.Seat], doors: Doors) -> Iterator[Finding]:
    """Whether the agents that are in use are heard."""
    with suppress(FleetError):  # of the store, or of an agent's file: that is said above
        store = doors.open_store(url, lambda text: None)
        try:
            used = {profile.agent for profile in config.profiles.values()} | {seat.agent for seat in found.values()}
            names = sorted(name for name in used | {one.agent for one in listening.members(store)} if name)
            looks = [one for name in names if (one := doors.agents.load(name, config.agents))]
            for said in listening.look(looks, store, lambda agent: _environments(config, agent), doors.read):
                yield Finding(said.what, said.mend)
        finally:
            store.close()


def _environments(config: Config, agent: str) -> list[dict[str, str]]:
    """What the agent's profiles set in the environment, each with the rest; ours alone when it has no profile."""
    own = [profile.env for profile in config.profiles.values() if profile.agent == agent]
    return [{**os.environ, **env} for env in own or [{}]]


def _server(doors: Doors) -> Generator[Finding, None, Sequence[PaneRow] | None]:
    """What is found of tmux; gives its panes, None when there are none to look at."""
    tmux = doors.tmux
    try:
        version = tmux.version()
        yield Finding(f"{version}, socket {tmux.socket}")
        return tmux.panes()
    except NoServer as error:
        yield Finding(f"{error.where}: {error.what}, so fleetd would wait for one", error.mend)
    except FleetError as error:
        yield Finding(f"{error.where}: {error.what}", error.mend, error.exit)
    return None


def _panes(config: Config, doors: Doors) -> Generator[Finding, None, Mapping[str, seats.Seat]]:
    """What is found around the panes; gives the seats there."""
    tmux, rows = doors.tmux, (yield from _server(doors))
    if rows is None:
        return {}
    agents = {name: profile.agent for name, profile in config.profiles.items()}
    opted_out = tmux.having([row.id for row in rows if not row.profile_option], "@fleet_profile")
    found, warnings = seats.seats(rows, config.panes, agents, opted_out)
    if doors.finder:
        with suppress(BadConfig):  # of an agent's file: that is said above
            found |= doors.finder.look(rows, found, opted_out)
    members = [pane for pane, seat in found.items() if seat.role == "member"]
    leads = sorted({seat.lead for seat in found.values() if seat.lead})
    if members:
        yield Finding(f"{len(rows)} panes; members: {' '.join(members)}; leads: {' '.join(leads) or 'none'}")
    else:
        mend = "start an agent in one, mark a pane with set-option -p @fleet_profile NAME, or fleet-spawn"
        yield Finding(f"{len(rows)} panes, no members: nothing is watched", mend)
    if members and not leads and not config.channels:
        mend = "set @fleet_lead on their panes, or add alerts: to the configuration (fleetd init --alert HOW)"
        yield Finding("nobody is told of a failure: no member has a lead, and there are no alerts", mend)
    yield from (Finding(what, mend) for what, _, mend in (text.partition("; ") for text in warnings))
    yield from _leads(config, doors, rows, leads, found)
    return found


def _leads(
    config: Config, doors: Doors, rows: Sequence[PaneRow], leads: list[str], found: dict[str, seats.Seat]
) -> Iterator[Finding]:
    """Leads that are not there or inherit a profile, and members that nobody would count."""
    for i, rule in enumerate(config.panes):
        if rule.lead and seats.find(rule.lead, rows) is None:
            yield Finding(f"panes[{i}].lead: no pane is {rule.lead}", "tmux list-panes -a shows what there is")
    own = doors.tmux.having([row.id for row in rows if row.id in leads], "@fleet_profile")
    for row in rows:
        if row.id in leads and row.profile_option and row.id not in own:
            what = f"{row.id} is a lead and inherits the profile {row.profile_option}, so it is watched as a member"
            yield Finding(what, f"if that is not meant: tmux set-option -p -t {row.id} @fleet_profile ''")
    for pane, seat in found.items():
        if seat.role != "member":
            continue
        if seat.profile is None:
            mend = f"tmux set-option -p -t {pane} @fleet_profile NAME"
            yield Finding(f"{pane}: it has no profile, so its failures are unmapped", mend)
        elif config.profiles and seat.profile not in config.profiles:
            what = f"{pane}: nobody configured its profile {seat.profile}, so its failures are unmapped"
            yield Finding(what, f"add it to profiles ({doors.nearest(seat.profile, list(config.profiles))})")
