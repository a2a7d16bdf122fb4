"""What was committed is owed to the readers of the stream, whoever dies in between."""

import pytest

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy import heartbeat
from fleettools.policy.accounts import announcing

TS = "2026-01-01T00:00:00.000Z"
T0 = 1_767_225_600_000
SERVER = "build:/tmp/tmux-1000/default:4711"
DAEMON = "build:/tmp/tmux-1000/default"


def incident(number: int) -> records.Incident:
    return records.Incident(ts=TS, id=f"i{number}", credential_id="a", window_seconds=60, cooling_off_for_seconds=60)


def line(number: int) -> str:
    return records.encode(incident(number)).decode()


def test_what_was_committed_is_owed_until_it_is_announced() -> None:
    owed = announcing.committed([], incident(1), [SERVER], Moment(T0))
    assert [(one.line, one.announced, one.servers) for one in owed] == [(line(1), False, [SERVER])]
    assert announcing.overdue(owed, Moment(T0 + 9_999)) == (owed, [])
    late, lines = announcing.overdue(owed, Moment(T0 + 10_000))
    assert lines == [line(1)]
    # Who took it on has as long to write it.
    assert announcing.overdue(late, Moment(T0 + 19_999))[1] == []
    assert announcing.overdue(late, Moment(T0 + 20_000))[1] == [line(1)]
    assert announcing.overdue(announcing.announced(late, line(1)), Moment(T0 + 90_000))[1] == []


@pytest.mark.parametrize(
    ("now", "late"),
    [
        # A look that began just before the commit is not early by ten seconds.
        (Moment(T0 - 1), False),
        (Moment(T0 - 10_000), False),
        # A clock that was set back by more delays nothing.
        (Moment(T0 - 10_001), True),
        # Within a boot no step of the wall clock counts.
        (Moment(T0 - 3_600_000, "b", 59_999), False),
        (Moment(T0 - 3_600_000, "b", 60_000), True),
        (Moment(T0 + 3_600_000, "b", 59_999), False),
    ],
)
def test_another_process_says_it_after_ten_seconds_whatever_the_clock_does(now: Moment, late: bool) -> None:
    owed = announcing.committed([], incident(1), [], Moment(T0, "b", 50_000))
    assert bool(announcing.overdue(owed, now)[1]) is late


def test_owed_ones_are_kept_and_announced_ones_for_ten_minutes() -> None:
    owed: announcing.Announcements = []
    for number in range(3):
        owed = announcing.committed(owed, incident(number), [], Moment(T0))
    owed = announcing.announced(owed, line(1))
    assert [one.announced for one in owed] == [False, True, False]

    def kept(at: int) -> set[str]:
        return {one.line for one in announcing.committed(owed, incident(3), [], Moment(at))}

    assert kept(T0 + 600_000) == {line(0), line(1), line(2), line(3)}
    assert kept(T0 + 600_001) == {line(0), line(2), line(3)}


@pytest.mark.parametrize(
    ("announced", "servers", "printed", "ms", "again"),
    [
        pytest.param(True, [SERVER], [], 0, True, id="announced into a pipe that broke"),
        pytest.param(False, [SERVER], [], 0, True, id="not even announced"),
        pytest.param(True, [SERVER], [line(1)], 0, False, id="printed"),
        pytest.param(True, ["build:/other:1"], [], 0, False, id="panes of another tmux server"),
        pytest.param(True, ["build:/other:1", SERVER], [], 0, True, id="panes of both"),
        pytest.param(True, [SERVER], [], 600_000, True, id="ten minutes old"),
        pytest.param(True, [SERVER], [], 600_001, False, id="older"),
    ],
)
def test_a_fleetd_writes_again_what_it_has_not_printed(
    announced: bool, servers: list[str], printed: list[str], ms: int, again: bool
) -> None:
    owed = announcing.committed([], incident(1), servers, Moment(T0))
    owed = announcing.announced(owed, line(1)) if announced else owed
    marks = {heartbeat.mark(one.encode()) for one in printed}
    assert announcing.unprinted(owed, Moment(T0 + ms), marks, DAEMON) == ([line(1)] if again else [])
