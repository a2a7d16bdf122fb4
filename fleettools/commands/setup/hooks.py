"""`fleet-hook --install`: our hooks in an agent's own settings, the change shown first."""

import difflib
import os
import shutil
import sys

from fleettools.adapters import agentfiles, files
from fleettools.cli import Context
from fleettools.errors import Exit, UsageError
from fleettools.services import hooks


def install(ctx: Context, agent: str, remove: bool, project: bool, dry_run: bool) -> Exit:
    """Show what changes in the agent's settings, and change it."""
    look = agentfiles.load(agent, ctx.config().agents)
    if look is None:
        known = ", ".join(agentfiles.names(ctx.config().agents))
        raise UsageError(f"--install {agent}: no such agent", f"one of {known}")

    def read(path: str) -> str | None:
        bundled = os.path.join(agentfiles.BUNDLED, path)
        return files.read(path if os.path.isabs(path) else bundled)

    wanted = hooks.change(look, _program(), os.getcwd() if project else None, os.environ, read, remove)
    if wanted.shown:
        told = f"take this out of {wanted.path}" if remove else f"put this into {wanted.path}, beside what is there"
        ctx.messages.info(f"{told}:")
        ctx.out.write(wanted.shown.encode())
        ctx.out.flush()
        return Exit.OK
    if wanted.before == wanted.after:
        ctx.messages.info(f"{wanted.path}: nothing to change")
        return Exit.OK
    ctx.out.write(_difference(wanted.path, wanted.before, wanted.after))
    ctx.out.flush()
    if not dry_run:
        if wanted.after:
            files.replace(wanted.path, wanted.after.encode(), 0o600)
        else:
            files.remove(wanted.path)
        ctx.messages.info(
            f"{wanted.path}: {'taken out' if remove else 'put in'}; running agents read it when they start"
        )
    return Exit.OK


def _difference(path: str, before: str, after: str) -> bytes:
    rows = difflib.unified_diff(before.splitlines(True), after.splitlines(True), path, path)
    return "".join(row if row.endswith("\n") else f"{row}\n" for row in rows).encode()


def _program() -> str:
    """What an agent is to call: the command by its name where a shell finds it, else by its path."""
    beside = os.path.join(os.path.dirname(sys.executable), "fleet-hook")
    return "fleet-hook" if shutil.which("fleet-hook") or not os.path.exists(beside) else beside
