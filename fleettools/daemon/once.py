"""One look, for cron: only news and new faults are said, so that no mail means that all is well."""

import tempfile
from typing import IO

from fleettools.adapters.streams import Messages
from fleettools.daemon.outlet import Outlet
from fleettools.daemon.setting import Setting
from fleettools.daemon.stages import DRAIN, RESUMING, STAGES
from fleettools.errors import Exit
from fleettools.policy import heartbeat, watched


def once(setting: Setting) -> Exit | int:
    """Run the pipe to its end, and say what is new; the status is the first of a stage that is not 0.

    Without a tmux server there is nothing to see, unless the look before saw one. One that was restarted between two
    looks is no news.
    """
    setting.prepare()
    with setting.at_work() as work, tempfile.TemporaryFile() as errors:
        server = setting.is_up()
        if not server and not work.before.server:
            return Exit.OK
        quiet = setting.say.level <= 0
        pipe = setting.pipe(errors if quiet else None)
        try:
            pipe.start()
            pipe.drain(work.outlet.take)
        finally:
            pipe.finish(work.outlet.take, DRAIN)
            if not server:
                work.outlet.release()
            faults = _faults(setting, work.outlet, errors, server)
            for text in dict.fromkeys(faults):
                if heartbeat.fault_of(text) not in work.before.faults:
                    program, _, rest = text.partition(": ")
                    Messages(program).error(rest)
            work.ledger.looked(sorted({heartbeat.fault_of(text) for text in faults}), server)
    statuses = [pipe.statuses[name] for name in (*STAGES, RESUMING) if pipe.statuses.get(name)]
    return next((status if status > 0 else Exit.INTERNAL for status in statuses), Exit.OK)


def _faults(setting: Setting, outlet: Outlet, errors: IO[bytes], server: bool) -> list[str]:
    """What the stages said, and why nobody would hear of a failure; each with the program that says so."""
    errors.seek(0)
    said = errors.read().decode(errors="replace").splitlines()
    own = watched.faults(outlet.seats(), setting.alerts()) if server else []
    own += [setting.coverage()] if setting.is_degraded() else []
    return [*(line if line.startswith("fleet") else f"fleetd: {line}" for line in said),
            *(f"fleetd: WARN {text}" for text in own)]  # fmt: skip
