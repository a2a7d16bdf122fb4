"""The roster: who is in it, who is meant, who is let go, and by which clock."""

import pytest
from looks import SERVER, T0, after, look, run, sent

from fleettools.errors import UsageError
from fleettools.moments import Moment
from fleettools.policy.members import roster
from fleettools.policy.members.roster import MemberState


def test_release_settles_the_open_ticket() -> None:
    _, answer = roster.release(sent(after("idle")), "let go", "release", T0, {})
    assert [(ask.ticket, ask.by) for ask in answer.asks] == [("t1", "release")]
    member, _ = roster.release(sent(after("idle")), "let go", "release", T0, {"t1": True})
    assert member is not None and member.state == "released"


class TestSpawned:
    """A spawned member is starting until a look at its pane says more, whichever comes first."""

    def test_the_first_look_follows(self) -> None:
        spawned = MemberState(server=SERVER, target="%3", pid=30, state="starting", since_ms=T0, joined_ms=T0)
        assert roster.starting(None, spawned) == spawned
        assert run(look("idle", None, at=1), member=spawned)[0].state == "idle"  # type: ignore[union-attr]

    def test_a_look_that_was_faster_stays(self) -> None:
        spawned = MemberState(server=SERVER, target="%3", pid=30, state="starting", since_ms=T0, joined_ms=T0)
        assert roster.starting(after("working"), spawned).state == "busy"

    def test_what_an_earlier_process_left_does_not(self) -> None:
        spawned = MemberState(server=SERVER, target="%3", pid=31, state="starting", since_ms=T0, joined_ms=T0)
        assert roster.starting(after("backend_error"), spawned) == spawned


def at(server: str, target: str, name: str | None = None, state: str = "idle") -> MemberState:
    return MemberState(server=server, target=target, name=name, state=state, since_ms=T0, joined_ms=T0)  # type: ignore[arg-type]


MEMBERS = [
    at("h:/s:1", "%1", "ada"),
    at("h:/s:2", "%1", "bob"),
    at("h:/s:2", "%2", "ada"),
    at("h:/s:1", "%3", "eve", "released"),
]


@pytest.mark.parametrize(
    ("target", "server", "found"),
    [
        pytest.param("bob", None, ("h:/s:2", "%1"), id="a name"),
        pytest.param("%2", None, ("h:/s:2", "%2"), id="a pane"),
        pytest.param("%1", "h:/s:1", ("h:/s:1", "%1"), id="the pane of this server before others"),
        pytest.param("ada", "h:/s:2", ("h:/s:2", "%2"), id="the name on this server before others"),
        pytest.param("%2", "h:/s:1", ("h:/s:2", "%2"), id="elsewhere, when there is none here"),
        pytest.param("ad", None, None, id="no part of a name"),
        pytest.param("eve", None, None, id="a released one"),
    ],
)
def test_a_target_means(target: str, server: str | None, found: tuple[str, str] | None) -> None:
    member = roster.find(MEMBERS, target, server)
    assert (member and (member.server, member.target)) == found


def test_a_target_that_means_several_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="ada is more than one member"):
        roster.find(MEMBERS, "ada", None)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(Moment(T0 + 9_999_999, "b", 3_000), T0 + 2_000, id="the uptime of the same boot"),
        pytest.param(Moment(T0 - 9_999_999, "b", 3_000), T0 + 2_000, id="whichever way the wall clock stepped"),
        pytest.param(Moment(T0 + 5_000, "c", 10), T0 + 5_000, id="the wall clock after another boot"),
        pytest.param(Moment(T0 + 5_000), T0 + 5_000, id="the wall clock where no boot is told"),
    ],
)
def test_a_member_goes_by_the_clock_of_its_looks(now: Moment, expected: int) -> None:
    member = at("h:/s:1", "%1")
    assert roster.clocked(member, now) == roster.clocked(None, now) == now
    member.looked = Moment(T0, "b", 1_000)
    assert roster.clocked(member, now).ms == expected
