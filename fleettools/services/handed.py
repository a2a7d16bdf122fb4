"""What an agent handed to its hook, as a signal of its pane."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from fleettools import records
from fleettools.errors import BadInput
from fleettools.policy import foreground
from fleettools.policy.signals import payloads
from fleettools.policy.signals.origin import Handed
from fleettools.screens import causes
from fleettools.screens.look import Look
from fleettools.services import signaling, whence
from fleettools.services.signaling import Origin


class Here(NamedTuple):
    """What a hook sees around it: its variables, its host's name and time zone, and the doors to agents and processes.

    `look_of` gives the look of an agent, `environment` the variables of a process.
    """

    env: Mapping[str, str]
    host: str
    zone: str | None
    look_of: Callable[[str], Look | None]
    environment: Callable[[int], Mapping[str, str]]


def heard(word: Handed, here: Here) -> records.Signal | str:
    """The signal in a payload, or why there is none; raises BadInput for one that is no JSON."""
    try:
        payload = msgspec.json.decode(word.data)
    except (msgspec.DecodeError, RecursionError) as error:
        mend = "hand over the JSON object that the agent gives its hook"
        raise BadInput(f"not JSON ({error})", mend, "stdin") from None
    now_ms = records.to_ms(str(word.stamp["ts"]))
    said = payloads.read(payload, lambda text: _cause(here.look_of(word.agent), text), now_ms)
    if isinstance(said, payloads.Nothing):
        return said.reason
    if said.text and said.resets_ms is None and said.cause in ("quota", "credits"):
        from fleettools.screens import resets  # late: its patterns are a twentieth of a start

        said = said._replace(resets_ms=resets.read(said.text, now_ms, here.zone))
    whose = _origin(word, here)
    return whose if isinstance(whose, str) else signaling.record(said, whose, word.source, word.stamp)


def _cause(look: Look | None, text: str) -> str:
    return causes.cause_of(look, text)[0] if look else "unknown"


def _origin(word: Handed, here: Here) -> Origin | str:
    """The agent and the pane that the hook was started from, or why it speaks for none."""
    look = here.look_of(word.agent) if word.above and "TMUX" in here.env else None
    commands = look.commands if look else [word.agent]
    agents = [any(name in commands for name in foreground.names(kin.words)) for kin in word.above]
    found = whence.pane(here.env, here.host, word.above, agents, here.environment)
    if isinstance(found, str):
        return found
    return Origin(word.agent, found.server, found.target) if found else Origin(word.agent)
