"""The doors that services are handed, by what they ask of them; adapters have them, commands bring the two together."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fleettools import records
from fleettools.config import Config
from fleettools.errors import TmuxError
from fleettools.moments import Moment
from fleettools.policy.foreground import Process
from fleettools.policy.members import seats
from fleettools.screens.look import Look


class Clock(Protocol):
    """This machine's clocks, as the module `adapters.clock` has them."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch; may step."""

    def monotonic(self) -> float:
        """Seconds for deadlines within this process."""

    def stamp(self) -> dict[str, Any]:
        """The `ts`, `boot` and `up` of a record made now."""

    def moment(self) -> Moment:
        """Now, on both clocks."""

    def boot(self) -> str | None:
        """This boot's id, None where the system has none."""

    def up(self) -> float:
        """Seconds since boot, suspend included; never steps."""

    def sleep(self, seconds: float) -> None:
        """Wait; a deadly signal ends the wait."""

    def hold(self, seconds: float) -> None:
        """Wait in the middle of what has to be brought to its end; a deadly signal takes effect after that."""

    def local_zone(self) -> str | None:
        """The IANA name of this host's time zone, None when it has a rule of its own."""


class Messages(Protocol):
    """Standard error, for a person."""

    def error(self, text: object, *, once: bool = False) -> None:
        """What went wrong; with `once` not if it was said before."""

    def warn(self, text: object, *, once: bool = False) -> None:
        """What a person should know though the work goes on; with `once` not if it was said before."""

    def info(self, text: object) -> None:
        """What is good to know."""

    def debug(self, text: object) -> None:
        """What helps to find a mistake."""


class AgentFiles(Protocol):
    """How agents draw, as the module `adapters.agentfiles` reads it; `folder` holds a person's own files."""

    def names(self, folder: str | None = None) -> list[str]:
        """The names of the agents that are described."""

    def load(self, agent: str, folder: str | None = None) -> Look | None:
        """The look of an agent, None when no file describes it; raises BadConfig naming a file that is wrong."""

    def of(self, config: Config, profile: str | None, agent: str | None) -> Look | None:
        """The look of who runs on a profile: the one that the profile describes, else its agent's; None without."""


class Place(Protocol):
    """So much of a pane as is asked for who runs in it."""

    @property
    def id(self) -> str:
        """The pane's id, such as `%12`."""

    @property
    def pid(self) -> int:
        """The pane's process."""

    @property
    def dead(self) -> bool:
        """Whether that has ended and the pane stays."""


class Foregrounds(Protocol):
    """Who is in the foreground of panes' terminals."""

    def sweep(self, pids: Iterable[int]) -> Mapping[int, Sequence[Process]]:
        """By the pid of a pane's process; without those of which nothing tells."""


class PaneRow(seats.Row, Protocol):
    """A pane as tmux lists it."""

    @property
    def server(self) -> str:
        """The server's identity, `host:socket path:server pid`."""

    @property
    def server_pid(self) -> int:
        """The server's process."""

    @property
    def pid(self) -> int:
        """The pane's process."""

    @property
    def activity(self) -> int:
        """When its window last changed, in whole seconds since the epoch."""

    @property
    def panes(self) -> int:
        """How many panes that window has."""

    @property
    def dead(self) -> bool:
        """Whether its process has ended and the pane stays."""

    @property
    def cols(self) -> int:
        """Its width."""

    @property
    def rows(self) -> int:
        """Its height."""

    @property
    def in_mode(self) -> int:
        """How many modes it is in, as copy mode: 0 when keys reach its program."""

    @property
    def input_off(self) -> bool:
        """Whether it takes no keys."""

    @property
    def synchronized(self) -> bool:
        """Whether what is typed there goes to all panes of its window."""


class Shown(Protocol):
    """What a pane shows, and what holds of it right after that."""

    @property
    def text(self) -> str:
        """What the pane shows."""

    @property
    def pid(self) -> int:
        """Its process after that."""

    @property
    def activity(self) -> int:
        """When its window last changed, in whole seconds since the epoch."""

    @property
    def panes(self) -> int:
        """How many panes that window has."""


class Panes(Protocol):
    """One tmux server, to be read. Every method raises NoServer, Silent or another TmuxError that says the mend."""

    @property
    def host(self) -> str:
        """The name of this host."""

    @property
    def socket(self) -> str:
        """The path of the server's socket."""

    def error(self, what: str, mend: str = "", kind: type[TmuxError] = TmuxError) -> TmuxError:
        """An error about this server."""

    def server(self) -> str:
        """The server's identity, `host:socket path:server pid`."""

    def panes(self, commands: bool = True) -> Sequence[PaneRow]:
        """Every pane of the server, each once; without `commands` that column is empty."""

    def having(self, panes: Iterable[str], option: str) -> frozenset[str]:
        """Those of these panes, by id, that have the option of their own, even if it is empty."""

    def look(self, panes: Iterable[str], history: int = 0) -> Mapping[str, Shown]:
        """What each pane shows, in colour, `history` lines above it too; panes that are gone are left out."""

    def capture(
        self, panes: Iterable[str], history: int = 0, colours: bool = True, joined: bool = True
    ) -> dict[str, str]:
        """What each pane shows, `history` lines above it too; panes that are gone are left out."""


class Seated(NamedTuple):
    """An agent in a pane; `pid` is the pane's process."""

    server: str
    target: str
    agent: str
    pid: int


class Logs(Protocol):
    """What agents write of their own sessions."""

    def read(self, seated: Iterable[Seated], stamp: Mapping[str, Any]) -> Iterable[records.Signal]:
        """What these agents have written since the last look."""


class Keys(Panes, Protocol):
    """One tmux server, to be typed into, too."""

    def pane(self, pane: str) -> PaneRow:
        """The pane of that id; raises NoPane when there is none."""

    def paste(self, row: PaneRow, text: str) -> bool:
        """Paste into the pane; False when it is not what was seen any more, or takes no keys just now."""

    def enter(self, row: PaneRow) -> bool:
        """Press Enter there, likewise."""


class Windows(Keys, Protocol):
    """One tmux server, in which panes are opened and ended, too. New ones get `options`; `env` may be secret."""

    def new_window(
        self,
        command: str,
        *,
        name: str | None = None,
        session: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> PaneRow:
        """Open a window that runs a shell command; raises NoPane when it has ended already."""

    def split_window(
        self,
        pane: str,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> PaneRow:
        """Open a pane beside another that runs a shell command; raises NoPane."""

    def unset_options(self, pane: str, names: Iterable[str]) -> None:
        """Take user options off the pane itself; raises NoPane."""

    def kill_pane(self, pane: str) -> None:
        """End the pane and what runs in it; raises NoPane."""


class Terminals(Protocol):
    """The processes of panes' terminals."""

    def foreground(self, pid: int) -> Sequence[Process] | None:
        """Who is in the foreground of the terminal of a pane's process, looked up anew; None when nothing tells."""

    def seen(self, pid: int) -> Sequence[Process] | None:
        """The same, looked up once for a pane's process and foreground group."""


class Answer(Protocol):
    """What became of something that was handed on."""

    @property
    def taken(self) -> bool:
        """Whether it was taken."""

    @property
    def maybe(self) -> bool:
        """Whether it may have been taken all the same."""

    @property
    def reason(self) -> str:
        """Why it was, or was not, in words without any secret."""


Runner = Callable[[str, bytes, Mapping[str, str]], Answer]  # a shell command, its standard input, its environment
Poster = Callable[[str, bytes, Mapping[str, str]], Answer]  # a web address, a body, headers
