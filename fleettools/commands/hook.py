"""fleet-hook: what an agent itself says of its turns and limits, as signals; and its hooks in the agent's settings."""

from typing import TYPE_CHECKING, Any

import click

from fleettools.adapters.streams import Messages
from fleettools.cli import Command, Context, command, complete, state
from fleettools.errors import BadInput, Exit, FleetError, UsageError

if TYPE_CHECKING:
    from fleettools import records
    from fleettools.adapters.terminals import Kin
    from fleettools.policy.signals.origin import Handed
    from fleettools.screens.look import Look

PATIENCE = 2.0  # seconds for a payload that is posted
LONGEST = 30  # seconds that posting one takes at most, in the background
WAITING = 16  # so many are posted at the same time, further ones are dropped


class _Quiet(Command):
    """A command that with --post ends well even when it is called wrongly: some agents stop at a hook's status 2."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """The options and arguments; with --post a wrong one is said, and the end is a good one."""
        given = list(args)
        try:
            return super().parse_args(context, args)
        except click.UsageError as error:
            if "--post" not in given:
                raise
            Messages("fleet-hook").error(f"{error.format_message().rstrip('.')}; see fleet-hook --help")
            context.exit(Exit.OK)


@command("fleet-hook", cls=_Quiet)
@click.argument("words", nargs=-1, metavar="[PAYLOAD]")
@click.option("--agent", metavar="AGENT", shell_complete=complete("agents"), help="The agent whose hook this is.")
@click.option("--post", is_flag=True, help="Leave the signal in the store for fleet-resolve; print nothing, exit 0.")
@click.option("--statusline", is_flag=True,
              help="Post the used shares of a status line's JSON, and print what the command prints.")  # fmt: skip
@click.option("--install", metavar="AGENT", shell_complete=complete("agents"),
              help="Put the hooks into AGENT's own settings; show the change first.")  # fmt: skip
@click.option("--remove", is_flag=True, help="With --install: take them out again.")
@click.option("--project", is_flag=True, help="With --install: the settings of the project in this folder.")
@click.option("--user", is_flag=True, help="With --install: your own settings [default].")
@click.option("--dry-run", is_flag=True, help="With --install: show the change, make none.")
@state
def main(
    ctx: Context, words: tuple[str, ...], agent: str | None, post: bool, statusline: bool, install: str | None,
    remove: bool, project: bool, user: bool, dry_run: bool, state_url: str | None,
) -> Exit:  # fmt: skip
    """Pass on what an agent itself says of a turn.

    Reads one hook PAYLOAD (an argument, else standard input) and writes it as a `signal`, or posts it for the pipe.
    """
    if install is not None:
        if project and user:
            raise UsageError("--project and --user", "give one of them")
        from fleettools.commands.setup import hooks

        return hooks.install(ctx, install, remove, project, dry_run)
    if remove or project or user or dry_run:
        raise UsageError("--remove, --project, --user and --dry-run go with --install", "give --install AGENT")
    if statusline:
        return _status_line(ctx, words, agent, state_url)
    if post:
        try:
            _hand_over(ctx, words, agent, state_url)
        except UsageError as error:
            ctx.messages.error(error)
        except (FleetError, OSError) as error:
            ctx.messages.debug(error)
        return Exit.OK
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.policy.signals.origin import Handed

    found = _signal(ctx, Handed(_payload(words, None), _named(agent), "hook", clock.stamp(), _above()))
    if isinstance(found, str):
        ctx.messages.info(f"nothing to pass on: {found}")
        return Exit.OK
    ctx.out.write(records.encode(found))
    ctx.out.flush()
    return Exit.OK


def _named(agent: str | None) -> str:
    if agent is None:
        raise UsageError("no --agent", "name the agent whose hook this is")
    return agent


def _hand_over(ctx: Context, words: tuple[str, ...], agent: str | None, state_url: str | None) -> None:
    """Read the payload and leave the rest to a process that nobody waits for."""
    from fleettools.adapters import clock
    from fleettools.policy.signals.origin import Handed

    stamp = clock.stamp()
    if data := _payload(words, PATIENCE):
        _in_background(ctx, Handed(data, _named(agent), "hook", stamp, _above()), state_url)


def _payload(words: tuple[str, ...], seconds: float | None) -> bytes:
    """The payload: the argument, else all of standard input; raises BadInput when it is too long or does not end."""
    import os
    import select

    from fleettools import records
    from fleettools.adapters import clock, signals

    if words:
        if len(words) > 1:
            raise UsageError("more than one PAYLOAD", "quote it as one word")
        return words[0].encode(errors="surrogateescape")
    parts: list[bytes] = []
    size = 0
    deadline = None if seconds is None else clock.monotonic() + seconds
    while True:
        with signals.waiting():
            left = None if deadline is None else max(0.0, deadline - clock.monotonic())
            if not select.select([0], [], [], left)[0]:
                raise BadInput("the payload did not end", "close its end after writing it", "stdin")
            part = os.read(0, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > records.MAX_LINE:
            raise BadInput("a payload over 16 MiB", "hand over one payload", "stdin")


def _signal(ctx: Context, word: "Handed") -> "records.Signal | str":
    """The signal in a payload, or why there is none."""
    import os

    from fleettools.adapters import accounts, agentfiles, clock
    from fleettools.services.handed import Here, heard

    def look_of(agent: str) -> "Look | None":
        return agentfiles.load(agent, ctx.config().agents)

    here = Here(os.environ, os.uname().nodename, clock.local_zone(), look_of, accounts.environment)
    return heard(word, here)


def _above() -> "list[Kin]":
    """The processes above this one, nearest first; asked before anything is done in the background."""
    import os

    from fleettools.adapters.terminals import above

    return above(os.getpid())


def _in_background(ctx: Context, word: "Handed", state_url: str | None) -> None:
    """Post what the payload says, in a process that keeps nobody waiting; too many at a time are dropped."""
    from fleettools.adapters import background

    background.leave(lambda: _post(ctx, word, state_url), LONGEST)


def _post(ctx: Context, word: "Handed", state_url: str | None) -> None:
    import os

    from fleettools.adapters import background
    from fleettools.adapters.stores import default_path
    from fleettools.services import signaling

    if not background.takes_place(os.path.join(os.path.dirname(default_path()), "hooks.lock"), WAITING):
        return
    found = _signal(ctx, word)
    if not isinstance(found, str) and found.server and found.target:
        store = ctx.store(state_url)
        signaling.post(store, found)
        store.close()


def _status_line(ctx: Context, words: tuple[str, ...], agent: str | None, state_url: str | None) -> Exit:
    """Post the used shares when they have changed, and become the person's own command, or print a short line."""
    import os

    import msgspec

    from fleettools.adapters import clock
    from fleettools.policy.signals import payloads
    from fleettools.policy.signals.origin import Handed

    stamp = clock.stamp()
    data = b""
    try:
        data = _payload((), PATIENCE)
        payload = msgspec.json.decode(data)
        said = payloads.limits(payload) if isinstance(payload, dict) else payloads.Nothing("no object")
    except (FleetError, msgspec.DecodeError, RecursionError) as error:
        said = payloads.Nothing(str(error))
    if isinstance(said, payloads.Said) and _is_news(said, str(stamp["ts"])):
        _in_background(ctx, Handed(data, agent or "claude", "statusline", stamp, _above()), state_url)
    if words:
        from fleettools.adapters import runner

        runner.become(words[0] if len(words) == 1 else " ".join(words), data)
    if isinstance(said, payloads.Said):
        shown = (f"{one.window.replace('_', ' ')} {one.used_percent:.0f} %" for one in said.usage)
        ctx.out.write((" · ".join(shown) + os.linesep).encode())
        ctx.out.flush()
    return Exit.OK


def _is_news(said: Any, ts: str) -> bool:
    """Whether the used shares of this pane differ from those posted last, or those are some minutes old."""
    import hashlib
    import os

    from fleettools.adapters import files
    from fleettools.adapters.stores import default_path

    where = f"{os.environ.get('TMUX', '')} {os.environ.get('TMUX_PANE', '')}"
    name = f"usage-{hashlib.sha256(where.encode()).hexdigest()[:12]}"
    shares = f"{ts[:15]} {said.usage!r}"  # to ten minutes: what was lost, or is kept for half an hour, is posted again
    try:
        path = os.path.join(os.path.dirname(default_path()), "statusline", name)
        if files.read(path) == shares:
            return False
        files.replace(path, shares.encode(), 0o600)
    except FleetError:
        return True  # what cannot be remembered is posted again
    return True


if __name__ == "__main__":
    main()
