"""Turns and their events: which looks at a member's pane belong together (design section 2)."""

import msgspec

from fleettools import records


class PastTurn(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """What is still known of an ended turn, for records that come late or come again."""

    event: str
    screen: str | None = None
    ticket: str | None = None
    lost: bool = False


class TurnState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A member's current turn; times in ms. A ticket's turn has the ticket's id as its event.

    `screen`: prompt hash and ordinal at the last look, None until the first prompt was seen. `worked`: it was seen
    at work. `lost`: something else than this turn's verdict settled the ticket. `delivered_at_ms`: the moment of the
    paste; `proven_ms`: when the prompt was seen submitted, None while fleet-send is still at it.
    """

    event: str
    ticket: str | None = None
    screen: str | None = None
    outcome: records.Outcome | None = None
    worked: bool = False
    lost: bool = False
    began_ms: int
    seen_ms: int = 0
    delivered_at_ms: int | None = None
    proven_ms: int | None = None
    baseline: str | None = None

    @property
    def ended(self) -> bool:
        """Whether an outcome ended it."""
        return self.outcome in records.ENDED
