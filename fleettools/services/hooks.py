"""Our hooks in an agent's own settings: what would change there, and whether they are in."""

import os
import shlex
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from fleettools.errors import BadInput
from fleettools.policy.signals import settings, tomlline
from fleettools.screens.agentdata import Hooks
from fleettools.screens.look import Look

PROGRAM = "fleet-hook"
Read = Callable[[str], str | None]


class Change(NamedTuple):
    """A file with the text that it has and is to have, "" for no file; `shown`: what a person has to put there."""

    path: str
    before: str
    after: str
    shown: str = ""


def change(look: Look, program: str, project: str | None, env: Mapping[str, str], read: Read, remove: bool) -> Change:
    """What putting our hooks into the agent's settings changes, or taking them out.

    `project`: the folder of a project, None for the person's own settings. Raises BadInput when the agent has no hooks,
    or its settings do not allow it.
    """
    hooks = look.hooks
    if hooks is None:
        raise BadInput(f"{look.name} tells nobody of its turns", "fleettools reads its screen, as that of any agent")
    path = place(hooks, project, env)
    before = read(path) or ""
    words = command(look.name, program)
    try:
        if hooks.form == "settings":
            edit = settings.unhooked if remove else settings.hooked
            return Change(path, before, edit(before, hooks.events, shlex.join(words)))
        if hooks.form == "notify":
            return Change(path, before, (tomlline.unnotified if remove else tomlline.notified)(before, words))
        if hooks.form == "plugin":
            return _plugin(hooks, path, before, program, read, remove)
    except BadInput as error:
        raise BadInput(error.what, error.mend, path) from None
    return Change(path, before, before, _shown(hooks, shlex.join(words)))


def is_in(look: Look, env: Mapping[str, str], read: Read) -> bool | None:
    """Whether the person's own settings hold our hooks, of this or another place; None when that cannot be told."""
    hooks = look.hooks
    if hooks is None:
        return None
    try:
        text = read(place(hooks, None, env)) or ""
    except BadInput:
        return None
    words = command(look.name, PROGRAM)
    if hooks.form == "notify":
        return tomlline.is_notified(text, words)
    if hooks.form == "plugin":
        return bool(text)
    if hooks.file.endswith(".toml"):
        return any(f"{before}{shlex.join(words)}" in text for before in '"/')
    try:
        return bool(settings.events_of(text, hooks.events, shlex.join(words)))
    except BadInput:
        return None


def command(agent: str, program: str) -> list[str]:
    """What the agent is to run at each of its events."""
    return [program, "--agent", agent, "--post"]


def place(hooks: Hooks, project: str | None, env: Mapping[str, str]) -> str:
    """The file in which the agent looks for its hooks."""
    if project is None:
        folder = (env.get(hooks.variable) if hooks.variable else None) or os.path.expanduser(hooks.user)
    elif hooks.project is None:
        raise BadInput("it has no settings of a project", "use --user")
    else:
        folder = os.path.join(project, hooks.project)
    return os.path.join(folder, hooks.file)


def _plugin(hooks: Hooks, path: str, before: str, program: str, read: Read, remove: bool) -> Change:
    ours = (read(hooks.plugin or "") or "").replace(f'"{PROGRAM}"', msgspec.json.encode(program).decode())
    if before and before.partition("\n")[0] != ours.partition("\n")[0]:  # that of every version of ours is the same
        raise BadInput("another file stands there", "move it away, then try again", path)
    return Change(path, before, "" if remove else ours)


def _shown(hooks: Hooks, line: str) -> str:
    if hooks.file.endswith(".toml"):
        quoted = msgspec.json.encode(line).decode()
        return "\n".join(f'[[hooks]]\nevent = "{event}"\ncommand = {quoted}\n' for event in hooks.events)
    return settings.hooked("", hooks.events, line)
