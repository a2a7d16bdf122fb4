"""An agent's own word: it joins the turn that the screen shows, whichever comes first, or begins one."""

import random

import pytest
from looks import SERVER, T0, at, look, sent

from fleettools import records
from fleettools.policy.members import handover, hearing, marking
from fleettools.policy.members.roster import Answer, MemberState

Heard = tuple[MemberState | None, list[Answer]]


def word(said: str, at: int = 0, name: str | None = None, ms: int = 0, **more: object) -> records.Signal:
    """A signal, `at` seconds and `ms` from T0; equal names are one signal."""
    ts = records.to_ts(T0 + 1000 * at + ms)
    fields = {"id": name or f"{said}{at}.{ms}", "source": "hook", "server": SERVER, "target": "%3"} | more
    return records.Signal(ts=ts, said=said, **fields)  # type: ignore[arg-type]


def told(*seen: records.Verdict | records.Signal, member: MemberState | None = None) -> Heard:
    """The member after looks and words in this order, and what was answered to each."""
    answers = []
    for one in seen:
        settled: dict[str, bool] = {}
        while True:
            moment = at(one)  # type: ignore[arg-type]
            if isinstance(one, records.Signal):
                member, answer = hearing.hear(member, one, settled, moment)
            else:
                member, answer = marking.step(member, one, settled, moment)
            if not answer.asks:
                break
            settled |= {ask.ticket: True for ask in answer.asks}
        answers.append(answer)
    return member, answers


def events(answers: list[Answer]) -> set[str | None]:
    return {answer.event for answer in answers if answer.known}


IDLE = look("idle", "old:1", at=-60)
WORKS, FAILS = look("working", at=10), look("backend_error", at=20, cause="unknown")
FAILED = word("failure", 19, cause="overload")


class TestOneEvent:
    """The word and the screen of one turn are one event, whichever comes first, and however often."""

    @pytest.mark.parametrize(
        "order",
        [
            pytest.param([WORKS, FAILED, FAILS], id="the word first"),
            pytest.param([WORKS, FAILS, FAILED], id="the screen first"),
            pytest.param([WORKS, FAILED, FAILED, FAILS, FAILS, FAILED], id="each again"),
            pytest.param([WORKS, FAILED, look("working", at=20), look("backend_error", at=21)], id="a screen behind"),
            pytest.param([FAILS, FAILED], id="a turn that ended between two looks"),
            pytest.param([word("begin", 9), WORKS, FAILED, FAILS], id="begun by its own word"),
            pytest.param([WORKS, word("begin", 9), FAILED, FAILS], id="begun by its word, said late"),
            pytest.param([word("begin", 9), FAILED, FAILS], id="seen at its end only"),
            pytest.param(
                [word("begin", 9), FAILED, look("idle", "old:1", at=10), look("backend_error", at=21)],
                id="not drawn yet",
            ),
            pytest.param([WORKS, FAILS, look("working", "new:1", at=30), FAILED], id="said when the next has begun"),
        ],
    )
    def test_it_is_one(self, order: list[records.Verdict | records.Signal]) -> None:
        member, _ = told(IDLE)
        _, answers = told(*order, member=member)
        of_it = [a for a, one in zip(answers, order, strict=True) if getattr(one, "screen", "fix:1") == "fix:1"]
        assert len(events(of_it)) == 1, of_it
        assert all(answer.resolved for answer in of_it)

    def test_a_tickets_turn_settles_once(self) -> None:
        member = sent(told(IDLE)[0])  # type: ignore[arg-type]
        looks = look("working", at=15), FAILED, look("backend_error", at=20)
        member, answers = told(*looks, member=member)
        assert member is not None
        assert (events(answers), member.state) == ({"t1"}, "backend_error")

    def test_its_own_word_proves_that_a_ticket_has_begun(self) -> None:
        before = told(IDLE)[0]
        assert before is not None
        opened = handover.open_ticket(before, "t1", "", T0)
        member, (answer,) = told(word("begin", 1), member=opened)
        assert member is not None and member.turn is not None
        assert (answer.event, member.state, member.turn.proven_ms) == ("t1", "busy", T0 + 1000)
        assert handover.withdraw(member, before, "t1", T0 + 2000)[1]

    def test_a_hook_that_starts_after_its_turn_was_drawn_begins_no_other(self) -> None:
        """opencode says that it is at work some 0.1 s after its screen has shown it."""
        looks = look("working", at=10), look("backend_error", at=11)
        _, answers = told(
            looks[0], looks[1], word("begin", 10, ms=80), word("failure", 11, ms=90), member=told(IDLE)[0]
        )
        assert len(events(answers)) == 1

    def test_a_failure_without_a_beginning_is_no_part_of_the_turn_that_was_over(self) -> None:
        member, _ = told(IDLE)
        _, answers = told(word("failure", 9), look("backend_error", at=10), word("failure", 9), member=member)
        assert len(events(answers)) == 1 and "old:1" not in str(events(answers))

    def test_the_end_of_another_turn_of_the_agents_own_ends_nothing(self) -> None:
        member, answers = told(
            word("begin", 9, prompt="p1"), WORKS, word("end", 12, prompt="title"), member=told(IDLE)[0]
        )
        assert member is not None and (member.state, answers[-1].known) == ("busy", False)

    @pytest.mark.parametrize("prompt", [None, "p0"])
    def test_a_word_from_before_a_ticket_is_of_the_turn_before_it(self, prompt: str | None) -> None:
        member = sent(told(IDLE, WORKS, look("backend_error", at=12))[0], at=15)  # type: ignore[arg-type]
        late = word("begin", 9, prompt=prompt), word("failure", 12, prompt=prompt, cause="overload")
        member, answers = told(*late, look("working", "fix:2", at=16), word("begin", 15, ms=200), member=member)
        assert [answer.event for answer in answers if answer.known][1:] == ["t1", "t1"]
        assert member is not None and member.turn is not None and member.turn.outcome == "working"


