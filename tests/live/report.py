"""What a run of the matrix came to: lines for people, a file of rows, and the page docs/live.md."""

import json
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from live.cells import SAID, SITUATIONS
from live.failures import FAILURES
from live.situations import Result

Row = dict[str, Any]

HEAD = """\
# The newest agents against a failing backend

Written by `make live RECORD=1`: the real programs, each pane with a backend of its own on loopback, watched by
`fleet-scrape --follow | fleet-classify | fleet-resolve | fleet-correlate`. What is right follows from what the backend
did. A number is the seconds from what the backend did until the pipe said so; **bold** is a wrong verdict; a blank was
not run (`FULL=1` runs the rest). docs/live.jsonl has every check of every cell, with the line that decided.
"""


def row(result: Result, day: str) -> Row:
    """A result as an object of docs/live.jsonl."""
    checks = [{"point": one.point, "said": one.said, "right": one.right, "seconds": one.seconds, "line": one.line}
              for one in result.checks]  # fmt: skip
    return {"agent": result.agent, "version": result.version, "day": day, "failure": result.cell.failure,
            "situation": result.cell.situation, "right": result.ok, "note": result.note, "checks": checks}  # fmt: skip


def lines(rows: Iterable[Row]) -> str:
    """Rows as lines of JSON, in an order of their own."""
    known = sorted(rows, key=lambda one: (one["agent"], list(FAILURES).index(one["failure"]), one["situation"]))
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in known)


def read(text: str) -> list[Row]:
    """The rows of such lines."""
    return [json.loads(line) for line in text.splitlines()]


def said(one: Row) -> str:
    """What a row's checks said, in a line."""
    parts = []
    for check in one["checks"]:
        wrong = "" if check["said"] in check["right"] else f", not {' or '.join(check['right'])}"
        parts.append(f"{check['point']} {check['said']}{wrong}")
    return "; ".join(parts)


def differences(before: Iterable[Row], now: Iterable[Row]) -> Iterator[str]:
    """The cells of two runs that were judged differently; timing does not count, nor does another version."""
    known = {_key(one): one for one in before}
    for one in now:
        other = known.get(_key(one))
        if other is not None and _words(one) != _words(other):
            either = ", either is right" if one["right"] and other["right"] else ""
            yield f"{one['agent']} {one['failure']} {one['situation']}: {said(other)} -> {said(one)}{either}"


def _key(one: Row) -> tuple[str, ...]:
    return one["agent"], one["version"], one["failure"], one["situation"]


def _words(one: Row) -> list[tuple[str, str]]:
    return [(check["point"], check["said"]) for check in one["checks"]]


def seconds(one: Row) -> float | None:
    """How long a row's failure, or its reply, took to be seen."""
    found = [check["seconds"] for check in one["checks"] if check["point"] in ("failure", "reply", "stopped")]
    return next((number for number in found if number is not None), None)


def summary(rows: list[Row]) -> Iterator[str]:
    """A line for each agent: its version, how many cells were right, and how long they took to be seen."""
    for agent in dict.fromkeys(one["agent"] for one in rows):
        mine = [one for one in rows if one["agent"] == agent]
        times = sorted(taken for one in mine if (taken := seconds(one)) is not None and not one["note"])
        median = f"{statistics.median(times):.1f}" if times else "-"
        worst = f"{times[-1]:.1f}" if times else "-"
        right = sum(one["right"] for one in mine)
        seen = f"seen after {median} s (median), {worst} s (worst)"
        yield f"{agent} {mine[0]['version']}: {right} of {len(mine)} right; {seen}"


def page(rows: list[Row], titles: dict[str, str]) -> str:
    """The page that shows the rows."""
    parts = [HEAD]
    for agent in dict.fromkeys(one["agent"] for one in rows):
        mine = [one for one in rows if one["agent"] == agent]
        parts += ["", f"## {titles.get(agent, agent)} {mine[0]['version']}, {mine[0]['day']}", "", *summary(mine), ""]
        parts += _table(mine)
        parts += _listed("Wrong:", [one for one in mine if not one["right"]])
        parts += _listed("Expected of the agent in place of the failure's own truth:",
                         [one for one in mine if one["note"] and one["right"]], note=True)  # fmt: skip
    return "\n".join(parts) + "\n"


def _table(rows: list[Row]) -> Iterator[str]:
    cells = {(one["failure"], one["situation"]): one for one in rows}
    used = [name for name in SITUATIONS if any(one["situation"] == name for one in rows)]
    yield f"| failure | {' | '.join(SAID[name] for name in used)} |"
    yield "|---" * (len(used) + 1) + "|"
    for failure in FAILURES:
        found = [_shown(cells.get((failure, situation))) for situation in used]
        if any(found):
            yield f"| {failure} | {' | '.join(found)} |"


def _shown(one: Row | None) -> str:
    if one is None:
        return ""
    if not one["right"]:
        return "**wrong**"
    taken = seconds(one)
    return "right" if taken is None else f"{taken:.1f}"


def _listed(head: str, rows: list[Row], note: bool = False) -> Iterator[str]:
    if rows:
        yield f"\n{head}\n"
    for one in rows:
        last = one["checks"][-1] if one["checks"] else {"line": ""}
        why = f" ({one['note']})" if one["note"] else ""
        line = "" if note or not last["line"] else f", by `{last['line'][:120].replace('`', '')}`"
        yield f"- {one['failure']}, {SAID[one['situation']]}: {said(one)}{line}{why}"


def write(folder: Path, results: list[Result], day: str) -> list[Row]:
    """Keep a run: its rows, and the raw screen of each check; gives the rows."""
    rows = [row(result, day) for result in results]
    (folder / "table.jsonl").write_text(lines(rows))
    for result in results:
        place = folder / "screens" / result.agent
        place.mkdir(parents=True, exist_ok=True)
        for check in result.checks:
            name = f"{result.cell.failure}--{result.cell.situation}--{check.point.replace(' ', '-')}.txt"
            (place / name).write_text(check.screen)
    return rows
