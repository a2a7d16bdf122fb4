"""The credential policy in a store: clocks, ends, success and use, with every clock injected."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fleettools import moments, records
from fleettools.adapters import clock
from fleettools.adapters.memory import MemoryStore
from fleettools.adapters.postgres import PostgresStore
from fleettools.adapters.sqlite import SqliteStore
from fleettools.config import AlertRule, Config, Profile
from fleettools.moments import Moment
from fleettools.policy.accounts import placement, usage
from fleettools.policy.accounts.testimony import Rules
from fleettools.services import fleet
from fleettools.services.correlator import Correlator
from fleettools.services.store import Store, change

T0 = 1_767_225_600_000
HOUR = 3_600_000
CONFIG = Config(profiles={"a": Profile(credential_id="team")})


class Machine:
    """A machine's clocks: `wall` may be set, `up` never steps; what it looks at it stamps with both."""

    def __init__(self, boot: str = "b", ms: int = T0, up_ms: int = 100_000) -> None:
        self.boot_id, self.ms, self.up_ms = boot, ms, up_ms

    def passes(self, seconds: float) -> None:
        self.ms += round(seconds * 1000)
        self.up_ms += round(seconds * 1000)

    def moment(self) -> Moment:
        return Moment(self.ms, self.boot_id, self.up_ms)

    def now_ms(self) -> int:
        return self.ms

    def stamp(self) -> dict[str, Any]:
        return {"ts": records.to_ts(self.ms), "boot": self.boot_id, "up": self.up_ms / 1000}

    def verdict(self, event: str, outcome: str = "backend_error", **more: Any) -> bytes:
        fields = {"type": "verdict", **self.stamp(), "server": "h:/s:1", "target": f"%{event[-1]}", "profile": "a"}
        fields |= {"lead": "%9", "outcome": outcome, "event": event, "cause": "overload"}
        return json.dumps(fields | more).encode() + b"\n"