class TestTwoEvents:
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            pytest.param(word("failure", 19), word("failure", 20), id="without any id"),
            pytest.param(word("failure", 19, prompt="p1"), word("failure", 20, prompt="p2"), id="by the prompt's id"),
        ],
    )
    @pytest.mark.parametrize("screens_first", [False, True])
    def test_two_turns_that_fail_a_second_apart_are_two(
        self, first: records.Signal, second: records.Signal, screens_first: bool
    ) -> None:
        looks = [look("backend_error", at=19, ms=500), look("backend_error", "fix:2", at=20, ms=500)]
        order = [*looks, first, second] if screens_first else [first, looks[0], second, looks[1]]
        member, _ = told(IDLE, WORKS)
        _, answers = told(*order, member=member)
        assert len(events(answers)) == 2
        by_turn = [
            {answers[order.index(one)].event for one in pair} for pair in zip(looks, (first, second), strict=True)
        ]
        assert [len(each) for each in by_turn] == [1, 1]

    def test_many_turns_said_and_seen_in_any_order_of_screen_and_word(self) -> None:
        """Each turn's words and looks, doubled, the words up to a minute late: one event a turn."""
        chance = random.Random(7)
        for _ in range(20):
            stream: list[tuple[float, records.Verdict | records.Signal]] = []
            for number in range(6):
                start = 100 * number
                prompt = f"p{number}" if chance.random() < 0.5 else None
                begin, end = word("begin", start, prompt=prompt), word("failure", start + 9, prompt=prompt)
                seen = (
                    look("working", f"{number}:1", at=start, ms=400),
                    look("backend_error", f"{number}:1", at=start + 9, ms=600),
                )
                late = chance.choice([0, 0.3, 2, 30, 60])
                stream += [(start + 0.4, seen[0]), (start + 9.6, seen[1]), (start + 9.7, seen[1])]
                stream += [(start + late, begin)] * chance.choice([1, 2]) + [(start + 9 + late, end)] * 2
            ordered = [one for _, one in sorted(stream, key=lambda pair: pair[0])]
            _, answers = told(*ordered, member=told(IDLE)[0])
            failed = [
                a for a, one in zip(answers, ordered, strict=True) if getattr(one, "said", "failure") == "failure"
            ]
            assert len(events(failed)) == 6


