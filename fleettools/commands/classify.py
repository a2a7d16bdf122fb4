"""fleet-classify: judge what became of the turn on each pane, and write a `verdict` in place of the `pane`."""

import codecs
from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, complete, files
from fleettools.errors import BadInput, Exit, UsageError

if TYPE_CHECKING:
    from fleettools import records
    from fleettools.screens.case import Earlier
    from fleettools.screens.look import Look
    from fleettools.screens.patterns import Rules

REMEMBERED = 4096  # panes of unknown agents whose last text is kept


class Judge:
    """Judges panes, with the look and the patterns that their agent and profile ask for."""

    def __init__(
        self,
        ctx: Context,
        agent: str | None = None,
        profile: str | None = None,
        baseline: str | None = None,
        explain: bool = False,
    ) -> None:
        from fleettools import records
        from fleettools.adapters import agentfiles, clock
        from fleettools.screens import judge as classify

        self._records, self._clock, self._classify, self._agentfiles = records, clock, classify, agentfiles
        self._ctx, self._agent, self._profile = ctx, agent, profile
        self._baseline, self._explain = baseline, explain
        self._config = ctx.config()
        self._rules: dict[str | None, Rules] = {}
        self._earlier: dict[tuple[str, str], Earlier] = {}
        if profile is not None and self._config.profiles and profile not in self._config.profiles:
            raise UsageError(f"--profile {profile} is not configured", f"one of {', '.join(self._config.profiles)}")
        if agent is not None and agentfiles.load(agent, self._config.agents) is None:
            known = ", ".join(agentfiles.names(self._config.agents))
            raise UsageError(f"--agent {agent}: no such agent", f"one of {known}, or write an agent file of your own")

    def pane(self, line: bytes) -> tuple[bytes]:
        """The verdict on a `pane` line; fields that a pane does not have survive."""
        records = self._records
        pane = records.decode_exact(line, records.Pane)
        if pane is not None:
            return (records.encode(self.verdict(pane)),)
        verdict = self.verdict(records.decode(line, records.Pane))
        return (records.replaced(line, records.Pane, verdict),)

    def screen(self, text: str, file: str | None) -> bytes:
        """The verdict on a raw screen, named by its file: the same screen in two files is two events."""
        verdict = self.verdict(self._records.Pane(text=text, tz=self._clock.local_zone(), name=file))
        if file is not None:
            verdict.event = f"{verdict.screen}@{file}"
        return self._records.encode(verdict)

    def verdict(self, pane: "records.Pane") -> "records.Verdict":
        """The verdict on a pane; what a person should know goes to stderr."""
        if pane.ts is None:
            for name, value in self._clock.stamp().items():
                setattr(pane, name, value)
        pane.profile = pane.profile or self._profile
        configured = self._config.profiles.get(pane.profile or "")
        pane.agent = pane.agent or (configured and configured.agent) or self._agent
        if self._baseline is not None and not (pane.turn and pane.turn.baseline):
            pane.turn = pane.turn or self._records.Turn(id="")
            pane.turn.baseline = self._baseline
        rules = self._rules_of(pane.profile)
        look = self._look(pane, rules)
        seat = (pane.server or "", pane.target) if look is None and pane.target else None
        judgement = self._classify.weigh(pane, look, rules, self._explain, self._earlier.get(seat) if seat else None)
        if seat:
            self._remember(seat, pane.text or "", judgement.failures)
        for key in judgement.over:
            self._ctx.messages.error(f"{key} ran out of its time on a pane; make the pattern simpler", once=True)
        if self._explain:
            for text in self._classify.explained(judgement):
                self._ctx.messages.error(text)
        return judgement.verdict

    def _look(self, pane: "records.Pane", rules: "Rules") -> "Look | None":
        agentfiles, agent = self._agentfiles, pane.agent
        look: Look | None = agentfiles.of(self._config, pane.profile, agent)
        if look is not None or rules.configured:
            return look
        whose = f"profile {pane.profile}" if pane.profile else "panes without a profile"
        why = f"no agent file describes {agent}" if agent else "no agent and no pattern"
        known = ", ".join(agentfiles.names())
        self._ctx.messages.warn(f"degraded coverage for {whose}: {why}; name one of {known}", once=True)
        return None

    def _remember(self, seat: tuple[str, str], text: str, failures: int) -> None:
        """Keep the last text of a pane whose agent nobody described, for this run; the longest unseen is forgotten."""
        from fleettools.screens.case import Earlier

        self._earlier.pop(seat, None)
        self._earlier[seat] = Earlier(text, failures)
        if len(self._earlier) > REMEMBERED:
            del self._earlier[next(iter(self._earlier))]

    def _rules_of(self, profile: str | None) -> "Rules":
        if profile not in self._rules:
            self._rules[profile] = self._made_rules(profile)
        return self._rules[profile]

    def _made_rules(self, profile: str | None) -> "Rules":
        from fleettools import config
        from fleettools.screens.patterns import Kind, Own, Rules

        seconds = self._config.min_turn_seconds
        found = self._config.profiles.get(profile or "")
        if found is None:
            return Rules(min_turn_seconds=seconds)
        kinds = []
        for key, value in (("errorPattern", found.error_pattern), ("exhaustedPattern", found.exhausted_pattern)):
            listed = config.stated(value)
            place = f"profiles.{profile}.{key}"
            own = tuple(
                Own(place if len(listed or ()) < 2 else f"{place}[{i}]", each.pattern, each.anywhere)
                for i, each in enumerate(listed or ())
            )
            kinds.append(Kind(own, bundled=listed is None or config.adds(value)))
        drawn = found.look is not None
        return Rules(error=kinds[0], exhausted=kinds[1], min_turn_seconds=seconds, drawn=drawn)


