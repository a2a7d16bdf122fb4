"""One attempt to tell one reader what is due: straight through, in a thread of its own."""

import secrets
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from fleettools import records
from fleettools.errors import FleetError
from fleettools.policy.notices import news, nudge, outbox
from fleettools.policy.notices.nudge import Told
from fleettools.policy.notices.outbox import Item
from fleettools.services.delivery.loop import Loop
from fleettools.services.delivery.outbox import Outbox
from fleettools.services.delivery.ways import Gone, Message, Reach, Result, To, Way
from fleettools.services.ports import Clock


class Reader(NamedTuple):
    """Who is told, by which way; its open `items`, and all that it was told of lately."""

    to: To
    way: Way
    items: Sequence[Item]
    lately: Sequence[Item]


class Doors(NamedTuple):
    """What an attempt works with. `warn` says what a person should know; `stopping`: nothing is begun any more."""

    outbox: Outbox
    loop: Loop
    clock: Clock
    warn: Callable[[str], None]
    stopping: Callable[[], bool]


class Due(NamedTuple):
    """What is to be told now, and why the rest is not: what an attempt would take, and --dry-run shows."""

    told: list[tuple[Item, Told]]
    dropped: list[tuple[Item, str]]
    waiting: list[tuple[Item, str]]


class Attempt:
    """Tells one reader what is due. Only the steps that it hands to the loop touch the store."""

    def __init__(self, doors: Doors, reader: Reader) -> None:
        self._outbox, self._loop, self._clock, self._warn, self._stopping = doors
        self._reader = reader
        self._claimed: list[Item] = []
        self._typed: list[Item] = []

    def run(self) -> bool:
        """All of it, to its end; whether anything was told or ended. Raises what keeps the store from being changed."""
        way, to = self._reader.way, self._reader.to
        try:
            self._clear_up()
            reach = way.reaches(to)
            message = self._loop.call(lambda: self._begin(reach))
            if message is None:
                return False
            result = self._submitted(message)
            self._loop.call(lambda: self._finish(result))
        except Gone as gone:
            why = str(gone)
            self._loop.call(lambda: self._lose(why))
        return True

    def _submitted(self, message: Message) -> Result:
        """What became of the message; a reader or server that is lost meanwhile is its reason."""
        try:
            return self._reader.way.submit(self._reader.to, message, self._agreed)
        except (Gone, FleetError) as error:
            return Result(None, str(error))

    def _agreed(self, step: str) -> bool:
        """Whether to go on with a step of the delivery."""
        try:
            return self._loop.call(lambda: self._step(step))
        except FleetError:  # the store is away: nothing is begun that it does not know of, and nothing is broken off
            return step != "typed"

    # -- on the loop's thread

    def _begin(self, reach: Reach) -> Message | None:
        """Claim what is due; None when nothing is, or not now."""
        found = due(self._outbox, self._reader, reach)
        for item, reason in found.dropped:
            self._outbox.expire(item, reason)
        for item, reason in found.waiting:
            if item.attempts == 0:
                self._outbox.wait(item, reason)
        if reach.hindrance or not found.told or self._stopping():
            for item, _ in found.told:
                self._outbox.wait(item, reach.hindrance)
            return None
        if not self._outbox.owner.take(*self._reader.to):
            return None
        token = secrets.token_hex(4)
        mine = [(item, told) for item, told in found.told if self._outbox.claim(item, token)]
        self._outbox.at("claimed")
        if not mine:
            self._outbox.owner.drop(*self._reader.to)
            return None
        self._claimed = [item for item, _ in mine]
        return message(self._reader, mine, token, self._outbox.now_ms(), reach.room, self._clock)

    def _step(self, step: str) -> bool:
        """Commit that the text is about to be told; False when another process has taken any of it over."""
        if step == "typed":
            if not self._outbox.owner.take(*self._reader.to):
                return False
            for item in self._claimed:
                if not self._outbox.typing(item):
                    return False
                self._typed.append(item)
        self._outbox.at(step)
        return True

    def _finish(self, result: Result) -> None:
        """Commit how it ended. What was not tried goes back, and waits with the reason."""
        try:
            if result.outcome is not None:
                self._outbox.settle(self._claimed, result)
                return
            for item in self._claimed:
                self._outbox.give_back(item, item in self._typed, result.reason)
        finally:
            self._outbox.owner.drop(*self._reader.to)

    def _lose(self, reason: str) -> None:
        """End what was for a reader who is no more; what may have been told stays in doubt."""
        for item in self._reader.items:
            if self._outbox.doubtful(item):
                if self._outbox.recover(item):
                    self._outbox.settle([item], Result("unknown", reason))
            elif self._outbox.expire(item, reason):
                self._warn(f"{item.id} is not told to {item.target}: {reason}")

    # -- what a crash left

    def _clear_up(self) -> None:
        """Look for texts whose tellers have ended."""
        left: dict[str, list[Item]] = {}
        for item in self._reader.items:
            if item.state == "typed":
                left.setdefault(item.token or "", []).append(item)
        for token, items in left.items():
            mine = self._loop.call(lambda items=items: self._take_over(items))  # type: ignore[misc]
            if mine:
                self._recover(token, mine)

    def _take_over(self, items: list[Item]) -> list[Item]:
        doubtful = [item for item in items if self._outbox.doubtful(item)]
        if not doubtful or not self._outbox.owner.take(*self._reader.to):
            return []
        mine = [item for item in doubtful if self._outbox.recover(item)]
        if mine:
            self._outbox.at("recovering")
        return mine

    def _recover(self, token: str, mine: list[Item]) -> None:
        result = Result(None, "it could not be looked for")
        try:
            result = self._reader.way.recover(self._reader.to, token, self._agreed)
        finally:
            self._loop.call(lambda: self._end_recovery(mine, result))

    def _end_recovery(self, mine: list[Item], result: Result) -> None:
        try:
            if result.outcome is not None:
                self._outbox.settle(mine, result)
        finally:
            self._outbox.owner.drop(*self._reader.to)


