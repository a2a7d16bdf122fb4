"""What fleet-resolve makes of words and screens in a real store: 200 turns, late, doubled and out of order."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fleettools import records
from fleettools.adapters import clock
from fleettools.adapters.sqlite import SqliteStore
from fleettools.config import Config, Profile
from fleettools.moments import Moment
from fleettools.policy.accounts.credential import CredentialState, credential_key
from fleettools.policy.accounts.testimony import Rules
from fleettools.policy.members import handover, roster, tickets
from fleettools.policy.members.tickets import TicketState
from fleettools.services import signaling
from fleettools.services.correlator import Correlator
from fleettools.services.resolver import Resolver
from fleettools.services.store import change, read, read_all

T0 = 1_767_225_600_000
HOST = "h"
SERVER = f"{HOST}:/s:7"
CONFIG = Config(profiles={"a": Profile(credential_id="team")})
LATE = 60.0  # seconds that a word or a look may come late


class Said:
    """Standard error, kept."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warn(self, text: object, **_: object) -> None:
        self.lines.append(str(text))

    error = warn

    def info(self, text: object) -> None: ...

    def debug(self, text: object) -> None: ...


class Turn(NamedTuple):
    """A failing turn of a pane: from `start` to `end`, in seconds; how it is told."""

    pane: str
    number: int
    start: float
    end: float
    prompt: str | None
    ticket: str | None


class Come(NamedTuple):
    """Something that reaches fleet-resolve at `when`, in seconds; `turn` is what it is about."""

    when: float
    order: float
    turn: Turn
    what: Callable[["Fleet"], Iterable[bytes]]


