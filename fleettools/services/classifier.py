"""Judges panes one after the other, each with the look and the patterns that its agent and profile ask for."""

from fleettools import config as configuration
from fleettools import records
from fleettools.config import Config
from fleettools.errors import UsageError
from fleettools.screens import judge
from fleettools.screens.case import Earlier
from fleettools.screens.look import Look
from fleettools.screens.patterns import Kind, Own, Rules
from fleettools.services.ports import AgentFiles, Clock, Messages

REMEMBERED = 4096  # panes of unknown agents whose last text is kept


class Classifier:
    """What one run of fleet-classify knows: the configuration, and the last text of panes of unknown agents.

    `agent`, `profile` and `baseline` (a screen) are those of panes that have none. What a person should know is said
    by `messages`, with `explain` also how each verdict came about.
    """

    def __init__(
        self, config: Config, looks: AgentFiles, clock: Clock, messages: Messages, agent: str | None = None,
        profile: str | None = None, baseline: str | None = None, explain: bool = False,
    ) -> None:  # fmt: skip
        """Raises UsageError for an agent that no file describes, and for a profile that is not configured."""
        self._config, self._looks, self._clock, self._messages = config, looks, clock, messages
        self._agent, self._profile, self._baseline, self._explain = agent, profile, baseline, explain
        self._rules: dict[str | None, Rules] = {}
        self._earlier: dict[tuple[str, str], Earlier] = {}
        if profile is not None and config.profiles and profile not in config.profiles:
            raise UsageError(f"profile {profile} is not configured", f"one of {', '.join(config.profiles)}")
        if agent is not None and looks.load(agent, config.agents) is None:
            known = ", ".join(looks.names(config.agents))
            raise UsageError(f"agent {agent}: no such agent", f"one of {known}, or write an agent file of your own")

    def pane(self, line: bytes) -> tuple[bytes]:
        """The verdict on a `pane` line; fields that a pane does not have survive."""
        pane = records.decode_exact(line, records.Pane)
        if pane is not None:
            return (records.encode(self.verdict(pane)),)
        verdict = self.verdict(records.decode(line, records.Pane))
        return (records.replaced(line, records.Pane, verdict),)

    def screen(self, text: str, file: str | None) -> bytes:
        """The verdict on a raw screen, named by its file: the same screen in two files is two events."""
        verdict = self.verdict(records.Pane(text=text, tz=self._clock.local_zone(), name=file))
        if file is not None:
            verdict.event = f"{verdict.screen}@{file}"
        return records.encode(verdict)

    def verdict(self, pane: records.Pane) -> records.Verdict:
        """The verdict on a pane; one without `ts` was looked at now."""
        if pane.ts is None:
            for name, value in self._clock.stamp().items():
                setattr(pane, name, value)
        pane.profile = pane.profile or self._profile
        configured = self._config.profiles.get(pane.profile or "")
        pane.agent = pane.agent or (configured and configured.agent) or self._agent
        if self._baseline is not None and not (pane.turn and pane.turn.baseline):
            pane.turn = pane.turn or records.Turn(id="")
            pane.turn.baseline = self._baseline
        rules = self._rules_of(pane.profile)
        look = self._look(pane, rules)
        seat = (pane.server or "", pane.target) if look is None and pane.target else None
        judgement = judge.weigh(pane, look, rules, self._explain, self._earlier.get(seat) if seat else None)
        if seat:
            self._remember(seat, pane.text or "", judgement.failures)
        for key in judgement.over:
            self._messages.error(f"{key} ran out of its time on a pane; make the pattern simpler", once=True)
        if self._explain:
            for text in judge.explained(judgement):
                self._messages.error(text)
        return judgement.verdict

    def _look(self, pane: records.Pane, rules: Rules) -> Look | None:
        look = self._looks.of(self._config, pane.profile, pane.agent)
        if look is not None or rules.configured:
            return look
        whose = f"profile {pane.profile}" if pane.profile else "panes without a profile"
        why = f"no agent file describes {pane.agent}" if pane.agent else "no agent and no pattern"
        known = ", ".join(self._looks.names())
        self._messages.warn(f"degraded coverage for {whose}: {why}; name one of {known}", once=True)
        return None

    def _remember(self, seat: tuple[str, str], text: str, failures: int) -> None:
        """Keep the last text of a pane whose agent nobody described; the longest unseen is forgotten."""
        self._earlier.pop(seat, None)
        self._earlier[seat] = Earlier(text, failures)
        if len(self._earlier) > REMEMBERED:
            del self._earlier[next(iter(self._earlier))]

    def _rules_of(self, profile: str | None) -> Rules:
        if profile not in self._rules:
            self._rules[profile] = _rules(self._config, profile)
        return self._rules[profile]


def _rules(config: Config, profile: str | None) -> Rules:
    """What the configuration says about judging a profile's panes."""
    seconds = config.min_turn_seconds
    found = config.profiles.get(profile or "")
    if found is None:
        return Rules(min_turn_seconds=seconds)
    kinds = []
    for key, value in (("errorPattern", found.error_pattern), ("exhaustedPattern", found.exhausted_pattern)):
        listed = configuration.stated(value)
        place = f"profiles.{profile}.{key}"
        own = tuple(
            Own(place if len(listed or ()) < 2 else f"{place}[{i}]", each.pattern, each.anywhere)
            for i, each in enumerate(listed or ())
        )
        kinds.append(Kind(own, bundled=listed is None or configuration.adds(value)))
    return Rules(error=kinds[0], exhausted=kinds[1], min_turn_seconds=seconds, drawn=found.look is not None)
