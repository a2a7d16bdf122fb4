"""A command whose process is killed right after one of its steps: `dying.py N LOG STEM ARGS ...`, N 0 for none.

A step is a commit to the store, a paste or an Enter. What each was is appended to LOG.
"""

import os
import runpy
import signal
import sys
from collections.abc import Callable
from typing import Any

from fleettools.adapters.sql import SqlStore
from fleettools.adapters.tmux import Tmux


def main() -> None:
    last, log, stem = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    done = 0

    def counted(call: Callable[..., bool], name: Callable[..., str]) -> Callable[..., bool]:
        def step(self: Any, *values: Any) -> bool:
            nonlocal done
            changed = call(self, *values)
            if changed:
                done += 1
                with open(log, "a", encoding="utf-8") as file:
                    file.write(name(*values) + "\n")
                if done == last:
                    os.kill(os.getpid(), signal.SIGKILL)
            return changed

        return step

    SqlStore.put = counted(SqlStore.put, lambda key, *_: key.partition("/")[0])  # type: ignore[method-assign]
    Tmux.paste = counted(Tmux.paste, lambda *_: "paste")  # type: ignore[method-assign]
    Tmux.enter = counted(Tmux.enter, lambda *_: "enter")  # type: ignore[method-assign]
    sys.argv = [f"fleet-{stem}", *sys.argv[4:]]
    runpy.run_module(f"fleettools.commands.{stem}", run_name="__main__")


if __name__ == "__main__":
    main()
