"""The outbox in a store: what ended long ago is forgotten there, and nothing else."""

import msgspec
import pytest

from fleettools.adapters import clock
from fleettools.adapters.memory import MemoryStore
from fleettools.config import Config
from fleettools.policy.notices.outbox import KEEP_MS, Item
from fleettools.records import NoticeItem
from fleettools.services.delivery.outbox import Outbox, Rules, key_of
from fleettools.services.owner import Ownership
from fleettools.services.store import read


class Store(MemoryStore):
    """A store whose clock stands."""

    def now_ms(self) -> int:
        return 2 * KEEP_MS


# state, how long ago it came to that, whether it is still there. Seven days later its record does not come again.
KEPT = [
    ("confirmed", KEEP_MS, True),
    ("confirmed", KEEP_MS + 1, False),
    ("unknown", KEEP_MS + 1, False),
    ("stuck", KEEP_MS + 1, False),
    ("refused", KEEP_MS + 1, False),
    ("expired", KEEP_MS + 1, False),
    ("pending", KEEP_MS + 1, True),
    ("claimed", KEEP_MS + 1, True),
    ("typed", KEEP_MS + 1, True),
]


@pytest.mark.parametrize(("state", "age", "kept"), KEPT)
def test_what_has_ended_is_kept_for_seven_days_and_what_is_open_for_ever(state: str, age: int, kept: bool) -> None:
    store = Store(print)
    rules = Rules(attempts=5, reminders=[], fleet=Config())
    box = Outbox(store, Ownership(store, "b", lambda pid: "1"), clock, rules, lambda record: None, lambda *who: "")
    item = Item(
        id="i", server="h:/s:1", target="%1", about=NoticeItem(kind="incident"), made_ms=0,
        changed_ms=store.now_ms() - age, state=state,  # type: ignore[arg-type]
    )  # fmt: skip
    store.put(key_of(item), msgspec.json.encode(item), 0)
    assert [one.id for one in box.upkeep(box.stored())] == (["i"] if kept else [])
    assert (read(store, key_of(item), Item) is not None) is kept
