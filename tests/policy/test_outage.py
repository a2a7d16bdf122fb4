"""When backend errors on one credential are an incident: a table, the rule over each row."""

from itertools import permutations

import msgspec
import pytest
from msgspec.structs import replace

from fleettools import records
from fleettools.moments import Moment
from fleettools.policy.accounts import outage, periods, quarantine, testimony
from fleettools.policy.accounts.credential import MAX_EVIDENCE, MAX_PANES, CredentialState, cooling_seconds
from fleettools.policy.accounts.periods import Probe
from fleettools.policy.accounts.testimony import Evidence, Rules

T0 = 1_767_225_600_000  # 2026-01-01T00:00:00Z


def error(event: str, at: float, pane: str = "", seen: float | None = None, **more: object) -> Evidence:
    """An error at `at` seconds, first seen at `seen`, in a pane of its own unless one is named."""
    fields = {"server": "h:/s:1", "target": f"%{pane or event}", "profile": "a", "lead": "%9"} | more
    ts = at if seen is None else seen
    times = {"at_ms": T0 + round(at * 1000), "ts_ms": T0 + round(ts * 1000), "late_ms": round((ts - at) * 1000)}
    return Evidence(event=event, **times, **fields)  # type: ignore[arg-type]


def stored(state: CredentialState) -> CredentialState:
    """The state as the next process reads it from the store."""
    return msgspec.json.decode(msgspec.json.encode(state), type=CredentialState)


def run(
    errors: list[Evidence], rules: Rules, state: CredentialState | None = None
) -> tuple[list[int], CredentialState]:
    """Which of the errors raised an incident, and the state at the end."""
    state = state or CredentialState()
    raised = []
    for number, found in enumerate(errors):
        state, incident, reason = outage.step(stored(state), "team", found, Moment(found.ts_ms), rules)
        assert reason
        if incident:
            raised.append(number)
    return raised, state


TABLE = [
    # One classified error cools nothing.
    ("one error", [error("1", 0)], []),
    # The window is inclusive: 60.000 s counts, 60.001 does not.
    ("two errors 60.000 s apart", [error("1", 0), error("2", 60)], [1]),
    ("two errors 60.001 s apart", [error("1", 0), error("2", 60.001)], []),
    # It slides: the middle one of three counts with either neighbour.
    ("the second pair of three is near enough", [error("1", 0), error("2", 61), error("3", 121)], [2]),
    # It is |at1 - at2| in any order of arrival.
    ("the later one arrives first", [error("1", 60), error("2", 0, seen=60)], [1]),
    ("the later one arrives first, too far", [error("1", 60.001), error("2", 0, seen=0)], []),
    # It is measured on `at`, not on when the record was made.
    ("made together, happened 60.001 s apart", [error("1", 5, seen=60), error("2", 65.001)], []),
    ("made 61 s apart, happened 60 s apart", [error("1", 0, seen=0), error("2", 60, seen=61)], [1]),
    # The same event is one event, however often and wherever it is seen.
    ("the same event twice", [error("1", 0), error("1", 1)], []),
    ("a banner that stays between two others", [error("1", 0), error("1", 50), error("2", 61)], []),
    # Two failed turns of one pane are two events.
    ("two turns in one pane", [error("1", 0, pane="7"), error("2", 30, pane="7")], [1]),
    # An event first seen when it is older than the window is no evidence, and never becomes it.
    ("60.000 s old when first seen", [error("1", 0, seen=60), error("2", 60)], [1]),
    ("60.001 s old when first seen", [error("1", 0, seen=60.001), error("2", 60.001)], []),
    ("old when first seen, then again as if new", [error("1", 0, seen=61), error("1", 61), error("2", 61)], []),
    # One active incident: errors in the cool-off neither extend it nor raise another.
    ("a third error in the cool-off", [error("1", 0), error("2", 10), error("3", 20), error("4", 69.999)], [1]),
    # The cool-off is over 60 s after the crossing; then two fresh errors are needed.
    ("one fresh error after it", [error("1", 0), error("2", 10), error("3", 70)], [1]),
    ("two fresh errors after it", [error("1", 0), error("2", 10), error("3", 70), error("4", 71)], [1, 3]),
    ("an error of the cool-off and one after", [error("1", 0), error("2", 10), error("3", 69), error("4", 71)], [1]),
    ("one read late, of the cool-off", [error("1", 0), error("2", 10), error("3", 69, seen=72), error("4", 73)], [1]),
    # A banner that stays is never fresh again, not after the cool-off either.
    ("standing banners", [error("1", 0), error("2", 10), *(error(e, 80, seen=80) for e in ("1", "2"))], [1]),
    (
        "banners of the cool-off that still stand after it",
        [error("1", 0), error("2", 10), error("3", 20), error("4", 30), error("3", 71), error("4", 72)],
        [1],
    ),
    # The same day again raises nothing new.
    ("replayed", [error("1", 0), error("2", 10), error("1", 0), error("2", 10)], [1]),
]


