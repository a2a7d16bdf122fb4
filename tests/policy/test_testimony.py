"""Which verdicts are evidence, and what they say."""

import pytest

from fleettools import records
from fleettools.errors import BadInput
from fleettools.moments import Moment
from fleettools.policy.accounts import testimony
from fleettools.policy.accounts.testimony import EXHAUSTION, OUTAGE, Rules

TS = "2026-01-01T00:00:00.000Z"
T0 = 1_767_225_600_000


def verdict(outcome: str, **fields: object) -> records.Verdict:
    return records.Verdict(ts=TS, outcome=outcome, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        # Errors and exhaustion count, with or without a resolve in the pipe.
        (verdict("backend_error"), OUTAGE),
        (verdict("backend_error", cause="overload", resolved=True), OUTAGE),
        (verdict("exhausted", cause="quota"), EXHAUSTION),
        # What something else settled is no evidence.
        (verdict("backend_error", resolved=False), None),
        (verdict("exhausted", resolved=False), None),
        # Nor is a lead.
        (verdict("backend_error", role="lead"), None),
        (verdict("exhausted", role="lead"), None),
        (verdict("backend_error", role="member"), OUTAGE),
        # Nor what is the request's own fault.
        (verdict("backend_error", cause="context"), None),
        (verdict("backend_error", cause="request"), None),
        (verdict("retrying", attempt=9, cause="request"), None),
        # The agent's own retries count from the fifth on.
        (verdict("retrying"), None),
        (verdict("retrying", attempt=4), None),
        (verdict("retrying", attempt=5), OUTAGE),
        (verdict("retrying", attempt=500, cause="network"), OUTAGE),
        # All else says nothing about the credential.
        *((verdict(outcome), None) for outcome in ("completed", "failed", "working", "blocked", "idle", "stale")),
    ],
)
def test_evidence_is_exactly_what_the_rules_name(found: records.Verdict, kind: str | None) -> None:
    assert testimony.kind(found, Rules()) == kind


def test_the_rules_decide_what_counts() -> None:
    assert testimony.kind(verdict("retrying", attempt=500), Rules(count_retries_from=0)) is None
    assert testimony.kind(verdict("backend_error", cause="auth"), Rules(ignore_causes=frozenset({"auth"}))) is None
    assert testimony.kind(verdict("backend_error", cause="context"), Rules(ignore_causes=frozenset())) == OUTAGE


def test_up_is_that_of_the_moment_at_which_it_happened() -> None:
    found = testimony.evidence(
        verdict("backend_error", event="e", at="2025-12-31T23:59:59.500Z", boot="b", up=100.25), Moment(T0)
    )
    assert (found.at_ms, found.ts_ms, found.up_ms) == (T0 - 500, T0, 99_750)
    assert found.stamp() == {"ts": TS, "boot": "b", "up": 100.25}


def test_nothing_happens_after_it_was_recorded() -> None:
    assert testimony.evidence(verdict("backend_error", event="e", at="2026-01-01T00:00:01Z"), Moment(T0)).at_ms == T0


@pytest.mark.parametrize("field", ["at", "resets_at"])
def test_a_time_that_is_none_is_a_bad_line(field: str) -> None:
    with pytest.raises(BadInput, match="is no time"):
        testimony.evidence(verdict("exhausted", **{field: "2026-13-01T00:00:00Z"}), Moment(T0))


def test_a_verdict_without_event_is_told_apart_by_pane_and_moment() -> None:
    one, same, other = (
        testimony.event_of(verdict("backend_error", server="s", target=target)) for target in ("%1", "%1", "%2")
    )
    assert one == same != other


def test_all_times_are_put_on_the_clock_of_the_store() -> None:
    """A server whose clock is two hours ahead of the machine that looked."""
    hours = 7_200_000
    found = testimony.evidence(
        verdict("exhausted", event="e", at="2025-12-31T23:59:59.500Z", resets_at="2026-01-01T00:10:00Z"),
        Moment(T0 + hours),
    )
    assert (found.at_ms, found.resets_ms) == (T0 + hours - 500, T0 + hours + 600_000)
    assert (found.ts_ms, found.late_ms) == (T0, 500)


@pytest.mark.parametrize(
    ("pattern", "cause", "line", "unnamed"),
    [
        # Words that no list holds, in the place of the agent's own error.
        ("place", "unknown", "Something went wrong", True),
        ("place", None, None, True),
        # With a status code or a JSON body it speaks for itself.
        ("place", "unknown", "Request failed: 529", False),
        ("place", "unknown", "HTTP 503 Service Unavailable", False),
        ("place", "unknown", "failed (status=502)", False),
        ("place", "unknown", '{"error": "overloaded"}', False),
        # What merely looks like one.
        ("place", "unknown", "wrote 503,000 tokens", True),
        ("place", "unknown", "see issue 4290", True),
        ("place", "unknown", "took 4.29 s", True),
        ("place", "unknown", "version 5.0.3", True),
        # Its cause is known, or a pattern named it.
        ("place", "network", "no route", False),
        ("errorPattern", "unknown", "Something went wrong", False),
        (None, None, "Something went wrong", False),
    ],
)
def test_place_alone(pattern: str | None, cause: str | None, line: str | None, unnamed: bool) -> None:
    seen = verdict("backend_error", event="e", pattern=pattern, cause=cause, line=line)
    assert testimony.evidence(seen, Moment(T0)).unnamed is unnamed


@pytest.mark.parametrize(
    ("seen", "withdraws"),
    [
        (verdict("backend_error", cause="context"), True),
        (verdict("retrying", cause="request"), True),
        (verdict("backend_error", cause="overload"), False),
        (verdict("backend_error", cause="context", resolved=False), False),
        (verdict("exhausted", cause="context"), False),
        (verdict("failed", cause="context"), False),
    ],
)
def test_a_cause_that_is_ignored_takes_its_event_back(seen: records.Verdict, withdraws: bool) -> None:
    assert testimony.withdraws(seen, Rules()) is withdraws
