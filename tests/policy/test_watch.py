"""What a sweep remembers of a pane, and when a look at it is worth a record."""

import pytest

from fleettools.policy.members.watch import Trace, due, noticed

T = ("t0", "t1", "t2", "t3", "t4", "t5", "t6")
OUT, TITLE = ("title",), ("another title",)


def sent(*looks: tuple[float, str, tuple[object, ...]]) -> list[tuple[float, str | None]]:
    """When a record was written, and since when its text had stood there: for looks at (second, text, outside)."""
    trace: Trace | None = None
    written = []
    for now, text, outside in looks:
        trace, worth = noticed(trace, outside, hash(text), T[int(now)], now)
        if worth:
            written.append((now, trace.changed))
    return written


@pytest.mark.parametrize(
    ("looks", "written"),
    [
        pytest.param([(0, "a", OUT), (1, "a", OUT)], [(0, None)], id="a first look, and nothing changes"),
        pytest.param([(0, "a", OUT), (1, "b", OUT)], [(0, None), (1, "t1")], id="another text"),
        pytest.param([(0, "a", OUT), (1, "a", TITLE)], [(0, None), (1, None)], id="another title"),
        pytest.param([(0, "a", OUT), (1, "b", OUT), (2, "b", TITLE)], [(0, None), (1, "t1"), (2, "t1")], id="later"),
        pytest.param([(0, "a", OUT), (2, "a", OUT)], [(0, None), (2, None)], id="once more after two seconds"),
        pytest.param([(0, "a", OUT), (1.9, "a", OUT), (4, "a", OUT)], [(0, None), (4, None)], id="and not before"),
        pytest.param([(0, "a", OUT), (2, "a", OUT), (3, "a", OUT), (6, "a", OUT)], [(0, None), (2, None)], id="once"),
        pytest.param(
            [(0, "a", OUT), (1, "b", OUT), (2, "b", OUT), (3, "b", OUT)],
            [(0, None), (1, "t1"), (3, "t1")],
            id="two seconds after the last that differed",
        ),
        pytest.param(
            [(0, "a", OUT), (2, "a", OUT), (3, "a", TITLE), (5, "a", OUT)],
            [(0, None), (2, None), (3, None), (5, None)],
            id="a title counts as well",
        ),
        pytest.param([(0, "a", OUT), (1, "b", OUT), (2, "a", OUT)], [(0, None), (1, "t1"), (2, "t2")], id="back again"),
    ],
)
def test_a_record_is_written(looks: list[tuple[float, str, tuple[object, ...]]], written: list[object]) -> None:
    assert sent(*looks) == written


def test_a_pane_that_is_due_is_looked_at_though_nothing_shows_a_change() -> None:
    trace, _ = noticed(None, OUT, 1, "t0", 0.0)
    assert (due(None, 0.0), due(trace, 1.9), due(trace, 2.0)) == (True, False, True)
    assert not due(noticed(trace, OUT, 1, "t2", 2.0)[0], 9.0)
