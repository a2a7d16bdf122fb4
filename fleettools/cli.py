"""What every command shares: its common options, and the exit status of each way to end.

click alone would answer a closed pipe and ^C with 1 and print a traceback for the rest; see fleettools(7).
"""

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from fleettools import __version__
from fleettools.adapters import signals
from fleettools.adapters.streams import Messages, Output, guard, last_words
from fleettools.errors import Exit, FleetError

if TYPE_CHECKING:
    from fleettools.config import Config
    from fleettools.screens.look import Look
    from fleettools.services.finder import Finder
    from fleettools.services.namer import Namer
    from fleettools.services.store import Store

F = TypeVar("F", bound=Callable[..., Any])


class Context:
    """What a command is given: its streams, how it was asked to behave, and its configuration when it asks for it."""

    def __init__(
        self, program: str, config: str | None, quiet: bool, verbose: bool, strict: bool, as_json: bool = False
    ) -> None:
        self.json = as_json
        self.out = Output(draw=_drawing(as_json) if os.isatty(1) else None)
        self.messages = Messages(program, verbose - quiet)
        self.strict = strict
        self.config_path = config
        self._config: Config | None = None

    def anew(self) -> "Context":
        """The same, with a configuration that is read anew: for a command that outlives the one that it has read."""
        made = Context(self.messages.program, self.config_path, False, False, self.strict, self.json)
        made.messages = self.messages
        return made

    def config(self) -> "Config":
        """The configuration, defaults when there is no file, read once; raises BadConfig."""
        from fleettools.adapters import configfile

        if self._config is None:
            self._config = configfile.find(self.config_path)
        return self._config

    def store(self, url: str | None, *, view: bool = False, patient: bool = False) -> "Store":
        """The store of --state, $FLEET_STATE, the configuration or the default, in this order; raises Unavailable.

        A `view` is only read, so that a person may look at a fleet whose store is somebody else's. A filter is
        `patient`: it waits for a server that is lost meanwhile, while a person is told at once.
        """
        from fleettools.adapters.stores import open_store

        return open_store(url, self.messages.warn, lambda: self.config().state, view=view, patient=patient)

    def finder(self) -> "Finder | None":
        """What finds members that nobody marked, None when the configuration says who they are, or wants none."""
        from fleettools.services import finder

        config = self.config()
        if not finder.wanted(config):
            return None
        from fleettools.adapters import accounts
        from fleettools.adapters.terminals import Terminals

        return finder.Finder(finder.Doors(self._looks, Terminals(), accounts))

    def namer(self) -> "Namer":
        """What tells which agent runs in a pane, where nothing names one."""
        from fleettools.adapters.terminals import Terminals
        from fleettools.services.namer import Namer

        return Namer(self._looks, Terminals())

    def _looks(self) -> "Iterator[Look]":
        from fleettools.adapters import agentfiles

        folder = self.config().agents
        loaded = (agentfiles.load(name, folder) for name in agentfiles.names(folder))
        return (look for look in loaded if look)


def _drawing(as_json: bool) -> Callable[[bytes], bytes]:
    """How a terminal is shown a line of output: as a sentence, or as JSON without what does not print."""

    def draw(line: bytes) -> bytes:
        from fleettools.commands.views import sentences

        return sentences.escaped(line) if as_json else sentences.sentence(line)

    return draw


class Command(click.Command):
    """A click command whose ways to end are those of fleettools(7)."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run to the end, and end the process: by a status, or by the deadly signal that came."""
        guard()
        signals.install()
        program = self.name or "fleettools"
        if "_FLEET_COMPLETE" in os.environ:
            from fleettools import completion

            sys.exit(completion.answer(self, sys.argv[1:]))
        try:
            status = _run(super().main, program, *args, **{**extra, "prog_name": program, "standalone_mode": False})
        except signals.Killed as error:
            last_words()
            signals.die(error.signum)
        last_words()
        if signals.caught() and status == Exit.OK:
            signals.die(signals.caught())
        _leave(status)


def _run(main: Callable[..., Any], program: str, *args: Any, **extra: Any) -> int:
    """The status of the command's own code; what it raises is said on one line."""
    say = Messages(program).error
    try:
        return int(main(*args, **extra) or 0)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        hint = f"see {program} --help" if isinstance(error, click.UsageError) else ""
        say("; ".join(part for part in (error.format_message().rstrip("."), hint) if part))
        return error.exit_code
    except click.Abort:
        raise signals.Killed(signal.SIGINT) from None
    except SystemExit:  # click's own answer to a closed pipe, the one case in which it leaves by itself here
        raise signals.Killed(signal.SIGPIPE) from None
    except FleetError as error:
        for each in (error, *error.also):
            say(each)
        return error.exit
    except OSError as error:
        # Doors name their own failures; what is left is click's own echo to a full or broken standard output.
        if error.errno not in _CANNOT_WRITE:
            return _internal(say, error)
        say(f"standard output: {error.strerror}; make room there, or write elsewhere")
        last_words()
        os._exit(Exit.CANNOT_WRITE)
    except Exception as error:  # a fault of ours is one line too, with its place for a report
        return _internal(say, error)


