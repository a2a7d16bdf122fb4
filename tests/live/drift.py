"""What a release of an agent says that nobody here has heard: `make drift`.

Takes the strings out of the releases, picks those that can end a turn, announce a limit or a retry, or ask a question,
has them judged where the agent would draw them, and compares with samples/screens/wordings.jsonl. From the environment:

    AGENTS=claude,codex  these agents; without it all whose text can be read
    CLAUDE=2.1.290       this release of an agent, which is the newest without it
    SINCE=2.1.286        compare with that release of the one agent named instead of with what is recorded
    RECORD=1             write what is new into wordings.jsonl, as proposals that a person has to look at

Exit status: 0 nothing differs, 1 something does, 77 a release could not be had.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import drawing
import regex
from live import literals, picking, releases

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens.judge import judge
from fleettools.screens.patterns import Rules

WORDINGS = drawing.SAMPLES / "wordings.jsonl"
SHOWN = 60  # strings of an agent that are printed

# What stands by code that handles failures: names and values that a minifier leaves alone.
_COMMON = re.compile(
    r"\b(?:isRetryable|retryable|maxRetries|maxAttempts|retryAttempt|rate_?limit\w*|quota\w*|overloaded\w*|content_filter|"
    r"insufficient_quota|APIError|api_error|context_length\w*|529|429)\b",
    re.IGNORECASE,
)
_CLAUDE = re.compile(
    r'error:"[a-z_]+"|isApiErrorMessage|\bfive_hour\b|rateLimitType|retryAttempt|retryInMs|apiErrorStatus|errorDetails|'
    r'"api_error"|maxRetries|is_api_error|overage|spend_limit|out_of_credits'
)


class Source(NamedTuple):
    """Where a release holds its text, below its folder; the marks that its own strings stand by."""

    files: str
    marks: re.Pattern[str] | None = None


SOURCES = {
    "claude": Source(releases.PACKAGES["claude"].native[0], _CLAUDE),
    "codex": Source("node_modules/@openai/codex-*/vendor/*/bin/codex"),
    "gemini": Source("node_modules/@google/gemini-cli/bundle/*.js", _COMMON),
    "opencode": Source(releases.PACKAGES["opencode"].native[0], _COMMON),
    "qwen": Source("node_modules/@qwen-code/qwen-code/chunks/*.js", _COMMON),
    "kimi": Source("node_modules/@moonshot-ai/kimi-code/dist/main.mjs", _COMMON),
    "cline": Source(releases.PACKAGES["cline"].native[0], _COMMON),
    "pi": Source("node_modules/@earendil-works/pi-coding-agent/dist/bundle/**/*.js", _COMMON),
    "aider": Source("lib/*/site-packages/aider/**/*.py"),
}
PACKED = {"copilot": "its text is packed", "amp": "its text is packed"}

Row = dict[str, Any]
_FILLED = (  # what stands around a value: something that it could be
    (r"\{\}(?= (?:more )?(?:seconds|minutes|hours)\b)", "40"),
    (r"(?<=\S)(?<![(/:#{}])\{\}(?:\{\})*$", ""),  # an ending that may be there or not
    (r"^\{\}(?= (?:requires|needs|limit) )", "Fable 5"),
    (r"^\{\}", "API Error"),
    (r"(?<=(?:hit|reached) your )\{\}(?:\{\})*", "session limit"),
    (r"(?<=resets )\{\}|(?<=resets at )\{\}|\{when\}", "at 3pm"),
    (r"(?<=\b(?:in|up to|for|after) )\{\}(?:m?s\b)?", "40s"),
    (r"(?<=\()\{\}(?=/)|(?<=[Aa]ttempt )\{\}", "2"),
    (r"(?<=/)\{\}", "10"),
    (r"(?<=status )\{\}|(?<=status: )\{\}|(?<=HTTP )\{\}|(?<=code: )\{\}|(?<=API \()\{\}", "503"),
)


def filled(text: str) -> str:
    """A string of a release with something plausible in place of each value."""
    for place, value in _FILLED:
        text = regex.sub(place, value, text)
    return text.replace("{}", "it")


def drawn(agent: str, kind: str, text: str, shown: str = "") -> str:
    """The screen on which an agent shows a string; `shown` is what stands there where filling it in is not enough."""
    draw = {picking.RETRY: drawing.retry, picking.QUESTION: drawing.question}.get(kind, drawing.failure)
    return draw(agent, shown or filled(text))


def verdict(agent: str, kind: str, text: str, shown: str = "") -> dict[str, str]:
    """What the judge makes of a string: its outcome, and its cause when it has one."""
    pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text=drawn(agent, kind, text, shown), tz="UTC", agent=agent)
    found = judge(pane, agentfiles.load(agent), Rules())
    return {"outcome": found.outcome} | ({"cause": found.cause} if found.cause else {})


def strings(release: releases.Release) -> dict[str, str]:
    """The strings of an installed release that announce something, with their kinds."""
    source = SOURCES[release.agent]
    files = sorted(release.folder.glob(source.files))
    if not files:
        raise releases.Missing(f"{release.agent} {release.version} holds no {source.files}")
    return picking.picked(found for file in files for found in literals.of_file(file, source.marks))


class Change(NamedTuple):
    """One difference, as it is printed."""

    what: str  # new, gone, judged, proposed
    text: str
    detail: str = ""


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def expected(rows: list[Row], version: str) -> list[Row]:
    """The rows that a version should still have; outside of what is recorded, those of the nearest recorded one."""
    if not rows:
        return []
    newest = max((row["last"] for row in rows), key=_numbers)
    oldest = min((row["first"] for row in rows), key=_numbers)
    at = min(max(_numbers(version), _numbers(oldest)), _numbers(newest))
    return [row for row in rows if _numbers(row["first"]) <= at <= _numbers(row["last"])]


def _told(found: Mapping[str, Any]) -> str:
    return " ".join(str(found[key]) for key in ("outcome", "cause") if found.get(key)) or "ends nothing"


def compare(agent: str, version: str, found: dict[str, str], rows: list[Row]) -> list[Change]:
    """What differs between the strings of a version, with their kinds, and the rows of its agent.

    A row without an outcome is known to end nothing, and is not judged. An `owed` one is judged wrong, as is known.
    """
    known = {row["text"]: row for row in rows}
    changes = [
        Change("new", text, f"{kind}, judged {_told(verdict(agent, kind, text))}")
        for text, kind in found.items()
        if text not in known
    ]
    changes += [
        Change("gone", row["text"], f"last in {row['last']}")
        for row in expected(rows, version)
        if row["text"] not in found
    ]
    for text in found:
        row = known.get(text, {})
        if row.get("proposed"):
            changes.append(Change("proposed", text, f"{_told(row)}? a person has to say so"))
        elif row.get("outcome") and ((now := judged(row)) != right(row)) is not row.get("owed", False):
            told = f"{_told(now)}, should be {_told(row)}" if now != right(row) else f"{_told(now)}, no more owed"
            changes.append(Change("judged", text, told))
    return changes


def judged(row: Row) -> dict[str, str]:
    """What the judge makes of a row today."""
    return verdict(row["agent"], row["kind"], row["text"], row.get("shown", ""))


def right(row: Row) -> Row:
    """The verdict that a person decided on for a row, as `verdict` gives it."""
    return {key: row[key] for key in ("outcome", "cause") if row.get(key)}


def recorded(agent: str, version: str, found: dict[str, str], rows: list[Row]) -> list[Row]:
    """The rows of an agent after a version's strings are taken in: spans grow, new ones are proposals."""
    after = {row["text"]: dict(row) for row in rows}
    for text, kind in found.items():
        new = {"agent": agent, "kind": kind, "text": text, **verdict(agent, kind, text)}
        row = after.setdefault(text, new | {"first": version, "last": version, "proposed": True})
        row["first"] = min(row["first"], version, key=_numbers)
        row["last"] = max(row["last"], version, key=_numbers)
    return [after[text] for text in sorted(after)]


