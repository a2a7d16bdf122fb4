"""What `fleetd init` proposes: members with their profiles, channels that can alert a person, and the file itself."""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec


class Proposed(NamedTuple):
    """A pane in which an agent runs. `place`: where a person finds it; `marked`: its options name its profile.

    `account`: where it was told from, None when it could not be told. `command` starts such an agent, its own name
    when it is not given.
    """

    pane: str
    place: str
    agent: str
    account: str | None
    profile: str
    credential: str
    lead: str | None = None
    marked: bool = False
    command: str | None = None


class Channel(NamedTuple):
    """A way to alert a person: a command or an address, and what a person calls it."""

    name: str
    exec: str | None = None
    webhook: str | None = None
    shape: str = "json"


# Programs that bring a message to a person; the words come from the environment, so that no shell reads them as code.
COMMANDS = (
    ("notify-send", "desktop", 'notify-send "fleet: $FLEET_CREDENTIAL" "$FLEET_TEXT"'),
    ("terminal-notifier", "desktop", 'terminal-notifier -title fleet -message "$FLEET_TEXT"'),
    ("apprise", "apprise", 'apprise -t fleet -b "$FLEET_TEXT"'),
    ("mail", "mail", 'printf "%s\\n" "$FLEET_TEXT" | mail -s "fleet: $FLEET_CREDENTIAL" "$LOGNAME"'),
)
_SLACK = ("hooks.slack.com", "discord.com", "discordapp.com")


def channels(programs: Collection[str], graphical: bool) -> list[Channel]:
    """The ways to alert a person that exist here; a desktop's only where there is one."""
    return [
        Channel(name, exec=words)
        for program, name, words in COMMANDS
        if program in programs and (graphical or name != "desktop")
    ]


def mend(said: str, known: Iterable[Channel]) -> str:
    """What to write in place of an `--alert` that means no channel."""
    wanted = [program for program, name, _ in COMMANDS if name == said]
    if wanted:
        where = " in a graphical session" if said == "desktop" else ""
        return f"it needs {' or '.join(wanted)}{where}; or give an https:// address, or exec:COMMAND"
    if re.fullmatch(r"[\w-]+(\.[\w-]+)+(:\d+)?(/\S*)?", said):
        return f"an address begins with its scheme: https://{said}"
    return f"give {', '.join([*(one.name for one in known), 'an https:// address'])} or exec:COMMAND"


def channel(said: str, known: Iterable[Channel]) -> Channel | None:
    """The channel that a person means: the name of a known one, an address, or a command behind `exec:`."""
    for one in known:
        if said == one.name:
            return one
    if said.startswith("exec:"):
        return Channel("mine", exec=said.removeprefix("exec:").strip()) if said.removeprefix("exec:").strip() else None
    kind, _, rest = said.partition("=")
    shape, address = (kind, rest) if kind in ("ntfy", "slack", "json") else ("", said)
    if not re.fullmatch(r"https?://[^\s]+", address):
        return None
    host = re.sub(r"^https?://(?:[^/@]*@)?([^/:?#]*).*$", r"\1", address)
    guessed = "slack" if host in _SLACK else "ntfy" if host.startswith("ntfy.") else "json"
    return Channel(shape or guessed, webhook=address, shape=shape or guessed)


HEADINGS = ("pane", "where", "agent", "account", "profile", "credential", "lead")


def row(one: Proposed) -> tuple[str, ...]:
    """What was found in a pane, a cell for each of HEADINGS."""
    marked = f"{one.profile} (marked)" if one.marked else one.profile
    return (one.pane, one.place, one.agent, one.account or "?", marked, one.credential, one.lead or "-")