class Fleet:
    """A real store under an injected clock, with a resolve and a correlate that may be started anew."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        monkeypatch.setattr(clock, "moment", lambda: Moment(self.ms, "b", self.ms - T0 + 1_000_000))
        monkeypatch.setattr(clock, "now_ms", lambda: self.ms)
        monkeypatch.setattr(clock, "stamp", lambda: stamp(self.seconds))
        self.said = Said()
        self.store = SqliteStore(str(path), self.said.warn)
        self.restart()

    @property
    def ms(self) -> int:
        return T0 + round(self.seconds * 1000)

    def restart(self) -> None:
        self.resolver = Resolver(self.store, CONFIG, self.said, HOST, lambda: None)
        rules = Rules(threshold=10**6, window_ms=10**9)
        self.correlator = Correlator(self.store, CONFIG, rules, self.said, clock, lambda: None)  # type: ignore[arg-type]

    def counted(self, lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
        """What resolve wrote, and correlate has counted."""
        for line in lines:
            record = json.loads(line)
            if record["type"] == "verdict":
                list(self.correlator.verdict(line))
            yield record


def stamp(seconds: float) -> dict[str, Any]:
    ms = T0 + round(seconds * 1000)
    return {"ts": records.to_ts(ms), "boot": "b", "up": (ms - T0) / 1000 + 1000}


def look(turn: Turn, outcome: str, at: float) -> Callable[[Fleet], Iterable[bytes]]:
    seat = {"server": SERVER, "target": turn.pane, "pid": 30, "profile": "a", "role": "member"}
    fields = {"type": "verdict", **stamp(at), **seat, "outcome": outcome, "at": stamp(at)["ts"]}
    screen = "old:1" if outcome == "idle" else f"{turn.number}:1"
    fields |= {"screen": screen, "event": f"{screen}@{SERVER}/{turn.pane}"}
    fields |= {"cause": "unknown"} if outcome == "backend_error" else {}
    line = json.dumps(fields).encode() + b"\n"
    return lambda fleet: fleet.resolver.verdict(line)


def word(turn: Turn, said: str, at: float, posted: bool) -> Callable[[Fleet], Iterable[bytes]]:
    name = f"{turn.pane}-{turn.number}-{said}"
    signal = records.Signal(
        **stamp(at), id=name, source="hook", agent="claude", server=SERVER, target=turn.pane, said=said,  # type: ignore[arg-type]
        prompt=turn.prompt, cause="overload" if said == "failure" else None,
    )  # fmt: skip

    def come(fleet: Fleet) -> Iterable[bytes]:
        if not posted:
            return fleet.resolver.signal(records.encode(signal))
        signaling.post(fleet.store, signal)
        return fleet.resolver.posted()

    return come


def send(turn: Turn) -> Callable[[Fleet], Iterable[bytes]]:
    """What fleet-send does: a ticket, and the prompt pasted and seen submitted."""
    ticket = turn.ticket
    assert ticket is not None

    def come(fleet: Fleet) -> Iterable[bytes]:
        opened = TicketState(id=ticket, server=SERVER, target=turn.pane, event=ticket, opened_ms=fleet.ms)
        change(fleet.store, tickets.ticket_key(ticket), TicketState, lambda _: (opened, None))
        key = roster.member_key(SERVER, turn.pane)
        for step in (
            lambda member: handover.open_ticket(member, ticket, "baseline", fleet.ms, resumed=True),
            lambda member: handover.prove(member, ticket, fleet.ms + 50),
        ):
            change(fleet.store, key, roster.MemberState, lambda member, step=step: (step(member), None))
        return ()

    return come


def turns(chance: random.Random) -> Iterator[Turn]:
    """Ten turns of each of twenty panes; many begin a second after the one before, some with a ticket."""
    for pane in range(20):
        named, at = chance.random() < 0.5, 0.0
        for number in range(10):
            quick = chance.random() < 0.4
            end = at + (0.5 if quick else chance.uniform(2, 30))
            ticket = f"t{pane}-{number}" if number and chance.random() < 0.3 else None
            yield Turn(f"%{pane}", number, at, end, f"p{number}" if named else None, ticket)
            at = at + 1 if quick else end + chance.choice([0.5, 5, 100])


def told(chance: random.Random, turn: Turn) -> Iterator[Come]:
    """A turn as words and looks that reach resolve: each twice, each copy of a word late by what chance wants."""
    yield Come(-9, 0, turn, look(turn, "idle", -9)) if not turn.number else Come(turn.start, 0, turn, lambda _: ())
    if turn.ticket:
        yield Come(turn.start - 0.1, 0, turn, send(turn))
    if turn.end - turn.start > 1:
        yield from twice(chance, turn.start + 0.4, turn, look(turn, "working", turn.start + 0.4), late=False)
    yield from twice(chance, turn.end + 0.3, turn, look(turn, "backend_error", turn.end + 0.3), late=False)
    for said, at in (("begin", turn.start), ("failure", turn.end)):
        yield from twice(chance, at, turn, word(turn, said, at, chance.random() < 0.5), late=chance.random() < 0.7)


def twice(
    chance: random.Random, at: float, turn: Turn, what: Callable[[Fleet], Iterable[bytes]], late: bool
) -> Iterator[Come]:
    for copy in range(2):
        delay = chance.uniform(0, LATE) if copy or late else 0
        yield Come(at + delay, chance.random(), turn, what)


@pytest.mark.parametrize("seed", [1, 2, 40])
def test_two_hundred_turns_late_doubled_and_out_of_order_are_two_hundred_events(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, fleet = random.Random(seed), Fleet(tmp_path / "state.db", monkeypatch)
    all_turns = list(turns(chance))
    comes = sorted((come for turn in all_turns for come in told(chance, turn)), key=lambda come: come[:2])
    seen: dict[Turn, set[str]] = defaultdict(set)
    heard: dict[Turn, set[str]] = defaultdict(set)
    for number, come in enumerate(comes):
        fleet.seconds = come.when
        if number % 50 == 49:
            fleet.restart()
        for record in fleet.counted(come.what(fleet)):
            if record["type"] == "verdict" and record["outcome"] in records.ENDINGS and record["resolved"]:
                (seen if record.get("screen") else heard)[come.turn].add(record["event"])
    assert [len(seen[turn]) for turn in all_turns] == [1] * 200
    events = {turn: next(iter(found)) for turn, found in seen.items()}
    assert len(set(events.values())) == 200
    # Of a turn shorter than a hook may be late, a word that overtakes its beginning may be taken for the turn before.
    assert {turn: found for turn, found in heard.items() if found != {events[turn]} and turn.end - turn.start > 1} == {}
    assert set().union(*heard.values()) <= set(events.values())
    state = read(fleet.store, credential_key("team"), CredentialState)
    assert state is not None
    assert Counter(one.event for one in state.pending) == Counter(events.values())
    settled = {ticket.id: (ticket.by, ticket.event) for _, ticket in read_all(fleet.store, "ticket/", TicketState)}
    assert settled == {turn.ticket: ("verdict", turn.ticket) for turn in all_turns if turn.ticket}
    assert fleet.said.lines == []


def test_two_hundred_turns_in_any_order_at_all_are_two_hundred_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of a pane of its own, its words and looks doubled and shuffled among those of all others."""
    chance, fleet = random.Random(5), Fleet(tmp_path / "state.db", monkeypatch)
    stream: list[Callable[[Fleet], Iterable[bytes]]] = []
    for pane in range(200):
        turn = Turn(f"%{pane}", 0, 0, 0.5, chance.choice([None, "p"]), None)
        stream += [
            look(turn, "backend_error", 0.8),
            word(turn, "begin", 0, False),
            word(turn, "failure", 0.5, False),
        ] * 2
    chance.shuffle(stream)
    fleet.seconds = 30
    made = [record for what in stream for record in fleet.counted(what(fleet))]
    ended = [one for one in made if one["type"] == "verdict" and one["outcome"] in records.ENDINGS]
    assert len({one["event"] for one in ended}) == len({one["target"] for one in ended}) == 200
    assert all(one["resolved"] for one in ended)
    state = read(fleet.store, credential_key("team"), CredentialState)
    assert state is not None and len(state.pending) == 200
    assert {one["cause"] for one in {one["target"]: one for one in ended}.values()} == {"overload"}
