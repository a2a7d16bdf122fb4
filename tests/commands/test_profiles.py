"""fleet-profiles: what every profile has free, and the two maps of credentials that are out."""

import pytest
from desk import Desk, stamp
from test_list import CONFIG, drawn, feed, verdict

from fleettools import records
from fleettools.adapters.sqlite import SqliteStore
from fleettools.moments import Moment
from fleettools.policy.accounts import usage
from fleettools.services.store import change


@pytest.fixture
def fleet(desk: Desk) -> Desk:
    """A desk with three profiles on two credentials, one cooling off and one quarantined."""
    (desk.folder / "fleetd.yaml").write_text(CONFIG)
    feed(desk, verdict(desk, "%1", "a-one", "backend_error"), verdict(desk, "%2", "a-two", "backend_error"))
    feed(desk, verdict(desk, "%3", "b", "exhausted", cause="quota"))
    desk.now_ms += 10_001
    return desk


def test_the_two_maps_are_kept_apart(fleet: Desk) -> None:
    done = fleet.run("profiles")
    assert (done.status, done.said) == (0, "")
    (view,) = done.records
    assert (view["coolingOff"], view["quarantined"]) == ({"team-a": 50}, {"team-b": 1790})
    assert {name: profile["free"] for name, profile in view["profiles"].items()} == {"a-one": 0, "a-two": 0, "b": 0}
    assert view["profiles"]["b"]["quarantinedForSeconds"] == 1790
    assert "coolingOffForSeconds" not in view["profiles"]["b"]
    assert view["profiles"]["b"]["quarantine"]["until"] == "2024-01-01T12:30:00.000Z"


def test_what_is_over_is_not_shown(fleet: Desk) -> None:
    fleet.now_ms += 1_800_000
    (view,) = fleet.run("profiles").records
    assert (view["coolingOff"], view["quarantined"]) == ({}, {})
    assert view["profiles"]["a-one"] == {"free": 1 + 1, "credentialId": "team-a"}


def test_a_terminal_gets_a_table(fleet: Desk) -> None:
    rows = [line.split() for line in drawn(fleet, "profiles", env={"NO_COLOR": "1"}).splitlines()]
    assert rows[0] == ["profile", "credential", "free", "state", "left", "reason"]
    assert rows[1][:7] == ["a-one", "team-a", "0", "cooling", "off", "50", "s"]
    assert rows[3][:6] == ["b", "team-b", "0", "quarantined", "1790", "s"]


def test_a_credential_that_no_profile_spends_any_more_is_shown_below(fleet: Desk) -> None:
    (fleet.folder / "fleetd.yaml").write_text("profiles: {a-one: {credentialId: team-a}}\n")
    rows = [line.split() for line in drawn(fleet, "profiles", env={"NO_COLOR": "1"}).splitlines()]
    assert ["team-b", "quarantined", "1790", "s"] in rows


def test_sixty_columns_show_when_each_last_worked_and_how_much_of_its_plan_is_used(fleet: Desk) -> None:
    feed(fleet, verdict(fleet, "%4", "a-two", "completed"))
    said = [
        records.Usage(window="5h", used_percent=82.5, resets_at=stamp(fleet.now_ms + 4_800_000)),
        records.Usage(window="weekly", used_percent=7),
    ]
    store = SqliteStore(str(fleet.folder / "state.db"), print)
    heard = usage.heard(None, said, Moment(fleet.now_ms), stamp(fleet.now_ms))
    change(store, usage.usage_key("team-a"), usage.UsageState, lambda _: (heard, None))
    store.close()
    fleet.now_ms += 90_000
    (view,) = fleet.run("profiles").records
    assert view["profiles"]["a-one"]["lastWorkedSecondsAgo"] == 90
    text = drawn(fleet, "profiles", columns=60, env={"NO_COLOR": "1"})
    rows = [line.rstrip() for line in text.splitlines()]
    assert "team-a      1m30s ago    5h ████████░░ 82.5 %   1h18m" in rows
    assert "                         weekly █░░░░░░░░░ 7 %" in rows
    assert max(map(len, rows)) <= 60
