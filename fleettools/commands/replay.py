"""fleet-replay: judge a folder of screens against their right verdicts, as a test of patterns and agent files."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from fleettools import records
from fleettools.cli import Context, command, complete
from fleettools.errors import BadInput, Exit

if TYPE_CHECKING:
    from fleettools.records import Verdict
    from fleettools.services.classifier import Classifier

MINUTE = 60_000
FAILURES = frozenset({"backend_error", "exhausted", "failed", "retrying"})


class Case(msgspec.Struct, rename="camel"):
    """A screen and what is right about it; a line of index.jsonl, or read off a file's name."""

    file: str
    agent: str | None = None
    outcome: str | None = None
    also_right: list[str] | None = None
    cause: str | None = None
    turn_seconds: float | None = None
    profile: str | None = None
    ts: records.Time | None = None
    activity: records.Time | None = None
    tz: str | None = None
    title: str | None = None
    resets_at: records.Time | msgspec.UnsetType | None = msgspec.UNSET  # None: no reset may be read


class Result(NamedTuple):
    """A case with its verdict; `wrong` says what differs, "" when nothing does."""

    case: Case
    verdict: "Verdict"
    wrong: str


@command("fleet-replay")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete("files"))
def main(ctx: Context, paths: tuple[str, ...]) -> Exit:
    """Judge folders of screens against their right verdicts; exit 1 when any is wrong, with --verbose say why.

    A folder's index.jsonl names file, agent, outcome, alsoRight, cause, turnSeconds, resetsAt, and ts, tz, activity
    and title of the look; without one the folder is the agent and the file's name begins with the outcome, as in
    claude/backend_error--overloaded.txt.
    """
    from fleettools.adapters import agentfiles, clock
    from fleettools.services.classifier import Classifier

    classifier = Classifier(ctx.config(), agentfiles, clock, ctx.messages)
    scored: list[Result] = []
    listed: list[Result] = []
    for path in paths:
        for root, case in _cases(path):
            result = _judged(classifier, root, case)
            (listed if "ambiguous" in case.file.split("/")[:-1] or case.outcome is None else scored).append(result)
    if not scored and not listed:
        raise BadInput(
            "holds no screens", "name a folder with an index.jsonl or <agent>/<outcome>--<what>.txt", paths[0]
        )
    wrong = sum(bool(result.wrong) for result in scored)
    if ctx.json:
        ctx.out.write(b"".join(msgspec.json.encode(_object(result)) + b"\n" for result in [*scored, *listed]))
        ctx.out.flush()
        return Exit.NO if wrong else Exit.OK
    _print(ctx, _table(scored))
    for result in scored:
        if result.wrong:
            _print(ctx, [f"wrong {result.case.file}: {result.wrong}"])
            if ctx.messages.level > 0:
                _print(ctx, _details(result))
    if listed:
        _print(ctx, [f"not scored: {result.case.file}: {result.verdict.outcome}" for result in listed])
    _print(ctx, [f"{len(scored)} screens, {wrong} wrong, {_count(scored, _is_alarm)} false alarms"])
    ctx.out.flush()
    return Exit.NO if wrong else Exit.OK


def _cases(path: str) -> Iterator[tuple[str, Case]]:
    """The screens below a path, each with the folder that its file is named from."""
    if os.path.isfile(path):
        root, name = os.path.split(os.path.abspath(path))
        root, agent = os.path.split(root)
        yield root, _named(f"{agent}/{name}")
        return
    index = os.path.join(path, "index.jsonl")
    if os.path.exists(index):
        yield from ((path, case) for case in _indexed(index))
        return
    above, base = os.path.split(os.path.abspath(path))
    index = os.path.join(above, "index.jsonl")
    if os.path.exists(index):
        yield from ((above, case) for case in _indexed(index) if case.file.startswith(f"{base}/"))
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        inner = os.path.relpath(folder, path)
        for name in sorted(names):
            if name.endswith(".txt") and not name.endswith(".baseline.txt"):
                yield path, _named(name if inner == "." else f"{inner}/{name}", base)


def _named(file: str, base: str = "") -> Case:
    """The case that a file's name tells: `<agent>/<outcome>--<what>.txt`."""
    import typing

    *folders, name = file.split(os.sep)
    outcome, dashes, _ = name.partition("--")
    known = dashes and outcome in typing.get_args(records.Outcome)
    return Case(file=file, agent=folders[-1] if folders else base, outcome=outcome if known else None)


