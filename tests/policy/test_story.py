"""The story that fleet-timeline draws: what is in it, under which name, and what counts once."""

import pytest

from fleettools import records
from fleettools.policy import story
from fleettools.policy.story import NOBODY, Timeline

NOON = 1_800_000_000_000
SERVER = "h:/s:1"


def ts(second: float) -> str:
    return records.to_ts(NOON + round(second * 1000))


def verdict(second: float, target: str, outcome: str, **more: object) -> records.Verdict:
    fields = {
        "ts": ts(second), "server": SERVER, "target": target, "name": f"n{target[1:]}", "profile": "p",
        "agent": "claude",
        "outcome": outcome, "event": f"{target}:{second}", "credential_id": "c",
    }  # fmt: skip
    return records.Verdict(**(fields | more))  # type: ignore[arg-type]


def incident(second: float, name: str = "i") -> records.Incident:
    return records.Incident(
        ts=ts(second), id=name, credential_id="c", window_seconds=60, cooling_off_for_seconds=60, profiles=["p"],
        targets=[records.Worker(server=SERVER, target="%1", name="n1")], evidence=["e"],
    )  # fmt: skip


def quarantine(second: float, until: float) -> records.Quarantine:
    return records.Quarantine(
        ts=ts(second), id="q", credential_id="c", quarantined_for_seconds=until - second, until=ts(until),
        source="cooldown",
    )  # fmt: skip


def told(*found: records.Record, by: story.By = "credential", until: float = 1000, since: float | None = None):
    line = Timeline(by, lambda profile: profile)
    for record in found:
        line.add(record)
    since_ms = None if since is None else NOON + round(since * 1000)
    return line.chart(NOON + round(until * 1000), since_ms)


# Only turns that ended, of members, that resolve has not called a loser.
TURNS = [
    ("a completed turn", {"outcome": "completed"}, 1),
    ("a failed turn", {"outcome": "failed"}, 1),
    ("a turn at work", {"outcome": "working"}, 0),
    ("a turn whose end is not proved", {"outcome": "completed", "resolved": False}, 0),
    ("a turn that resolve has settled", {"outcome": "completed", "resolved": True}, 1),
    ("a lead's turn", {"outcome": "failed", "role": "lead"}, 0),
]


@pytest.mark.parametrize(("fields", "count"), [row[1:] for row in TURNS], ids=[row[0] for row in TURNS])
def test_a_turn_is_told_when_it_ended(fields: dict[str, object], count: int) -> None:
    lanes = told(verdict(1, "%1", **fields)).lanes  # type: ignore[arg-type]
    assert sum(len(lane.turns) for lane in lanes) == count


def test_a_record_that_comes_twice_counts_once() -> None:
    record = verdict(1, "%1", "completed")
    (lane,) = told(record, record, incident(5), incident(5)).lanes
    assert (len(lane.turns), len(lane.periods)) == (1, 1)


def test_a_later_look_raises_a_turns_outcome_and_leaves_its_time() -> None:
    (lane,) = told(verdict(1, "%1", "completed", event="e"), verdict(9, "%1", "backend_error", event="e")).lanes
    assert [(turn.outcome, turn.at_ms - NOON) for turn in lane.turns] == [("backend_error", 1000)]


def test_a_turn_stands_at_the_time_at_which_it_ended() -> None:
    (lane,) = told(verdict(30, "%1", "failed", at=ts(2))).lanes
    assert lane.turns[0].at_ms == NOON + 2000


NAMES = [
    ("credential", {}, ["c"]),
    ("credential", {"credential_id": None}, ["p"]),
    ("credential", {"credential_id": None, "profile": None}, [NOBODY]),
    ("profile", {}, ["p"]),
    ("agent", {}, ["claude"]),
    ("member", {}, ["n1"]),
    ("member", {"name": None}, ["%1"]),
]


@pytest.mark.parametrize(("by", "fields", "names"), NAMES)
def test_a_turn_stands_under_the_name_that_was_asked_for(by: story.By, fields: dict, names: list[str]) -> None:
    assert [lane.name for lane in told(verdict(1, "%1", "failed", **fields), by=by).lanes] == names


@pytest.mark.parametrize(("by", "name"), [("credential", "c"), ("profile", "p"), ("agent", "claude"), ("member", "n1")])
def test_a_period_stands_with_the_turns_that_it_is_about(by: story.By, name: str) -> None:
    (lane,) = told(verdict(1, "%1", "backend_error"), incident(2), by=by).lanes
    assert (lane.name, len(lane.turns), len(lane.periods)) == (name, 1, 1)


def test_a_period_ends_when_its_end_is_said_and_knows_why() -> None:
    ended = records.Ended(ts=ts(20), id="i", kind="incident", credential_id="c", seconds=15, why="released")
    (lane,) = told(ended, incident(5)).lanes
    assert [(p.since_ms - NOON, p.until_ms - NOON, p.why) for p in lane.periods] == [(5000, 20_000, "released")]


def test_a_quarantine_that_starts_over_is_one() -> None:
    (lane,) = told(quarantine(10, 100), quarantine(50, 140)).lanes
    assert [(p.since_ms - NOON, p.until_ms - NOON) for p in lane.periods] == [(10_000, 140_000)]


def test_who_was_told_stands_with_the_period_with_the_last_outcome_for_each() -> None:
    def delivery(second: float, target: str, outcome: str) -> records.Delivery:
        return records.Delivery(ts=ts(second), id="i", server=SERVER, target=target, outcome=outcome, reason="r")

    (lane,) = told(incident(5), delivery(6, "%0", "refused"), delivery(8, "%0", "submitted")).lanes
    assert [(each.to, each.outcome) for each in lane.periods[0].told] == [("%0", "submitted")]


def test_a_period_that_reaches_into_the_span_is_told_and_what_is_over_is_not() -> None:
    chart = told(verdict(1, "%1", "failed"), incident(5), quarantine(300, 400), since=60, until=500)
    assert [(len(lane.turns), [p.id for p in lane.periods]) for lane in chart.lanes] == [(0, ["i", "q"])]
    assert [p.id for lane in told(incident(5), since=66, until=500).lanes for p in lane.periods] == []


def test_time_out_is_counted_once_where_periods_overlap_and_only_within_the_span() -> None:
    (lane,) = told(incident(5), quarantine(30, 200)).lanes
    assert story.out_ms(lane, NOON, NOON + 100_000) == 95_000


def test_a_failure_just_before_a_period_belongs_to_it_and_another_stands_alone() -> None:
    failures = [verdict(second, "%1", "backend_error") for second in (1, 500, 560, 900)]
    (lane,) = told(*failures, incident(560)).lanes
    assert [turn.at_ms - NOON for turn in story.lone(lane)] == [1000, 900_000]


def test_the_object_holds_times_as_records_do_and_leaves_out_what_is_not_known() -> None:
    view = story.view(told(verdict(1, "%1", "backend_error", cause="overload", reason="busy"), incident(1)))
    (lane,) = view["lanes"]  # type: ignore[misc]
    assert lane["turns"] == {"backend_error": 1}
    assert lane["failures"] == [
        {"at": ts(1), "outcome": "backend_error", "cause": "overload", "reason": "busy", "member": "n1", "profile": "p"}
    ]
    (period,) = lane["periods"]
    assert (period["from"], period["until"], "why" in period) == (ts(1), ts(61), False)


def test_a_stream_without_records_has_a_story_too() -> None:
    assert told().lanes == ()
