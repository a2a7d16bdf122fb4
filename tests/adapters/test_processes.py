"""Processes joined by pipes: handed a file, ended together, whatever they do about it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sandbox import wait_for

from fleettools.adapters import processes
from fleettools.adapters.processes import Pipe, StageEnd

DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
"""
COPY = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
SAYS = "import sys, time; print(open(sys.argv[2]).read(), flush=True); time.sleep(600)"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def pipe(**stages: str) -> Pipe:
    return Pipe({name: python(code) for name, code in stages.items()}, os.environ, ("-c", b"handed"))


class Taken(bytearray):
    """What came out of a pipe."""

    def take(self, chunk: bytes) -> None:
        self.extend(chunk)


def read_until(pipe: Pipe, wanted: bytes) -> None:
    """Wait until the last stage has written so much."""
    got = Taken()
    with processes.Bell() as bell:

        def more() -> bool:
            got.extend(pipe.wait(bell, 1, 0.05) or b"")
            return wanted in got

        wait_for(more, f"reading {wanted!r}")


def test_a_stage_that_ignores_term_is_killed_after_its_last_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LAST_CHANCE", 0.2)
    deaf = pipe(deaf=DEAF, copy=COPY)
    deaf.start()
    read_until(deaf, b"deaf\n")
    began = time.monotonic()
    deaf.finish(lambda chunk: None, 0.1)
    assert time.monotonic() - began < 5
    assert deaf.statuses == {"deaf": -signal.SIGKILL, "copy": -signal.SIGTERM}


def test_every_stage_reads_the_whole_file_that_it_is_handed_and_nothing_of_it_has_a_name(tmp_path: Path) -> None:
    both = Pipe({"one": python(SAYS), "two": python(SAYS)}, os.environ | {"TMPDIR": str(tmp_path)}, ("-c", b"handed"))
    both.start()
    try:
        read_until(both, b"handed\n")
        assert not list(tmp_path.iterdir())
    finally:
        both.finish(lambda chunk: None, 0.0)


ENDS: list[tuple[str, dict[str, str], StageEnd]] = [
    ("the one that failed, not its neighbour", {"one": "raise SystemExit(3)", "two": COPY}, StageEnd("one", 3)),
    (
        "the one that was killed, not the one whose reader it was",
        {"one": "import signal, time\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
                "while True: print('x', flush=True); time.sleep(0.01)",
         "two": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"},
        StageEnd("two", -signal.SIGKILL),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("stages", "end"), [pytest.param(*case[1:], id=case[0]) for case in ENDS])
def test_the_end_that_explains_the_others_is_named(stages: dict[str, str], end: StageEnd) -> None:
    some = pipe(**stages)
    some.start()
    try:
        wait_for(some.reap, "the end of a stage")
        assert some.first_end() == end
    finally:
        some.finish(lambda chunk: None, 0.0)


def test_what_is_written_before_the_end_is_taken() -> None:
    got, whole = Taken(), pipe(one="print('all of it')", two=COPY)
    whole.start()
    whole.drain(got.take)
    whole.finish(got.take, 1.0)
    assert (bytes(got), whole.statuses) == (b"all of it\n", {"one": 0, "two": 0})


HARD = """
import os, signal, sys, time
from fleettools.adapters import signals
signals.install()
try:
    print("ready", flush=True)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.01)
except signals.Killed as error:
    signals.die(error.signum)
"""


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_waits_for_the_record_in_hand_and_a_second_one_does_not(signum: signal.Signals) -> None:
    with subprocess.Popen(python(HARD), stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        process.send_signal(signum)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signum)
        assert process.wait(30) == -signum
