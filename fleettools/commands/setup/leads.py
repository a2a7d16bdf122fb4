"""`fleetd init`: the line that lets each agent that is installed here lead by tools."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable

from fleettools.adapters.runner import ask
from fleettools.screens.look import Look

SERVER = "fleettools-mcp"


def offer(say: Callable[..., None], looks: Iterable[Look], confirmed: Callable[[str], bool] | None) -> None:
    """Show how the agents are told of fleettools-mcp; with somebody to be asked, tell those that are wanted."""
    program = _program()
    lines = [[*look.mcp, program] for look in looks if look.mcp and shutil.which(look.mcp[0])]
    if not lines:
        return
    say("", "agents lead by tools once they are told of fleettools-mcp:", *(f"  {shlex.join(line)}" for line in lines))
    for line in lines:
        if confirmed and confirmed(f"Tell {line[0]} now?"):
            answer = ask(line)
            say(f"{line[0]}: {'told' if answer.taken else answer.reason}")


def _program() -> str:
    """What an agent is to start: the command by its name where a shell finds it, else by its path."""
    beside = os.path.join(os.path.dirname(sys.executable), SERVER)
    return SERVER if shutil.which(SERVER) or not os.path.exists(beside) else beside
