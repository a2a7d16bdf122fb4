"""The end of a turn: what proves it, and when it happened."""

import pytest
from looks import T0, after, at, look, run, sent

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.members import marking
from fleettools.records import Verdict


def inferred(outcome: str = "completed", screen: str = "fix:1", block: str | None = "b", **more: object) -> Verdict:
    """A look at an end that is only inferred."""
    return look(outcome, screen, block=block, proved=False, **more)


class TestProof:
    """An end that is only inferred counts when a second look, 2 s later, shows that nothing more was drawn."""

    def test_until_then_the_member_is_busy_and_nothing_is_settled(self) -> None:
        looks = look("working", "do:1", at=11), inferred(screen="do:1", at=12), inferred(screen="do:1", at=13, ms=999)
        member, answer, asked = run(*looks, member=sent(after("idle")))
        assert member is not None
        assert (member.state, answer.resolved, answer.event, asked) == ("busy", False, "t1", [])

    def test_the_second_look_says_what_the_first_one_saw(self) -> None:
        first = inferred("failed", at=12, ms=250, path="fast", reason="too fast", pattern="p", line="l")
        later = inferred("completed", at=14, ms=250, path="block", reason="done")
        member, answer, _ = run(look("working", at=11), first, later)
        assert member is not None and answer.fields is not None
        assert (member.state, member.failure_reason, answer.resolved) == ("failed", "too fast", True)
        said = {name: answer.fields[name] for name in ("outcome", "reason", "path", "pattern", "line", "proved", "at")}
        assert said == {
            "outcome": "failed", "reason": "too fast", "path": "fast", "pattern": "p", "line": "l", "proved": True,
            "at": first.ts,
        }  # fmt: skip
        assert run(later, member=member)[:2] == (member, answer._replace(reason="the same turn"))
        assert run(first, member=member)[1].fields == answer.fields

    @pytest.mark.parametrize(
        "between",
        [
            pytest.param([inferred(block="more", at=3)], id="more is drawn"),
            pytest.param([look("working", at=3)], id="it works"),
            pytest.param([look("blocked", at=3)], id="it asks"),
        ],
    )
    def test_what_happens_meanwhile_begins_the_wait_anew(self, between: list[Verdict]) -> None:
        looks = [look("working"), inferred(at=2), *between, inferred(block=between[0].block or "b", at=4)]
        member, answer, _ = run(*looks)
        assert member is not None
        assert (member.state, answer.resolved) == ("busy", False)

    @pytest.mark.parametrize("outcome", ["completed", "backend_error", "failed"])
    def test_an_end_mark_or_a_worded_failure_waits_for_nothing(self, outcome: str) -> None:
        member, answer, _ = run(look("working"), inferred(at=1), look(outcome, at=2, block="b", reason="says so"))
        assert member is not None and answer.fields is not None
        assert (member.turn.outcome, answer.resolved) == (outcome, True)  # type: ignore[union-attr]
        assert answer.fields["at"] == records.to_ts(T0 + 1_000)

    def test_a_second_look_of_another_run_proves_it_however_late(self) -> None:
        member, _, _ = run(inferred(at=1))
        assert run(inferred(at=301), member=member)[1].resolved

    def test_looks_are_apart_by_the_clock_that_never_steps(self) -> None:
        first = inferred(at=100, boot="b", up=50.0)
        for up, proved in ((51.9, False), (52.0, True)):
            assert run(first, inferred(at=0, boot="b", up=up))[1].resolved is proved

    def test_a_new_prompt_reinstates_though_its_end_is_in_doubt(self) -> None:
        member, answer, _ = run(inferred(screen="more:1", at=5), member=after("backend_error"))
        assert member is not None
        assert (member.state, member.failure_reason, answer.resolved) == ("busy", None, False)

    def test_a_turn_that_has_ended_stays_ended_while_a_worse_end_is_in_doubt(self) -> None:
        error = inferred("backend_error", block="more", at=2, pattern="place", reason="x"), "done"
        member, answer, _ = run(look("completed", at=1, block="b"), error[0])
        assert member is not None
        assert (member.state, answer.resolved) == ("done", False)
        member, answer, _ = run(inferred("backend_error", block="more", at=4, reason="x"), member=member)
        assert member is not None
        assert (member.state, answer.resolved) == ("backend_error", True)

    def test_work_that_draws_nothing_begins_no_turn(self) -> None:
        """A spinner in the title, or a footer that counts, goes on for a moment after the end."""
        ended = look("working"), look("backend_error", at=1, block="b")
        member, answer, _ = run(*ended, look("working", at=2, block="b"))
        assert member is not None
        assert (member.state, answer.event) == ("backend_error", run(*ended)[1].event)
        member, answer, _ = run(*ended, look("working", at=2, block="more"))
        assert member is not None
        assert (member.state, answer.event != run(*ended)[1].event) == ("busy", True)