def _indexed(index: str) -> Iterator[Case]:
    with open(index, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield msgspec.json.decode(line, type=Case)
            except msgspec.DecodeError as error:
                what = f"not a case ({error})"
                raise BadInput(
                    what, "each line is an object with file, agent and outcome", f"{index}:{number}"
                ) from None


def _judged(classifier: "Classifier", root: str, case: Case) -> Result:
    from fleettools.adapters import clock

    path = os.path.join(root, case.file)
    baseline = path.removesuffix(".txt") + ".baseline.txt"
    turn = records.Turn(id=case.file, seconds=case.turn_seconds)
    if os.path.exists(baseline):
        turn.baseline = _read(baseline)
    look = {"ts": case.ts} if case.ts else clock.stamp()
    pane = records.Pane(
        text=_read(path), agent=case.agent, profile=case.profile, tz=case.tz or clock.local_zone(), turn=turn,
        title=case.title, activity=case.activity, **look,
    )  # fmt: skip
    verdict = classifier.verdict(pane)
    return Result(case, verdict, _difference(case, verdict))


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise BadInput(error.strerror or "cannot be read", "name it in index.jsonl as it is called", path) from None


def _difference(case: Case, verdict: "Verdict") -> str:
    right = [case.outcome, *(case.also_right or [])]
    if case.outcome is not None and verdict.outcome not in right:
        return f"{verdict.outcome}, not {' or '.join(filter(None, right))}"
    if case.cause and verdict.outcome == case.outcome and verdict.cause != case.cause:
        return f"cause {verdict.cause}, not {case.cause}"
    if verdict.outcome == case.outcome and case.resets_at is not msgspec.UNSET and not _same_reset(case, verdict):
        return f"resets at {verdict.resets_at}, not {case.resets_at}"
    return ""


def _same_reset(case: Case, verdict: "records.Verdict") -> bool:
    if verdict.resets_at is None or not case.resets_at:
        return not verdict.resets_at and not case.resets_at
    return abs(records.to_ms(verdict.resets_at) - records.to_ms(case.resets_at)) < MINUTE


def _is_alarm(result: Result) -> bool:
    """A failure seen where there was none."""
    right = {result.case.outcome, *(result.case.also_right or [])}
    return bool(result.wrong) and result.verdict.outcome in FAILURES and not right & FAILURES


def _is_miss(result: Result) -> bool:
    return bool(result.wrong) and not _is_alarm(result)


def _count(results: list[Result], test: "object") -> int:
    return sum(1 for result in results if callable(test) and test(result))


def _table(scored: list[Result]) -> list[str]:
    rows = sorted({(result.case.agent or "", result.case.outcome or "") for result in scored})
    table = [f"{'agent':<10} {'outcome':<14} {'screens':>7} {'right':>6} {'missed':>6} {'alarms':>6}"]
    for agent, outcome in rows:
        part = [r for r in scored if (r.case.agent or "", r.case.outcome or "") == (agent, outcome)]
        right = sum(not result.wrong for result in part)
        missed, alarms = _count(part, _is_miss), _count(part, _is_alarm)
        table.append(f"{agent:<10} {outcome:<14} {len(part):>7} {right:>6} {missed:>6} {alarms:>6}")
    return table


def _object(result: Result) -> dict[str, object]:
    """A case for a program: what is right, what was judged, and what differs; `right` null where nobody says."""
    case, verdict = result.case, result.verdict
    return {
        "file": case.file, "agent": case.agent, "right": case.outcome, "outcome": verdict.outcome,
        "cause": verdict.cause, "reason": verdict.reason, "wrong": result.wrong or None, "alarm": _is_alarm(result),
    }  # fmt: skip


def _details(result: Result) -> list[str]:
    verdict = result.verdict
    facts = {"reason": verdict.reason, "line": verdict.line, "rule": verdict.pattern, "path": verdict.path}
    return [f"    {name}: {value}" for name, value in facts.items() if value]


def _print(ctx: Context, lines: list[str]) -> None:
    from fleettools.adapters.streams import printable

    ctx.out.write("".join(f"{printable(line)}\n" for line in lines).encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
