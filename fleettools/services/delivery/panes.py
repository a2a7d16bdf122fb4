"""The way into a lead's pane: typed into its agent, and seen to be submitted."""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from fleettools.config import Config
from fleettools.errors import NoPane, NoServer, Silent, Unavailable
from fleettools.policy import foreground
from fleettools.policy.members.seats import Seat, may_opt_out, seats
from fleettools.policy.notices import nudge
from fleettools.screens.look import Look
from fleettools.services.delivery import inject
from fleettools.services.delivery.inject import Pasted, Site
from fleettools.services.delivery.ways import Gone, Message, Reach, Result, Step, To
from fleettools.services.ports import Clock, Keys, PaneRow, Terminals

REST = 10.0  # seconds for which a server that did not answer is left alone
VANISHED = "the lead's pane has vanished"


class Doors(NamedTuple):
    """What this way reaches outside through. `tmux` opens a server by its socket; `look` is by profile and agent."""

    tmux: Callable[[str], Keys]
    is_tmux: Callable[[int], bool]  # whether a tmux process has that pid
    terminals: Terminals
    look: Callable[[str | None, str | None], Look | None]
    agents: Callable[[], Iterable[str]]
    clock: Clock
    pause: Callable[[float], None]


class _Seen(NamedTuple):
    """One list of a server's panes: its rows and seats by pane."""

    rows: Mapping[str, PaneRow]
    seats: Mapping[str, Seat]


class Panes:
    """Types into leads' panes, see `ways.Way`."""

    singly = False

    def __init__(self, config: Config, doors: Doors) -> None:
        self._config, self._doors = config, doors
        self._agents = {name: profile.agent for name, profile in config.profiles.items()}
        self._locks: dict[str, threading.Lock] = {}
        self._servers: dict[str, Keys] = {}
        self._seen: dict[str, _Seen] = {}
        self._resting: dict[str, tuple[float, Silent]] = {}

    def begin(self) -> None:
        """Forget what the panes were."""
        self._seen = {}

    def reaches(self, to: To) -> Reach:
        """Whether its agent would take a text now; raises Gone."""
        try:
            row, seat = self._find(to)
            look = self._look(row, seat)
            credential = self._config.credential_of(seat.profile)
            if look is None:
                return Reach("its agent is not known; set @fleet_agent on the pane", credential=credential)
            site = self._site(row, seat, look)
            room = nudge.room(look.whole_notice, row.cols, row.rows)
            return Reach(site.hindrance(anew=False) or inject.unready(site.see()), room, credential)
        except NoPane:
            raise Gone(VANISHED) from None
        except Unavailable as error:
            return Reach(str(error))

    def submit(self, to: To, message: Message, step: Step) -> Result:
        """Paste and submit the text."""
        row, seat = self._find(to)
        look = self._look(row, seat)
        if look is None:
            return Result(None, "its agent is not known any more")
        return inject.deliver(self._site(row, seat, look), message.text, message.token, step)

    def recover(self, to: To, token: str, step: Step) -> Result:
        """Find a text that another process typed, and end its delivery."""
        try:
            row, seat = self._find(to)
            look = self._look(row, seat)
            if look is None:
                return Result("unknown", "no agent is there any more")
            return inject.finish(self._site(row, seat, look), Pasted(nudge.head(token), nudge.RUN, token), step)
        except NoPane:
            raise Gone(VANISHED) from None
        except Unavailable as error:
            return Result(None, str(error))

    def _site(self, row: PaneRow, seat: Seat, look: Look) -> Site:
        doors = inject.Doors(self._servers[row.server], self._doors.terminals, self._doors.clock, self._doors.pause)
        return Site(doors, row, look, foreground.programs(look, self._config.runs_of(seat.profile, seat.runs)))

    def _look(self, row: PaneRow, seat: Seat) -> Look | None:
        if look := self._doors.look(seat.profile, seat.agent):
            return look
        looks = {name: look for name in self._doors.agents() if (look := self._doors.look(None, name))}
        known = {name: look.commands for name, look in looks.items()}
        return looks.get(foreground.agent_of(self._doors.terminals.seen(row.pid) or (), known) or "")

    def _find(self, to: To) -> tuple[PaneRow, Seat]:
        seen = self._list(to.server)
        if to.target not in seen.rows:
            raise Gone(VANISHED)
        return seen.rows[to.target], seen.seats[to.target]

    def _list(self, server: str) -> _Seen:
        """The panes of a server; raises Gone when that server has ended, Silent while it rests."""
        # What several leads of a server ask for at once is looked up once; one that hangs holds up its own alone.
        with self._locks.setdefault(server, threading.Lock()):
            seen = self._seen.get(server)
            if seen is None:
                rows = self._rows(server)
                out = self._servers[server].having(
                    may_opt_out(rows.values(), bool(self._config.panes)), "@fleet_profile"
                )
                found, _ = seats(list(rows.values()), self._config.panes, self._agents, out)
                seen = self._seen[server] = _Seen(rows, found)
            return seen

    def _rows(self, server: str) -> dict[str, PaneRow]:
        """The panes of a server; one that was silent is left in peace for a while, and one that ended is Gone."""
        tmux = self._servers.setdefault(server, self._doors.tmux(socket_of(server)))
        now = self._doors.clock.monotonic()
        since, silent = self._resting.get(server, (now, None))
        if silent and now - since < REST:
            raise silent
        try:
            rows = {row.id: row for row in tmux.panes() if row.server == server}
        except Silent as error:
            self._resting[server] = (self._doors.clock.monotonic(), error)
            raise
        except NoServer:
            rows = {}
            if self._doors.is_tmux(_pid(server)):
                raise
        if not rows and not self._doors.is_tmux(_pid(server)):
            raise Gone("the lead's tmux server has ended")
        if not rows:
            raise tmux.error(f"another server than {_pid(server)} answers there", "end one of the two")
        return rows


def socket_of(server: str) -> str:
    """The socket path in a server's identity."""
    return server.partition(":")[2].rpartition(":")[0]


def _pid(server: str) -> int:
    pid = server.rpartition(":")[2]
    return int(pid) if pid.isdigit() else 0
