"""`fleetd init`: look around, propose, and write the configuration; marks, and a service, when asked for."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click

from fleettools.adapters import accounts, agentfiles, configfile, files
from fleettools.adapters.streams import printable
from fleettools.adapters.terminals import Terminals
from fleettools.adapters.tmux import PaneRow, Tmux
from fleettools.cli import Context
from fleettools.commands.setup import Wishes, leads, service
from fleettools.errors import Exit, NoServer, UsageError
from fleettools.policy import proposal
from fleettools.policy.members import seats
from fleettools.policy.proposal import Channel, Proposed
from fleettools.screens.look import Look
from fleettools.services import finder


def init(ctx: Context, asked: Wishes, tmux: Tmux) -> Exit:
    """Set fleettools up for the agents that run now. Asks on a terminal; never overwrites a file without."""
    terminal = os.isatty(0) and not asked.yes and not asked.dry_run
    if not (terminal or asked.yes or asked.dry_run):
        raise UsageError("nobody is here to be asked", "give --yes, or --dry-run to see what it would do")
    if asked.lead and not asked.mark:
        raise UsageError("--lead goes with --mark", "members know their lead by an option of their pane")
    say = _Say(ctx)
    known = proposal.channels([name for name, _, _ in proposal.COMMANDS if shutil.which(name)], _graphical())
    chosen = [_channel(said, known) for said in asked.alerts]
    found = _found(_rows(say, tmux), asked.lead)
    _show(say, found)
    for what in proposal.mixed(found):
        ctx.messages.warn(what)
    if terminal and not chosen:
        chosen = _ask_for_alerts(known)
    # Whoever has marked them all has named their profiles, too.
    mark = asked.mark or (bool(found) and all(one.marked for one in found))
    mark = mark or (terminal and bool(found) and _confirmed("Name the members' profiles by marking their panes?"))
    text = proposal.written(found, chosen, mark)
    path = _path(ctx.config_path)
    if asked.dry_run:
        say(f"{path} would be:", "", text.rstrip())
        return service.install(say, _options(path, asked), dry_run=True) if asked.service else Exit.OK
    if os.path.lexists(path) and not (terminal and _confirmed(f"{path} exists. Replace it?")):
        mend = "add what --dry-run shows, remove it, or name another file with -c"
        ctx.messages.error(f"{path} exists already, and stays as it is; {mend}")
        return Exit.NO
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    files.replace(path, text.encode())
    configfile.load(path)
    say(f"wrote {path}")
    if mark:
        _mark(say, tmux, found)
    leads.offer(say, _looks(), _confirmed if terminal else None)
    options = _options(path, asked)
    if chosen:
        say(f"try the alert with: {shlex.join(['fleetd', 'check', '--alerts', *options])}")
    if asked.service or (terminal and _confirmed("Start fleetd with your session?")):
        return service.install(say, options, dry_run=False)
    say(f"start it with: {shlex.join(['fleetd', *options])}")
    return Exit.OK


def _options(path: str, asked: Wishes) -> list[str]:
    """What fleetd has to be told to find this configuration and this tmux server."""
    return [*([] if path == configfile.located(None) else ["-c", path]), *asked.server]


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


def _looks() -> list[Look]:
    return [look for look in map(agentfiles.load, agentfiles.names()) if look]


def _found(rows: list[PaneRow], lead: str | None) -> list[Proposed]:
    """The agents that run, marked or not; the lead is none of the members."""
    first = seats.find(lead, rows) if lead else None
    if lead and first is None:
        raise UsageError(f"no pane is {lead}", "tmux list-panes -a shows what there is")
    looks = _looks()
    one = finder.Finder(finder.Doors(lambda: looks, Terminals(), accounts))
    nobody = {row.id: seats.Seat() for row in rows}
    seated = one.look([_Row(row.id, row.pid, row.dead, "") for row in rows], nobody, frozenset())
    commands = {look.name: look.commands[0] for look in looks if look.commands}
    members = []
    for row in rows:
        seat = seated.get(row.id)
        if seat is None or seat.agent is None or row.id == first:
            continue
        credential = seat.profile or seat.agent
        profile = row.profile_option or credential
        place = f"{row.session}:{row.window_index}.{row.pane_index}"
        led = row.lead_option or first
        marked, command, account = bool(row.profile_option), commands[seat.agent], one.told_by(row.id)
        members.append(Proposed(row.id, place, seat.agent, account, profile, credential, led, marked, command))
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
    say(*_table(found))
    credentials = len({one.credential for one in found})
    agents = f"{len(found)} agent{'s' if len(found) > 1 else ''}"
    say("", f"{agents} on {credentials} credential{'s' if credentials > 1 else ''}")


def _table(found: Sequence[Proposed]) -> Iterable[str]:
    """What was found; on a terminal that is too narrow for it names are shortened, and a pane's place is left out."""
    lines = list(proposal.table(found))
    width = shutil.get_terminal_size().columns if os.isatty(1) else 0
    if not width or max(map(len, lines)) <= width:
        return lines
    from fleettools.commands.views.layout import Rows

    where = proposal.HEADINGS.index("where")
    cells = (proposal.HEADINGS, *map(proposal.row, found))
    headings, *rows = ([*row[:where], *row[where + 1 :]] for row in cells)
    return [line.plain for line in Rows(headings, rows, ("account", "profile", "credential")).lines(width)]


def _channel(said: str, known: Iterable[Channel]) -> Channel:
    found = proposal.channel(said, known)
    if found is None:
        raise UsageError(f"--alert {said} is no way to alert anybody here", proposal.mend(said, known))
    return found


def _graphical() -> bool:
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _confirmed(question: str) -> bool:
    return bool(click.confirm(question, default=False, err=True))


def _ask_for_alerts(known: Sequence[Channel]) -> list[Channel]:
    names = ", ".join([*(one.name for one in known), "an address (ntfy, Slack, any webhook)", "exec:COMMAND"])
    while True:
        said = click.prompt(f"Who is told when an account fails? {names}", default="none", err=True).strip()
        if said in ("", "none"):
            return []
        found = proposal.channel(said, known)
        if found:
            return [found]
        click.echo(f"{said}: {proposal.mend(said, known)}", err=True)


def _mark(say: _Say, tmux: Tmux, found: Iterable[Proposed]) -> None:
    for one in found:
        options = {"@fleet_profile": one.profile}
        if one.lead:
            options["@fleet_lead"] = one.lead
        tmux.set_options(one.pane, options)
        say(f"marked {one.pane}: {' '.join(f'{key} {value}' for key, value in options.items())}")