def table(found: Iterable[Proposed]) -> Iterator[str]:
    """What was found, a line a pane."""
    rows = [HEADINGS, *map(row, found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    for cells in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(cells, widths, strict=True)).rstrip()


def mixed(found: Iterable[Proposed]) -> Iterator[str]:
    """What is wrong with profiles whose panes spend several credentials: a profile can have but one."""
    spent: dict[str, set[str]] = {}
    for one in found:
        spent.setdefault(one.profile, set()).add(one.credential)
    for profile, credentials in sorted(spent.items()):
        if len(credentials) > 1:
            names = ", ".join(sorted(credentials))
            yield f"profile {profile}: its panes spend {names}; give each account a profile of its own"


def written(found: Iterable[Proposed], alerts: Iterable[Channel], marks: bool) -> str:
    """The configuration, with what each part is for. `marks`: the panes are marked, so profiles have to be named."""
    members = list(found)
    parts = [
        "# fleettools, written by `fleetd init`. fleetd.yaml(5) explains every key,",
        "# `fleetd sample fleetd.yaml` shows them all; `fleetd check` says what is wrong,",
        "# and `kill -HUP` makes a running fleetd read this again.",
        "",
        *_profiles(members, marks),
        "",
        *_alerts(list(alerts)),
        "",
        "# Two backend errors on one credential within a minute are an incident:",
        "# it cools off for a minute.",
        "# outage: {threshold: 2, windowSeconds: 60, coolOffSeconds: 60}",
        "",
        "# What fleetd has seen is kept so long, for fleet-timeline and jq.",
        "# journal: {days: 30}",
    ]
    return "\n".join(parts) + "\n"


_NAMED = """\
# How members are run. A credentialId is the account that is spent: failures are
# counted for it, and profiles that share one cool off together. New panes are
# members once they are marked, too: tmux set-option -p @fleet_profile NAME
profiles:"""
_FOUND = """\
# Members are found: every pane in whose foreground an agent runs, on a profile
# named after the agent and a fingerprint of its account. To name them yourself,
# `fleetd init --mark`; or take the # away below, and mark each pane with
# `tmux set-option -p @fleet_profile NAME`. Then nobody else is looked for.
discover: auto
# profiles:"""


def _profiles(members: list[Proposed], marks: bool) -> Iterator[str]:
    yield _NAMED if marks else _FOUND
    hidden = "" if marks else "# "
    example = Proposed("", "", "claude", None, "claude-a", "team-a")
    profiles = {one.profile: one for one in members or [example]}
    for name, one in sorted(profiles.items()):
        command = one.command or one.agent
        yield f"{hidden}  {name}: {{agent: {one.agent}, command: {command}, credentialId: {one.credential}}}"


def _alerts(alerts: list[Channel]) -> Iterator[str]:
    yield "# Who is told when a credential fails, runs out, and is free again."
    if not alerts:
        example = Channel("phone", webhook="https://ntfy.sh/a-name-nobody-guesses", shape="ntfy")
        yield from (f"# {line}" for line in _listed([example]))
        return
    yield from _listed(alerts)


def _listed(alerts: Iterable[Channel]) -> Iterator[str]:
    yield "alerts:"
    for one in alerts:
        yield f"  - name: {one.name}"
        yield f"    exec: {_quoted(one.exec)}" if one.exec else f"    webhook: {_quoted(one.webhook or '')}"
        if one.webhook and one.shape != "json":
            yield f"    shape: {one.shape}"


def _quoted(text: str) -> str:
    """A text as YAML takes it whatever it holds."""
    return msgspec.json.encode(text).decode() if not text.isprintable() else "'" + text.replace("'", "''") + "'"


def unit(template: str, program: str, path: str, options: Sequence[str] = ()) -> str:
    """The systemd unit that starts this very program with this PATH and these options, from the sample's text."""
    text = template.replace("%h/.local/bin/fleetd", " ".join(map(_escaped, (shlex.quote(program), *options))))
    first = re.sub(r"^# A user's service:.*?\n(?=# `loginctl)", "", text, count=1, flags=re.S)
    return re.sub(r"^Environment=PATH=.*$", lambda _: f'Environment="PATH={_escaped(path)}"', first, flags=re.M)


def _escaped(word: str) -> str:
    return word.replace("%", "%%")
