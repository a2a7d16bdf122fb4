"""A property that is worked out once."""

from fleettools.screens.lazy import Lazy


class Thing:
    def __init__(self) -> None:
        self.times = 0

    @Lazy
    def size(self) -> int:
        """How large it is."""
        self.times += 1
        return 7


def test_it_is_worked_out_when_it_is_asked_for_and_only_once_for_each_thing() -> None:
    thing, other = Thing(), Thing()
    assert thing.times == 0
    assert (thing.size, thing.size, other.size) == (7, 7, 7)
    assert (thing.times, other.times) == (1, 1)
