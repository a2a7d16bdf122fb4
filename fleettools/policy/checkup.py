"""One check of a fleet for monitoring: what is wrong, how badly, and the figures behind it."""

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

import msgspec

from fleettools.policy.heartbeat import DaemonState, hangs
from fleettools.policy.members.roster import FAILED
from fleettools.policy.notices.outbox import OPEN

HOUR_MS = 3_600_000
LOST = frozenset({"stuck", "refused", "unknown"})  # states of a notice that was not told, and will not be
ALERT = "alert:"  # what the target of an alert to people begins with
ONCE_LATE_MS = 300_000  # a cron job that looks each minute has missed several by then


class Grade(IntEnum):
    """How a check ends, as Nagios wants it."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


class Limits(NamedTuple):
    """After how many seconds a member is stuck: at work, and at a question."""

    busy: float = 7200
    blocked: float = 900


class Told(msgspec.Struct, kw_only=True):
    """So much of an item of the outbox as says whether it reached anybody."""

    id: str = ""
    target: str = ""
    state: str = ""
    reason: str = ""
    made_ms: int = 0
    changed_ms: int = 0


class Finding(NamedTuple):
    """One thing that is wrong."""

    grade: Grade
    text: str


class Gauge(NamedTuple):
    """A figure, with the labels that tell it from others of its name. `unit`: "s" for seconds, "" for a number."""

    name: str
    help: str
    value: float
    labels: Mapping[str, str] = {}
    unit: str = ""


class Health(NamedTuple):
    """The answer: everything that is wrong, worst first, and all figures."""

    findings: tuple[Finding, ...]
    gauges: tuple[Gauge, ...]

    @property
    def grade(self) -> Grade:
        """The worst of what was found."""
        return max((finding.grade for finding in self.findings), default=Grade.OK)

    def plain(self) -> dict[str, Any]:
        """The same as an object."""
        found = [{"status": finding.grade.name, "text": finding.text} for finding in self.findings]
        return {"status": self.grade.name, "findings": found, "figures": [gauge._asdict() for gauge in self.gauges]}

    def line(self) -> str:
        """The one line that a monitor reads, with performance data."""
        said = "; ".join(finding.text for finding in self.findings) or _summary(self.gauges)
        figures = " ".join(f"{_label(gauge)}={gauge.value:g}{gauge.unit};;;0" for gauge in self.gauges)
        # A bar would begin the performance data.
        return f"FLEET {self.grade.name} - {said.replace('|', '/')} | {figures}"


def check(
    view: Mapping[str, Any],
    out: Mapping[str, Any],
    notices: Iterable[Told],
    daemon: DaemonState | None,
    tmux: str,
    now_ms: int,
    limits: Limits,
) -> Health:
    """Look at the fleet's view, the credentials that are out, the outbox, fleetd's sign of life, and what tmux says.

    `tmux` is "" when the server answers, else what is wrong with it; `out` is the view of fleet-profiles.
    """
    told = list(notices)
    findings = [
        *_credentials(view, out),
        *_members(view["members"], limits),
        *_notices(told, now_ms),
        *_daemon(daemon, now_ms),
    ]
    if tmux and any(member["state"] != "released" for member in view["members"]):
        findings.append(Finding(Grade.CRITICAL, tmux))
    findings.sort(key=lambda finding: -finding.grade)
    return Health(tuple(findings), tuple(_gauges(view, out, told, daemon, now_ms)))


def _credentials(view: Mapping[str, Any], out: Mapping[str, Any]) -> Iterator[Finding]:
    gone = {**out["coolingOff"], **out["quarantined"]}
    used = {profile["credentialId"] for profile in view["profiles"].values() if profile["credentialId"]}
    grade = Grade.CRITICAL if used and used <= gone.keys() else Grade.WARNING
    for credential in sorted(gone):
        if credential in out["quarantined"]:
            yield Finding(grade, f"{credential} is in quarantine for {out['quarantined'][credential]} s")
        else:
            yield Finding(grade, f"{credential} cools off for {out['coolingOff'][credential]} s")


def _members(members: Iterable[Mapping[str, Any]], limits: Limits) -> Iterator[Finding]:
    for member in members:
        name = member.get("name") or member["target"]
        if member["state"] in FAILED:
            yield Finding(Grade.WARNING, f"{name} failed: {member.get('failureReason', '')}")
        elif member["state"] == "blocked" and member["ageSeconds"] >= limits.blocked:
            yield Finding(Grade.WARNING, f"{name} has waited for an answer for {member['ageSeconds']} s")
        elif member["state"] in ("busy", "starting") and member["ageSeconds"] >= limits.busy:
            yield Finding(Grade.WARNING, f"{name} has been {member['state']} for {member['ageSeconds']} s")


def _notices(notices: Iterable[Told], now_ms: int) -> Iterator[Finding]:
    for one in notices:
        alert = one.target.startswith(ALERT)
        what = f"alert {one.target.removeprefix(ALERT)}" if alert else f"notice to {one.target}"
        if one.state in LOST and now_ms - one.changed_ms <= HOUR_MS:
            yield Finding(Grade.CRITICAL if alert else Grade.WARNING, f"{what} {one.state}: {one.reason}")
        elif alert and one.state in OPEN and now_ms - one.made_ms > ONCE_LATE_MS:
            yield Finding(Grade.CRITICAL, f"{what} is not delivered: {one.reason or 'it waits'}")


def _daemon(daemon: DaemonState | None, now_ms: int) -> Iterator[Finding]:
    if daemon is None:
        yield Finding(Grade.WARNING, "fleetd has never run here")
        return
    age = _age(daemon, now_ms)
    if hangs(daemon, now_ms):
        yield Finding(Grade.CRITICAL, f"fleetd gave no sign of life for {age} s")
    elif daemon.once and now_ms - daemon.beat_ms > ONCE_LATE_MS:
        yield Finding(Grade.CRITICAL, f"fleetd --once has not run for {age} s")
    elif not daemon.once and not daemon.pid:
        yield Finding(Grade.WARNING, f"fleetd was stopped {age} s ago")


def _age(daemon: DaemonState, now_ms: int) -> int:
    return max(0, now_ms - daemon.beat_ms) // 1000


def _gauges(
    view: Mapping[str, Any], out: Mapping[str, Any], notices: list[Told], daemon: DaemonState | None, now_ms: int
) -> Iterator[Gauge]:
    """The figures of a fleet: members, credentials that are out, notices, and fleetd's last sign of life."""
    states = [member["state"] for member in view["members"]]
    yield Gauge("members", "Members by state.", len(states), {"state": "any"})
    for state in sorted({*states, "busy", "blocked", "failed"}):
        yield Gauge("members", "Members by state.", states.count(state), {"state": state})
    for kind, key in (("cool-off", "coolingOff"), ("quarantine", "quarantined")):
        for credential, seconds in sorted(out[key].items()):
            labels = {"credential": credential, "kind": kind}
            yield Gauge("credential_out_seconds", "Seconds until a credential is free.", seconds, labels, "s")
    yield Gauge("credentials_out", "Credentials that are out.", len({*out["coolingOff"], *out["quarantined"]}))
    for word, found in (("waiting", OPEN), ("lost", LOST)):
        count = sum(one.state in found and (word == "waiting" or now_ms - one.changed_ms <= HOUR_MS) for one in notices)
        yield Gauge("notices", "Notices and alerts that wait, and those lost in the last hour.", count, {"state": word})
    if daemon:
        yield Gauge("daemon_age_seconds", "Seconds since fleetd's last sign of life.", _age(daemon, now_ms), unit="s")


