"""What is kept with a credential of the members that the end of a period sets free again."""

from typing import Literal

import msgspec

from fleettools.moments import Moment


class Round(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is known of the members that a period's end sets free again; kept with the credential.

    `probe`: the event of the first one's turn, None while nobody was prompted; `shown`: it has shown work. `last`:
    when somebody was prompted last; `many`: how many there were to prompt at first. To be prompted is whose turn failed
    from `since_ms` to `until_ms`, or is one of `events`: in its period, or in one right before that has left them.
    """

    period: str
    kind: Literal["incident", "quarantine"]
    begin: Moment
    probe: str | None = None
    shown: bool = False
    last: Moment | None = None
    many: int = 0
    since_ms: int
    until_ms: int
    events: list[str]