def between(agent: str, found: dict[str, str], before: dict[str, str]) -> list[Change]:
    """What differs between the strings of two releases."""
    new = [
        Change("new", text, f"{kind}, judged {_told(verdict(agent, kind, text))}")
        for text, kind in found.items()
        if text not in before
    ]
    return new + [Change("gone", text, before[text]) for text in before if text not in found]


def report(title: str, changes: list[Change]) -> Iterable[str]:
    """The lines for an agent: a count, then the differences, the first of many."""
    counts = {what: sum(change.what == what for change in changes) for what in ("new", "gone", "judged", "proposed")}
    yield f"{title}: " + (", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing differs")
    for change in changes[:SHOWN]:
        yield f"  {change.what:<8} {change.text}" + (f"  [{change.detail}]" if change.detail else "")
    if len(changes) > SHOWN:
        yield f"  and {len(changes) - SHOWN} more"


def load() -> tuple[list[Row], list[Row]]:
    """The rows of the file: those of the agent files' phrases, and those of releases."""
    rows = [json.loads(line) for line in WORDINGS.read_text().splitlines()]
    return [row for row in rows if "phrase" in row], [row for row in rows if "phrase" not in row]


def save(phrases: list[Row], rows: list[Row]) -> None:
    """Writes the file anew, the rows of releases by agent and text."""
    ordered = sorted(rows, key=lambda row: (row["agent"], row["text"]))
    WORDINGS.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in phrases + ordered))