class Said:
    """Standard error, kept."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warn(self, text: object) -> None:
        self.lines.append(str(text))

    error = warn

    def info(self, text: object) -> None: ...

    def debug(self, text: object) -> None: ...


class Bench:
    """A store on a machine, with what a correlate there makes of verdicts."""

    def __init__(self, store: Store, machine: Machine, monkeypatch: pytest.MonkeyPatch, replay: bool = False) -> None:
        self.store, self.machine, self._patch = store, machine, monkeypatch
        self.said = Said()
        self._replay = replay
        self.on(machine)

    def on(self, machine: Machine, config: Config = CONFIG) -> "Bench":
        """Work goes on on this machine, with a correlate of its own."""
        self.machine = machine
        for name in ("moment", "now_ms", "stamp"):
            self._patch.setattr(clock, name, getattr(machine, name))
        self.correlator = Correlator(
            self.store,
            config,
            Rules(),
            self.said,
            clock,
            lambda: None,
            self._replay,  # type: ignore[arg-type]
        )
        return self

    def sees(self, *verdicts: bytes) -> list[dict[str, Any]]:
        """The records that these verdicts make."""
        return [one for line in verdicts for one in made(self.correlator.verdict(line))]

    def due(self) -> list[dict[str, Any]]:
        return made(self.correlator.due())

    def refused(self) -> int | None:
        """For how many seconds the gate refuses."""
        choice = placement.decide(CONFIG, "a", fleet.situation_of(self.store, CONFIG, ["a"]))
        return choice.cooling_off_for_seconds or choice.quarantined_for_seconds

    def outage(self) -> list[dict[str, Any]]:
        return self.sees(self.machine.verdict("e1"), self.machine.verdict("e2"))


def made(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in lines]
    return [one for one in found if one["type"] != "verdict"]


def kinds(found: list[dict[str, Any]]) -> list[str]:
    return [one["type"] for one in found]


@pytest.fixture(name="bench")
def _bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.delenv("FLEET_NOW", raising=False)
    return Bench(SqliteStore(str(tmp_path / "state.db"), print), Machine(), monkeypatch)


@pytest.mark.parametrize(
    ("step", "up", "boot", "left"),
    [
        pytest.param(0, 20, "b", 40, id="nothing is done to the clock"),
        pytest.param(HOUR, 20, "b", 40, id="set an hour ahead"),
        pytest.param(-HOUR, 20, "b", 40, id="set an hour back"),
        pytest.param(0, 61, "b", None, id="suspended for a minute"),
        pytest.param(HOUR, 61, "b", None, id="set an hour ahead, and a minute later"),
        pytest.param(-HOUR, 61, "b", None, id="set an hour back, and a minute later"),
        pytest.param(0, 20, "c", 40, id="rebooted"),
        pytest.param(-HOUR, 20, "c", None, id="rebooted with the clock an hour back"),
    ],
)
def test_a_cool_off_in_a_file_lasts_a_minute_of_its_boot(
    bench: Bench, step: int, up: float, boot: str, left: int | None
) -> None:
    assert kinds(bench.outage()) == ["incident"]
    bench.machine.passes(up)
    bench.machine.ms += step
    bench.machine.boot_id = boot
    assert bench.refused() == left
    # Fresh errors count exactly when the gate is open again.
    bench.on(bench.machine)
    more = bench.sees(bench.machine.verdict("e3"), bench.machine.verdict("e4"))
    assert kinds([one for one in more if one["type"] == "incident"]) == ([] if left else ["incident"])


def test_an_incident_that_a_wrong_clock_dates_ahead_refuses_for_a_minute_only(bench: Bench) -> None:
    """The clock was an hour ahead when it was seen, and is set right."""
    bench.machine.ms += HOUR
    bench.outage()
    bench.machine.ms -= HOUR
    assert bench.refused() == 60
    bench.machine.passes(60)
    assert bench.refused() is None


def test_a_record_that_waited_in_the_pipe_counts_from_when_it_was_made(bench: Bench) -> None:
    verdicts = [bench.machine.verdict("e1"), bench.machine.verdict("e2")]
    bench.machine.passes(50)
    bench.machine.ms += HOUR
    assert kinds(bench.sees(*verdicts)) == ["incident"]
    assert bench.refused() == 10


def test_two_machines_whose_clocks_differ_by_hours_share_an_account(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL the server's clock is the one that all share: one incident of one error on each."""
    monkeypatch.delenv("FLEET_NOW", raising=False)
    server = [T0 + 2 * HOUR]
    store = PostgresStore(postgres_url, print)
    monkeypatch.setattr(PostgresStore, "now_ms", lambda self: server[0])
    west, east = Machine("west", T0 - 3 * HOUR, 5_000), Machine("east", T0 + 5 * HOUR, 900_000)
    bench = Bench(store, west, monkeypatch)

    def passes(seconds: float) -> None:
        server[0] += round(seconds * 1000)
        west.passes(seconds)
        east.passes(seconds)

    def on(machine: Machine) -> Bench:
        store._anchor = None  # a process of its own
        return bench.on(machine)

    assert on(west).sees(west.verdict("e1")) == []
    passes(30)
    (incident,) = on(east).sees(east.verdict("e2"))
    assert (incident["evidence"], incident["ts"]) == (["e1", "e2"], records.to_ts(east.ms))
    passes(20)
    assert [on(machine).refused() for machine in (west, east)] == [40, 40]
    assert on(west).sees(west.verdict("e3"), west.verdict("e4")) == []
    passes(40)
    assert [on(machine).refused() for machine in (west, east)] == [None, None]
    (ended,) = on(west).due()
    assert (ended["id"], ended["seconds"]) == (incident["id"], 60)
    assert on(east).due() == []


