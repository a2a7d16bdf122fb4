"""When a credential is quarantined, and for how long: a table, the rule over each row."""

import msgspec
import pytest
from msgspec.structs import replace

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.accounts import credential, outage, periods, quarantine
from fleettools.policy.accounts.credential import CredentialState, cooling_seconds, quarantined_seconds
from fleettools.policy.accounts.periods import Probe
from fleettools.policy.accounts.testimony import Evidence, Rules

T0 = 1_767_225_600_000  # 2026-01-01T00:00:00Z
DAY = 86_400
MINUTE = 60


def used_up(event: str, ts: float, resets: float | None = None, at: float | None = None, **more: str) -> Evidence:
    """An exhaustion seen at `ts` seconds, whose screen says that the limit resets at `resets` seconds."""
    return Evidence(
        event=event,
        at_ms=T0 + round(1000 * (ts if at is None else at)),
        ts_ms=T0 + round(1000 * ts),
        late_ms=0 if at is None else round(1000 * (ts - at)),
        resets_ms=None if resets is None else T0 + round(1000 * resets),
        server="h:/s:1",
        target=more.pop("target", f"%{event}"),
        **more,  # type: ignore[arg-type]
    )


def stored(state: CredentialState) -> CredentialState:
    """The state as the next process reads it from the store."""
    return msgspec.json.decode(msgspec.json.encode(state), type=CredentialState)


def run(
    found: list[Evidence], state: CredentialState | None = None
) -> tuple[list[records.Quarantine | None], CredentialState]:
    state = state or CredentialState()
    made = []
    for one in found:
        state, record, reason = quarantine.step(stored(state), "team", one, Moment(one.ts_ms), Rules())
        assert reason
        made.append(record)
    return made, state


TABLE = [
    # Without a reset time the cooldown holds.
    ("no reset time", [used_up("1", 0)], 1800, "cooldown"),
    # Each fresh exhaustion restarts it; the same event does not.
    ("a fresh one restarts the cooldown", [used_up("1", 0), used_up("2", 600)], 2400, "cooldown"),
    ("a banner that stays does not", [used_up("1", 0), used_up("1", 600)], 1800, "cooldown"),
    ("nor when the cooldown is over", [used_up("1", 0), used_up("1", 2000)], 1800, "cooldown"),
    (
        "another turn of the same pane does",
        [used_up("1", 0, target="%7"), used_up("2", 9, target="%7")],
        1809,
        "cooldown",
    ),
    # When the screen says when the limit resets, until then instead, be it sooner or later than the cooldown.
    ("a reset time within the cooldown", [used_up("1", 0, resets=300)], 300, "resetsAt"),
    ("a reset time of days", [used_up("1", 0, resets=5 * DAY)], 5 * DAY, "resetsAt"),
    ("a reset time instead of a running cooldown", [used_up("1", 0), used_up("2", 10, resets=300)], 300, "resetsAt"),
    # A guess never shortens what a screen said, and of two limits the longer one holds.
    ("a cooldown within a reset time", [used_up("1", 0, resets=DAY), used_up("2", 10)], DAY, "resetsAt"),
    ("a cooldown beyond a reset time", [used_up("1", 0, resets=60), used_up("2", 10)], 1810, "cooldown"),
    ("two reset times", [used_up("1", 0, resets=DAY), used_up("2", 10, resets=300)], DAY, "resetsAt"),
    # Never more than 32 days: unknown rather than invented.
    ("exactly 32 days", [used_up("1", 0, resets=32 * DAY)], 32 * DAY, "resetsAt"),
    ("more than 32 days", [used_up("1", 0, resets=32 * DAY + 0.001)], 1800, "cooldown"),
    ("by far more", [used_up("1", 0, resets=T0 / 1000 + 300)], 1800, "cooldown"),
    # A limit that had reset before anybody looked is no quarantine.
    ("reset before it was seen", [used_up("1", 3600, resets=3600, at=1800)], None, None),
    ("reset long before it was seen", [used_up("1", 3600, resets=1800, at=1000)], None, None),
    # A time of day that had passed at the first look at the pane may be over.
    ("perhaps over, perhaps tomorrow's", [replace(used_up("1", 0, resets=DAY), doubtful=True)], None, None),
    # What a screen still says is a fact, however old the screen; a guess from an old event is none.
    ("seen hours later, resets tomorrow", [used_up("1", 2 * 3600, at=0, resets=DAY)], DAY, "resetsAt"),
    ("60.000 s old, no reset time", [used_up("1", 60, at=0)], 1860, "cooldown"),
    ("60.001 s old, no reset time", [used_up("1", 60.001, at=0)], None, None),
    # Two at one moment are as good as one after the other; what is older than the quarantine moves nothing.
    ("at the same moment", [used_up("1", 10), used_up("2", 10, resets=300)], 300, "resetsAt"),
    ("a millisecond older", [used_up("1", 10), used_up("2", 9.999, resets=300)], 1810, "cooldown"),
    # A stored day that is played again into the same store moves nothing.
    (
        "an old exhaustion again",
        [used_up("1", 0, target="%7"), used_up("2", 9000, target="%7"), used_up("1", 0, target="%7")],
        10_800,
        "cooldown",
    ),
]