@pytest.mark.parametrize(("errors", "raised"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_errors_raise_an_incident_exactly_where_the_rules_say(errors: list[Evidence], raised: list[int]) -> None:
    assert run(errors, Rules())[0] == raised


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_threshold_of_three_counts_in_any_order_of_arrival(order: tuple[int, ...]) -> None:
    near = [error("1", 0, seen=60), error("2", 30, seen=60), error("3", 60)]
    far = [error("1", 0, seen=60), error("2", 30, seen=60), error("3", 60.001)]
    assert run([near[n] for n in order], Rules(threshold=3))[0] == [2]
    assert run([far[n] for n in order], Rules(threshold=3))[0] == []


def test_a_threshold_of_one_makes_each_error_outside_a_cool_off_an_incident() -> None:
    assert run([error("1", 0), error("2", 10), error("3", 60)], Rules(threshold=1))[0] == [0, 2]


@pytest.mark.parametrize(
    ("boots", "ups", "raised"),
    [
        # Within one boot `up` is measured, though the wall clock stepped by an hour.
        (("b", "b"), (100_000, 160_000), [1]),
        (("b", "b"), (100_000, 160_001), []),
        # Between two boots, or without `up`, `at` is all there is.
        (("b", "c"), (100_000, 100_000), []),
        (("b", "b"), (100_000, None), []),
        ((None, None), (100_000, 100_000), []),
    ],
)
def test_intervals_within_a_boot_are_measured_on_the_clock_that_never_steps(
    boots: tuple[str | None, str | None], ups: tuple[int | None, int | None], raised: list[int]
) -> None:
    first = error("1", 0, boot=boots[0], up_ms=ups[0])
    stepped = error("2", 3600, boot=boots[1], up_ms=ups[1])
    assert run([first, stepped], Rules())[0] == raised


def test_the_incident_says_whom_it_concerns_and_by_what() -> None:
    errors = [
        error("1", 0, name="api", profile="b", up_ms=5000, boot="x"),
        error("2", 10, seen=10.5, lead="%8", up_ms=15_000, boot="x"),
    ]
    state, _, _ = outage.step(CredentialState(), "team", errors[0], Moment(errors[0].ts_ms), Rules())
    state, incident, _ = outage.step(state, "team", errors[1], Moment(errors[1].ts_ms), Rules())
    assert incident == records.Incident(
        ts="2026-01-01T00:00:10.500Z",
        boot="x",
        up=15.5,
        id=testimony.identity("incident", "team", ["1", "2"]),
        credential_id="team",
        targets=[
            records.Worker(server="h:/s:1", target="%1", name="api"),
            records.Worker(server="h:/s:1", target="%2"),
        ],
        profiles=["a", "b"],
        leads=[records.LeadPane(server="h:/s:1", target="%9"), records.LeadPane(server="h:/s:1", target="%8")],
        evidence=["1", "2"],
        window_seconds=60,
        cooling_off_for_seconds=60,
    )
    assert b'"windowSeconds":60,"coolingOffForSeconds":60' in records.encode(incident)
    assert state.cool_off is not None and state.pending == []
    assert state.cool_off.until_ms == T0 + 70_500
    assert state.cool_off.why == "2 backend errors within 60 s"


def test_a_window_of_a_second_and_a_half_is_said_as_such() -> None:
    rules = Rules(window_ms=1_500)
    state, _, _ = outage.step(CredentialState(), "team", error("1", 0), Moment(T0), rules)
    _, incident, why = outage.step(state, "team", error("2", 1.5), Moment(T0 + 1_500), rules)
    assert incident is not None
    assert (incident.window_seconds, why) == (1.5, "2 backend errors within 1.5 s")


# Rule: which errors an incident names, in the order in which they happened. The one that came last is among them, also
# when a threshold that was lowered meanwhile would be reached without it.
CROSSINGS = [
    ("of two at one moment the one that came first", [error("2", 5)], error("1", 5), ["2", "1"]),
    ("not the two before it", [error("1", 0), error("2", 1)], error("3", 2), ["2", "3"]),
    ("it stands before those that happened later", [error("1", 5), error("2", 6)], error("3", 2), ["3", "1"]),
    ("not those after it without it", [error("1", 5, unnamed=True), error("2", 6)], error("3", 2, unnamed=True), None),
]


@pytest.mark.parametrize(
    ("pending", "found", "named"), [row[1:] for row in CROSSINGS], ids=[row[0] for row in CROSSINGS]
)
def test_an_incident_names(pending: list[Evidence], found: Evidence, named: list[str] | None) -> None:
    group = outage.crossing(pending, found, Rules(threshold=2))
    assert (group and [one.event for one in group]) == named


@pytest.mark.parametrize(
    ("ms", "left"), [(0, 60), (1, 60), (999, 60), (1000, 59), (59_001, 1), (59_999, 1), (60_000, None), (90_000, None)]
)
def test_remaining_seconds_round_up(ms: int, left: int | None) -> None:
    _, state = run([error("1", -1), error("2", 0)], Rules())
    assert cooling_seconds(state, Moment(T0 + ms)) == left


def test_nothing_is_known_of_a_credential_that_was_never_seen() -> None:
    assert cooling_seconds(None, Moment(T0)) is None
    assert cooling_seconds(CredentialState(), Moment(T0)) is None


def test_a_lifted_cool_off_is_over_and_what_was_counted_stays_counted() -> None:
    _, state = run([error("1", 0), error("2", 10)], Rules())
    state, changed, _ = outage.lift(state, Moment(T0 + 20_000))
    assert changed and cooling_seconds(state, Moment(T0 + 20_000)) is None
    assert outage.lift(state, Moment(T0 + 20_000))[1:] == (False, "it is not cooling off")
    assert run([error("1", 21), error("2", 22), error("3", 23)], Rules(), state)[0] == []
    assert run([error("3", 23), error("4", 24)], Rules(), state)[0] == [1]


def test_a_step_leaves_the_state_that_it_was_given_alone() -> None:
    _, before = run([error("1", 0)], Rules())
    kept = replace(before, pending=[*before.pending], last={**before.last})
    outage.step(before, "team", error("2", 1), Moment(T0 + 1000), Rules())
    assert before == kept


def test_a_known_event_gives_back_the_very_state() -> None:
    _, before = run([error("1", 0)], Rules())
    assert outage.step(before, "team", error("1", 30), Moment(T0 + 30_000), Rules())[0] is before


def test_what_is_remembered_is_bounded() -> None:
    far_apart = [error(str(n), n * 61) for n in range(MAX_PANES + 100)]
    state = CredentialState(last={f"outage h:/s:1 %{n}": str(n) for n in range(MAX_PANES)})
    _, state = run(far_apart[MAX_PANES - 100 :], Rules(), state)
    assert len(state.last) == MAX_PANES
    assert len(state.pending) == MAX_EVIDENCE


def test_the_id_depends_on_the_credential_and_the_events_alone() -> None:
    sets = (("a", ["1", "2"]), ("a", ["2", "1"]), ("a", ["12"]), ("b", ["1", "2"]))
    first, same, *others = (testimony.identity("incident", *given) for given in sets)
    assert first == same and len({first, *others}) == 3


GROWING = Rules(growth=2, max_cool_off_ms=200_000)


def lengths(gaps: list[float], rules: Rules) -> list[float]:
    """For how many seconds each incident cools off, when it follows the end of the one before after so many."""
    state, at, found = CredentialState(), 0.0, []
    for number, gap in enumerate(gaps):
        at += gap
        for half in "ab":
            one = error(f"{number}{half}", at)
            state, incident, _ = outage.step(state, "team", one, Moment(one.ts_ms), rules)
        assert incident is not None
        found.append(incident.cooling_off_for_seconds)
        at += incident.cooling_off_for_seconds
    return found


@pytest.mark.parametrize(
    ("gaps", "rules", "expected"),
    [
        pytest.param([0, 1, 1], Rules(), [60, 60, 60], id="off by default"),
        pytest.param([0, 1, 1, 1], GROWING, [60, 120, 200, 200], id="it doubles up to the most"),
        pytest.param([0, 600, 600.001], GROWING, [60, 120, 60], id="ten minutes after the end are the last that count"),
        pytest.param([0, 1], Rules(growth=1.5), [60, 90], id="by half"),
        pytest.param(
            [0, 1], Rules(growth=2, max_cool_off_ms=30_000), [60, 60], id="the most never makes it shorter than without"
        ),
    ],
)
def test_an_outage_that_comes_back_cools_off_for_longer(gaps: list[float], rules: Rules, expected: list[float]) -> None:
    assert lengths(gaps, rules) == expected


def test_one_that_was_lifted_early_counts_with_what_was_planned() -> None:
    _, state = run([error("1", 0), error("2", 0)], GROWING)
    state, _, _ = outage.lift(state, Moment(T0 + 5_000))
    for event in ("3", "4"):
        state, incident, _ = outage.step(state, "team", error(event, 6), Moment(T0 + 6_000), GROWING)
    assert incident is not None and incident.cooling_off_for_seconds == 120


UNNAMED = {"unnamed": True}
DOUBTS = [
    # Words that no list holds are kept, and count only beside an error of known cause.
    ("two unnamed errors", [error("1", 0, **UNNAMED), error("2", 1, **UNNAMED)], []),
    ("an unnamed and a named one", [error("1", 0, **UNNAMED), error("2", 1)], [1]),
    ("a named and an unnamed one", [error("1", 0), error("2", 1, **UNNAMED)], [1]),
    ("two unnamed ones and a named one", [error("1", 0, **UNNAMED), error("2", 1, **UNNAMED), error("3", 2)], [2]),
    ("a named one too far away", [error("1", 0, **UNNAMED), error("2", 60.001)], []),
    # The cause of an event may become known later, never the reverse.
    ("it is named later", [error("1", 0, **UNNAMED), error("2", 1, **UNNAMED), error("1", 3)], [2]),
    ("named, then unnamed", [error("1", 0), error("1", 1, **UNNAMED), error("2", 2, **UNNAMED)], [2]),
    # Nobody knows when it happened: kept, so that no later look counts it.
    ("undated ones", [error("1", 0, undated=True), error("2", 0, undated=True)], []),
    ("undated, then dated", [error("1", 0, undated=True), error("1", 1), error("2", 2)], []),
]


@pytest.mark.parametrize(("errors", "raised"), [row[1:] for row in DOUBTS], ids=[row[0] for row in DOUBTS])
def test_doubtful_errors(errors: list[Evidence], raised: list[int]) -> None:
    assert run(errors, Rules())[0] == raised


def test_the_event_whose_cause_becomes_known_is_the_one_that_counts() -> None:
    _, state = run([error("2", 0, **UNNAMED), error("1", 1, **UNNAMED)], Rules())
    _, incident, _ = outage.step(stored(state), "team", error("1", 3), Moment(T0 + 3_000), Rules())
    assert incident is not None and incident.evidence == ["2", "1"]


def test_a_threshold_of_one_is_not_reached_by_an_unnamed_error() -> None:
    assert run([error("1", 0, unnamed=True), error("2", 1)], Rules(threshold=1))[0] == [1]


def test_an_event_that_became_an_exhaustion_is_no_error_any_more() -> None:
    _, state = run([error("1", 0)], Rules())
    state, made, _ = quarantine.step(state, "team", error("1", 0), Moment(T0), Rules())
    assert made is not None and state.pending == []
    assert run([error("1", 1), error("2", 2)], Rules(), state)[0] == []


def test_the_failure_of_the_one_that_tries_is_an_incident_by_itself() -> None:
    _, state = run([error("1", 0), error("2", 0)], GROWING)
    probe = Probe(event="3", name="ada", **periods.spanning(Moment(T0 + 60_000), 60_000))
    state = replace(state, probe=probe)
    found = error("3", 130)  # also after its 60 s
    state, incident, _ = outage.step(stored(state), "team", found, Moment(T0 + 130_000), GROWING)
    assert incident is not None and incident.again and incident.evidence == ["3"]
    assert incident.cooling_off_for_seconds == 120
    assert state.probe is None
    assert run([error("3", 131), error("4", 400)], Rules(), state)[0] == []


@pytest.mark.parametrize("event", ["1", "5"])
def test_an_incident_of_others_is_none_of_the_one_that_tries(event: str) -> None:
    probe = Probe(event="3", name="ada", **periods.spanning(Moment(T0), 60_000))
    state, _, _ = outage.step(CredentialState(probe=probe), "team", error("2", 0), Moment(T0), Rules())
    _, incident, _ = outage.step(stored(state), "team", error(event, 1), Moment(T0 + 1_000), Rules())
    assert incident is not None and incident.again is None


# An error that happened before a cool-off ended, and is read after it. Only one of another boot may lie so far before
# its beginning that the clock must have been set back in between: it is as new as it looks.
BEFORE = [
    ("of the same boot, however long before", "b", -60.001, False),
    ("of another boot, as long before it as it is long", "c", -60, False),
    ("of another boot, longer before", "c", -60.001, True),
    ("of a boot that nobody knows", None, -60.001, False),
]


@pytest.mark.parametrize(("boot", "at", "counts"), [row[1:] for row in BEFORE], ids=[row[0] for row in BEFORE])
def test_errors_that_lie_before_a_cool_off_count_only_where_a_clock_was_set_back(
    boot: str | None, at: float, counts: bool
) -> None:
    rules, state = Rules(window_ms=600_000), CredentialState()
    for event in ("1", "2"):
        state, _, _ = outage.step(state, "team", error(event, 0, boot="b"), Moment(T0, "b", 100_000), rules)
    for event in ("3", "4"):
        late, now = error(event, at, seen=61, boot=boot), Moment(T0 + 61_000, boot, 161_000)
        state, incident, _ = outage.step(stored(state), "team", late, now, rules)
    assert (incident is not None) is counts


CLOCKS = [
    # what was done to the clock, the moment of the gate's question 20 s later, what it says
    ("nothing", Moment(T0 + 20_000, "b", 120_000), 40),
    ("set an hour ahead", Moment(T0 + 3_620_000, "b", 120_000), 40),
    ("set an hour back", Moment(T0 - 3_580_000, "b", 120_000), 40),
    ("slept for a minute: suspend counts", Moment(T0 + 80_000, "b", 180_000), None),
    ("rebooted within 20 s", Moment(T0 + 20_000, "c", 5_000), 40),
    ("rebooted, a minute ahead", Moment(T0 + 80_000, "c", 5_000), None),
    ("rebooted, ten seconds back", Moment(T0 - 10_000, "c", 5_000), 70),
    ("rebooted, an hour back: it would never end", Moment(T0 - 3_600_000, "c", 5_000), None),
]


@pytest.mark.parametrize(("now", "left"), [row[1:] for row in CLOCKS], ids=[row[0] for row in CLOCKS])
def test_a_cool_off_lasts_as_long_as_it_should_whatever_the_clock_does(now: Moment, left: int | None) -> None:
    state, begun = CredentialState(), Moment(T0, "b", 100_000)
    for event in ("1", "2"):
        state, _, _ = outage.step(state, "team", error(event, 0, boot="b", up_ms=100_000), begun, Rules())
    assert cooling_seconds(state, now) == left


@pytest.mark.parametrize(
    ("now", "raised"),
    [
        # An hour ahead or back, 20 s later: it cools off. 61 s later: fresh errors count, though `at` lies before it.
        (Moment(T0 + 3_620_000, "b", 120_000), False),
        (Moment(T0 - 3_580_000, "b", 120_000), False),
        (Moment(T0 + 3_661_000, "b", 161_000), True),
        (Moment(T0 - 3_539_000, "b", 161_000), True),
    ],
)
def test_errors_after_a_clock_was_set_are_as_fresh_as_they_are(now: Moment, raised: bool) -> None:
    state, begun = CredentialState(), Moment(T0, "b", 100_000)
    for event in ("1", "2"):
        state, _, _ = outage.step(state, "team", error(event, 0, boot="b", up_ms=100_000), begun, Rules())
    for event in ("3", "4"):
        later = Evidence(event=event, at_ms=now.ms, ts_ms=now.ms, boot=now.boot, up_ms=now.up_ms, target=f"%{event}")
        state, incident, _ = outage.step(state, "team", later, now, Rules())
    assert (incident is not None) is raised