def agents_of(env: Mapping[str, str]) -> list[str]:
    """The agents that the environment asks for. Raises Missing for one whose text cannot be read."""
    asked = re.split(r"[\s,]+", env.get("AGENTS", "").strip())
    agents = asked if asked != [""] else [agent for agent in SOURCES if env.get(agent.upper())] or list(SOURCES)
    for agent in agents:
        if agent not in SOURCES:
            why = PACKED.get(agent) or releases.NO_PACKAGE.get(agent) or f"there are {', '.join(SOURCES)}"
            raise releases.Missing(f"{agent} cannot be read: {why}")
    return agents


def changes_of(agent: str, env: Mapping[str, str]) -> tuple[str, list[Change]]:
    """An agent's release, named, and what differs in it; recorded when that is asked for. Raises Missing."""
    release = releases.install(agent, releases.pinned(agent, env))
    found = strings(release)
    title = f"{agent} {release.version}, {len(found)} strings" + (f" ({release.note})" if release.note else "")
    if since := env.get("SINCE"):
        return f"{title}, since {since}", between(agent, found, strings(releases.install(agent, since)))
    phrases, rows = load()
    mine = [row for row in rows if row["agent"] == agent]
    changes = compare(agent, release.version, found, mine)
    if env.get("RECORD"):
        others = [row for row in rows if row["agent"] != agent]
        save(phrases, others + recorded(agent, release.version, found, mine))
    return title, changes


def main(env: Mapping[str, str]) -> int:
    """Prints what differs, for each agent that is asked for; the exit status."""
    status = 0
    try:
        agents = agents_of(env)
        if env.get("SINCE") and len(agents) != 1:
            raise releases.Missing("SINCE compares two releases of one agent; name it with AGENTS=")
    except releases.Missing as missing:
        print(f"drift.py: {missing}", file=sys.stderr)
        return releases.CANNOT
    for agent in agents:
        try:
            title, changes = changes_of(agent, env)
        except releases.Missing as missing:
            print(f"drift.py: {missing}", file=sys.stderr)
            status = status or releases.CANNOT
            continue
        print("\n".join(report(title, changes)), flush=True)
        status = 1 if changes else status
    return status


if __name__ == "__main__":
    sys.exit(main(os.environ))
