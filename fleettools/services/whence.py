"""Which pane this process was started from, by its environment and the processes above it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from fleettools.policy import foreground
from fleettools.policy.signals import origin
from fleettools.policy.signals.origin import Kin
from fleettools.services.ports import PaneRow, Terminals

Environment = Callable[[int], Mapping[str, str]]  # that a process was started with; empty where it cannot be told


class Whence(NamedTuple):
    """A pane: its server as records name it, that server's socket, and the pane's id."""

    server: str
    socket: str
    target: str


def pane(
    env: Mapping[str, str], host: str, above: Sequence[Kin], agents: Sequence[bool], environment: Environment
) -> Whence | str | None:
    """The pane of the agent that started this process; None outside tmux, else why it does not speak for its pane.

    `above`: the processes above this one, nearest first, none where nothing tells; `agents`: which are agents.
    """
    socket, _, rest = env.get("TMUX", "").partition(",")
    target, server = env.get("TMUX_PANE", ""), rest.partition(",")[0]
    if not socket or not server.isdecimal() or not target.startswith("%"):
        return None
    if above:
        if reason := origin.foreign(above, int(server), agents):
            return reason
        own = origin.pane(above, int(server))
        if own and environment(own.pid).get("TMUX_PANE", target) != target:
            return "it names another pane than the one that it was started from"
    return Whence(f"{host}:{socket}:{server}", socket, target)


def inherited(env: Mapping[str, str], above: Sequence[Kin], environment: Environment) -> Mapping[str, str]:
    """The environment that says which pane this is: its own, else the nearest above that does.

    Some agents start their helpers with a few variables alone.
    """
    for one in (env, *(environment(kin.pid) for kin in above)):
        if "TMUX" in one and "TMUX_PANE" in one:
            return one
    return env


def detached(above: Sequence[Kin], server_pid: int) -> bool:
    """Whether what started this process is no more below that tmux server: a server of the agent's own, in no pane."""
    return bool(above) and server_pid not in {kin.pid for kin in above}


def sole(
    rows: Iterable[PaneRow], terminals: Terminals, commands: Collection[str], here: Callable[[int], bool]
) -> PaneRow | None:
    """The one pane in which a program of that agent runs in this process's folder; None when there are several.

    `here`: whether a process works in that folder.
    """
    found = [row for row in rows if not row.dead and any(
        here(each.pid) and set(foreground.names(each.words)) & set(commands)
        for each in terminals.foreground(row.pid) or ()
    )]  # fmt: skip
    return found[0] if len(found) == 1 else None
