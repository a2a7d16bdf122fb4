"""Who may spawn: one credential's trouble blocks its profiles and no others, and places are counted once."""

import pytest
from msgspec.structs import replace

from fleettools import config, records
from fleettools.config import Config, CredentialLimits, Profile
from fleettools.errors import Exit
from fleettools.moments import Moment
from fleettools.policy.accounts import periods, placement, usage
from fleettools.policy.accounts.credential import CredentialState, Lease
from fleettools.policy.accounts.periods import Period, Probe
from fleettools.policy.accounts.placement import Situation
from fleettools.policy.accounts.testimony import Evidence
from fleettools.policy.members.roster import MemberState

NOW = 1_000_000_000_000
FLEET = Config(
    profiles={
        "claude-a": Profile(credential_id="team-a", priority=10, max_members=2),
        "claude-b": Profile(credential_id="team-a", priority=5),
        "codex": Profile(credential_id="team-c", priority=1),
        "plain": Profile(),
    },
    credentials={"team-c": CredentialLimits(max_members=1)},
)


def period(ms: int) -> Period:
    return Period(id="x", since_ms=NOW - 5000, until_ms=NOW + ms, why="why", evidence=[])


def known(states: dict | None = None, members: list | None = None, ms: int = 0) -> Situation:
    """What is known `ms` after NOW."""
    return Situation(now=Moment(NOW + ms), states=states or {}, held=placement.taken(FLEET, members or []))


def cooling(ms: int) -> CredentialState:
    return CredentialState(cool_off=period(ms))


def quarantined(ms: int) -> CredentialState:
    return CredentialState(quarantine=period(ms))


def both(cool_ms: int, quarantine_ms: int) -> CredentialState:
    return CredentialState(cool_off=period(cool_ms), quarantine=period(quarantine_ms))


def member(profile: str, target: str, state: str = "busy", gone: bool = False) -> MemberState:
    return MemberState(
        server="h:/s:1", target=target, profile=profile, state=state, since_ms=0, joined_ms=0, gone=gone
    )  # fmt: skip


def lease(profile: str, ms: int = 10_000, seat: str | None = None) -> Lease:
    return Lease(id="other", profile=profile, until_ms=NOW + ms, seat=seat)


TWO = [member("claude-a", "%1"), member("claude-a", "%2")]
ONE = TWO[:1]

ALLOWED, REFUSED = True, False
DECISIONS = [
    # rule, profile, states, members, allowed, what the reason says
    ("nothing is known of the credential", "claude-a", {}, [], ALLOWED, "claude-a: credential team-a is free"),
    ("its credential cools off", "claude-a", {"team-a": cooling(41_001)}, [], REFUSED, "cooling off for another 42 s"),
    ("another profile of that credential", "claude-b", {"team-a": cooling(60_000)}, [], REFUSED, "another 60 s"),
    ("a profile on another credential", "codex", {"team-a": cooling(60_000)}, [], ALLOWED, "team-c is free"),
    ("a profile named as the credential", "plain", {"plain": cooling(1)}, [], REFUSED, "cooling off for another 1 s"),
    ("the cool-off is over to the millisecond", "claude-a", {"team-a": cooling(0)}, [], ALLOWED, "free"),
    ("its quota is used up", "claude-b", {"team-a": quarantined(9_000)}, [], REFUSED, "quarantined for another 9 s"),
    ("exhaustion outranks cool-off", "claude-a", {"team-a": both(50_000, 9_000)}, [], REFUSED, "quarantined for"),
    ("cool-off outranks full", "claude-a", {"team-a": cooling(5_000)}, TWO, REFUSED, "cooling off for another 5 s"),
    ("one place is left", "claude-a", {}, ONE, ALLOWED, "free"),
    ("all its places are taken", "claude-a", {}, TWO, REFUSED, "all its places are taken (2 of 2)"),
    ("another profile's members do not count", "claude-b", {}, TWO, ALLOWED, "free"),
    ("a released member holds no place", "claude-a", {}, [TWO[0], member("claude-a", "%2", "released")], ALLOWED, ""),
    ("a gone member holds no place", "claude-a", {}, [TWO[0], member("claude-a", "%2", "failed", True)], ALLOWED, ""),
    ("a failed one in its pane does", "claude-a", {}, [TWO[0], member("claude-a", "%2", "failed")], REFUSED, "2 of 2"),
    ("a reservation counts", "claude-a", {"team-a": CredentialState(leases=[lease("claude-a")])}, ONE, REFUSED, ""),
    ("an old one does not", "claude-a", {"team-a": CredentialState(leases=[lease("claude-a", 0)])}, ONE, ALLOWED, ""),
    (
        "a member and its own reservation count once",
        "claude-a",
        {"team-a": CredentialState(leases=[lease("claude-a", seat="member/h:/s:1/%1")])},
        ONE,
        ALLOWED,
        "",
    ),
    ("the credential is full", "codex", {}, [member("codex", "%1")], REFUSED, "team-c are taken (1 of 1)"),
    ("nobody configured it", "gemini", {}, [], REFUSED, "not configured; there are claude-a, claude-b, codex"),
    ("it is no name", "a/b", {}, [], REFUSED, "'a/b' is no profile name"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "states", "members", "allowed", "says"),
    [row[1:] for row in DECISIONS],
    ids=[row[0] for row in DECISIONS],
)
def test_one_profile(profile: str, states: dict, members: list, allowed: bool, says: str) -> None:
    choice = placement.decide(FLEET, profile, known(states, members))
    assert choice.allowed is allowed
    assert says in choice.reason


