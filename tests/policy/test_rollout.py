"""What a line of an agent's session log says."""

import pytest

from fleettools import records
from fleettools.policy.signals.payloads import Said
from fleettools.policy.signals.rollout import read


def row(kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": "2026-11-30T12:00:00.000Z", "type": "event_msg", "payload": {"type": kind, **payload}}


ROWS = {
    "a task begins": (row("task_started", turn_id="u"), [Said("begin", "s", "u")]),
    "a task ends": (row("task_complete", turn_id="u"), [Said("end", "s", "u")]),
    "a task ends in a failure": (
        row("task_complete", turn_id="u", error={"message": "all used up", "codex_error_info": "usage_limit_exceeded"}),
        [Said("failure", "s", "u", "quota", "all used up")],
    ),
    "a failure with its status": (
        row(
            "task_complete",
            error={"message": "x", "codex_error_info": {"http_connection_failed": {"http_status_code": 503}}},
        ),
        [Said("failure", "s", None, "server", "x")],
    ),
    "a failure in words": (
        row("task_complete", error="something broke"),
        [Said("failure", "s", None, "unknown", "something broke")],
    ),
    "a failed try": (row("stream_error", message="again"), []),
    "used shares": (
        row(
            "token_count",
            rate_limits={
                "primary": {"used_percent": 42.0, "window_minutes": 300, "resets_at": 1_796_000_000},
                "secondary": {"used_percent": 7, "window_minutes": 10_080},
            },
        ),
        [
            Said(
                "usage",
                "s",
                usage=(
                    records.Usage(window="five_hour", used_percent=42.0, resets_at=records.to_ts(1_796_000_000_000)),
                    records.Usage(window="seven_day", used_percent=7.0),
                ),
            )
        ],
    ),
    "no limits yet": (row("token_count", rate_limits=None), []),
    "a row of another kind": ({"type": "response_item", "payload": {"type": "message"}}, []),
}


@pytest.mark.parametrize(("line", "said"), ROWS.values(), ids=ROWS.keys())
def test_what_a_row_says(line: dict[str, object], said: list[Said]) -> None:
    assert read(line, "s", lambda text: "unknown") == said


@pytest.mark.parametrize("line", [None, [], "x", {"type": "event_msg"}, {"type": "event_msg", "payload": {"type": []}}])
def test_other_lines_say_nothing(line: object) -> None:
    assert read(line, None, lambda text: "unknown") == []