@pytest.mark.parametrize(("found", "until", "source"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_an_exhaustion_quarantines_until(found: list[Evidence], until: int | None, source: str | None) -> None:
    _, state = run(found)
    if until is None:
        assert state.quarantine is None
        return
    assert state.quarantine is not None
    assert (state.quarantine.until_ms - T0, state.quarantine.source) == (until * 1000, source)


def test_each_fresh_exhaustion_is_said_under_the_id_of_its_quarantine() -> None:
    (first, second), _ = run([used_up("1", 0, lead="%8", name="api"), used_up("2", 10, lead="%9", profile="p")])
    assert first and second and first.id == second.id
    assert second == records.Quarantine(
        ts="2026-01-01T00:00:10.000Z",
        id=first.id,
        credential_id="team",
        targets=[
            records.Worker(server="h:/s:1", target="%1", name="api"),
            records.Worker(server="h:/s:1", target="%2"),
        ],
        profiles=["p"],
        leads=[records.LeadPane(server="h:/s:1", target="%8"), records.LeadPane(server="h:/s:1", target="%9")],
        evidence=["1", "2"],
        quarantined_for_seconds=1800,
        until="2026-01-01T00:30:10.000Z",
        source="cooldown",
    )


def test_a_quarantine_after_the_end_of_one_is_another() -> None:
    (first, second), state = run([used_up("1", 0), used_up("2", 1800)])
    assert first and second and first.id != second.id
    assert second.evidence == ["2"]
    assert state.quarantine is not None and state.quarantine.since_ms == T0 + 1_800_000


@pytest.mark.parametrize(("ms", "left"), [(0, 1800), (1, 1800), (1_799_999, 1), (1_800_000, None)])
def test_remaining_seconds_round_up(ms: int, left: int | None) -> None:
    _, state = run([used_up("1", 0)])
    assert quarantined_seconds(state, Moment(T0 + ms)) == left


def test_a_lifted_quarantine_is_over_and_a_banner_that_stays_starts_no_other() -> None:
    _, state = run([used_up("1", 0)])
    state, changed, _ = quarantine.lift(state, Moment(T0 + 1000))
    assert changed and quarantined_seconds(state, Moment(T0 + 1000)) is None
    assert quarantine.lift(state, Moment(T0 + 1000))[1:] == (False, "it is not quarantined")
    assert run([used_up("1", 2)], state)[0] == [None]
    assert run([used_up("2", 2)], state)[0] != [None]


def test_quarantine_and_cool_off_are_separate() -> None:
    _, state = run([used_up("1", 0)])
    for event, at in (("3", 1), ("4", 2)):
        state, _, _ = outage.step(state, "team", used_up(event, at), Moment(T0 + at * 1000), Rules())
    assert cooling_seconds(state, Moment(T0 + 3000)) == 59
    assert quarantined_seconds(state, Moment(T0 + 3000)) == 1797
    state, _, _ = outage.lift(state, Moment(T0 + 3000))
    assert cooling_seconds(state, Moment(T0 + 3000)) is None
    assert quarantined_seconds(state, Moment(T0 + 3000)) == 1797


DOUBTS = [
    # What nobody dated is no evidence, unless the screen itself says how long it holds.
    ("undated", [replace(used_up("1", 0), undated=True)], None),
    ("undated, with a reset time", [replace(used_up("1", 0, resets=DAY), undated=True)], DAY),
    ("undated, then dated", [replace(used_up("1", 0), undated=True), used_up("1", 9)], None),
    # A reset that has just passed holds for as long as a cool-off.
    ("its reset has just passed", [replace(used_up("1", 0), passed=True)], 60),
    ("a passed one never shortens", [used_up("1", 0), replace(used_up("2", 9), passed=True)], 1800),
    # A later source of the same event may say when it resets, an earlier one's word stays.
    ("the reset time comes later", [used_up("1", 0), used_up("1", 9, resets=300)], 300),
    ("and another one does not change it", [used_up("1", 0, resets=300), used_up("1", 9, resets=DAY)], 300),
    ("one that comes when it is over", [used_up("1", 0), used_up("1", 1800, resets=DAY)], 1800),
    # The agents' own figures are better than a guess, and no better than a screen.
    ("by usage", [replace(used_up("1", 0, resets=DAY), by_usage=True)], DAY),
    ("by usage, then by a screen", [replace(used_up("1", 0, resets=DAY), by_usage=True), used_up("2", 9, 60)], 60),
    ("by usage, sooner than a screen", [used_up("1", 0, DAY), replace(used_up("2", 9, 300), by_usage=True)], DAY),
    ("a guess after it", [replace(used_up("1", 0, resets=DAY), by_usage=True), used_up("2", 9)], DAY),
]  # fmt: skip


@pytest.mark.parametrize(("found", "until"), [row[1:] for row in DOUBTS], ids=[row[0] for row in DOUBTS])
def test_a_quarantine_by_doubtful_or_completed_evidence(found: list[Evidence], until: int | None) -> None:
    _, state = run(found)
    assert (state.quarantine and state.quarantine.until_ms - T0) == (None if until is None else until * 1000)


def test_what_completes_a_quarantine_is_said_under_its_id() -> None:
    (first, second), _ = run([used_up("1", 0), used_up("1", 9, resets=300)])
    assert first and second and first.id == second.id
    assert (second.source, second.quarantined_for_seconds, second.evidence) == ("resetsAt", 291, ["1"])


HOW = "its quota is used up"
KNOWN = [
    ("by a guess", [used_up("1", 0)], "cooldown", HOW),
    ("by a screen", [used_up("1", 0, DAY)], "resetsAt", f"{HOW} until the time that its screen gives"),
    ("by usage", [replace(used_up("1", 0, DAY), by_usage=True)], "usage", HOW),
    ("by usage, and a guess", [replace(used_up("1", 0, DAY), by_usage=True), used_up("2", 9)], "usage", HOW),
]  # fmt: skip


@pytest.mark.parametrize(("found", "source", "why"), [row[1:] for row in KNOWN], ids=[row[0] for row in KNOWN])
def test_a_quarantine_says_how_its_end_is_known(found: list[Evidence], source: str, why: str) -> None:
    made, state = run(found)
    assert made[-1] is not None and state.quarantine is not None
    assert (made[-1].source, state.quarantine.source, state.quarantine.why) == (source, source, why)


@pytest.mark.parametrize(("event", "again"), [("1", None), ("3", True), ("5", None)])
def test_only_the_exhaustion_of_the_one_that_tries_is_said_as_again_and_ends_the_trial(
    event: str, again: bool | None
) -> None:
    probe = Probe(event="3", name="ada", **periods.spanning(Moment(T0), 60_000))
    (made,), state = run([used_up(event, 1)], CredentialState(probe=probe))
    assert made is not None and made.again is again
    assert (state.probe is None) is bool(again)


WORKED = [
    # who completed a turn that began when (s); the exhaustion was at 10 in %1; is it over?
    ("the same member, a turn after it", "%1", 10.001, True),
    ("the same member, the turn before it", "%1", 10, False),
    ("the same member, a turn long before it", "%1", 5, False),
    ("another member", "%2", 20, False),
    ("another member still", "%0", 20, False),
]


@pytest.mark.parametrize(("target", "began", "over"), [row[1:] for row in WORKED], ids=[row[0] for row in WORKED])
def test_success_ends_what_it_disproves(target: str, began: float, over: bool) -> None:
    _, state = run([used_up("1", 10)])
    now = Moment(T0 + 90_000)
    state, reason = quarantine.worked(state, "h:/s:1", target, Moment(T0 + round(began * 1000)), now)
    assert reason
    assert (quarantined_seconds(state, now) is None) is over
    _, said = credential.ends(state, "team", now, {"ts": "2026-01-01T00:01:30.000Z"})
    assert [(one.why, one.seconds) for one, _ in said] == ([("worked", 80)] if over else [])


def test_success_ends_nothing_where_nothing_is_quarantined_any_more() -> None:
    _, state = run([used_up("1", 10)])
    for before in (CredentialState(), state):
        said = quarantine.worked(before, "h:/s:1", "%1", Moment(T0 + 20_000), Moment(T0 + 1_810_000))
        assert said == (before, "it is not quarantined")


def test_a_restarted_quarantine_ends_once() -> None:
    _, state = run([used_up("1", 0), used_up("2", 600)])
    stamp = {"ts": "2026-01-01T00:40:00.000Z"}
    assert credential.ends(state, "team", Moment(T0 + 1_800_000), stamp)[1] == []
    _, [(ended, _)] = credential.ends(state, "team", Moment(T0 + 2_400_000), stamp)
    assert (ended.kind, ended.seconds, ended.why) == ("quarantine", 2400, "time")


def test_what_a_person_lifted_never_comes_back_and_is_said_as_released() -> None:
    _, state = run([used_up("1", 0)])
    state, _, _ = quarantine.lift(state, Moment(T0 + 60_000))
    assert quarantined_seconds(state, Moment(T0 + 30_000)) is None  # a clock that was set back
    _, [(ended, _)] = credential.ends(state, "team", Moment(T0 + 61_000), {"ts": "2026-01-01T00:01:01.000Z"})
    assert (ended.why, ended.seconds) == ("released", 60)