@command("fleet-classify", short_help="Judge what became of a turn.")
@click.option("--agent", metavar="AGENT", shell_complete=complete("agents"), help="Agent of panes that name none.")
@click.option("--profile", metavar="PROFILE", shell_complete=complete("profiles"),
              help="Profile of panes that name none: its agent and its patterns count.")  # fmt: skip
@click.option("--text", "raw", is_flag=True, help="Each input is the text of one screen, not records.")
@click.option("--baseline", metavar="FILE", shell_complete=complete("files"),
              help="The screen at the turn's delivery, for panes without one.")  # fmt: skip
@click.option("--explain", is_flag=True, help="Say on stderr how each verdict came about.")
@files
def main(
    ctx: Context, agent: str | None, profile: str | None, raw: bool, baseline: str | None, explain: bool,
    files: tuple[str, ...],
) -> Exit:  # fmt: skip
    """Judge what became of the turn on each pane: a `verdict` in place of each `pane` record.

    With --text, each FILE (or standard input) is one screen, colours kept or not; its verdict's name is the file's.
    """
    from fleettools.adapters.lines import Input, pump

    judge = Judge(ctx, agent, profile, _read(baseline) if baseline else None, explain)
    if raw:
        return _screens(ctx, judge, files or ("-",))
    source, mend = Input(files, ctx.out, ctx.messages), "if it is a screen, give --text; else expected JSON records"
    return pump(source, ctx.out, ctx.messages, {"pane": judge.pane}, strict=ctx.strict, foreign=mend)


def _screens(ctx: Context, judge: Judge, names: tuple[str, ...]) -> Exit:
    bad = False
    for name in names:
        try:
            text = _read(name)
        except BadInput as error:
            ctx.messages.error(error)
            bad = True
            if ctx.strict:
                break
            continue
        ctx.out.write(judge.screen(text, None if name == "-" else name))
        ctx.out.flush()
    ctx.out.flush()
    return Exit.BAD_INPUT if bad else Exit.OK


def _read(name: str) -> str:
    from fleettools import records
    from fleettools.adapters import signals

    try:
        with signals.waiting(), open(0 if name == "-" else name, "rb", closefd=name != "-") as file:
            data = file.read(records.MAX_LINE + 1)
    except OSError as error:
        raise BadInput(error.strerror or "cannot be read", "name a file that can be read", name) from None
    if len(data) > records.MAX_LINE:
        raise BadInput("a screen over 16 MiB", "name a file that holds one screen", name)
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


if __name__ == "__main__":
    main()
