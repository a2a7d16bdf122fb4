"""`fleetd init --service`: have fleetd started with a person's session, by systemd, else by cron."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence

from fleettools.adapters import files, samples
from fleettools.adapters.runner import ask
from fleettools.errors import Exit
from fleettools.policy import proposal

UNIT = "fleetd.service"
# Each says whether it worked; the first one only looks.
REACHED = ("systemctl", "--user", "show-environment")
START = (("systemctl", "--user", "daemon-reload"), ("systemctl", "--user", "enable", "--now", UNIT))


def install(say: Callable[..., None], options: Sequence[str], dry_run: bool) -> Exit:
    """Install the unit and start it where systemd looks after this person's session, else print the line for cron.

    `options` are those of fleetd. A unit that is there already is left as it is.
    """
    if os.environ.get("FLEET_STATE"):
        say("FLEET_STATE is not known there: name the store by state: in the configuration")
    program = _program()
    reason = _out_of_reach()
    if reason:
        line = shlex.join([program, "--once", *options]).replace("%", "\\%")  # a bare one would end it
        say(f"{reason}; for cron (crontab -e):", f"* * * * * {line}")
        return Exit.OK
    place = os.path.join(_config_home(), "systemd", "user", UNIT)
    with open(samples.path(UNIT), encoding="utf-8") as file:
        text = proposal.unit(file.read(), program, os.environ.get("PATH", os.defpath), list(map(shlex.quote, options)))
    if dry_run:
        say("", f"{place} would be:", "", text.rstrip())
        return Exit.OK
    if os.path.lexists(place):
        say(f"{place} exists already, and stays as it is")
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        files.replace(place, text.encode())
        say(f"wrote {place}")
    for words in START:
        answer = ask(words)
        if not answer.taken:
            say(f"{shlex.join(words)}: {answer.reason}; mend that, then: {' && '.join(map(shlex.join, START))}")
            return Exit.UNAVAILABLE
    say("fleetd runs, and starts with your session; what it says: journalctl --user -u fleetd")
    return Exit.OK


def _out_of_reach() -> str:
    """Why systemd does not look after this person's session here; "" when it does."""
    if not shutil.which(REACHED[0]):
        return "no systemd here"
    answer = ask(REACHED)
    return "" if answer.taken else f"no systemd for your session here ({answer.reason})"


def _config_home() -> str:
    home = os.environ.get("XDG_CONFIG_HOME", "")
    return home if os.path.isabs(home) else os.path.expanduser("~/.config")


def _program() -> str:
    """The fleetd that runs, by its whole path."""
    beside = os.path.join(os.path.dirname(sys.executable), "fleetd")
    return shutil.which("fleetd") or (beside if os.path.exists(beside) else "fleetd")
