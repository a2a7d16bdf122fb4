"""`fleetd init`: look around, propose, and write the configuration; marks, and a service, when asked for."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click

from fleettools.adapters import accounts, agentfiles, configfile, files, samples
from fleettools.adapters.streams import printable
from fleettools.adapters.terminals import Terminals
from fleettools.adapters.tmux import PaneRow, Tmux
from fleettools.cli import Context
from fleettools.commands.setup import Wishes
from fleettools.errors import Exit, NoServer, UsageError
from fleettools.policy import proposal
from fleettools.policy.members import seats
from fleettools.policy.proposal import Channel, Proposed
from fleettools.services import finder


def init(ctx: Context, asked: Wishes, tmux: Tmux) -> Exit:
    """Set fleettools up for the agents that run now. Asks on a terminal; never overwrites a file without."""
    terminal = os.isatty(0) and not asked.yes and not asked.dry_run
    if not (terminal or asked.yes or asked.dry_run):
        raise UsageError("nobody is here to be asked", "give --yes, or --dry-run to see what it would do")
    if asked.lead and not asked.mark:
        raise UsageError("--lead goes with --mark", "members know their lead by an option of their pane")
    say = _Say(ctx)
    rows = _rows(say, tmux)
    found = _found(rows, asked.lead)
    _show(say, found)
    known = proposal.channels([name for name, _, _ in proposal.COMMANDS if shutil.which(name)], _graphical())
    chosen = [_channel(said, known) for said in asked.alerts]
    if terminal and not chosen:
        chosen = _ask_for_alerts(known)
    mark = asked.mark or (terminal and bool(found) and _confirmed("Name the members' profiles by marking their panes?"))
    text = proposal.written(found, chosen, mark)
    path = _path(ctx.config_path)
    if asked.dry_run:
        say(f"{path} would be:", "", text.rstrip())
        _service(say, dry_run=True) if asked.service else None
        return Exit.OK
    if os.path.lexists(path) and not (terminal and _confirmed(f"{path} exists. Replace it?")):
        ctx.messages.error(f"{path} exists already, and stays as it is; remove it, or name another file with -c")
        return Exit.NO
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    files.replace(path, text.encode())
    configfile.load(path)
    say(f"wrote {path}")
    if mark:
        _mark(say, tmux, found)
    if asked.service or (terminal and _confirmed("Start fleetd with your session?")):
        _service(say, dry_run=False)
    else:
        say("start it with: fleetd" if path == configfile.located(None) else f"start it with: fleetd -c {path}")
    return Exit.OK


class _Say:
    """Lines for a person, on standard output."""

    def __init__(self, ctx: Context) -> None:
        self._out = ctx.out

    def __call__(self, *lines: str) -> None:
        for line in "\n".join(lines).split("\n"):
            self._out.write(f"{printable(line)}\n".encode())
        self._out.flush()


def _path(named: str | None) -> str:
    """Where the configuration goes: where -c or $FLEET_CONFIG says, else a person's own folder."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    home = home if os.path.isabs(home) else os.path.expanduser("~/.config")
    return os.path.abspath(
        named or os.environ.get("FLEET_CONFIG") or os.path.join(home, "fleettools", "fleetd.yaml")
    )  # fmt: skip


def _rows(say: _Say, tmux: Tmux) -> list[PaneRow]:
    try:
        return tmux.panes()
    except NoServer:
        say(f"no tmux server runs on {tmux.socket}: agents are found once one does")
        return []


def _found(rows: list[PaneRow], lead: str | None) -> list[Proposed]:
    """The agents that run, marked or not; the lead is none of the members."""
    first = seats.find(lead, rows) if lead else None
    if lead and first is None:
        raise UsageError(f"no pane is {lead}", "tmux list-panes -a shows what there is")
    looks = [look for look in map(agentfiles.load, agentfiles.names()) if look]
    one = finder.Finder(finder.Doors(lambda: looks, Terminals(), accounts))
    nobody = {row.id: seats.Seat() for row in rows}
    seated = one.look([_Row(row.id, row.pid, row.dead, "") for row in rows], nobody, frozenset())
    commands = {look.name: look.commands[0] for look in looks if look.commands}
    members = []
    for row in rows:
        seat = seated.get(row.id)
        if seat is None or seat.agent is None or row.id == first:
            continue
        found = seat.profile or seat.agent
        account = found.removeprefix(seat.agent).removeprefix("-") or None
        profile = row.profile_option or found
        place = f"{row.session}:{row.window_index}.{row.pane_index}"
        led = row.lead_option or first
        marked, command = bool(row.profile_option), commands[seat.agent]
        members.append(Proposed(row.id, place, seat.agent, account, profile, profile, led, marked, command))
    return members


class _Row(NamedTuple):
    id: str
    pid: int
    dead: bool
    lead_option: str


def _show(say: _Say, found: Sequence[Proposed]) -> None:
    if not found:
        say("no agent runs in a pane now: each will be found when it starts")
        return
    say(*proposal.table(found))
    credentials = len({one.credential for one in found})
    say("", f"{len(found)} agents on {credentials} credential{'s' if credentials > 1 else ''}")


def _channel(said: str, known: Iterable[Channel]) -> Channel:
    found = proposal.channel(said, known)
    if found is None:
        names = ", ".join([*(one.name for one in known), "an https:// address", "'exec:COMMAND'"])
        raise UsageError(f"--alert {said} is no way to alert anybody", f"there are {names}")
    return found


def _graphical() -> bool:
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _confirmed(question: str) -> bool:
    return bool(click.confirm(question, default=False, err=True))


def _ask_for_alerts(known: Sequence[Channel]) -> list[Channel]:
    names = ", ".join([*(one.name for one in known), "an address (ntfy, Slack, any webhook)", "exec:COMMAND", "none"])
    while True:
        said = click.prompt(f"Who is told when an account fails? {names}", default="none", err=True).strip()
        if said in ("", "none"):
            return []
        found = proposal.channel(said, known)
        if found:
            return [found]


def _mark(say: _Say, tmux: Tmux, found: Iterable[Proposed]) -> None:
    for one in found:
        options = {"@fleet_profile": one.profile}
        if one.lead:
            options["@fleet_lead"] = one.lead
        tmux.set_options(one.pane, options)
        say(f"marked {one.pane}: {' '.join(f'{key} {value}' for key, value in options.items())}")


def _service(say: _Say, dry_run: bool) -> None:
    """Install the user's unit where systemd runs, else print the line for cron."""
    program = _program()
    if not (shutil.which("systemctl") and os.path.isdir("/run/systemd/system")):
        say("no systemd here; for cron (crontab -e):", f"* * * * * {shlex.quote(program)} --once")
        return
    home = os.environ.get("XDG_CONFIG_HOME", "")
    home = home if os.path.isabs(home) else os.path.expanduser("~/.config")
    place = os.path.join(home, "systemd", "user", "fleetd.service")
    with open(samples.path("fleetd.service"), encoding="utf-8") as file:
        text = proposal.unit(file.read(), program, os.environ.get("PATH", os.defpath))
    if dry_run:
        say("", f"{place} would be:", "", text.rstrip())
        return
    if os.path.lexists(place):
        say(f"{place} exists already, and stays as it is")
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        files.replace(place, text.encode())
        say(f"wrote {place}")
    say("start it with: systemctl --user daemon-reload && systemctl --user enable --now fleetd")


def _program() -> str:
    """The fleetd that runs, by its whole path."""
    beside = os.path.join(os.path.dirname(sys.executable), "fleetd")
    return shutil.which("fleetd") or (beside if os.path.exists(beside) else "fleetd")
