"""`fleetd check`: what is wrong with the configuration and around it, with the mend, then what is well."""

import os
from collections.abc import Iterator

import msgspec

from fleettools import records
from fleettools.adapters import agentfiles, clock, configfile, files, runner, shapes, web
from fleettools.adapters.stores import default_path, open_store
from fleettools.adapters.streams import printable
from fleettools.adapters.tmux import Tmux
from fleettools.cli import Context
from fleettools.commands.views.keys import key_table
from fleettools.config import Config
from fleettools.errors import Exit, FleetError
from fleettools.services import surroundings
from fleettools.services.delivery.alert import by_command, by_webhook
from fleettools.services.surroundings import Doors, Finding

GRADES = (("FAULT", "31"), ("WARN", "33"), ("ok", "32"))  # worst first, each with its colour


def check(ctx: Context, state_url: str | None, tmux: Tmux, try_alerts: bool) -> Exit:
    """Print faults, warnings and what is well; the status is that of the first fault, 0 for warnings alone.

    With `try_alerts` each alert that is configured is sent a test.
    """
    read, found = None, []
    place = configfile.located(ctx.config_path)
    finder = None
    try:
        read = ctx.config()
        finder = ctx.finder()
    except FleetError as error:
        found = [Finding(str(each), status=each.exit) for each in (error, *error.also)]
    doors = Doors(agentfiles, shapes.nearest, open_store, default_path, tmux, finder, files.read)
    found += surroundings.look(read, state_url, doors)
    found += _tried(read) if try_alerts and read else []
    found.sort(key=_rank)
    if ctx.json:
        made = [{"grade": GRADES[_rank(one)][0], "what": one.what, "mend": one.mend or None} for one in found]
        ctx.out.write(msgspec.json.encode({"configuration": place, "findings": made}) + b"\n")
    else:
        lines = [_summary(found), f"configuration {place or '(none: the defaults hold; fleetd init writes one)'}"]
        lines += map(str, found)
        # On a terminal they would push what is wrong off the screen.
        sound = not any(one.status == Exit.BAD_CONFIG for one in found)
        if read and sound and ctx.messages.level >= (1 if os.isatty(1) else 0):
            lines += ["", "the keys:", *(f"  {key}" for key in key_table(read))]
        coloured = os.isatty(1) and not os.environ.get("NO_COLOR")
        for line in map(printable, lines):
            ctx.out.write(f"{_coloured(line) if coloured else line}\n".encode())
    ctx.out.flush()
    return next((one.status for one in found if one.status), Exit.OK)


def _tried(config: Config) -> Iterator[Finding]:
    """What becomes of a test of each alert."""
    rules = config.channels
    if not rules:
        yield Finding("alerts: nobody is told", "add alerts: to the configuration, or fleetd init --alert HOW")
    for rule in rules:
        text = f"fleettools: a test of the alert {rule.name} on {os.uname().nodename}; nothing has failed"
        now = clock.stamp()
        test = records.Alert(
            **now, id=f"test:{now['ts']}", name=rule.name, host=os.uname().nodename, kind="ended", text=text
        )  # fmt: skip
        by_web = rule.webhook and by_webhook(rule.webhook, rule.shape, web.post)
        answer = (by_web or by_command(rule.exec or "", runner.run))(test)
        if answer.taken:
            yield Finding(f"alert {rule.name} took a test: {answer.reason}")
        else:
            yield Finding(f"alert {rule.name}: {answer.reason}", "mend it under alerts:", Exit.UNAVAILABLE)


def _coloured(line: str) -> str:
    """The line with its grade in a colour."""
    for word, colour in GRADES:
        if line.startswith(word.ljust(5)):
            return f"\x1b[{colour}m{word}\x1b[0m{line[len(word) :]}"
    return line


def _rank(finding: Finding) -> int:
    return 0 if finding.status else 1 if finding.mend else 2


def _summary(found: list[Finding]) -> str:
    faults = sum(_rank(one) == 0 for one in found)
    warnings = sum(_rank(one) == 1 for one in found)
    if not faults and not warnings:
        return "all is well"
    parts = [f"{n} {word}{'s' if n > 1 else ''}" for n, word in ((faults, "fault"), (warnings, "warning")) if n]
    return " and ".join(parts)