def test_without_configuration_a_profile_is_its_own_credential() -> None:
    choice = placement.decide(Config(), "any", known({"any": cooling(5_000)}))
    assert (choice.credential_id, choice.cooling_off_for_seconds) == ("any", 5)


def test_the_seconds_are_there_only_while_they_run() -> None:
    choice = placement.decide(FLEET, "claude-a", known({"team-a": both(-1, 1_500)}))
    record = choice.record({"ts": "2026-01-01T00:00:00.000Z"})
    assert (record.cooling_off_for_seconds, record.quarantined_for_seconds) == (None, 2)


ALL = ["claude-a", "claude-b", "codex"]
OUT = {"team-a": cooling(30_000), "team-c": cooling(20_000)}
CHOICES = [
    # rule, candidates, policy, states, members, chosen or who returns first, allowed, what the reason says
    ("the highest priority first", ALL, "priority", {}, [], "claude-a", ALLOWED, "first by priority"),
    ("ties go by name", ["plain", "other"], "priority", {}, [], "plain", ALLOWED, ""),
    ("a full one is passed over", ALL, "priority", {}, TWO, "claude-b", ALLOWED, ""),
    ("a cool-off takes all its profiles out", ALL, "priority", {"team-a": cooling(1)}, [], "codex", ALLOWED, ""),
    ("only candidates are looked at", ["codex"], "priority", {}, [], "codex", ALLOWED, ""),
    ("the fewest members first", ALL, "least-loaded", {}, ONE, "claude-b", ALLOWED, "first by least-loaded"),
    ("equal load goes by priority", ALL, "least-loaded", {}, [], "claude-a", ALLOWED, ""),
    (
        "a reservation is load too",
        ["claude-a", "claude-b"],
        "least-loaded",
        {"team-a": CredentialState(leases=[lease("claude-a")])},
        [],
        "claude-b",
        ALLOWED,
        "",
    ),
    ("all cool off", ALL, "priority", OUT, [], "codex", REFUSED, "every candidate is out (cool-off): "),
    ("which returns first", ALL, "priority", OUT, [], "codex", REFUSED, "; codex returns first, in 20 s"),
    (
        "both kinds are named",
        ALL,
        "priority",
        {"team-a": quarantined(5_000), "team-c": cooling(9_000)},
        [],
        "claude-a",
        REFUSED,
        "(cool-off and quarantine)",
    ),
    (
        "one with both returns when the later ends",
        ["claude-a", "codex"],
        "priority",
        {"team-a": both(1_000, 50_000), "team-c": cooling(9_000)},
        [],
        "codex",
        REFUSED,
        "codex returns first, in 9 s",
    ),
    (
        "a full one does not return by time",
        ["claude-a", "codex"],
        "priority",
        OUT,
        [member("codex", "%1")],
        "claude-a",
        REFUSED,
        "claude-a returns first, in 30 s",
    ),
    ("all are full", ["claude-a"], "priority", {}, TWO, "claude-a", REFUSED, "(no place)"),
    ("an unknown candidate", ["nobody"], "priority", {}, [], "nobody", REFUSED, "(not configured)"),
    ("no candidate at all", [], "priority", {}, [], None, REFUSED, "no profile to choose from; name some"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("candidates", "policy", "states", "members", "profile", "allowed", "says"),
    [row[1:] for row in CHOICES],
    ids=[row[0] for row in CHOICES],
)
def test_a_choice(
    candidates: list, policy: str, states: dict, members: list, profile: str | None, allowed: bool, says: str
) -> None:
    choice = placement.choose(FLEET, candidates, policy, known(states, members))
    assert (choice.profile, choice.allowed) == (profile, allowed)
    assert says in choice.reason


def test_the_last_place_is_reserved_once_for_thirty_seconds() -> None:
    state, first = placement.reserve(FLEET, "claude-a", CredentialState(), known(members=ONE), "mine")
    same, second = placement.reserve(FLEET, "claude-a", state, known(members=ONE, ms=29_999), "yours")
    assert (first.allowed, second.allowed, same) == (True, False, state)
    later, third = placement.reserve(FLEET, "claude-a", state, known(members=ONE, ms=30_000), "yours")
    assert third.allowed
    assert [one.id for one in later.leases] == ["yours"]


def test_a_reservation_that_is_repeated_or_given_back_is_not_counted() -> None:
    state, _ = placement.reserve(FLEET, "claude-a", CredentialState(), known(members=ONE), "mine")
    again, choice = placement.reserve(FLEET, "claude-a", state, known(members=ONE), "mine")
    assert choice.allowed
    assert placement.unreserve(again, "mine", Moment(NOW)) == CredentialState()


def test_a_seated_reservation_counts_until_its_member_is_stored_and_once_after() -> None:
    state, _ = placement.reserve(FLEET, "claude-a", CredentialState(), known(), "mine")
    seated = {"team-a": placement.seat(state, "mine", "member/h:/s:1/%1")}
    assert [placement.free(FLEET, "claude-a", known(seated, members)) for members in ([], ONE)] == [1, 1]


def test_a_refusal_changes_nothing_of_what_is_stored() -> None:
    state = CredentialState(cool_off=period(1), pending=[Evidence(event="e", at_ms=1, ts_ms=1)])
    assert placement.reserve(FLEET, "claude-a", state, known(), "mine")[0] == state


def used(percent: float, leave_free: float, hours: float = 2) -> Situation:
    """Team-a has used so much of a window that resets in two hours."""
    resets = records.to_ts(NOW + round(hours * 3_600_000))
    said = [records.Usage(window="5h", used_percent=percent, resets_at=resets)]
    heard = usage.heard(None, said, Moment(NOW), records.to_ts(NOW))
    return Situation(now=Moment(NOW), usage={"team-a": heard})


@pytest.mark.parametrize(
    ("percent", "leave_free", "allowed"), [(100, 0, True), (95, 5, True), (95.1, 5, False), (99, 1.5, False)]
)
def test_part_of_a_plan_is_left_free_when_asked_for(percent: float, leave_free: float, allowed: bool) -> None:
    fleet = replace(FLEET, placement=config.Placement(leave_free=leave_free))
    choice = placement.decide(fleet, "claude-a", used(percent, leave_free))
    assert choice.allowed is allowed
    if not allowed:
        assert (
            f"has used {percent:g} % of its 5h window, {leave_free:g} % stay free; it resets in 7200 s" in choice.reason
        )
        assert (choice.exit, choice.back_in) == (Exit.NOT_NOW, 7200)
        assert placement.choose(fleet, ALL, "priority", used(percent, leave_free)).profile == "codex"


def test_while_one_member_tries_a_credential_nobody_else_may() -> None:
    probe = Probe(event="e", name="ada", **periods.spanning(Moment(NOW - 18_000), 60_000))
    choice = placement.decide(FLEET, "claude-a", known({"team-a": CredentialState(probe=probe)}))
    assert choice.reason == "claude-a: credential team-a is being tried by worker ada for another 42 s"
    assert (choice.exit, choice.back_in) == (Exit.NOT_NOW, 42)
    assert placement.decide(FLEET, "claude-a", known({"team-a": CredentialState(probe=probe)}, ms=42_000)).allowed


EXITS = [
    ("allowed", "claude-a", {}, [], Exit.OK),
    ("cooling off", "claude-a", {"team-a": cooling(1)}, [], Exit.NOT_NOW),
    ("full, for a member may end", "claude-a", {}, TWO, Exit.NOT_NOW),
    ("nobody configured it", "gemini", {}, [], Exit.BAD_CONFIG),
]


@pytest.mark.parametrize(
    ("profile", "states", "members", "status"), [row[1:] for row in EXITS], ids=[row[0] for row in EXITS]
)
def test_what_waiting_cannot_mend_is_not_75(profile: str, states: dict, members: list, status: Exit) -> None:
    assert placement.decide(FLEET, profile, known(states, members)).exit == status
    assert placement.choose(FLEET, [profile], "priority", known(states, members)).exit == status


def test_one_candidate_that_waiting_may_help_is_enough_to_wait() -> None:
    choice = placement.choose(FLEET, ["claude-a", "gemini"], "priority", known({}, TWO))
    assert choice.exit == Exit.NOT_NOW
