"""What the fleet views say: only what is active, only where it belongs."""

import pytest

from fleettools import records
from fleettools.config import Config, Profile
from fleettools.moments import Moment
from fleettools.policy import views
from fleettools.policy.accounts import periods, placement, usage
from fleettools.policy.accounts.credential import CredentialState, Lease
from fleettools.policy.accounts.periods import Period, Probe
from fleettools.policy.accounts.placement import Situation
from fleettools.policy.accounts.testimony import Evidence
from fleettools.policy.heartbeat import DaemonState
from fleettools.policy.members.roster import MemberState

NOW = 1_000_000_000_000  # 2001-09-09T01:46:40Z
FLEET = Config(profiles={"a": Profile(credential_id="team", max_members=3), "b": Profile(credential_id="team")})
ERROR = Evidence(event="e1", at_ms=NOW, ts_ms=NOW)


def known(states: dict, members: list, fleet: Config = FLEET) -> Situation:
    return Situation(now=Moment(NOW), states=states, held=placement.taken(fleet, members))


def period(ms: int) -> Period:
    return Period(id="x", since_ms=NOW, until_ms=NOW + ms, why="2 backend errors within 60 s", evidence=[ERROR])


def member(target: str, state: str, profile: str = "a", **more: object) -> MemberState:
    seat = {"server": "h:/s:1", "target": target, "since_ms": NOW - 61_500, "joined_ms": 0}
    return MemberState(**seat, state=state, profile=profile, **more)  # type: ignore[arg-type]


PROFILES = [
    # rule, state of the credential, members, what profile a looks like
    ("nobody is there", None, [], {"free": 3, "credentialId": "team"}),
    ("a member takes a place", None, [member("%1", "busy")], {"free": 2, "credentialId": "team"}),
    (
        "so does a reservation",
        CredentialState(leases=[Lease(id="x", profile="a", until_ms=NOW + 1)]),
        [],
        {"free": 2, "credentialId": "team"},
    ),
    (
        "a cool-off leaves no free place and says why",
        CredentialState(cool_off=period(41_001)),
        [],
        {
            "free": 0,
            "credentialId": "team",
            "coolingOffForSeconds": 42,
            "coolOff": {
                "until": "2001-09-09T01:47:21.001Z",
                "why": "2 backend errors within 60 s",
                "events": ["e1"],
            },
        },
    ),
    (
        "so does a quarantine",
        CredentialState(quarantine=period(1_000)),
        [],
        {
            "free": 0,
            "credentialId": "team",
            "quarantinedForSeconds": 1,
            "quarantine": {
                "until": "2001-09-09T01:46:41.000Z",
                "why": "2 backend errors within 60 s",
                "events": ["e1"],
            },
        },
    ),
    (
        "what is over is not shown",
        CredentialState(cool_off=period(0), quarantine=period(-5)),
        [],
        {"free": 3, "credentialId": "team"},
    ),
]


@pytest.mark.parametrize(("state", "members", "seen"), [row[1:] for row in PROFILES], ids=[row[0] for row in PROFILES])
def test_a_profile(state: CredentialState | None, members: list, seen: dict) -> None:
    assert views.profiles_view(FLEET, known({"team": state} if state else {}, members))["profiles"]["a"] == seen


def test_the_profiles_say_when_each_last_worked_and_what_of_its_plan_is_used() -> None:
    """Only fleet-profiles does; what has reset since is left out."""
    said = [
        records.Usage(window="5h", used_percent=82, resets_at=records.to_ts(NOW + 90_500)),
        records.Usage(window="weekly", used_percent=3),
        records.Usage(window="old", used_percent=99, resets_at=records.to_ts(NOW)),
    ]
    heard = usage.heard(None, said, Moment(NOW), records.to_ts(NOW))
    state = CredentialState(worked_ms=NOW - 61_500)
    situation = Situation(now=Moment(NOW), states={"team": state}, usage={"team": heard})
    assert views.profiles_view(FLEET, situation)["profiles"]["a"] == {
        "free": 3,
        "credentialId": "team",
        "lastWorked": "2001-09-09T01:45:38.500Z",
        "lastWorkedSecondsAgo": 61,
        "usage": [
            {"window": "5h", "usedPercent": 82, "resetsAt": "2001-09-09T01:48:10.500Z", "resetsInSeconds": 91},
            {"window": "weekly", "usedPercent": 3},
        ],
    }
    fleet = views.fleet_view(FLEET, situation, [], released=False, coverage="off")
    assert fleet["profiles"]["a"] == {"free": 3, "credentialId": "team"}