_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def _internal(say: Callable[[object], None], error: Exception) -> int:
    if os.environ.get("FLEET_DEBUG"):
        raise error
    place = error.__traceback__
    while place and place.tb_next:
        place = place.tb_next
    at = f" at {os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno}" if place else ""
    say(f"internal error: {type(error).__name__}: {error}{at}; please report it (FLEET_DEBUG=1 shows more)")
    return Exit.INTERNAL


def _leave(status: int) -> NoReturn:
    """End the process at once, when what it wrote has gone out."""
    try:
        if sys.stdout is not None:  # closed by the shell
            sys.stdout.flush()
    except BrokenPipeError:
        signals.die(signal.SIGPIPE)
    except OSError as error:
        Messages("fleettools").error(f"standard output: {error.strerror}; make room there, or write elsewhere")
        last_words()
        os._exit(Exit.CANNOT_WRITE)
    # Taking the interpreter apart would cost a third of a short command, and nothing is left to put away.
    os._exit(status)


def command(name: str, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """Make a function the command `name`: it gets a Context, then its own options, and returns an Exit or None."""

    def wrap(function: Callable[..., Any]) -> Command:
        def callback(
            config: str | None, quiet: bool, verbose: bool, strict: bool, as_json: bool, **options: Any
        ) -> Any:
            return function(Context(name, config, quiet, verbose, strict, as_json), **options)

        callback.__doc__ = function.__doc__
        callback.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
        for option in reversed(_COMMON):
            callback = option(callback)
        names = {"help_option_names": ["-h", "--help"]}
        settings.setdefault("cls", Command)
        made: Callable[..., Command] = click.command(name, context_settings=names, **settings)
        return made(callback)

    return wrap


def complete(kind: str) -> Callable[[click.Context, click.Parameter, str], Any]:
    """A `shell_complete` callback; `kind` is a key of `completion.SOURCES`, which is loaded when a shell asks."""

    def late(context: click.Context, _param: click.Parameter, partial: str) -> Any:
        from fleettools import completion

        return completion.SOURCES[kind](context, partial)

    return late


_COMMON = (
    click.option(
        "-c",
        "--config",
        metavar="FILE",
        shell_complete=complete("files"),
        help="Configuration file [default: see fleetd.yaml(5)].",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Say only errors and warnings on stderr."),
    click.option("-v", "--verbose", is_flag=True, help="Say more on stderr."),
    click.option("--json", "as_json", is_flag=True, help="Write JSON on a terminal, too."),
    click.option("--strict", is_flag=True, help="Stop at the first bad line."),
    click.version_option(__version__, message="%(prog)s %(version)s"),
)


def files(function: F) -> F:
    """The FILE arguments of a filter."""
    return click.argument("files", nargs=-1, metavar="[FILE]...", shell_complete=complete("files"))(function)


def state(function: F) -> F:
    """The --state option."""
    text = "State store: sqlite:PATH, memory: or postgresql://... [default: $FLEET_STATE, the config's, a SQLite file]."
    return click.option("--state", "state_url", metavar="S", shell_complete=complete("files"), help=text)(function)


def tmux_server(function: F) -> F:
    """The -S and -L options, of which one may be given."""
    text = "tmux socket name, as tmux -L."
    function = click.option("-L", "socket_name", metavar="NAME", callback=_one_server, help=text)(function)
    settings: dict[str, Any] = {"metavar": "SOCKET", "callback": _one_server, "shell_complete": complete("files")}
    return click.option("-S", "socket_path", help="tmux socket path, as tmux -S.", **settings)(function)


def _one_server(context: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    # click asks for one after the other, so the second one finds the first.
    if value is not None and any(context.params.get(name) is not None for name in ("socket_path", "socket_name")):
        raise click.UsageError("-S and -L exclude each other")
    return value


def watch(function: F) -> F:
    """The --watch option of a view: None, or the seconds between two looks."""
    text = "Show it again every SECONDS [default: 2], in place, until stopped; in a pipe a line each time."
    seconds = click.FloatRange(min=0.1, max=86_400)
    settings: dict[str, Any] = {"is_flag": False, "flag_value": 2.0, "type": seconds, "metavar": "[SECONDS]"}
    return click.option("--watch", "every", help=text, **settings)(function)
