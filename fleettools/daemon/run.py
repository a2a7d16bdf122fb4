"""The pipe of all stages as one daemon: started, watched, restarted, reloaded and drained together."""

import os
import select
import sys

from fleettools import config
from fleettools.adapters import clock, configfile, signals
from fleettools.adapters.processes import Bell, Pipe, StageEnd
from fleettools.adapters.streams import CHUNK
from fleettools.adapters.supervisor import Supervisor
from fleettools.daemon.outlet import Watched
from fleettools.daemon.setting import AtWork, Setting
from fleettools.daemon.stages import DRAIN
from fleettools.errors import Exit, FleetError
from fleettools.policy import heartbeat, upkeep

LOOK = 5.0  # seconds after which the heartbeat and what is watched are looked at, however quiet the pipe


def run(setting: Setting) -> Exit:
    """Keep the pipe up until a deadly signal, which ends it after the drain; raises when it can never run."""
    supervisor, pause = setting.prepare(), 0.0
    with setting.at_work() as work, Bell() as bell:
        setting.say.info(setting.coverage())
        watched = Watched(work.outlet, setting.alerts, setting.say)
        while True:
            pipe, began = setting.pipe(), clock.monotonic()
            work.outlet.fresh()
            try:
                pipe.start()
                supervisor.tell("READY=1", "STATUS=watching")
                ended = _watch(setting, work, pipe, bell, supervisor, watched)
            except BaseException:
                supervisor.tell("STOPPING=1")
                raise
            finally:
                pipe.finish(work.outlet.take, DRAIN)
            if ended is None:
                continue
            if ended.status in (Exit.USAGE, Exit.BAD_CONFIG):
                setting.say.error(f"{ended}, and would again; mend what it says above")
                return Exit(ended.status)
            pause = upkeep.pause(pause, clock.monotonic() - began)
            setting.say.warn(f"{ended}; the whole pipe starts again in {pause:g} s")
            clock.sleep(pause)


def _watch(
    setting: Setting, work: AtWork, pipe: Pipe, bell: Bell, supervisor: Supervisor, watched: Watched
) -> StageEnd | None:
    """Pass records on until a stage has ended; None when a reload asks for a new start."""
    patience = min(LOOK, supervisor.interval or LOOK)
    while True:
        if bell.reload:
            bell.reload = False
            if _reload(setting):
                return None
        chunk = pipe.wait(bell, sys.stdout.fileno(), min(patience, watched.wait()))
        supervisor.tell("WATCHDOG=1")
        if chunk:
            work.outlet.take(chunk)
        work.ledger.beat()
        watched.look()
        if pipe.reap():
            return pipe.first_end()


def _reload(setting: Setting) -> bool:
    """Read the configuration again; whether anything changed that the stages have to be told."""
    say = setting.say
    try:
        wanted = configfile.find(setting.ctx.config_path)
    except FleetError as error:
        for each in (error, *error.also):
            say.error(f"{each} (reload refused, the old configuration holds)")
        return False
    change = upkeep.reloaded(config.plain(setting.config), config.plain(wanted))
    setting.config = config.from_plain(change.config)
    if change.now:
        say.info(f"reloaded: {', '.join(change.now)}")
    if change.waiting:
        say.warn(f"waiting for a restart of fleetd: {', '.join(change.waiting)}")
    if not change.now and not change.waiting:
        say.info("reloaded: nothing has changed")
    return bool(change.now)


def from_stdin(setting: Setting) -> Exit:
    """Be the end of a pipe that a shell has made: what `run` does with the records that come out of its own."""
    setting.prepare()
    with setting.at_work() as work:
        while True:
            with signals.waiting():
                ready = select.select([0], [], [], heartbeat.BEAT_S)[0]
                chunk = os.read(0, CHUNK) if ready else None
            work.ledger.beat()
            if chunk:
                work.outlet.take(chunk)
            elif chunk is not None:
                return Exit.OK