def test_a_probe_leaves_no_free_place_and_says_who_tries() -> None:
    probe = Probe(event="e", name="ada", **periods.spanning(Moment(NOW), 60_000))
    view = views.profiles_view(FLEET, known({"team": CredentialState(probe=probe)}, []))["profiles"]["a"]
    assert view == {"free": 0, "credentialId": "team", "triedBy": "ada", "triedForSeconds": 60}


def test_a_profile_without_a_limit_has_no_number_of_free_places() -> None:
    assert views.profiles_view(FLEET, known({}, [member("%1", "busy", "b")]))["profiles"]["b"]["free"] is None


def test_the_two_maps_are_kept_apart_and_name_credentials() -> None:
    states = {"team": CredentialState(cool_off=period(500)), "other": CredentialState(quarantine=period(2_000))}
    view = views.profiles_view(FLEET, known(states, []))
    assert (view["coolingOff"], view["quarantined"]) == ({"team": 1}, {"other": 2})


def test_without_configuration_the_profiles_are_those_in_use_and_those_that_are_out() -> None:
    states = {"p": CredentialState(cool_off=period(500)), "old": CredentialState(cool_off=period(-1))}
    view = views.profiles_view(Config(), known(states, [member("%1", "busy", "q")], Config()))
    assert set(view["profiles"]) == {"p", "q"}


MEMBERS = [
    ("a failed member says why", member("%1", "failed", failure_reason="quota"), {"failureReason": "quota"}),
    ("so does one with a backend error", member("%1", "backend_error", failure_reason="529"), {"failureReason": "529"}),
    ("one that was reinstated does not", member("%1", "busy", failure_reason="529"), {}),
    ("a released one says what let it go", member("%1", "released", reason="asked"), {"reason": "asked"}),
    ("a profile that nobody configured has no credential", member("%1", "idle", "zzz"), {"credentialId": None}),
]


@pytest.mark.parametrize(("who", "more"), [row[1:] for row in MEMBERS], ids=[row[0] for row in MEMBERS])
def test_a_member(who: MemberState, more: dict) -> None:
    seen = {
        "server": "h:/s:1", "target": "%1", "state": who.state, "since": "2001-09-09T01:45:38.500Z", "ageSeconds": 61,
        "profile": who.profile, "credentialId": "team",
    }  # fmt: skip
    view = views.fleet_view(FLEET, known({}, [who]), [who], released=True, coverage="off")
    assert view["members"] == [{key: value for key, value in (seen | more).items() if value is not None}]


def test_released_members_are_shown_only_when_asked_for_and_panes_are_in_order() -> None:
    members = [member("%10", "busy"), member("%9", "busy"), member("%1", "released")]
    few = views.fleet_view(FLEET, known({}, members), members, released=False, coverage="off")
    every = views.fleet_view(FLEET, known({}, members), members, released=True, coverage="off")
    assert [one["target"] for one in few["members"]] == ["%9", "%10"]
    assert [one["target"] for one in every["members"]] == ["%1", "%9", "%10"]


@pytest.mark.parametrize(
    ("enabled", "webhook", "coverage"),
    [(True, "https://example.org/x", "full"), (True, None, "detection-only"), (False, "https://example.org/x", "off")],
)
def test_health_coverage_follows_the_configuration_alone(enabled: bool, webhook: str | None, coverage: str) -> None:
    assert views.health_coverage(enabled, webhook) == coverage


DAY = 86_400_000
DAEMONS = [
    ("it runs", DaemonState(pid=7, beat_ms=NOW - 5000), "running"),
    ("it hangs, for however long", DaemonState(pid=7, beat_ms=NOW - 9 * DAY), "silent"),
    ("it has ended", DaemonState(beat_ms=NOW - DAY), "stopped"),
    ("cron looked", DaemonState(once=True, beat_ms=NOW - 1000), "once"),
    ("it ended long ago", DaemonState(beat_ms=NOW - DAY - 1), None),
    ("cron looked long ago", DaemonState(once=True, beat_ms=NOW - DAY - 1), None),
]


@pytest.mark.parametrize(("state", "shown"), [row[1:] for row in DAEMONS], ids=[row[0] for row in DAEMONS])
def test_a_fleetd_is_shown_until_a_day_after_its_end(state: DaemonState, shown: str | None) -> None:
    found = views.daemons({"daemon/h//tmp/s": state}, NOW)
    assert [(one["host"], one["socket"], one["state"]) for one in found] == ([("h", "/tmp/s", shown)] if shown else [])
