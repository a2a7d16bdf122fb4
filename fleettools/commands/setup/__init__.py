"""What surrounds fleetd, checked and set up: `fleetd check`, `init` and `sample`."""

from collections.abc import Sequence
from typing import NamedTuple


class Wishes(NamedTuple):
    """What the command line asks for. `alerts`: each a channel's name, an address, or a command behind `exec:`.

    `server`: the options that name the tmux server, none for the default one.
    """

    yes: bool = False
    dry_run: bool = False
    mark: bool = False
    lead: str | None = None
    alerts: Sequence[str] = ()
    service: bool = False
    server: Sequence[str] = ()
