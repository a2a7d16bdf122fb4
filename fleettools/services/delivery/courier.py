"""Carries the outbox to its readers, one tick at a time; a reader that takes long holds up nobody else."""

from collections.abc import Callable, Iterable, Iterator

from fleettools import records
from fleettools.errors import FleetError
from fleettools.policy.notices import outbox
from fleettools.policy.notices.outbox import Item
from fleettools.services.delivery import attempts
from fleettools.services.delivery.attempts import Attempt, Reader
from fleettools.services.delivery.loop import in_background
from fleettools.services.delivery.outbox import key_of, to_of
from fleettools.services.delivery.ways import Gone, Reach, To, Way


class Courier:
    """Starts an attempt for every reader to whom something may be due. `way_of`: None for whom others serve."""

    def __init__(self, doors: attempts.Doors, way_of: Callable[[To], Way | None], fail: Callable[[Exception], None]):
        self._doors, self._way_of, self._fail = doors, way_of, fail
        self._under_way: set[To] = set()

    def tick(self) -> int:
        """Tell what is due; the number of items that are still to be told."""
        box = self._doors.outbox
        box.settle_late()
        now, left = box.now_ms(), 0
        for reader in self._readers(box.upkeep(box.stored())):
            left += len(reader.items)
            due = any(item.state == "typed" or now >= item.next_ms for item in reader.items)
            if due and reader.to not in self._under_way:
                self._under_way.add(reader.to)
                in_background(lambda reader=reader: self._run(reader), "attempt")  # type: ignore[misc]
        return left

    def _readers(self, items: Iterable[Item]) -> Iterator[Reader]:
        """Everybody with open items whom we serve."""
        by_reader: dict[To, list[Item]] = {}
        for item in items:
            by_reader.setdefault(to_of(item), []).append(item)
        ways: set[int] = set()
        for to, lately in by_reader.items():
            mine = [item for item in lately if item.state in outbox.OPEN]
            way = self._way_of(to) if mine else None
            if way is not None:
                if id(way) not in ways:
                    ways.add(id(way))
                    way.begin()
                yield Reader(to, way, mine, lately)

    def _run(self, reader: Reader) -> None:
        news = False
        try:
            news = Attempt(self._doors, reader).run()
        except Exception as error:
            self._fail(error)
        finally:
            self._under_way.discard(reader.to)
            if news:  # something else may be due now; who could not be told is looked at with the next tick
                self._doors.loop.wake()

    def is_telling(self) -> bool:
        """Whether a lead is being told just now; alerts are not waited for."""
        return any(not to.target.startswith(outbox.ALERT) for to in tuple(self._under_way))

    def preview(self, new: Iterable[Item]) -> Iterator[records.Notice]:
        """For each reader what would be told now, and why now or why not; nothing is changed."""
        box = self._doors.outbox
        known = {key_of(item): item for item in [*new, *box.stored()]}
        for reader in self._readers(item for item in known.values() if item.state == "pending" or not _is_open(item)):
            try:
                reach = reader.way.reaches(reader.to)
            except (Gone, FleetError) as error:
                reach = Reach(str(error))
            found = attempts.due(box, reader, reach)
            reasons = [f"{item.id}: {reason}" for item, reason in (*found.dropped, *found.waiting)]
            reason = reach.hindrance or "; ".join(reasons) or "due"
            message = None
            if found.told:
                message = attempts.message(reader, found.told, "00000000", box.now_ms(), reach.room, self._doors.clock)
            yield records.Notice(
                **self._doors.clock.stamp(), server=reader.to.server, target=reader.to.target, reason=reason,
                ids=[item.id for item, _ in found.told] or None, now=bool(found.told) and not reach.hindrance,
                text=message.text if message else None,
            )  # fmt: skip


def _is_open(item: Item) -> bool:
    return item.state in outbox.OPEN
