"""Records: what a line must be, what survives it, and times that compare exactly."""

from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest

from fleettools import records
from fleettools.errors import BadInput

TS = "2026-01-31T12:00:00.000Z"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        pytest.param(b'{"type":"pane"}\n', "pane", id="a known type"),
        pytest.param(b'{"x":1,"type":"weather"}', "weather", id="an unknown type, in any place"),
        pytest.param(b"\n", "", id="a blank line"),
        pytest.param(b" \t\r\n", "", id="white space alone"),
        pytest.param(b'{"type":"pane"}\r\n', "pane", id="a line that ends as on Windows"),
    ],
)
def test_kind_reads_only_the_type(line: bytes, kind: str) -> None:
    assert records.kind(line) == kind


@pytest.mark.parametrize(
    ("line", "says"),
    [
        pytest.param(
            b'{"type":"pane","text":"\xff"}', "not UTF-8 (byte 23)", id="invalid UTF-8 in a field nobody reads"
        ),
        pytest.param(b'{"type":"pane","text":"\xed\xa0\x80"}', "not UTF-8", id="an encoded surrogate"),
        pytest.param(b'{"type":"pane","x":NaN}', "not JSON", id="NaN"),
        pytest.param(b'{"type":"pane"', "not JSON", id="a truncated line"),
        pytest.param(b'{"type":"pane"} {}', "not JSON", id="two values on a line"),
        pytest.param(
            b'{"type":"pane","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested", id="nesting without end"
        ),
        pytest.param(b"[1]", "not a record", id="an array"),
        pytest.param(b'{"text":"x"}', "not a record", id="no type"),
        pytest.param(b'{"type":7}', "not a record", id="a type that is no text"),
    ],
)
def test_a_line_that_is_no_record_says_what_is_wrong(line: bytes, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        records.kind(line)
    assert caught.value.what.startswith(says)
    assert caught.value.mend


@pytest.mark.parametrize(
    ("line", "cls", "names"),
    [
        pytest.param(b'{"type":"verdict"}', records.Verdict, "`ts`", id="a missing field"),
        pytest.param(b'{"type":"pane","target":"%1\\n"}', records.Pane, "target", id="a pane id with a newline"),
        pytest.param(
            '{"type":"pane","target":"%\u0661"}'.encode(), records.Pane, "target", id="digits of another script"
        ),
        pytest.param(b'{"type":"pane","ts":"yesterday"}', records.Pane, "ts", id="a time that is none"),
    ],
)
def test_a_record_of_the_wrong_shape_names_its_field(line: bytes, cls: type[records.Record], names: str) -> None:
    with pytest.raises(BadInput, match=r"fleet-records\(5\)") as caught:
        records.decode(line, cls)
    assert names in caught.value.what


def test_a_version_from_the_future_says_so() -> None:
    with pytest.raises(BadInput, match="a pane record whose v is higher than 1; update fleettools"):
        records.decode(b'{"type":"pane","v":2}', records.Pane)


def test_a_field_that_does_not_fit_is_told_in_words_not_by_its_pattern() -> None:
    with pytest.raises(BadInput, match="a time such as 2026-") as caught:
        records.decode(b'{"type":"pane","ts":"yesterday"}', records.Pane)
    assert "regex" not in caught.value.what


@pytest.mark.parametrize(
    "ts",
    [
        pytest.param("2026-13-01T00:00:00Z", id="month 13"),
        pytest.param("2026-02-30T00:00:00Z", id="the 30th of February"),
        pytest.param("2026-01-01T00:00:00+99:99", id="a zone that is none"),
        pytest.param("2026-01-01T00:00:00", id="no zone"),
        pytest.param("0001-01-01T00:00:00+23:59", id="before the first year"),
        pytest.param("9999-12-31T23:59:59.999Z", id="so late that a minute more cannot be written"),
    ],
)
def test_a_time_that_cannot_be_used_is_bad_input(ts: str) -> None:
    with pytest.raises(BadInput, match="is no time"):
        records.to_ms(ts)


def test_type_moves_to_the_front_of_a_record_that_is_written_again() -> None:
    assert records.patched(b'{"x":1,"type":"verdict"}', resolved=True) == b'{"type":"verdict","x":1,"resolved":true}\n'


def test_type_comes_first_and_v_is_always_written() -> None:
    line = records.encode(records.Verdict(ts=TS, outcome="failed", resolved=False))
    assert line.startswith(b'{"type":"verdict","v":1,"ts":')
    assert b'"resolved":false' in line


def test_fields_nobody_knows_survive_a_change_to_the_byte() -> None:
    line = b'{"type":"verdict","ts":"x","weight":1.50,"deep":{"b":1,"a":[1, 2]}}\n'
    assert records.patched(line, resolved=True, ts=None) == (
        b'{"type":"verdict","weight":1.50,"deep":{"b":1,"a":[1, 2]},"resolved":true}\n'
    )


def test_fields_nobody_knows_survive_from_pane_to_verdict() -> None:
    line = b'{"type":"pane","text":"hello","site":"north"}'
    made = records.replaced(line, records.Pane, records.Verdict(ts=TS, outcome="completed"))
    assert msgspec.json.decode(made) == {"type": "verdict", "v": 1, "ts": TS, "outcome": "completed", "site": "north"}


@pytest.mark.parametrize(
    ("ts", "ms"),
    [
        ("1970-01-01T00:00:01Z", 1000),
        ("2026-01-31T12:00:00.123Z", 1769860800123),
        ("2026-01-31T13:00:00.123456+01:00", 1769860800123),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_times_are_whole_milliseconds(ts: str, ms: int) -> None:
    assert records.to_ms(ts) == ms
    assert records.to_ms(records.to_ts(ms)) == ms


def test_a_type_says_what_it_is_for() -> None:
    """fleetd prints news; what is committed before it is written is said again; notify reads what it may tell."""
    news = {"incident", "quarantine", "ended", "nearly", "unmapped", "delivery", "resume", "tmux"}
    assert news == records.PRINTED
    assert {"incident", "quarantine", "ended"} == records.SAID_AGAIN
    assert records.TOLD.keys() == {"incident", "quarantine", "unmapped", "ended", "nearly", "verdict"}
    assert records.SAID_AGAIN <= records.PRINTED


def test_every_type_of_record_is_known_by_its_tag_and_nothing_else_is() -> None:
    assert {"pane", "verdict", "incident", "signal", "notice"} <= records.TYPES.keys()
    assert not {"record", "seat", "outage", "turn"} & records.TYPES.keys()
    records.decode_exact(b'{"type":"pane"}', records.Pane)
    assert records.TYPES["pane"] is records.Pane


def structs(shape: Any) -> Iterator[type[msgspec.Struct]]:
    """A struct and all that its fields may hold."""
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
        yield shape
        for field in msgspec.structs.fields(shape):
            yield from structs(field.type)
    for part in get_args(shape):
        yield from structs(part)


NUMBERS = {
    (shape, field.name): field.type
    for record in records.Record.__subclasses__()
    for kind in (record, *record.__subclasses__())
    for shape in structs(kind)
    for field in msgspec.structs.fields(shape)
    if "float" in str(field.type) or "int" in str(field.type)
}


@pytest.mark.parametrize("number", [1e308, -1e308, 10**30, -(10**30)])
@pytest.mark.parametrize("key", NUMBERS, ids=lambda key: f"{key[0].__name__}.{key[1]}")
def test_no_number_of_any_record_is_without_bounds(key: tuple[type, str], number: float) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(number, NUMBERS[key])
    assert len(NUMBERS) > 10


def test_a_record_with_an_endless_number_is_bad_input() -> None:
    line = b'{"type":"incident","ts":"2026-01-31T12:00:00.000Z","id":"i","credentialId":"c","windowSeconds":60,'
    with pytest.raises(BadInput, match="coolingOffForSeconds"):
        records.decode(line + b'"coolingOffForSeconds":1e308}', records.Incident)
