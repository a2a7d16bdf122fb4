"""Run the benchmarks: `python benchmarks/bench.py [--record] [NAME ...]`, all without a name; `make bench` sets up.

What they draw goes to benchmarks/out/, which git ignores; with --record to benchmarks/, to be committed.
Each prints a ratio against a yardstick that is measured in turn with it: times differ between machines, ratios hold.
"""

import importlib
import os
import sys

import measure

NAMES = ("startup", "rates", "sweep", "watch", "latency", "growth")


def main(names: list[str]) -> None:
    measure.record = "--record" in names
    names = [name for name in names if name != "--record"]
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
    for name in names or NAMES:
        if name not in NAMES:
            raise SystemExit(f"bench.py: no benchmark {name}; there are {', '.join(NAMES)}")
        for row in importlib.import_module(name).rows():
            print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
