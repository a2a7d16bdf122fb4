"""`fleetd check`: what is wrong with the configuration and around it, with the mend, then what is well."""

from fleettools.adapters import agentfiles, configfile, shapes
from fleettools.adapters.stores import default_path, open_store
from fleettools.adapters.streams import printable
from fleettools.adapters.tmux import Tmux
from fleettools.cli import Context
from fleettools.commands.views.keys import key_table
from fleettools.config import Config
from fleettools.errors import Exit, FleetError
from fleettools.services import surroundings
from fleettools.services.surroundings import Doors, Finding


def check(ctx: Context, state_url: str | None, tmux: Tmux) -> Exit:
    """Print faults, warnings and what is well; the status is that of the first fault, 0 for warnings alone."""
    read, found = Config(), []
    place = configfile.located(ctx.config_path) or "(none: the defaults hold)"
    finder = None
    try:
        read = ctx.config()
        finder = ctx.finder()
    except FleetError as error:
        found = [Finding(str(each), status=each.exit) for each in (error, *error.also)]
    doors = Doors(agentfiles, shapes.nearest, open_store, default_path, tmux, finder)
    found += surroundings.look(read, state_url, doors)
    lines = [_summary(found), f"configuration {place}", *map(str, sorted(found, key=_rank))]
    if ctx.messages.level >= 0 and not any(one.status == Exit.BAD_CONFIG for one in found):
        lines += ["", "the keys:", *(f"  {key}" for key in key_table(read))]
    for line in lines:
        ctx.out.write(f"{printable(line)}\n".encode())
    ctx.out.flush()
    return next((one.status for one in found if one.status), Exit.OK)


def _rank(finding: Finding) -> int:
    return 0 if finding.status else 1 if finding.mend else 2


def _summary(found: list[Finding]) -> str:
    faults = sum(_rank(one) == 0 for one in found)
    warnings = sum(_rank(one) == 1 for one in found)
    if not faults and not warnings:
        return "all is well"
    parts = [f"{n} {word}{'s' if n > 1 else ''}" for n, word in ((faults, "fault"), (warnings, "warning")) if n]
    return " and ".join(parts)
