"""A prompt on its way to a member, and a reply to it."""

from looks import T0, after, look, run, sent

from fleettools.policy.members import handover, roster


def test_no_prompt_is_delivered_to_a_member_that_cannot_take_it() -> None:
    released, _ = roster.release(after("idle"), "let go", "release", T0, {})
    refusing = [None, released, after("failed"), after("backend_error"), after("exhausted"), after("blocked")]
    refusing.append(run(look("working", gone=True, at=1), member=after("working"))[0])
    refusing.append(handover.open_ticket(after("idle"), "t1", "", T0))
    assert all(handover.may_be_sent(member, T0 + 1) for member in refusing)
    assert not any(handover.may_be_sent(after(outcome), T0 + 1) for outcome in ("idle", "completed"))


def test_a_reply_makes_the_member_done_and_its_later_verdict_lose() -> None:
    member = handover.replied(sent(after("idle")), "t1", T0 + 11_000)
    assert member is not None and member.state == "done"
    member, answer, asked = run(look("working", "do:1", at=12), look("backend_error", "do:1", at=13), member=member)
    assert member is not None
    assert (member.state, answer.resolved, asked) == ("done", False, [])


def test_a_prompt_that_did_not_go_in_leaves_the_turn_before() -> None:
    before = after("working", "completed")
    opened = handover.open_ticket(before, "t1", "", T0)
    assert handover.withdraw(opened, before, "t1", T0) == (before, False)


def test_a_look_that_sees_its_prompt_is_as_good_as_fleet_sends_own() -> None:
    """The new prompt may fail before fleet-send has its proof; its error must not wait, nor count twice."""
    before = after("idle")
    opened = handover.open_ticket(before, "t1", "", T0)
    member, answer, asked = run(look("backend_error", "do:1", at=1), member=opened)
    assert member is not None
    assert (answer.event, member.state, asked) == ("t1", "backend_error", ["t1 verdict backend_error"])
    proven, submitted = handover.withdraw(member, before, "t1", T0 + 2_000)
    assert proven is not None and submitted
    assert proven.state == "backend_error"
    assert run(look("backend_error", "do:1", at=3), member=proven)[1].event == "t1"


def test_a_prompt_that_the_agent_itself_says_to_have_begun_is_not_withdrawn() -> None:
    before = after("idle")
    opened = handover.open_ticket(before, "t1", "", T0)
    assert opened.turn is not None
    opened.turn.proven_ms = T0 + 500
    proven, submitted = handover.withdraw(opened, before, "t1", T0 + 2_000)
    assert proven is not None and submitted
    assert (proven.state, proven.turn and proven.turn.event) == ("busy", "t1")
