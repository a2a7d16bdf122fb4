"""Which verdicts are evidence, what they say, and what is owed to the readers of the stream."""

import pytest

from fleettools import records
from fleettools.errors import BadInput
from fleettools.policy.accounts import credential
from fleettools.policy.accounts.credential import EXHAUSTION, OUTAGE, CredentialState, Rules

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
    assert credential.kind(found, Rules()) == kind


def test_the_rules_decide_what_counts() -> None:
    assert credential.kind(verdict("retrying", attempt=500), Rules(count_retries_from=0)) is None
    assert credential.kind(verdict("backend_error", cause="auth"), Rules(ignore_causes=frozenset({"auth"}))) is None
    assert credential.kind(verdict("backend_error", cause="context"), Rules(ignore_causes=frozenset())) == OUTAGE


def test_up_is_that_of_the_moment_at_which_it_happened() -> None:
    found = credential.evidence(verdict("backend_error", event="e", at="2025-12-31T23:59:59.500Z", boot="b", up=100.25))
    assert (found.at_ms, found.ts_ms, found.up_ms) == (T0 - 500, T0, 99_750)
    assert found.stamp() == {"ts": TS, "boot": "b", "up": 100.25}


def test_nothing_happens_after_it_was_recorded() -> None:
    assert credential.evidence(verdict("backend_error", event="e", at="2026-01-01T00:00:01Z")).at_ms == T0


@pytest.mark.parametrize("field", ["at", "resets_at"])
def test_a_time_that_is_none_is_a_bad_line(field: str) -> None:
    with pytest.raises(BadInput, match="is no time"):
        credential.evidence(verdict("exhausted", **{field: "2026-13-01T00:00:00Z"}))


def test_a_verdict_without_event_is_told_apart_by_pane_and_moment() -> None:
    one, same, other = (
        credential.evidence(verdict("backend_error", server="s", target=target)).event for target in ("%1", "%1", "%2")
    )
    assert one == same != other


@pytest.mark.parametrize("name", ["a", "team-a", "A.b_c@d+e", "0" * 64])
def test_names_that_may_stand_in_a_key(name: str) -> None:
    assert credential.is_name(name)


@pytest.mark.parametrize("name", ["", ".a", "-a", "a/b", "../a", "a b", "a\n", "0" * 65, "é", "a\0"])
def test_names_that_may_not(name: str) -> None:
    assert not credential.is_name(name)


def incident(number: int) -> records.Incident:
    return records.Incident(ts=TS, id=f"i{number}", credential_id="a", window_seconds=60, cooling_off_for_seconds=60)


def test_what_was_committed_is_owed_until_it_is_announced() -> None:
    state = credential.committed(CredentialState(), incident(1), T0)
    line = records.encode(incident(1)).decode()
    assert [(n.line, n.announced) for n in state.notices] == [(line, False)]
    assert credential.overdue(state, T0 + 9_999) == (state, [])
    late, lines = credential.overdue(state, T0 + 10_000)
    assert lines == [line]
    # Who took it on has as long to write it.
    assert credential.overdue(late, T0 + 19_999)[1] == []
    assert credential.overdue(late, T0 + 20_000)[1] == [line]
    assert credential.overdue(credential.announced(late, line), T0 + 90_000)[1] == []


def test_a_clock_that_was_set_back_delays_no_announcement() -> None:
    state = credential.committed(CredentialState(), incident(1), T0)
    assert len(credential.overdue(state, T0 - 3_600_000)[1]) == 1


def test_owed_ones_are_kept_and_announced_ones_for_ten_minutes() -> None:
    state = CredentialState()
    for number in range(3):
        state = credential.committed(state, incident(number), T0)
    line = records.encode(incident(1)).decode()
    state = credential.announced(state, line)
    assert [notice.announced for notice in state.notices] == [False, True, False]

    def kept(at: int) -> set[str]:
        notices = credential.committed(state, incident(3), at).notices
        return {records.decode(n.line.encode(), records.Incident).id for n in notices}

    assert kept(T0 + 600_000) == {"i0", "i1", "i2", "i3"}
    assert kept(T0 + 600_001) == {"i0", "i2", "i3"}


@pytest.mark.parametrize(
    ("after", "span", "again"), [(0, 0, True), (5_000, 5_000, True), (5_001, 5_000, False), (-1, 5_000, False)]
)
def test_what_was_announced_lately_can_be_written_again(after: int, span: int, again: bool) -> None:
    line = records.encode(incident(1)).decode()
    state = credential.committed(CredentialState(), incident(1), T0)
    assert credential.lately(state, T0 + after, span) == []
    state = credential.announced(state, line)
    assert credential.lately(state, T0 + after, span) == ([line] if again else [])