class TestWhen:
    """An end is dated by the look that first showed it, and not before the last look without it."""

    @pytest.mark.parametrize(
        ("before", "at", "undated", "dated", "still"),
        [
            pytest.param(None, 4, None, 4, None, id="the first look takes what it is told"),
            pytest.param(None, 10, True, 10, True, id="the first look, and nothing tells"),
            pytest.param(2, 4, None, 4, None, id="after the last look without it"),
            pytest.param(6, 4, None, 6, None, id="not before the last look without it"),
            pytest.param(2, 10, True, 6, None, id="the middle, when nothing tells"),
        ],
    )
    def test_its_moment(
        self, before: int | None, at: int, undated: bool | None, dated: int, still: bool | None
    ) -> None:
        earlier = [] if before is None else [look("working", at=before)]
        fields = {"at": 10, "undated": undated}
        error = look("backend_error", **fields)
        error.at = records.to_ts(T0 + 1000 * at)
        later = look("backend_error", at=20)
        later.at = later.ts
        member, answer, _ = run(*earlier, error)
        for told in (answer, run(later, member=member)[1]):
            assert told.fields is not None
            assert (told.fields["at"], told.fields["undated"]) == (records.to_ts(T0 + 1000 * dated), still)

    def test_a_look_at_an_earlier_turn_is_one_without_it(self) -> None:
        error = look("backend_error", "new:1", at=9)
        error.at = records.to_ts(T0 + 1000)
        answer = run(look("completed", at=5), error)[1]
        assert answer.fields is not None and answer.fields["at"] == records.to_ts(T0 + 5000)

    def test_one_at_another_process_of_the_pane_is_not(self) -> None:
        error = look("backend_error", "new:1", at=9, pid=31)
        error.at = records.to_ts(T0 + 1000)
        answer = run(look("completed", at=5), error)[1]
        assert answer.fields is not None and answer.fields["at"] == records.to_ts(T0 + 1000)

    def test_a_wall_clock_that_steps_moves_nothing(self) -> None:
        """An hour back, and an hour ahead: what the machine's uptime says is what counts."""
        looks = [look("working", at=0, boot="b", up=10.0), look("backend_error", at=-3600, boot="b", up=11.0)]
        looks += [look("working", "new:1", at=3600, boot="b", up=12.0), look("completed", "new:1", boot="b", up=13.0)]
        member, answer, _ = run(*looks)
        assert member is not None and member.turn is not None
        assert (member.state, member.count, answer.resolved) == ("done", 2, True)
        assert member.since_ms == T0 + 3_000

    def test_the_last_look_of_this_run_counts_though_the_store_was_spared_it(self) -> None:
        member = run(look("working"), look("working", at=4))[0]
        assert member is not None and member.looked is not None and member.looked.ms == T0
        error = look("backend_error", at=6, undated=True)
        for last, dated in ((None, 3), (4, 5), (-9, 3)):
            own = None if last is None else Moment(T0 + 1000 * last)
            answer = marking.step(member, error, {}, at(error), own)[1]
            assert answer.fields is not None and answer.fields["at"] == records.to_ts(T0 + 1000 * dated)

    def test_the_store_learns_of_a_look_at_least_every_five_seconds(self) -> None:
        member = run(*(look("working", at=second) for second in range(12)))[0]
        assert member is not None and member.looked is not None and member.looked.ms == T0 + 10_000
