"""Opens the store that `--state` names, whichever engine it asks for."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from fleettools.errors import UsageError

if TYPE_CHECKING:
    from fleettools.adapters.memory import MemoryStore
    from fleettools.adapters.postgres import PostgresStore
    from fleettools.adapters.sqlite import SqliteStore


def default_path() -> str:
    """`$XDG_STATE_HOME/fleettools/state.db`, or the same below ~/.local/state."""
    home = os.environ.get("XDG_STATE_HOME", "")
    home = home if os.path.isabs(home) else os.path.expanduser("~/.local/state")
    if not os.path.isabs(home):
        raise UsageError("neither XDG_STATE_HOME nor HOME says where state goes", "set one, or give --state")
    return os.path.join(home, "fleettools", "state.db")


def open_store(
    url: str | None, warn: Callable[[object], None], configured: Callable[[], str | None] = lambda: None,
    *, view: bool = False, patient: bool = False,
) -> "MemoryStore | SqliteStore | PostgresStore":  # fmt: skip
    """The store that `--state`, `$FLEET_STATE`, the configuration (asked only then) or the default names.

    Raises Unavailable, and UsageError for a bad URL.

    A `view` only reads: it makes and mends nothing, and may be of a store that this user may not write. Who is
    `patient` waits for a server that is lost meanwhile.
    """
    from fleettools.config import foreign_store

    url = url or os.environ.get("FLEET_STATE") or configured() or default_path()
    if foreign := foreign_store(url):
        mend = f"use sqlite:PATH, a bare path, memory: or postgresql://...; ./{url} would be a file of that name"
        raise UsageError(f"--state {foreign} is no store", mend if "/" not in url else mend.partition("; ")[0])
    scheme, colon, rest = url.partition(":")
    if scheme == "memory" and colon:
        from fleettools.adapters.memory import MemoryStore

        return MemoryStore(warn)
    if scheme in ("postgresql", "postgres") and colon:
        from fleettools.adapters.postgres import PostgresStore

        return PostgresStore(url, warn, view=view, patient=patient)
    from fleettools.adapters.sqlite import SqliteStore

    path = os.path.expanduser(rest if scheme == "sqlite" and colon else url)
    return SqliteStore(path, warn, view=view)
