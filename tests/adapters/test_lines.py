"""Streams: every byte of what is not ours comes out again, in order, and a bad line stops nothing."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fleettools.adapters.lines import Batch, Splitter
from fleettools.adapters.streams import printable

FILTER = """
from fleettools.adapters.lines import Input, pump
from fleettools.cli import command, files
from fleettools.errors import Undecodable

def upper(raw):
    return [raw.upper()]

def stuck(raw):
    raise Undecodable("member/x: holds something else", "remove it")

@command("fleet-try")
@files
def main(ctx, files):
    "Shouts the records of type shout."
    source, consume = Input(files, ctx.out, ctx.messages), {"shout": upper, "stuck": stuck}
    return pump(source, ctx.out, ctx.messages, consume, strict=ctx.strict)

main()
"""


@pytest.fixture(name="tried")
def _tried(tmp_path: Path) -> list[str]:
    script = tmp_path / "try.py"
    script.write_text(FILTER)
    return [sys.executable, str(script)]


def run(command: list[str], data: bytes, *args: str) -> tuple[int, bytes, str]:
    done = subprocess.run([*command, *args], input=data, capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_are_the_same_however_the_input_is_cut(size: int) -> None:
    data = b"a\n\n" + b"b" * 20 + b"\nlast"
    splitter = Splitter("stdin")
    chunks = [data[i : i + size] for i in range(0, len(data), size)]
    batches = [splitter.feed(chunk) for chunk in [*chunks, b""]]
    numbered = [pair for batch in batches for pair in enumerate(batch.lines, batch.first)]
    assert numbered == [(1, b"a\n"), (2, b"\n"), (3, b"b" * 20 + b"\n"), (4, b"last")]


def test_a_line_over_16_mib_is_reported_by_number_and_not_held() -> None:
    splitter = Splitter("day.jsonl")
    for _ in range(20):
        assert splitter.feed(b"x" * (1 << 20)).lines == []
    assert splitter.feed(b"\nnext\n") == Batch("day.jsonl", 1, [None, b"next\n"])


def test_what_a_filter_does_not_consume_passes_byte_for_byte(tried: list[str]) -> None:
    data = b'{"type" : "other", "x":1.0}\r\n\n  \n{"type":"shout"}\n{"type":"last","z":"\xc3\xa9"}'
    status, out, err = run(tried, data)
    assert (status, err) == (0, "")
    assert out == data.replace(b'{"type":"shout"}', b'{"TYPE":"SHOUT"}')


def test_a_bad_line_is_said_with_its_place_and_the_rest_goes_on(tried: list[str]) -> None:
    status, out, err = run(tried, b'{"type":"a"}\n{bad\n{"type":"b"}\n\xff\n')
    assert status == 65
    assert out == b'{"type":"a"}\n{"type":"b"}\n'
    first, second = err.splitlines()
    assert first.startswith("fleet-try: stdin:2: not JSON")
    assert second.startswith("fleet-try: stdin:4: not UTF-8")


def test_a_line_that_a_row_of_the_store_hinders_passes_on_and_is_said_once(tried: list[str]) -> None:
    status, out, err = run(tried, b'{"type":"stuck"}\n{"type":"shout"}\n{"type":"stuck","n":2}\n')
    assert status == 69
    assert out == b'{"type":"stuck"}\n{"TYPE":"SHOUT"}\n{"type":"stuck","n":2}\n'
    assert err == "fleet-try: member/x: holds something else; remove it\n"


BAD = b'{"type":"a"}\nnonsense\n{"type":"shout"}\n'
GOOD = b'{"type":"a"}\n{"TYPE":"SHOUT"}\n'


@pytest.mark.parametrize("where", ["2>&-", "2</dev/null", "2>/dev/full"], ids=["closed", "not to be written", "full"])
def test_a_standard_error_that_takes_nothing_changes_nothing(tried: list[str], where: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {where}', "sh", *tried], input=BAD, stdout=subprocess.PIPE, timeout=60
    )
    assert (done.returncode, done.stdout) == (65, GOOD)
    command = ["sh", "-c", f'exec "$@" --nonsense {where}', "sh", *tried]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_standard_error_that_nobody_reads_holds_nothing_up(tried: list[str]) -> None:
    read, write = os.pipe()
    try:
        done = subprocess.run(tried, input=BAD * 5000, stdout=subprocess.PIPE, stderr=write, timeout=60)
        assert (done.returncode, done.stdout) == (65, GOOD * 5000)
    finally:
        os.close(read)
        os.close(write)


def test_a_standard_error_that_is_read_late_gets_every_message(tried: list[str]) -> None:
    many = 700  # more than a pipe holds, not more than waits for it
    with subprocess.Popen(tried, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"nonsense" * 10 + b"\n")
        process.stdin.write(b"x\n" * many + b'{"type":"a"}\n')
        process.stdin.flush()
        assert process.stdout.readline() == b'{"type":"a"}\n'
        process.stdin.close()
        said = process.stderr.read().splitlines()
        assert len(said) == many + 1 and said[-1].startswith(b"fleet-try: stdin:701: not JSON")
        assert process.wait(60) == 65


def test_what_was_lost_is_said_at_the_end(tried: list[str]) -> None:
    with subprocess.Popen(tried, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"x\n" * 5000 + b'{"type":"a"}\n')
        process.stdin.flush()
        assert process.stdout.readline() == b'{"type":"a"}\n'
        process.stdin.close()
        assert re.search(rb"\n\((\d+) messages were lost: standard error took no more\)\n\Z", process.stderr.read())
        assert process.wait(60) == 65


def test_streams_that_somebody_made_non_blocking_lose_nothing(tried: list[str]) -> None:
    data = b'{"type":"a","y":"' + b"y" * 500_000 + b'"}\n'
    (in_read, in_write), (out_read, out_write) = os.pipe(), os.pipe()
    for fd in (in_read, out_write):
        os.set_blocking(fd, False)
    with subprocess.Popen(tried, stdin=in_read, stdout=out_write) as process:
        os.close(in_read)
        os.close(out_write)
        with open(in_write, "wb") as source, open(out_read, "rb") as result:
            writer = threading.Thread(target=lambda: (source.write(data), source.close()))
            writer.start()
            assert result.read() == data
            writer.join()
        assert process.wait(60) == 0


def test_a_byte_order_mark_is_no_bad_line(tried: list[str]) -> None:
    mark = b"\xef\xbb\xbf"
    data = mark + b'{"type":"shout"}\n' + mark + b'{"type":"a"}\n' + mark
    assert run(tried, data) == (0, b'{"TYPE":"SHOUT"}\n' + mark + b'{"type":"a"}\n' + mark, "")


def test_strict_stops_at_the_first_bad_line(tried: list[str]) -> None:
    status, out, err = run(tried, b'{"type":"a"}\n{bad\n{"type":"b"}\n', "--strict")
    assert (status, out) == (65, b'{"type":"a"}\n')
    assert len(err.splitlines()) == 1


def test_files_are_read_in_turn_and_one_that_is_missing_is_said(tried: list[str], tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b'{"type":"one"}')
    status, out, err = run(tried, b'{"type":"two"}\n', str(tmp_path / "one"), str(tmp_path / "nowhere"), "-")
    assert (status, out) == (65, b'{"type":"one"}\n{"type":"two"}\n')
    assert "nowhere: No such file or directory" in err


def test_a_record_never_waits_while_the_input_is_quiet(tried: list[str]) -> None:
    with subprocess.Popen(tried, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdin.write(b'{"type":"shout"}\n')
        process.stdin.flush()
        assert process.stdout.readline() == b'{"TYPE":"SHOUT"}\n'
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_waiting_filter_dies_of_the_signal(tried: list[str], signum: int) -> None:
    with subprocess.Popen(tried, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdin.write(b'{"type":"a"}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signum)
        assert process.wait(60) == -signum


def test_a_closed_pipe_is_died_of(tried: list[str]) -> None:
    with subprocess.Popen(tried, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdout.close()
        process.stdin.write(b'{"type":"a"}\n')
        process.stdin.flush()
        assert process.wait(60) == -signal.SIGPIPE


@pytest.mark.parametrize("args", [[], ["--help"]], ids=["records", "help"])
def test_a_full_disk_is_74(tried: list[str], args: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*tried, *args], input=b'{"type":"a"}\n', stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 74
    assert b"No space left on device" in done.stderr


def test_a_terminal_on_stdin_gets_one_hint(tried: list[str]) -> None:
    ours, theirs = os.openpty()
    try:
        process = subprocess.Popen(tried, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(theirs)
        deadline = time.monotonic() + 60
        os.write(ours, b"\x04")
        out, err = process.communicate(timeout=deadline - time.monotonic())
    finally:
        os.close(ours)
    assert (process.returncode, out) == (0, b"")
    assert err.decode().count("\n") == 1
    assert "^D" in err.decode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain", "plain", id="plain text"),
        pytest.param("é – 漢", "é – 漢", id="letters of any script"),
        pytest.param("\x1b[2Jgone", "\\x1b[2Jgone", id="an escape sequence"),
        pytest.param("a\u202eb\u200bc\x9b", "a\\u202eb\\u200bc\\x9b", id="bidi, zero width and C1"),
        pytest.param("two\nlines", "two\\nlines", id="a newline"),
    ],
)
def test_what_a_terminal_would_act_on_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


CLASSIFY = [sys.executable, "-m", "fleettools.commands.classify"]


def test_a_screen_without_text_gets_one_hint(tmp_path: Path) -> None:
    status, out, err = run(CLASSIFY, b"\xe2\x9d\xaf go\n\n\xe2\x97\x8f API Error: 500\n\nmore\n")
    assert (status, out) == (65, b"\n\n")
    assert err.count("\n") == 1
    assert "stdin:1: " in err
    assert "if it is a screen, give --text" in err


def test_what_stands_before_the_first_record_is_said_in_two_lines_and_later_lines_one_by_one() -> None:
    status, out, err = run(CLASSIFY, b'a\nb\nc\n{"type":"x"}\nd\ne\n')
    assert (status, out) == (65, b'{"type":"x"}\n')
    assert [line.split(": ")[1] for line in err.splitlines()] == ["stdin:1", "stdin:2-3", "stdin:5", "stdin:6"]