@pytest.mark.parametrize(("apart", "raised"), [(60, ["incident"]), (60.001, [])])
def test_the_window_holds_between_machines(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, apart: float, raised: list[str]
) -> None:
    monkeypatch.delenv("FLEET_NOW", raising=False)
    server = [T0]
    store = PostgresStore(postgres_url, print)
    monkeypatch.setattr(PostgresStore, "now_ms", lambda self: server[0])
    west, east = Machine("west", T0 - 3 * HOUR, 5_000), Machine("east", T0 + 5 * HOUR, 900_000)
    bench = Bench(store, west, monkeypatch)
    bench.sees(west.verdict("e1"))
    server[0] += round(apart * 1000)
    east.passes(apart)
    store._anchor = None
    assert kinds(bench.on(east).sees(east.verdict("e2"))) == raised


# -- ends


def test_an_end_is_said_once_at_the_next_look_and_before_what_begins_anew(bench: Bench) -> None:
    (incident,) = bench.outage()
    bench.machine.passes(59.999)
    assert bench.due() == []
    bench.machine.passes(0.001)
    (ended,) = bench.due()
    assert {key: ended[key] for key in ("type", "id", "kind", "credentialId", "seconds", "why")} == {
        "type": "ended", "id": incident["id"], "kind": "incident", "credentialId": "team", "seconds": 60, "why": "time",
    }  # fmt: skip
    assert ended["ts"] == records.to_ts(bench.machine.ms)
    assert bench.due() == []
    bench.machine.passes(1)
    bench.sees(bench.machine.verdict("e3"), bench.machine.verdict("e4"))
    bench.machine.passes(70)
    # Nobody looked for its end: the one that begins the next says it first.
    assert kinds(bench.sees(bench.machine.verdict("e5"), bench.machine.verdict("e6"))) == ["ended", "incident"]


def test_an_end_that_is_long_ago_is_not_said(bench: Bench) -> None:
    bench.outage()
    bench.machine.passes(660.001)
    assert bench.due() == []


def test_who_dies_before_it_is_written_leaves_the_end_to_another(bench: Bench) -> None:
    bench.outage()
    bench.machine.passes(60)
    next(iter(bench.correlator.due()))  # written by nobody: the process ends here
    bench.on(bench.machine)
    assert bench.due() == []  # it may still be about to
    bench.machine.passes(10)
    assert kinds(bench.due()) == ["ended"]
    assert bench.due() == []


def test_in_a_replay_an_end_stands_before_the_first_record_that_is_not_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FLEET_NOW", raising=False)
    machine = Machine()
    bench = Bench(MemoryStore(print), machine, monkeypatch, replay=True)
    (incident,) = bench.outage()
    end = records.to_ts(machine.ms + 60_000)
    before = json.dumps({"type": "x", "ts": records.to_ts(machine.ms + 59_999)}).encode()
    at = json.dumps({"type": "x", "ts": end}).encode()
    undated = b'{"type":"x"}\n'
    assert [made(bench.correlator.before(line)) for line in (undated, before)] == [[], []]
    (ended,) = made(bench.correlator.before(at))
    assert (ended["id"], ended["ts"], ended["up"]) == (incident["id"], end, 160.0)
    assert made(bench.correlator.before(at)) == made(bench.correlator.at_end()) == []


def test_at_the_end_of_a_replay_all_periods_end_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLEET_NOW", raising=False)
    machine = Machine()
    bench = Bench(MemoryStore(print), machine, monkeypatch, replay=True)
    bench.sees(machine.verdict("e9", "exhausted", cause="quota"))
    bench.outage()
    ends = made(bench.correlator.at_end())
    assert [(one["kind"], one["seconds"]) for one in ends] == [("incident", 60), ("quarantine", 1800)]


# -- success, use, and who is told