def _label(gauge: Gauge) -> str:
    """The name of a figure in performance data, quoted where it holds more than letters."""
    name = "_".join((gauge.name, *gauge.labels.values()))
    return name if name.replace("_", "").isalnum() else "'" + name.replace("'", "").replace("=", "") + "'"


def _summary(gauges: Iterable[Gauge]) -> str:
    members = next(int(gauge.value) for gauge in gauges if gauge.name == "members")
    return f"{members} member{'' if members == 1 else 's'}, every credential free"


def metrics(health: Health) -> str:
    """The figures as OpenMetrics text."""
    lines: list[str] = []
    named: set[str] = set()
    for gauge in (*health.gauges, Gauge("health", "The grade of fleet-health: 0 to 3.", health.grade)):
        name = f"fleet_{gauge.name}"
        if name not in named:
            named.add(name)
            unit = [f"# UNIT {name} seconds"] if gauge.unit == "s" else []
            lines += [f"# TYPE {name} gauge", *unit, f"# HELP {name} {gauge.help}"]
        labels = ",".join(f'{key}="{_escaped(value)}"' for key, value in gauge.labels.items())
        lines.append(f"{name}{{{labels}}} {gauge.value:g}" if labels else f"{name} {gauge.value:g}")
    return "\n".join([*lines, "# EOF\n"])


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
