"""One look at a member's pane, placed on the clock that the member goes by."""

from typing import NamedTuple

from fleettools import records
from fleettools.moments import Moment


class Sighting(NamedTuple):
    """A look at a pane, `at` by the member's clock; `before`: the last look at the same process before it."""

    seen: records.Verdict
    at: Moment
    before: Moment | None

    @property
    def ms(self) -> int:
        """When it was."""
        return self.at.ms

    def ts(self, ms: int) -> str:
        """A moment of the member's clock by the clock that the verdict was stamped with."""
        return records.to_ts(records.to_ms(self.seen.ts) - (self.at.ms - ms))
