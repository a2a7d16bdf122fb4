"""What `import fleettools` offers: the judge, the count of failures and the gate, in one's own process.

It asks the policy and the services that the commands ask; what a person should know goes to the logger `fleettools`.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import msgspec

from fleettools import records
from fleettools.errors import BadInput, UsageError
from fleettools.records import Decision, Ended, Incident, Nearly, Pane, Quarantine, Record, Turn, Unmapped, Verdict

if TYPE_CHECKING:
    from fleettools.adapters.logger import LoggedMessages
    from fleettools.config import Config
    from fleettools.policy.accounts.placement import Choice
    from fleettools.policy.accounts.testimony import Rules
    from fleettools.services import gate
    from fleettools.services.classifier import Classifier
    from fleettools.services.store import Store

News: TypeAlias = Verdict | Incident | Quarantine | Ended | Nearly | Unmapped
R = TypeVar("R", bound=Record)
_Path: TypeAlias = str | os.PathLike[str]
_Item: TypeAlias = Record | Mapping[str, Any] | str | bytes  # a record, as an object, as JSON has it, or as a line


def judge(
    screen: str, *, agent: str | None = None, profile: str | None = None, at: datetime | str | None = None,
    tz: str | None = None, baseline: str | None = None, config: _Path | None = None,
) -> Verdict:  # fmt: skip
    """The verdict on the text of one screen, as `fleet-classify --text` gives it.

    `at` is when the screen was looked at (None: now), `tz` the IANA zone of its clock times (None: this host's),
    `baseline` the screen at the turn's delivery, `config` a fleetd.yaml (None: the one that the commands find).
    Raises UsageError for an agent or profile that there is not, BadInput for an `at` that is no time, and BadConfig.
    """
    if not isinstance(screen, str):
        raise UsageError(f"screen: expected a text, got {type(screen).__name__}", "decode it before it is judged")
    pane = Pane(text=screen, ts=None if at is None else _time("at", at), tz=tz or _local_zone())
    if baseline is not None:
        pane.turn = Turn(id="", baseline=baseline)
    return _classifier(agent, profile, config).verdict(pane)


def verdicts(
    panes: Iterable[_Item], *, agent: str | None = None, profile: str | None = None, config: _Path | None = None
) -> Iterator[Verdict]:
    """The verdict on each pane, with what one run of fleet-classify keeps between two of them.

    A pane is a `Pane`, a mapping as JSON has it, or a line. A verdict passes; other records, and blank lines, are
    passed over. `agent` and `profile` are those of panes that name none. Raises as `judge` does, and, when it comes to
    it, BadInput for what is no record.
    """
    lines, classifier = _lines("panes", panes), _classifier(agent, profile, config)

    def judged(kind: str, line: bytes) -> Iterator[Verdict]:
        if kind == "pane":
            yield classifier.verdict(records.decode(line, Pane))
        elif kind == "verdict":
            yield records.decode(line, Verdict)

    return lines.each(judged)


def correlate(
    verdicts: Iterable[_Item], *, threshold: int | None = None, window: float | None = None,
    cool_off: float | None = None, state: _Path | None = None, config: _Path | None = None,
) -> Iterator[News]:  # fmt: skip
    """Each verdict, then the incident, quarantine or other news that it causes, as fleet-correlate writes them.

    `threshold` errors within `window` seconds are an incident, which lasts `cool_off` seconds (None: as configured).
    `state` is as for `--state`: with None it counts in the store of the commands, with "memory:" it replays. A record
    counts as announced when the next one is asked for; what is left over is said by whoever correlates next. Raises
    UsageError and BadConfig; when it comes to it, BadInput for what is no record, Unavailable and CannotWrite.
    """
    found = _config(config)
    rules = _rules(found, threshold, window, cool_off)
    return _correlated(_lines("verdicts", verdicts), found, rules, state)


class Gate:
    """Answers whether profiles may spawn now, as fleet-gate does; it takes no place.

    `state` is as for `--state` (None: the store of the commands), opened for each question, so that any thread may ask.
    `policy` is how `choose` chooses (None: as configured); with `fail_open`, what only the store could forbid is
    allowed while that cannot be reached. The configuration is read once. Raises UsageError and BadConfig.
    """

    def __init__(
        self, state: _Path | None = None, *, config: _Path | None = None, policy: str | None = None,
        fail_open: bool = False,
    ) -> None:  # fmt: skip
        self._state, self._config, self._messages = state, _config(config), _messages()
        self._policy, self._fail_open = _policy(policy), fail_open

    def ask(self, profile: str) -> Decision:
        """May this profile spawn? Raises Unavailable or CannotWrite for a store that cannot be reached."""
        return self._asked(lambda gate: gate.ask(profile))

    def choose(self, candidates: Iterable[str] | None = None, *, policy: str | None = None) -> Decision:
        """The one of the candidates (None: all that are configured) that should spawn. Raises as `ask` does."""
        return self._asked(lambda gate: gate.ask_any(candidates, _policy(policy)))

    def _asked(self, question: "Callable[[gate.Gate], Choice]") -> Decision:
        from fleettools.adapters import clock
        from fleettools.services.gate import Gate as Service

        with ExitStack() as stack:

            def store() -> "Store":
                return stack.enter_context(closing(_store(self._state, self._config, self._messages)))

            choice = question(Service(store, self._config, self._policy, self._fail_open))
        return choice.record(clock.stamp())


# -- what goes in


def _time(name: str, value: datetime | str) -> str:
    """The time as records have it; raises BadInput for one without a zone."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            mend = "give it one, as datetime.now(UTC) and .astimezone() do"
            raise BadInput(f"{value.isoformat()} has no time zone", mend, name)
        value = value.isoformat()
    try:
        return records.to_ts(records.to_ms(value))
    except BadInput as error:
        raise BadInput(error.what, error.mend, name) from None


class _Lines(NamedTuple):
    """The records that a call is given, under the name of that argument."""

    name: str
    items: Iterable[_Item]

    def each(self, work: Callable[[str, bytes], Iterable[R]]) -> Iterator[R]:
        """What the work makes of each record's type and line; a BadInput says which record it was."""
        for number, item in enumerate(self.items, 1):
            try:
                line = _line(item)
                yield from work(records.kind(line), line)
            except BadInput as error:
                raise BadInput(error.what, error.mend, f"{self.name}, number {number}") from None


def _lines(name: str, items: Iterable[_Item]) -> _Lines:
    """The records; raises UsageError for one where several are expected."""
    if isinstance(items, str | bytes | Mapping | Record):
        raise UsageError(f"{name}: expected several records, got one", "put it in a list, or split the text into lines")
    return _Lines(name, items)


def _line(item: _Item) -> bytes:
    """A record as one line; raises BadInput for what cannot be one."""
    if isinstance(item, str):
        return item.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    if isinstance(item, bytes):
        return item.removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.encode(item)
    except (TypeError, ValueError) as error:
        raise BadInput(f"not a record ({error})", "give a record, a mapping of plain values, or a line") from None


def _rules(config: "Config", threshold: int | None, window: float | None, cool_off: float | None) -> "Rules":
    from fleettools.services.correlator import rules

    if threshold is not None and threshold < 1:
        raise UsageError(f"threshold: {threshold} errors", "one error is the least")
    for name, seconds in (("window", window), ("cool_off", cool_off)):
        if seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
            raise UsageError(f"{name}: {seconds} is no number of seconds", "give 0 or more")
    return rules(config, threshold, window, cool_off)


def _policy(name: str | None) -> str | None:
    if name not in (None, "priority", "least-loaded"):
        raise UsageError(f"policy: {name!r} is none", "one of priority, least-loaded")
    return name


# -- the services, with their doors


def _correlated(lines: _Lines, config: "Config", rules: "Rules", state: _Path | None) -> Iterator[News]:
    """The work of `correlate`, with the store open for as long as somebody asks for more."""
    from fleettools.adapters import clock
    from fleettools.adapters.memory import MemoryStore
    from fleettools.services.correlator import TICK, Correlator

    messages = _messages()
    with closing(_store(state, config, messages)) as store:
        replay = isinstance(store, MemoryStore)
        correlator = Correlator(store, config, rules, messages, clock, lambda: None, replay)
        due = clock.monotonic() + TICK

        def counted(kind: str, line: bytes) -> Iterator[News]:
            nonlocal due
            if replay:
                yield from map(_news, correlator.before(line))
            elif clock.monotonic() >= due:
                due = clock.monotonic() + TICK
                yield from map(_news, correlator.due())
            if kind == "verdict":
                yield from map(_news, correlator.verdict(line))

        yield from map(_news, correlator.at_start(None))
        yield from lines.each(counted)
        yield from map(_news, correlator.at_end())


def _news(line: bytes) -> News:
    found: News = records.decode(line, records.TYPES[records.kind(line)])  # type: ignore[assignment]
    return found


def _classifier(agent: str | None, profile: str | None, config: _Path | None) -> "Classifier":
    from fleettools.adapters import agentfiles, clock
    from fleettools.services.classifier import Classifier

    return Classifier(_config(config), agentfiles, clock, _messages(), agent, profile)


def _config(path: _Path | None) -> "Config":
    from fleettools.adapters import configfile

    return configfile.find(None if path is None else os.fspath(path))


def _store(state: _Path | None, config: "Config", messages: "LoggedMessages") -> "Store":
    from fleettools.adapters.stores import open_store

    if isinstance(state, os.PathLike):
        state = f"sqlite:{os.fspath(state)}"
    return open_store(state, messages.warn, lambda: config.state)


def _messages() -> "LoggedMessages":
    from fleettools.adapters.logger import LoggedMessages

    return LoggedMessages()


def _local_zone() -> str | None:
    from fleettools.adapters import clock

    return clock.local_zone()
