"""Sweeps over one tmux server: what fleet-scrape writes, and what it has to remember between two sweeps."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from fleettools import records
from fleettools.config import Config
from fleettools.errors import FleetError, NoPane, Unavailable, Unusable
from fleettools.policy import discovery
from fleettools.policy.members.roster import MEMBERS, MemberState
from fleettools.policy.members.seats import Seat, seats
from fleettools.services.finder import Finder
from fleettools.services.ports import Clock, Messages, PaneRow, Panes
from fleettools.services.store import Store, read_all

AGAIN = 30.0  # seconds after which everything is sent once more; ids make that harmless


class Scope(NamedTuple):
    """Which panes are looked at: these, or members and leads, or `everything`; and how many lines above the screen."""

    targets: tuple[str, ...] = ()
    everything: bool = False
    history: int = 0


class Doors(NamedTuple):
    """What a sweeper reaches outside through. `store` opens it; `is_tmux`: whether a tmux process has that pid.

    `finder` finds members that nobody marked, None when the configuration says who they are.
    """

    tmux: Panes
    clock: Clock
    messages: Messages
    store: Callable[[], Store]
    is_tmux: Callable[[int], bool]
    finder: Finder | None = None


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
        self._said: set[str] = set()
        self._opted_out: dict[tuple[str, int], bool] = {}
        self._sent: dict[str, tuple[object, ...]] = {}
        self._members: dict[str, records.Pane] = {}
        self._ended: set[str] = set()
        self._server: str | None = None
        self._state = "up"
        self._second = 0
        self._again = 0.0
        self._found_all = False

    # -- one sweep

    def sweep(self, changed_only: bool = False) -> Iterator[records.Record]:
        """A record for each pane asked for; with `changed_only` for those that changed since the last sweep."""
        stamp = self._clock.stamp()
        second = records.to_ms(stamp["ts"]) // 1000
        rows = {row.id: row for row in self._tmux.panes(self._by_command)}
        server = next(iter(rows.values())).server if rows else self._tmux.server()
        yield from self._came(server)
        out = self._out(rows)
        found, warnings = seats(list(rows.values()), self._config.panes, self._agents, out)
        if self._doors.finder:
            found |= self._doors.finder.look(rows.values(), found, out)
        for text in warnings:
            self._warn_once(text)
        wanted = self._wanted(rows, found)
        since = self._second if changed_only else 0
        look = [pane for pane in wanted if rows[pane].activity >= since or self._moved(rows[pane], found[pane])]
        texts = self._tmux.capture(look, self._history)
        # A first look has to know whose agent has ended meanwhile, too.
        ask = bool(texts) or not changed_only or (self._doors.finder is not None and not self._second)
        stored = self._stored(server) if ask else None
        for pane, text in texts.items():
            record = self._pane(stamp, rows[pane], found[pane], text, (stored or {}).get(pane))
            if self._changed(record, rows[pane], found[pane]) or not changed_only:
                yield record
        yield from self._vanished(stamp, server, rows, found, stored)
        self._second = second

    def _wanted(self, rows: dict[str, PaneRow], found: dict[str, Seat]) -> list[str]:
        missing = [target for target in self._targets if target not in rows]
        for target in [] if self._found_all else missing:
            raise self._tmux.error(f"no pane {target}", "tmux list-panes -a shows what there is", NoPane)
        self._found_all = True
        if self._targets:
            return [target for target in dict.fromkeys(self._targets) if target in rows]
        return [pane for pane in rows if self._everything or found[pane].role]

    def _out(self, rows: dict[str, PaneRow]) -> frozenset[str]:
        """The panes that an empty option of their own keeps out of the rules; looked up once a process in the pane."""
        if not self._config.panes and self._doors.finder is None:
            return frozenset()
        asked = [row for row in rows.values() if not row.profile_option and (row.id, row.pid) not in self._opted_out]
        emptied = self._tmux.having([row.id for row in asked], "@fleet_profile")
        self._opted_out.update({(row.id, row.pid): row.id in emptied for row in asked})
        return frozenset(row.id for row in rows.values() if self._opted_out.get((row.id, row.pid)))

    def _pane(
        self, stamp: dict[str, Any], row: PaneRow, seat: Seat, text: str, member: MemberState | None
    ) -> records.Pane:
        activity = row.activity * 1000 if row.panes == 1 else None
        turn = member.turn if member and member.pid in (None, row.pid) else None
        told = None
        # Only a ticket's own turn was delivered; one that a person began after it is not told.
        if turn and turn.delivered_at_ms is not None:
            now = records.to_ms(str(stamp["ts"]))
            last = now if activity is None else min(now, activity + 1000)
            seconds = max(0, last - turn.delivered_at_ms) / 1000
            told = records.Turn(id=turn.event, seconds=seconds, baseline=turn.baseline)
        return records.Pane(
            **stamp, server=row.server, target=row.id, pid=row.pid, name=seat.name, profile=seat.profile,
            agent=seat.agent, lead=seat.lead, role=seat.role, text=text, cols=row.cols, rows=row.rows,
            activity=None if activity is None else records.to_ts(activity), tz=self._zone,
            dead=row.dead or None, title=row.title, turn=told,
        )  # fmt: skip

    def _moved(self, row: PaneRow, seat: Seat) -> bool:
        """Whether something else than the text differs from what was sent."""
        sent = self._sent.get(row.id)
        return sent is None or sent[:-2] != _outside(row, seat)

    def _changed(self, record: records.Pane, row: PaneRow, seat: Seat) -> bool:
        state = (*_outside(row, seat), record.turn and record.turn.id, hash(record.text))
        before = self._sent.get(row.id)
        self._sent[row.id] = state
        if seat.role == "member":
            self._members[row.id] = msgspec.structs.replace(record, text=None, turn=None)
        return before != state

    # -- what is no longer there

    def _vanished(
        self, stamp: dict[str, Any], server: str, rows: dict[str, PaneRow], found: dict[str, Seat],
        stored: dict[str, MemberState] | None,
    ) -> Iterator[records.Pane]:  # fmt: skip
        """Each member whose pane has vanished, once; the store knows those that vanished while nobody looked."""
        for pane in [pane for pane in self._sent if pane not in rows]:
            del self._sent[pane]
        for pane, member in (stored or {}).items():
            known = pane in rows or member.gone or member.state == "released" or pane in self._members
            if not known and not self._targets:
                self._members[pane] = _last_look(server, member)
        for pane in [pane for pane in self._members if pane not in rows]:
            last = self._members.pop(pane)
            if f"{pane} {last.pid}" not in self._said:
                self._said.add(f"{pane} {last.pid}")
                yield records.Pane(
                    **stamp, server=server, target=pane, pid=last.pid, name=last.name, profile=last.profile,
                    agent=last.agent, lead=last.lead, role="member", gone=True,
                )  # fmt: skip
        yield from self._agents_gone(stamp, server, rows, found, stored or {})

    def _agents_gone(
        self, stamp: dict[str, Any], server: str, rows: dict[str, PaneRow], found: dict[str, Seat],
        stored: dict[str, MemberState],
    ) -> Iterator[records.Pane]:  # fmt: skip
        """Each member that was found, and whose agent has ended though its pane lives on, once."""
        finds = self._doors.finder is not None and not self._targets
        for pane, member in stored.items() if finds else ():
            if pane in rows and member.pid in (None, rows[pane].pid) and not member.gone:
                self._members.setdefault(pane, _last_look(server, member))
        for pane in [pane for pane in self._members if not found[pane].role]:
            last = self._members.pop(pane)
            if finds and discovery.is_found(last.profile, last.agent):
                yield msgspec.structs.replace(last, **stamp, gone=True, unmarked=True)

    # -- until stopped

    def follow(self, now: float) -> Iterator[records.Record]:
        """What changed since the last sweep; everything at first, every 30 s, and after a server came back."""
        whole = now >= self._again
        if whole:
            self._again = now + AGAIN
            self._sent.clear()
            self._opted_out.clear()
        try:
            yield from self.sweep(changed_only=True)
        except (Unusable, NoPane):
            raise
        except Unavailable as error:
            yield from self._lost(str(error), whole)

    def _came(self, server: str) -> Iterator[records.Tmux]:
        if not self._sent:
            yield from self.ended(server)
        if self._server not in (None, server) and self._state != "down":
            yield self._gone_server(str(self._server), "another server answers on its socket")
        if self._server != server:
            self._sent.clear()
            self._members.clear()
            self._second = 0
        if self._state != "up" or self._server not in (None, server):
            self._said.clear()
            self._sent.clear()
            self._state = "up"
            yield records.Tmux(**self._clock.stamp(), server=server, state="up", reason="it answers")
        self._server = server

    def _lost(self, reason: str, whole: bool) -> Iterator[records.Tmux]:
        if reason not in self._said:
            self._said.add(reason)
            self._doors.messages.warn(reason)
        yield from self.ended()
        if self._server is None:
            self._state = "unreachable"
            return
        before = self._state
        record = self._gone_server(self._server, reason)
        if record.state != before or whole:
            yield record
        self._state = record.state

    def _gone_server(self, server: str, reason: str) -> records.Tmux:
        alive = self._doors.is_tmux(int(server.rpartition(":")[2]))
        state = "unreachable" if alive else "down"
        reason = f"its process lives, but: {reason}" if alive else "no tmux process has its pid any more"
        self._sent.clear()
        return records.Tmux(**self._clock.stamp(), server=server, state=state, reason=reason)  # type: ignore[arg-type]

    def ended(self, server: str | None = None) -> Iterator[records.Tmux]:
        """`down` once for each earlier server of this socket that the store has members of."""
        prefix = f"{self._tmux.host}:{self._tmux.socket}:"
        for other in {member.server for member in self._all_stored(prefix)} - {server, self._server} - self._ended:
            if not self._doors.is_tmux(int(other.rpartition(":")[2])):
                self._ended.add(other)
                yield self._gone_server(other, "")

    # -- the store

    def _stored(self, server: str) -> dict[str, MemberState]:
        return {member.target: member for member in self._all_stored(f"{server}/")}

    def _all_stored(self, prefix: str) -> list[MemberState]:
        """The members whose server starts with `prefix`; none, and a warning, when the store cannot be read."""
        try:
            self._store = self._store or self._doors.store()
            members = [member for _, member in read_all(self._store, f"{MEMBERS}{prefix}", MemberState)]
        except FleetError as error:
            self._warn_once(f"going on without turns: {error}")
            return []
        return [member for member in members if member.state != "released"]

    def _warn_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._doors.messages.warn(text)


def _outside(row: PaneRow, seat: Seat) -> tuple[object, ...]:
    return (row.pid, row.dead, row.cols, row.rows, row.title, *seat)


def _last_look(server: str, member: MemberState) -> records.Pane:
    """Whom a look at a member that nobody looked at in this run would have shown."""
    return records.Pane(
        server=server, target=member.target, pid=member.pid, name=member.name, profile=member.profile,
        agent=member.agent, lead=member.lead, role="member",
    )  # fmt: skip
