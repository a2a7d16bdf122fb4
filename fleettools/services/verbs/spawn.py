"""A new member: its place is reserved at the gate, then a pane is opened with its profile's command and its options."""

import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from fleettools import records
from fleettools.config import Config
from fleettools.errors import BadConfig, FleetError, NoPane, UsageError
from fleettools.policy.accounts.credential import is_name
from fleettools.policy.accounts.placement import Choice
from fleettools.policy.members import roster
from fleettools.policy.members.roster import MemberState
from fleettools.services import fleet
from fleettools.services.ports import Clock, PaneRow, Windows
from fleettools.services.store import Store, change


class Wish(NamedTuple):
    """The profile that is asked for, None for any; then how one is chosen, None: as the configuration says."""

    profile: str | None
    policy: str | None = None


class Place(NamedTuple):
    """Where the new pane goes and what it is told."""

    lead: str | None = None
    name: str | None = None
    cwd: str | None = None
    session: str | None = None
    split: str | None = None


class Launch(NamedTuple):
    """What runs in the pane: a shell command, its folder and its environment, and the pane's user options."""

    command: str
    cwd: str
    env: Mapping[str, str]
    options: Mapping[str, str]


class Doors(NamedTuple):
    """What a spawn reaches outside through."""

    config: Config
    store: Store
    tmux: Windows
    clock: Clock


def checked(place: Place) -> Place:
    """The place, with every part checked that can be before tmux is asked; raises UsageError."""
    for option, pane in (("--lead", place.lead), ("--split", place.split)):
        if pane is not None and not (pane.startswith("%") and pane[1:].isdecimal() and pane.isascii()):
            raise UsageError(f"{option} {pane}: no pane id", "write %5, as tmux list-panes -a shows it")
    if place.split and place.session:
        raise UsageError("--split opens no window", "leave --session out")
    if place.name is not None and not is_name(place.name):
        raise UsageError(f"--name {place.name!r} is no name", "use letters, digits and . _ @ + -, at most 64")
    if place.cwd is not None and not os.path.isdir(place.cwd):
        raise UsageError(f"--cwd {place.cwd}: no such folder", "make it, or name another")
    return place._replace(cwd=place.cwd and os.path.abspath(place.cwd))


def spawn(doors: Doors, wish: Wish, place: Place, say: Callable[[records.Record], None]) -> Choice:
    """Ask the gate, and if it allows it open the pane; the place is a `checked` one.

    `say` is told the decision, and after an allowed one, when the pane stands, the new member. Refused, nothing is
    opened. Raises BadConfig, TmuxError or another FleetError when what was allowed cannot be done; the reservation is
    given back, and no pane stays.
    """
    lease = secrets.token_hex(8)
    choice = _reserve(doors, wish, lease)
    if not choice.allowed:
        say(choice.record(doors.clock.stamp()))
        return choice
    try:
        launch = _launch(doors.config, str(choice.profile), place)
        say(choice.record(doors.clock.stamp()))
        row = _opened(doors.tmux, choice, place, launch)
        say(_entered(doors, choice, place, row, lease))
    finally:
        with suppress(FleetError):  # if the store is gone by now, it ends by itself
            fleet.unreserve(doors.store, str(choice.credential_id), lease)
    return choice


def _reserve(doors: Doors, wish: Wish, lease: str) -> Choice:
    config = doors.config
    if wish.profile is not None:
        return fleet.reserve(doors.store, config, wish.profile, lease)
    able = [name for name, found in config.profiles.items() if found.command]
    if config.profiles and not able:
        raise BadConfig("none has a command", "say for one at least what to run", "profiles")
    return fleet.reserve_any(doors.store, config, able, wish.policy or config.placement.policy, lease)


def _launch(config: Config, profile: str, place: Place) -> Launch:
    """What to run for a profile; raises BadConfig when it does not say, or its folder is missing."""
    found = config.profiles.get(profile)
    if found is None or not found.command:
        raise BadConfig("missing", "say what to run", f"profiles.{profile}.command")
    cwd = place.cwd or found.cwd or os.getcwd()
    if not os.path.isdir(cwd):  # tmux would quietly begin somewhere else
        raise BadConfig(f"{cwd} is no folder", "make it, or name another", f"profiles.{profile}.cwd")
    command = found.command if found.command.startswith("exec ") else f"exec {found.command}"
    options = {"profile": profile, "agent": found.agent, "lead": place.lead, "name": place.name}
    return Launch(command, cwd, found.env, {f"@fleet_{key}": value for key, value in options.items() if value})


def _opened(tmux: Windows, choice: Choice, place: Place, launch: Launch) -> PaneRow:
    """The new pane; raises TmuxError for a lead or pane to split that is not there, BadConfig for a stillborn one."""
    lead = tmux.pane(place.lead) if place.lead else None
    if place.split:
        tmux.pane(place.split)
    more: dict[str, Any] = {"cwd": launch.cwd, "env": launch.env, "options": launch.options}
    try:
        if place.split:
            return tmux.split_window(place.split, launch.command, **more)
        session = place.session or (lead.session if lead else None)
        return tmux.new_window(launch.command, name=place.name or choice.profile, session=session, **more)
    except NoPane:
        where = f"profiles.{choice.profile}.command"
        raise BadConfig("the command ended at once", "run it by hand to see why", where) from None


def _entered(doors: Doors, choice: Choice, place: Place, row: PaneRow, lease: str) -> records.Member:
    """Enter the member in the roster; its pane is closed again when that cannot be done."""
    store = doors.store
    now_ms = store.now_ms()
    spawned = MemberState(
        server=row.server,
        target=row.id,
        pid=row.pid,
        name=place.name,
        profile=choice.profile,
        agent=row.agent_option or None,
        lead=place.lead,
        state="starting",
        since_ms=now_ms,
        joined_ms=now_ms,
    )

    def step(kept: MemberState | None) -> tuple[MemberState, MemberState]:
        member = roster.starting(kept, spawned)
        return member, member

    key = roster.member_key(row.server, row.id)
    try:
        fleet.seat(store, str(choice.credential_id), lease, key)
        member = change(store, key, MemberState, step)
    except BaseException:
        with suppress(FleetError):
            doors.tmux.kill_pane(row.id)
        raise
    return roster.record(member, choice.credential_id, "spawned", **doors.clock.stamp())