def due(box: Outbox, reader: Reader, reach: Reach) -> Due:
    """What is to be told to a reader now; of a way that tells singly, the first."""
    found = Due([], [], [])
    now = box.now_ms()
    for item in reader.items:
        if item.state == "typed":
            continue
        decision, reason = outbox.decide(item, box.standing(item, reach.credential), now)
        if decision == "drop":
            found.dropped.append((item, reason))
        elif decision == "wait":
            found.waiting.append((item, reason))
        elif not (reader.way.singly and found.told):
            over = decision == "tell over"
            again = news.again(item, reader.lately)
            elsewhere = None if over else box.elsewhere(item.about, again.since_ms if again else now)
            found.told.append((item, Told(item.about, over, again, elsewhere)))
    return found


def message(
    reader: Reader, mine: Sequence[tuple[Item, Told]], token: str, now_ms: int, room: int, clock: Clock
) -> Message:
    """What the reader is told, in words and as a record."""
    to, stamp = reader.to, clock.stamp()
    if reader.way.singly:
        item, told = mine[0]
        text = f"fleet: {nudge.said(told, now_ms)}"
        again, since = told.again or (None, None)
        alert = records.Alert(
            **stamp, id=item.id, name=to.target.removeprefix(outbox.ALERT), host=to.server, kind=told.about.kind,
            text=text, over=told.over or None, again=again, since=None if since is None else records.to_ts(since),
            record=item.record,
        )  # fmt: skip
        return Message(token, text, alert)
    text = nudge.notice(token, [told for _, told in mine], now_ms, room)
    items = [msgspec.structs.replace(item.about, id=item.id) for item, _ in mine]
    notice = records.Notice(
        **stamp,
        server=to.server,
        target=to.target,
        ids=[item.id for item in items],
        token=token,
        text=text,
        items=items,
    )
    return Message(token, text, notice)
