"""Signals on their way into the pipe: as a record, and in the store until fleet-resolve takes it."""

import hashlib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from fleettools import records
from fleettools.policy.signals.payloads import Said
from fleettools.screens.scrub import scrubbed
from fleettools.services.store import Store

SIGNALS = "signal/"
MOST = 100  # signals of one pane that may wait


class Origin(NamedTuple):
    """Whose word it is: the agent's name, and its pane where that is known."""

    agent: str
    server: str | None = None
    target: str | None = None


def record(
    said: Said, origin: Origin, source: Literal["hook", "log", "statusline"], stamp: Mapping[str, Any], mark: str = ""
) -> records.Signal:
    """The word as a record. `mark`: what tells it from another of the same turn, where the agent's ids do not."""
    key = (origin, said.said, said.session, said.prompt, mark or (None if said.prompt else stamp["ts"]), said.cause)
    return records.Signal(
        **stamp,
        id=hashlib.sha256(repr(key).encode()).hexdigest()[:16],
        source=source,
        said=said.said,  # type: ignore[arg-type]
        agent=origin.agent,
        server=origin.server,
        target=origin.target,
        session=said.session,
        prompt=said.prompt,
        cause=said.cause,
        text=" ".join(scrubbed(said.text).split()) if said.text else None,
        resets_at=None if said.resets_ms is None else records.to_ts(said.resets_ms),
        usage=list(said.usage) or None,
    )


def post(store: Store, signal: records.Signal) -> bool:
    """Leave it for fleet-resolve, one that is there already as it is; False when too many of its pane wait there."""
    pane = f"{SIGNALS}{signal.server}/{signal.target}/"
    if sum(1 for _ in store.scan(pane)) >= MOST:
        return False
    store.put(pane + signal.id, records.encode(signal).rstrip(b"\n"), 0)
    return True
