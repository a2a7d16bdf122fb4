"""Shell completion: what may stand at the cursor. Loaded only when a shell asks, with _FLEET_COMPLETE set.

The scripts for bash, zsh and fish (scripts/completions) run the command with the words before the cursor and the one
that is being typed. The answer is a line for each candidate, `value<TAB>help`; the line `:` stands for file names.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, ShellComplete

from fleettools.adapters.streams import printable
from fleettools.errors import FleetError

if TYPE_CHECKING:
    from fleettools.config import Config
    from fleettools.services.store import Store

Candidates = Iterator[tuple[str, str]]
Source = Callable[[click.Context, str], "list[CompletionItem]"]

# A shell puts the candidate on its command line as it is, and some come from panes: no other characters.
_SAFE = re.compile(r"[A-Za-z0-9%._@+/-]+\Z")


def answer(command: click.Command, words: list[str]) -> int:
    """Print the candidates for the last word; the status is 0, because a shell has no use for another."""
    *before, partial = words or [""]
    # With --name=value the shell goes on with the whole word, click with the value.
    prefix = partial[: partial.index("=") + 1] if partial.startswith("--") and "=" in partial else ""
    found = ShellComplete(command, {}, command.name or "", "").get_completions(before, partial)
    for item in found:
        if item.type == "plain":
            print(f"{prefix}{item.value}\t{printable(item.help or '')}")
    if any(item.type != "plain" for item in found):
        print(":")
    sys.stdout.flush()
    return 0


def _source(find: Callable[[click.Context], Candidates]) -> Source:
    """A click callback from a finder of (value, help); whatever cannot be read now offers nothing."""

    def late(context: click.Context, partial: str) -> list[CompletionItem]:
        found: dict[str, str] = {}
        with suppress(FleetError, OSError):
            for value, text in find(context):
                if value.startswith(partial) and _SAFE.match(value):
                    found.setdefault(value, text)
        return [CompletionItem(value, help=text) for value, text in sorted(found.items())]

    return late


def _config(context: click.Context) -> "Config":
    from fleettools.adapters import configfile

    path = context.params.get("config")
    return configfile.find(path and os.path.expanduser(path))


def _store(context: click.Context) -> "Store | None":
    """The store, unless it is one that a look would create or that has to be waited for."""
    from fleettools.adapters.stores import default_path, open_store

    url = context.params.get("state_url") or os.environ.get("FLEET_STATE") or _config(context).state or default_path()
    path = os.path.expanduser(url.removeprefix("sqlite:"))
    return open_store(path, lambda _text: None, view=True) if os.path.exists(path) else None


def _profiles(context: click.Context) -> Candidates:
    for name, profile in _config(context).profiles.items():
        yield name, ", ".join(part for part in (profile.agent, profile.credential_id) if part)


def _credentials(context: click.Context) -> Candidates:
    config = _config(context)
    for name in config.profiles:
        yield config.credential_of(name) or name, f"of {name}"
    for name in config.credentials:
        yield name, ""
    if store := _store(context):
        for key, _, _ in store.scan("credential/"):
            yield key.removeprefix("credential/"), ""


def _agents(context: click.Context) -> Candidates:
    from fleettools.adapters import agentfiles

    for name in agentfiles.names(_config(context).agents):
        yield name, ""


def _targets(context: click.Context) -> Candidates:
    from fleettools.policy.members.roster import MEMBERS, MemberState
    from fleettools.services.store import read_all

    if store := _store(context):
        for _, member in read_all(store, MEMBERS, MemberState):
            if member.state != "released":
                yield member.target, " ".join(part for part in (member.name, member.profile, member.state) if part)


def _tickets(context: click.Context) -> Candidates:
    from fleettools.policy.members.tickets import TicketState
    from fleettools.services.store import read_all

    if store := _store(context):
        for _, ticket in read_all(store, "ticket/", TicketState):
            if ticket.collected_ms is None:
                yield ticket.id, " ".join(part for part in (ticket.state, ticket.name or ticket.target) if part)


def _panes(context: click.Context) -> Candidates:
    from fleettools.adapters.tmux import Tmux

    tmux = Tmux(context.params.get("socket_path"), context.params.get("socket_name"), timeout=1.0)
    for row in tmux.panes():
        place = f"{row.session}:{row.window_index}.{row.pane_index}"
        yield row.id, " ".join(part for part in (place, row.name_option or row.command) if part)


def _files(_context: click.Context, partial: str) -> list[CompletionItem]:
    return [CompletionItem(partial, type="file")]


def _samples(_context: click.Context) -> Candidates:
    from fleettools.adapters import samples

    for name in samples.names():
        yield name, ""


SOURCES: dict[str, Source] = {
    "agents": _source(_agents),
    "credentials": _source(_credentials),
    "files": _files,
    "panes": _source(_panes),
    "profiles": _source(_profiles),
    "samples": _source(_samples),
    "targets": _source(_targets),
    "tickets": _source(_tickets),
}
