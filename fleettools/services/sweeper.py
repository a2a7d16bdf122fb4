"""Sweeps over one tmux server: what fleet-scrape writes, and what it has to remember between two sweeps."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fleettools import records
from fleettools.config import Config
from fleettools.errors import FleetError, NoPane, Unavailable, Unusable
from fleettools.policy.members import watch
from fleettools.policy.members.roster import MEMBERS, MemberState
from fleettools.policy.members.seats import Seat, may_opt_out, seats
from fleettools.policy.members.watch import Trace
from fleettools.seen import Once
from fleettools.services import members
from fleettools.services.finder import Finder
from fleettools.services.namer import Namer
from fleettools.services.ports import Clock, Logs, Messages, PaneRow, Panes, Seated, Shown
from fleettools.services.rollcall import RollCall
from fleettools.services.servers import Servers
from fleettools.services.store import Store, read_all

AGAIN = 30.0  # seconds after which everything is sent once more; ids make that harmless


class Scope(NamedTuple):
    """Which panes are looked at: these, or members and leads, or `everything`; and how many lines above the screen."""

    targets: tuple[str, ...] = ()
    everything: bool = False
    history: int = 0


class Doors(NamedTuple):
    """What a sweeper reaches outside through. `store` opens it; `is_tmux`: whether a tmux process has that pid.

    `finder` finds members that nobody marked, None when the configuration says who they are. `namer` tells which
    agent runs where nothing names one. `logs` makes what reads the logs of agents, once there is one.
    """

    tmux: Panes
    clock: Clock
    messages: Messages
    store: Callable[[], Store]
    is_tmux: Callable[[int], bool]
    finder: Finder | None = None
    namer: Namer | None = None
    logs: Callable[[], Logs] | None = None


class Sweeper:
    """Sweeps over one tmux server, and what has to be remembered between them."""

    def __init__(self, doors: Doors, config: Config, scope: Scope) -> None:
        self._doors, self._tmux, self._clock = doors, doors.tmux, doors.clock
        self._targets, self._everything, self._history = scope
        self._config = config
        self._agents = {name: profile.agent for name, profile in self._config.profiles.items()}
        self._by_command = any(rule.command for rule in self._config.panes)
        self._zone = self._clock.local_zone()
        self._store: Store | None = None
        self._warn = Once(doors.messages.warn)
        self._opted_out: dict[tuple[str, int], bool] = {}
        self._traces: dict[tuple[str, int], Trace] = {}
        self._roll = RollCall()
        self._servers = Servers(doors.clock, doors.is_tmux)
        self._logs: Logs | None = None
        self._second = 0
        self._again = 0.0
        self._found_all = False

    # -- one sweep

    def sweep(self, follow: bool = False, whole: bool = True) -> Iterator[records.Record]:
        """A record for each pane asked for; not the `whole` of them, for those that changed since the last sweep."""
        stamp, now = self._clock.stamp(), self._clock.monotonic()
        second = records.to_ms(stamp["ts"]) // 1000
        rows = {row.id: row for row in self._tmux.panes(self._by_command)}
        server = next(iter(rows.values())).server if rows else self._tmux.server()
        yield from self._came(server)
        if whole:
            yield from self.ended()
        out = self._out(rows)
        found, warnings = seats(list(rows.values()), self._config.panes, self._agents, out)
        if self._doors.finder:
            found |= self._doors.finder.look(rows.values(), found, out)
        if self._doors.namer:
            found |= self._doors.namer.name(rows.values(), found)
        for text in warnings:
            self._warn(text)
        wanted = self._wanted(rows, found)
        shown = self._tmux.look([pane for pane in wanted if whole or self._moved(rows[pane], found[pane], now)],
                                self._history)  # fmt: skip
        stored = self._stored(server) if shown or whole else {}
        for pane, sight in shown.items():
            if sight.pid == rows[pane].pid:  # else another process runs there by now, for the next sweep
                record = self._pane(stamp, rows[pane], found[pane], sight, stored.get(pane))
                if self._noticed(record, rows[pane], found[pane], now) or whole:
                    yield record
        if (seated := self._seated(rows, found, wanted)) and self._doors.logs:
            self._logs = self._logs or self._doors.logs()
            yield from self._logs.read(seated, stamp)
        self._second = second
        yield from self._absent(stamp, rows, found, stored, now if follow else None)

    def _seated(self, rows: dict[str, PaneRow], found: dict[str, Seat], wanted: list[str]) -> list[Seated]:
        members = [(rows[pane], found[pane].agent) for pane in wanted if found[pane].role == "member"]
        return [Seated(row.server, row.id, agent, row.pid) for row, agent in members if agent and not row.dead]

    def _wanted(self, rows: dict[str, PaneRow], found: dict[str, Seat]) -> list[str]:
        missing = [target for target in self._targets if target not in rows]
        for target in [] if self._found_all else missing:
            raise self._tmux.error(f"no pane {target}", "tmux list-panes -a shows what there is", NoPane)
        self._found_all = True
        if self._targets:
            return [target for target in dict.fromkeys(self._targets) if target in rows]
        return [pane for pane in rows if self._everything or found[pane].role]

    def _out(self, rows: dict[str, PaneRow]) -> frozenset[str]:
        """The panes that an empty option of their own keeps out of the fleet; looked up once a process in the pane."""
        anybody = bool(self._config.panes) or self._doors.finder is not None
        may = [rows[pane] for pane in may_opt_out(rows.values(), anybody)]
        asked = [row for row in may if (row.id, row.pid) not in self._opted_out]
        emptied = self._tmux.having([row.id for row in asked], "@fleet_profile")
        self._opted_out.update({(row.id, row.pid): row.id in emptied for row in asked})
        return frozenset(row.id for row in may if self._opted_out.get((row.id, row.pid)))

    def _pane(
        self, stamp: dict[str, Any], row: PaneRow, seat: Seat, sight: Shown, member: MemberState | None
    ) -> records.Pane:
        activity = sight.activity * 1000 if sight.panes == 1 else None
        return records.Pane(
            **stamp, **records.who(records.Pane, seat), role=seat.role, server=row.server, target=row.id, pid=row.pid,
            text=sight.text, cols=row.cols, rows=row.rows, tz=self._zone,
            activity=None if activity is None else records.to_ts(activity),
            dead=row.dead or None, title=row.title, turn=self._turn(stamp, row, activity, member),
        )  # fmt: skip

    def _turn(
        self, stamp: dict[str, Any], row: PaneRow, activity: int | None, member: MemberState | None
    ) -> records.Turn | None:
        """The turn of the member's last ticket; one that a person began after it was not delivered, so not told."""
        turn = member.turn if member and member.pid in (None, row.pid) else None
        if member is None or turn is None or turn.delivered_at_ms is None or self._store is None:
            return None
        ts_ms = records.to_ms(stamp["ts"])
        now_ms = members.at(self._store, records.Pane(**stamp), member).ms
        last = now_ms if activity is None else now_ms - max(0, ts_ms - activity - 1000)
        return records.Turn(id=turn.event, seconds=max(0, last - turn.delivered_at_ms) / 1000, baseline=turn.baseline)

    def _moved(self, row: PaneRow, seat: Seat, now: float) -> bool:
        """Whether a pane may show something else than what was sent last, or is to be sent once more."""
        trace = self._traces.get((row.id, row.pid))
        outside = trace is not None and trace.outside[:-1] != _outside(row, seat)
        return row.activity >= self._second or outside or watch.due(trace, now)

    def _noticed(self, record: records.Pane, row: PaneRow, seat: Seat, now: float) -> bool:
        """Remember what a pane showed, and since when; whether that is worth a record."""
        outside = (*_outside(row, seat), record.turn and record.turn.id)
        place = (row.id, row.pid)
        trace, worth = watch.noticed(self._traces.get(place), outside, hash(record.text), str(record.ts), now)
        self._traces[place] = trace
        record.changed = trace.changed
        if seat.role == "member":
            self._roll.present(record)
        return worth

    # -- what is no longer there

    def _absent(
        self, stamp: dict[str, Any], rows: dict[str, PaneRow], found: dict[str, Seat], stored: dict[str, MemberState],
        following: float | None,
    ) -> Iterator[records.Pane]:  # fmt: skip
        """Each member that is not there any more, once; the store knows those that vanished while nobody looked."""
        for gone in self._traces.keys() - {(row.id, row.pid) for row in rows.values()}:
            del self._traces[gone]
        for member in stored.values() if not self._targets else ():
            self._roll.remember(member)

        def age(pane: str) -> float:
            if following is not None:
                return self._roll.unmarked_for(pane, following)
            member = stored.get(pane)
            return members.unseen_seconds(self._store, self._clock, member) if self._store and member else 0.0

        finds = self._doors.finder is not None and not self._targets
        yield from self._roll.absent(stamp, rows, found, age, finds)

    # -- until stopped

    def follow(self, now: float) -> Iterator[records.Record]:
        """What changed since the last sweep; everything at first, every 30 s, and after a server came back."""
        whole = now >= self._again
        if whole:
            self._again = now + AGAIN
            self._opted_out.clear()
        try:
            yield from self.sweep(follow=True, whole=whole or self._servers.away)
        except (Unusable, NoPane):
            raise
        except Unavailable as error:
            reason = str(error)
            self._warn(reason)
            yield from self.ended()
            yield from self._servers.lost(reason, whole)

    def _came(self, server: str) -> Iterator[records.Tmux]:
        if self._servers.current != server:
            self._traces.clear()
            self._roll = RollCall()
            self._second = 0
        back = self._servers.away
        news = list(self._servers.came(server))
        if back or news:
            self._warn.over()
        yield from news

    def ended(self) -> Iterator[records.Tmux]:
        """`down` once for each earlier server of this socket that the store has members of."""
        known = self._all_stored(f"{self._tmux.host}:{self._tmux.socket}:")
        yield from self._servers.ended(member.server for member in known)

    # -- the store

    def _stored(self, server: str) -> dict[str, MemberState]:
        return {member.target: member for member in self._all_stored(f"{server}/")}

    def _all_stored(self, prefix: str) -> list[MemberState]:
        """The members whose server starts with `prefix`; none, and a warning, when the store cannot be read."""
        try:
            self._store = self._store or self._doors.store()
            found = [member for _, member in read_all(self._store, f"{MEMBERS}{prefix}", MemberState)]
        except FleetError as error:
            self._warn(f"going on without turns: {error}")
            return []
        return [member for member in found if member.state != "released"]


def _outside(row: PaneRow, seat: Seat) -> tuple[object, ...]:
    return (row.dead, row.cols, row.rows, row.title, *seat)