QUOTA = {"cause": "quota", "resets_at": records.to_ts(T0 + 3_600_000)}
USED_UP, LIMITED = look("exhausted", at=20, **QUOTA), word("failure", 20, cause="rate_limit")
NO_TIME, SAYS_TIME = look("exhausted", at=20, cause="quota"), word("failure", 20, **QUOTA)


class TestWhatIsKnown:
    """The stronger source gives cause and reset time; nothing known is taken back."""

    @pytest.mark.parametrize(
        ("order", "outcome", "cause", "resets"),
        [
            pytest.param([FAILS, FAILED], "backend_error", "overload", False, id="a word names what is unknown"),
            pytest.param([FAILED, FAILS], "backend_error", "overload", False, id="and before it"),
            pytest.param([USED_UP, LIMITED], "exhausted", "quota", True, id="rate_limit does not override quota"),
            pytest.param([LIMITED, USED_UP], "exhausted", "quota", True, id="quota overrides rate_limit"),
            pytest.param([NO_TIME, SAYS_TIME], "exhausted", "quota", True, id="a missing reset time"),
            pytest.param([look("completed", at=20), FAILED], "backend_error", "overload", False, id="not drawn"),
        ],
    )  # fmt: skip
    def test_the_last_verdict_says(
        self, order: list[records.Verdict | records.Signal], outcome: str, cause: str, resets: bool
    ) -> None:
        member, answers = told(WORKS, *order)
        assert member is not None and member.turn is not None
        assert (member.turn.outcome, member.turn.cause, member.turn.resets_at is not None) == (outcome, cause, resets)
        fields = answers[-1].fields
        assert fields is not None and len(events(answers)) == 1
        assert (fields["outcome"], fields["cause"], fields["resets_at"] is not None) == (outcome, cause, resets)


class TestAlone:
    def test_a_word_alone_counts(self) -> None:
        member, (_, answer) = told(IDLE, word("failure", 5, cause="overload"))
        assert member is not None
        assert (answer.known, answer.resolved, member.state) == (True, True, "backend_error")

    def test_an_end_settles_at_once(self) -> None:
        member, answers = told(WORKS, look("completed", at=12, block="b", proved=False), word("end", 12))
        assert member is not None
        assert ([answer.resolved for answer in answers], member.state) == ([True, False, True], "done")

    def test_a_question_is_said_at_once(self) -> None:
        member, answers = told(WORKS, word("blocked", 12))
        assert member is not None and (member.state, len(events(answers))) == ("blocked", 1)

    def test_a_turn_that_the_screen_shows_at_work_later_has_not_ended(self) -> None:
        member, answers = told(WORKS, look("working", at=30), word("failure", 12))
        assert member is not None
        assert (answers[-1].known, member.state) == (False, "busy")

    def test_a_beginning_reinstates(self) -> None:
        member, _ = told(WORKS, FAILS, word("begin", 30), look("working", "new:1", at=31))
        assert member is not None and (member.state, member.count) == ("busy", 2)

    @pytest.mark.parametrize("said", ["begin", "end", "failure", "blocked"])
    def test_a_pane_that_is_no_member_makes_no_verdict(self, said: str) -> None:
        assert not told(word(said))[1][0].known

    def test_a_word_from_before_the_process_in_the_pane_is_not_its(self) -> None:
        assert not told(WORKS, word("failure", -30))[1][-1].known
