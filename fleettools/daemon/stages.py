"""The stages of the pipe: with what they are called, by fleetd and in a shell."""

import os
import shlex
import shutil
import sys
from typing import NamedTuple

STAGES = ("fleet-scrape", "fleet-classify", "fleet-resolve", "fleet-correlate", "fleet-notify")
RESUMING = "fleet-resume"  # the last one, where the configuration asks for it: it holds back no incident
DRAIN = 2.0  # seconds


class Call(NamedTuple):
    """How fleetd was called, as far as its stages have to know.

    `common`: -q, -v, --strict; `state` and `server`: --state, and -S or -L, as they were given; `daemon`:
    `host:socket path` of this fleetd; `resumes`: whether failed members are prompted again.
    """

    common: tuple[str, ...]
    follow: bool
    state: tuple[str, ...]
    server: tuple[str, ...]
    daemon: str
    resumes: bool = False

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages in their order."""
        return (*STAGES, RESUMING) if self.resumes else STAGES

    def options(self, stage: str) -> list[str]:
        """What a stage is called with, apart from its configuration."""
        own: dict[str, tuple[str, ...]] = {
            "fleet-scrape": (*(["--follow"] if self.follow else []), *self.state, *self.server),
            "fleet-classify": (),
            "fleet-correlate": ("--daemon", self.daemon, *self.state),
            "fleet-notify": (*(["--wait", f"{DRAIN:g}"] if self.follow else []), *self.state, *self.server),
            RESUMING: ("--wait", f"{DRAIN if self.follow else 0:g}", *self.state, *self.server),
        }
        return [*self.common, *own.get(stage, self.state)]

    def shell_line(self, config: str | None, everything: bool) -> str:
        """The pipe as a line for a shell; a command that is not on the PATH comes with its place."""
        named = ["-c", config] if config else []
        calls = [[*_program(stage), *named, *self.options(stage)] for stage in self.stages]
        end = [*(["--all"] if everything else []), *self.common, *self.state, *self.server]
        return " | ".join(shlex.join(call) for call in [*calls, [*_program("fleetd"), "--stdin", *named, *end]])


def module(stage: str) -> list[str]:
    """The call of a stage with this very Python and installation, whatever the PATH says."""
    return [sys.executable, "-P", "-m", f"fleettools.commands.{stage.removeprefix('fleet-')}"]


def _program(name: str) -> list[str]:
    beside = os.path.join(os.path.dirname(sys.executable), name)
    return [name] if shutil.which(name) else [beside] if os.path.exists(beside) else module(name)
