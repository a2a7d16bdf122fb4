"""Commits what a step makes of a credential, and sees to it that what was committed is said: once, whoever dies."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy import heartbeat
from fleettools.policy.accounts import announcing, credential
from fleettools.policy.accounts.credential import CREDENTIALS, CredentialState
from fleettools.services.ports import Clock
from fleettools.services.store import Store, change, read, read_all


class Made(NamedTuple):
    """A record that a step makes, with the tmux servers whose panes it concerns."""

    record: records.Record
    servers: list[str]

    @property
    def line(self) -> str:
        """The record as it is written."""
        return records.encode(self.record).decode()


# A pure step on a credential: its next state, the records that it makes, and what became of what was asked.
Step = Callable[[CredentialState], tuple[CredentialState, list[Made], str]]


class Announcer:
    """Commits to a store, and says what was committed there.

    `flush` brings to the reader what was yielded. `replay`: the time is that of the records alone, so that a stored
    stream gives the same every time.
    """

    def __init__(self, store: Store, clock: Clock, flush: Callable[[], None], replay: bool) -> None:
        self._store, self._clock, self._flush, self._replay = store, clock, flush, replay
        self._next_end: int | None = None
        self._latest_ms = 0  # of the records of a replay

    def credentials(self) -> Iterator[tuple[str, CredentialState]]:
        """Each credential of which anything is known."""
        for key, state in read_all(self._store, CREDENTIALS, CredentialState):
            yield key.removeprefix(CREDENTIALS), state

    def commit(self, name: str, step: Step) -> tuple[list[Made], str]:
        """Store what a step changes, and the ends of what is over; gives what there is to say, in order, and why."""
        clock, stamp = self._store.moment(), {} if self._replay else self._clock.stamp()
        now = Moment(self._latest_ms) if self._replay else clock

        def whole(before: CredentialState | None) -> tuple[CredentialState | None, tuple[list[Made], str]]:
            state, first = _ended(before or CredentialState(), name, now, stamp)
            state, made, reason = step(state)
            state, last = _ended(state, name, now, stamp)
            for one in (made := [*first, *made, *last]):
                owed = announcing.committed(state.announcements, one.record, one.servers, clock)
                state = replace(state, announcements=owed)
            return (None if before is None and state == CredentialState() else state), (made, reason)

        answer = change(self._store, credential.credential_key(name), CredentialState, whole)
        if self._replay:
            periods = [one for _, state in self.credentials() for one in (state.cool_off, state.quarantine)]
            self._next_end = min((one.until_ms for one in periods if one and not one.told), default=None)
        return answer

    def said(self, name: str, line: str) -> Iterator[bytes]:
        """Write the line out, and only then mark it announced."""

        def step(state: CredentialState | None) -> tuple[CredentialState | None, None]:
            if state is None:
                return None, None
            return replace(state, announcements=announcing.announced(state.announcements, line)), None

        yield line.encode()
        self._flush()
        change(self._store, credential.credential_key(name), CredentialState, step)

    def settled(self, name: str, step: Step) -> Iterator[bytes]:
        """Commit the step, and say what it made."""
        for one in self.commit(name, step)[0]:
            yield from self.said(name, one.line)

    def said_again(self, name: str, now: Moment) -> Iterator[bytes]:
        """Say what has stood unannounced for so long that its writer must have died."""

        def step(state: CredentialState | None) -> tuple[CredentialState | None, list[str]]:
            if state is None:
                return None, []
            owed, lines = announcing.overdue(state.announcements, now)
            return replace(state, announcements=owed), lines

        # Of several processes that see the same record standing, one gets its line from this commit.
        for line in change(self._store, credential.credential_key(name), CredentialState, step):
            yield from self.said(name, line)

    def unprinted(self, daemon: str) -> Iterator[bytes]:
        """Say what this fleetd (`host:socket path`) has not printed of its panes."""
        known = read(self._store, heartbeat.daemon_key(daemon), heartbeat.DaemonState)
        now, printed = self._store.moment(), frozenset(known.printed if known else ())
        for name, state in self.credentials():
            for line in announcing.unprinted(state.announcements, now, printed, daemon):
                yield from self.said(name, line)

    # -- the time of a replay

    def reach(self, ms: int) -> None:
        """A record of that moment has come."""
        self._latest_ms = max(self._latest_ms, ms)

    @property
    def awaits_an_end(self) -> bool:
        """Whether a period runs in a replay."""
        return self._next_end is not None

    def ends_until(self, ms: int) -> Iterator[bytes]:
        """The ends that lie before that moment, or at it."""
        if self._next_end is not None and ms >= self._next_end:
            self.reach(ms)
            yield from self._ends()

    def all_ends(self) -> Iterator[bytes]:
        """The ends of all periods, though no record shows that it is so late."""
        while self._next_end is not None:
            self._latest_ms = self._next_end
            yield from self._ends()

    def _ends(self) -> Iterator[bytes]:
        """The ends up to the latest moment of the records, the first one first."""
        made = [one for name, _ in list(self.credentials()) for one in self.commit(name, unchanged)[0]]
        made.sort(key=lambda one: one.record.ts)
        yield from (records.encode(one.record) for one in made)


def unchanged(state: CredentialState) -> tuple[CredentialState, list[Made], str]:
    """The step that only looks for ends."""
    return state, [], ""


def _ended(state: CredentialState, name: str, now: Moment, stamp: dict[str, Any]) -> tuple[CredentialState, list[Made]]:
    """The ends of what is over, with the servers of the panes that began it."""
    state, ended = credential.ends(state, name, now, stamp)
    return state, [Made(one, [found.server for found in period.evidence if found.server]) for one, period in ended]
