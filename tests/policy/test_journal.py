"""What the journal holds, and for how long."""

import pytest

from fleettools import records
from fleettools.policy import journal

NOON = "2026-01-31T12:00:00.000Z"
ENDED = records.Heading(
    type="verdict", ts=NOON, server="h:/s:1", target="%1", role="member", outcome="failed", event="e"
)


def changed(**fields: object) -> records.Heading:
    return records.Heading(**{name: getattr(ENDED, name) for name in ENDED.__struct_fields__} | fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ts", "name"),
    [
        pytest.param("2026-01-31T23:59:59.999Z", "2026-01-31.jsonl", id="the last moment of a day"),
        pytest.param("2026-02-01T00:00:00.000Z", "2026-02-01.jsonl", id="midnight UTC"),
        pytest.param("2026-02-01T00:30:00+02:00", "2026-01-31.jsonl", id="another zone's morning"),
    ],
)
def test_a_record_stands_in_the_file_of_its_utc_day(ts: str, name: str) -> None:
    assert journal.file_of(ts) == name


@pytest.mark.parametrize(
    ("verdict", "ends"),
    [
        pytest.param(ENDED, True, id="a member's failure"),
        pytest.param(changed(role=None, resolved=True), True, id="without a role"),
        pytest.param(changed(outcome="working"), False, id="a turn at work"),
        pytest.param(changed(resolved=False), False, id="settled by something else, or not proved"),
        pytest.param(changed(role="lead"), False, id="a lead's"),
    ],
)
def test_only_the_end_of_a_members_turn_stands_there(verdict: records.Heading, ends: bool) -> None:
    assert (journal.end_of(verdict) is not None) is ends


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        pytest.param(changed(ts="2026-02-03T00:00:00.000Z"), True, id="seen again"),
        pytest.param(changed(outcome="exhausted"), False, id="another outcome"),
        pytest.param(changed(event="f"), False, id="another turn"),
        pytest.param(changed(event=None), False, id="a turn without a name"),
    ],
)
def test_an_end_is_one_for_each_event_and_outcome(other: records.Heading, equal: bool) -> None:
    assert (journal.end_of(other) == journal.end_of(ENDED)) is equal


def test_files_that_are_too_old_go_and_what_is_no_journal_stays() -> None:
    names = [
        "2026-01-01.jsonl",
        "2026-01-02.jsonl",
        "2026-01-31.jsonl",
        "2025-12-31.jsonl.gz",
        "notes",
        "2025-1-1.jsonl",
    ]
    assert journal.outdated(names, records.to_ms(NOON), 30) == []
    assert journal.outdated(names, records.to_ms(NOON), 29) == ["2026-01-01.jsonl"]
