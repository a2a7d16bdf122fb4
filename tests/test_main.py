"""`python -m fleettools` lists the commands; test_man compares the list with fleettools(7)."""

import subprocess
import sys

import pytest

from fleettools import __version__


@pytest.mark.parametrize(
    ("args", "status", "out", "said"),
    [
        ([], 0, "The pipe:\n  fleet-scrape     look at ", ""),
        (["-h"], 0, "Usage: python -m fleettools [OPTIONS]\n\n  List the commands of fleettools.", ""),
        (["--help"], 0, "Usage: python -m fleettools [OPTIONS]\n\n  List the commands of fleettools.", ""),
        (["--version"], 0, f"fleettools {__version__}\n", ""),
        (["fleet-gate"], 2, "", "argument (fleet-gate); see python -m fleettools --help\n"),
        (["--all"], 2, "", "; see python -m fleettools --help\n"),
    ],
)
def test_it_lists_and_takes_nothing(args: list[str], status: int, out: str, said: str) -> None:
    done = subprocess.run([sys.executable, "-m", "fleettools", *args], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout[: len(out)]) == (status, out), done
    assert done.stderr.endswith(said) and bool(done.stderr) == bool(said)
