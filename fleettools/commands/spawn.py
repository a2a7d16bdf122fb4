"""fleet-spawn: ask the gate, then open a pane with a profile's command and its metadata."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fleettools.cli import Context, command, complete, state, tmux_server
from fleettools.errors import BadConfig, Exit, FleetError, NoPane, UsageError

if TYPE_CHECKING:
    from fleettools.adapters.tmux import PaneRow, Tmux
    from fleettools.config import Config
    from fleettools.policy.accounts.placement import Choice
    from fleettools.policy.members.roster import MemberState
    from fleettools.services.store import Store


class Place(NamedTuple):
    """Where the new pane goes and what it is told."""

    lead: str | None
    name: str | None
    cwd: str | None
    session: str | None
    split: str | None


class Launch(NamedTuple):
    """What runs in the pane: a shell command, its folder and its environment, and the pane's user options."""

    command: str
    cwd: str
    env: Mapping[str, str]
    options: Mapping[str, str]


@command("fleet-spawn")
@click.argument("argument", metavar="[PROFILE]", required=False, shell_complete=complete("profiles"))
@click.option("--profile", metavar="P", shell_complete=complete("profiles"), help="The profile, as PROFILE.")
@click.option("--auto", is_flag=True, help="Choose a profile that may spawn.")
@click.option(
    "--policy",
    metavar="NAME",
    type=click.Choice(["priority", "least-loaded"]),
    help="How --auto chooses: priority or least-loaded [default: the configuration's, else priority].",
)
@click.option("--lead", metavar="%ID", shell_complete=complete("panes"), help="The pane of the member's lead.")
@click.option("--name", metavar="NAME", help="The member's name, also that of its window.")
@click.option(
    "--cwd",
    metavar="DIR",
    shell_complete=complete("files"),
    help="Working folder [default: the profile's, else this one].",
)
@click.option("--session", metavar="NAME", help="tmux session of the new window [default: the lead's].")
@click.option("--split", metavar="%ID", shell_complete=complete("panes"), help="Split this pane, open no window.")
@state
@tmux_server
def main(
    ctx: Context,
    argument: str | None,
    profile: str | None,
    auto: bool,
    policy: str | None,
    lead: str | None,
    name: str | None,
    cwd: str | None,
    session: str | None,
    split: str | None,
    state_url: str | None,
    socket_path: str | None,
    socket_name: str | None,
) -> Exit:
    """Open a pane with a profile's command, if the gate lets it.

    Prints the gate's `decision`, then the new `member`. Refused, it opens nothing and ends with 75.
    """
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.adapters.tmux import Tmux

    wanted = _wanted(argument, profile, auto, policy)
    place = _place(Place(lead, name, cwd, session, split))
    config, store = ctx.config(), ctx.store(state_url)
    lease = _lease()
    choice = _reserve(store, config, wanted, policy, lease)
    if not choice.allowed:
        ctx.out.write(records.encode(choice.record(clock.stamp())))
        ctx.out.flush()
        ctx.messages.error(choice.reason)
        return choice.exit
    try:
        launch = _launch(config, str(choice.profile), place)
        ctx.out.write(records.encode(choice.record(clock.stamp())))
        ctx.out.flush()
        tmux = Tmux(socket_path, socket_name)
        row = _opened(tmux, choice, place, launch)
        ctx.out.write(_entered(store, tmux, choice, place, row, lease))
    finally:
        _give_back(store, choice, lease)
    ctx.out.flush()
    return Exit.OK


def _wanted(argument: str | None, profile: str | None, auto: bool, policy: str | None) -> str | None:
    """The profile that is asked for, None for --auto."""
    given = [name for name in (argument, profile) if name is not None]
    if len(given) + auto != 1:
        raise UsageError("name one profile, or ask for any", "give PROFILE, --profile P or --auto")
    if policy and not auto:
        raise UsageError("--policy says how --auto chooses", "give --auto, or leave --policy out")
    return given[0] if given else None


def _place(place: Place) -> Place:
    """The place, with every part checked that can be before tmux is asked."""
    import os

    from fleettools.policy.accounts.credential import is_name

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


def _lease() -> str:
    import secrets

    return secrets.token_hex(8)


def _reserve(store: "Store", config: "Config", profile: str | None, policy: str | None, lease: str) -> "Choice":
    from fleettools.services import fleet

    if profile is not None:
        return fleet.reserve(store, config, profile, lease)
    able = [name for name, found in config.profiles.items() if found.command]
    if config.profiles and not able:
        raise BadConfig("none has a command", "say for one at least what to run", "profiles")
    return fleet.reserve_any(store, config, able, policy or config.placement.policy, lease)


def _launch(config: "Config", profile: str, place: Place) -> Launch:
    """What to run for a profile; raises BadConfig when it does not say, or its folder is missing."""
    import os

    found = config.profiles.get(profile)
    if found is None or not found.command:
        raise BadConfig("missing", "say what to run", f"profiles.{profile}.command")
    cwd = place.cwd or found.cwd or os.getcwd()
    if not os.path.isdir(cwd):  # tmux would quietly begin somewhere else
        raise BadConfig(f"{cwd} is no folder", "make it, or name another", f"profiles.{profile}.cwd")
    command = found.command if found.command.startswith("exec ") else f"exec {found.command}"
    options = {"profile": profile, "agent": found.agent, "lead": place.lead, "name": place.name}
    return Launch(command, cwd, found.env, {f"@fleet_{key}": value for key, value in options.items() if value})


def _opened(tmux: "Tmux", choice: "Choice", place: Place, launch: Launch) -> "PaneRow":
    """The new pane; raises Unavailable for a lead or pane to split that is not there, BadConfig for a stillborn one."""

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


def _entered(store: "Store", tmux: "Tmux", choice: "Choice", place: Place, row: "PaneRow", lease: str) -> bytes:
    """Enter the member in the roster, as a line; its pane is closed again when that cannot be done."""
    from contextlib import suppress

    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.policy.members import roster
    from fleettools.services import fleet
    from fleettools.services.store import change

    now_ms = store.now_ms()
    spawned = roster.MemberState(
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

    def step(kept: "MemberState | None") -> "tuple[MemberState, MemberState]":
        member = roster.starting(kept, spawned)
        return member, member

    key = roster.member_key(row.server, row.id)
    try:
        fleet.seat(store, str(choice.credential_id), lease, key)
        member = change(store, key, roster.MemberState, step)
    except BaseException:
        with suppress(FleetError):
            tmux.kill_pane(row.id)
        raise
    return records.encode(roster.record(member, choice.credential_id, "spawned", **clock.stamp()))


def _give_back(store: "Store", choice: "Choice", lease: str) -> None:
    """Give the reservation back; if the store is gone by now, it ends by itself."""
    from contextlib import suppress

    from fleettools.services import fleet

    with suppress(FleetError):
        fleet.unreserve(store, str(choice.credential_id), lease)


if __name__ == "__main__":
    main()