def test_a_completed_turn_that_began_after_an_exhaustion_ends_its_quarantine(bench: Bench) -> None:
    machine = bench.machine
    (quarantine,) = bench.sees(machine.verdict("e1", "exhausted", cause="quota"))
    earlier = records.to_ts(machine.ms - 1)
    machine.passes(100)
    assert bench.sees(machine.verdict("t1", "completed", began=earlier)) == []
    began = records.to_ts(machine.ms)
    machine.passes(20)
    assert bench.sees(machine.verdict("t2", "completed", began=began)) == []  # another member
    assert bench.sees(machine.verdict("t3", "completed", began=began, target="%1", resolved=False)) == []
    (ended,) = bench.sees(machine.verdict("t4", "completed", began=began, target="%1"))
    assert (ended["id"], ended["why"], ended["seconds"]) == (quarantine["id"], "worked", 120)
    assert bench.refused() is None
    state = fleet.credentials(bench.store)["team"]
    assert state.worked_ms == machine.ms


def test_a_window_nearly_used_up_is_said_once_a_level_and_ends_a_quarantine_that_nobody_dated(bench: Bench) -> None:
    machine = bench.machine

    def hear(percent: float) -> None:
        said = [records.Usage(window="5h", used_percent=percent, resets_at=records.to_ts(machine.ms + HOUR))]
        stamp = records.Signal(**machine.stamp(), id="s", source="statusline", said="usage")
        known = usage.heard(None, said, bench.store.placed(moments.of(stamp)), stamp.ts)
        change(bench.store, usage.usage_key("team"), usage.UsageState, lambda _: (known, None))

    hear(79)
    assert bench.due() == []
    hear(85)
    (nearly,) = bench.due()
    assert nearly["type"] == "nearly"
    assert (nearly["credentialId"], nearly["window"], nearly["usedPercent"]) == ("team", "5h", 85)
    assert bench.due() == []
    hear(100)
    assert kinds(bench.due()) == ["nearly"]
    (quarantine,) = bench.sees(machine.verdict("e1", "exhausted", cause="quota"))
    assert (quarantine["source"], quarantine["quarantinedForSeconds"]) == ("usage", 3600)


def test_news_that_reaches_no_lead_is_said(bench: Bench) -> None:
    verdicts = [bench.machine.verdict(event, lead=None) for event in ("e1", "e2")]
    assert kinds(bench.sees(*verdicts)) == ["incident"]
    (line,) = bench.said.lines
    assert line.startswith("incident on credential team: no lead is known to be told; set @fleet_lead")


@pytest.mark.parametrize(("kind", "lines"), [("incident", 0), ("quarantine", 1)])
def test_an_alert_of_its_kind_tells_of_news_without_a_lead(bench: Bench, kind: str, lines: int) -> None:
    alert = AlertRule(exec="true", on=[kind])  # type: ignore[list-item]
    bench.on(bench.machine, Config(profiles=CONFIG.profiles, alerts=[alert]))
    verdicts = [bench.machine.verdict(event, lead=None) for event in ("e1", "e2")]
    assert kinds(bench.sees(*verdicts)) == ["incident"]
    assert len(bench.said.lines) == lines


def test_a_cause_that_turns_out_to_be_the_request_s_own_fault_takes_its_evidence_back(bench: Bench) -> None:
    machine = bench.machine
    assert bench.sees(machine.verdict("e1", cause="unknown"), machine.verdict("e1", cause="context")) == []
    assert bench.sees(machine.verdict("e2")) == []
    assert kinds(bench.sees(machine.verdict("e3"))) == ["incident"]


def test_runs_that_are_further_apart_than_the_window_say_so_once(bench: Bench) -> None:
    """As from cron: each run is short, and the errors between two of them are too old when they are seen."""
    for run in range(4):
        bench.on(bench.machine)
        old = records.to_ts(bench.machine.ms - 100_000)
        assert bench.sees(*(bench.machine.verdict(f"r{run}e{pane}", at=old) for pane in (1, 2))) == []
        assert made(bench.correlator.at_end()) == []
        bench.machine.passes(300)
    (line,) = bench.said.lines
    assert "credential team" in line and "every 300 s" in line and "at most 60 s old" in line
