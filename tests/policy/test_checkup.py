"""What is wrong with a fleet, and how badly: one row a rule."""

from typing import Any

import pytest

from fleettools.policy import checkup
from fleettools.policy.checkup import Grade, Told
from fleettools.policy.heartbeat import DaemonState

NOW = 1_800_000_000_000
FREE: dict[str, Any] = {"coolingOff": {}, "quarantined": {}}
ALIVE = DaemonState(since_ms=NOW - 60_000, beat_ms=NOW - 1000, pid=7)


def member(state: str, age: int = 0, **more: Any) -> dict[str, Any]:
    return {"name": "ada", "target": "%1", "state": state, "ageSeconds": age, **more}


def checked(**given: Any) -> checkup.Health:
    asked = {"members": [], "out": FREE, "told": [], "daemon": ALIVE, "tmux": ""} | given
    profiles = {name: {"credentialId": name} for name in ("a", "b")}
    view = {"members": asked["members"], "profiles": profiles}
    return checkup.check(
        view, asked["out"], asked["told"], asked["daemon"], asked["tmux"], NOW, checkup.Limits()
    )  # fmt: skip


def told(target: str, state: str, age_s: float) -> Told:
    at = NOW - round(age_s * 1000)
    return Told(id="i", target=target, state=state, reason="r", made_ms=at, changed_ms=at)


OUT_A, OUT_BOTH = {"coolingOff": {"a": 42}, "quarantined": {}}, {"coolingOff": {"a": 42}, "quarantined": {"b": 9}}
RULES = [
    ("nothing is wrong", {}, Grade.OK, "0 members, every credential free"),
    ("one of two credentials is out", {"out": OUT_A}, Grade.WARNING, "a cools off for 42 s"),
    ("every credential is out", {"out": OUT_BOTH}, Grade.CRITICAL, "b is in quarantine for 9 s"),
    ("a member has failed", {"members": [member("failed", failureReason="x|y")]}, Grade.WARNING, "ada failed: x/y"),
    ("a member works", {"members": [member("busy", 7199)]}, Grade.OK, "1 member, every credential free"),
    ("a member is stuck", {"members": [member("busy", 7200)]}, Grade.WARNING, "ada has been busy for 7200 s"),
    ("a question is fresh", {"members": [member("blocked", 899)]}, Grade.OK, "1 member"),
    ("a question waits", {"members": [member("blocked", 900)]}, Grade.WARNING, "ada has waited for an answer"),
    ("a notice was lost", {"told": [told("%0", "stuck", 60)]}, Grade.WARNING, "notice to %0 stuck: r"),
    ("it was lost long ago", {"told": [told("%0", "stuck", 3700)]}, Grade.OK, "0 members"),
    ("a notice waits for its lead", {"told": [told("%0", "pending", 3700)]}, Grade.OK, "0 members"),
    ("an alert is being tried", {"told": [told("alert:me", "pending", 200)]}, Grade.OK, "0 members"),
    ("an alert is not delivered", {"told": [told("alert:me", "pending", 301)]}, Grade.CRITICAL, "alert me is not"),
    ("an alert was given up", {"told": [told("alert:me", "refused", 60)]}, Grade.CRITICAL, "alert me refused: r"),
    ("a notice was told", {"told": [told("%0", "confirmed", 1)]}, Grade.OK, "0 members"),
    ("fleetd never ran", {"daemon": None}, Grade.WARNING, "fleetd has never run here"),
    ("fleetd hangs", {"daemon": DaemonState(beat_ms=NOW - 61_000, pid=7)}, Grade.CRITICAL, "no sign of life for 61 s"),
    ("fleetd was stopped", {"daemon": DaemonState(beat_ms=NOW - 5000)}, Grade.WARNING, "fleetd was stopped 5 s ago"),
    ("cron looks", {"daemon": DaemonState(beat_ms=NOW - 300_000, once=True)}, Grade.OK, "0 members"),
    ("cron is late", {"daemon": DaemonState(beat_ms=NOW - 300_001, once=True)}, Grade.CRITICAL, "--once has not run"),
    ("tmux is silent", {"tmux": "no answer", "members": [member("idle")]}, Grade.CRITICAL, "no answer"),
    ("nobody is there without tmux", {"tmux": "no server"}, Grade.OK, "0 members"),
]


@pytest.mark.parametrize(("given", "grade", "said"), [row[1:] for row in RULES], ids=[row[0] for row in RULES])
def test_a_fleet_is_graded_and_the_line_says_why(given: dict[str, Any], grade: Grade, said: str) -> None:
    found = checked(**given)
    line = found.line()
    assert found.grade is grade
    assert line.startswith(f"FLEET {grade.name} - ")
    assert said in line.partition(" | ")[0]
    assert line.count("|") == 1
    assert "\n" not in line


def test_the_worst_stands_first() -> None:
    line = checked(members=[member("failed", failureReason="x")], daemon=DaemonState(beat_ms=0, pid=1)).line()
    assert line.index("no sign of life") < line.index("ada failed")


def test_performance_data_are_names_and_numbers() -> None:
    figures = checked(out=OUT_BOTH, members=[member("backend_error", failureReason="x")]).line().partition(" | ")[2]
    assert "members_any=1;;;0" in figures
    assert "credentials_out=2;;;0" in figures
    assert "'credential_out_seconds_a_cool-off'=42s;;;0" in figures
    assert "daemon_age_seconds=1s;;;0" in figures


def test_metrics_name_each_family_once_and_end_as_openmetrics_does() -> None:
    text = checkup.metrics(checked(out={"coolingOff": {'a"\\': 1}, "quarantined": {}}))
    lines = text.splitlines()
    types = [line for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types)) == len({line.partition("{")[0].split()[0] for line in lines if line[0] != "#"})
    assert lines[-1] == "# EOF"
    assert text.endswith("# EOF\n")
    assert r'fleet_credential_out_seconds{credential="a\"\\",kind="cool-off"} 1' in lines
    assert "fleet_health 1" in lines
