"""Screens that were judged wrong: kept without what is private, and made into samples.

    python -m tests.live keep .live/candidates/claude/in-stream--long--failure.txt

moves one into samples/screens with its row in index.jsonl, by which `fleet-replay samples/screens` judges it from
then on.
"""

import json
import os
import pwd
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from live.lab import COLS
from live.situations import Check, Result
from sandbox import ROOT

from fleettools.screens.scrub import scrubbed

SAMPLES = ROOT / "samples" / "screens"
PLACES = r"/(?:var/)?tmp/fleet-[\w.-]+(?:/[\w.-]+)?|/home/[\w.-]+|/root(?![\w.-])"


def clean(text: str, private: dict[str, str]) -> str:
    """A screen without secrets, folders of this machine, and these names; what stands behind stays in its column."""
    text = _replaced(PLACES, "/home/me", scrubbed(text))
    for name, other in private.items():
        text = _replaced(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", other, text)
    return text


def _replaced(pattern: str, other: str, text: str) -> str:
    return re.sub(pattern, lambda found: _put(found, other), text)


def _put(found: re.Match[str], other: str) -> str:
    """In place of a match, as wide as it was where only spaces follow up to the next column."""
    short = len(found[0]) - len(other)
    tail = re.match(r"\S*", found.string[found.end() :])
    end = found.end() + (tail.end() if tail else 0)
    gap = re.match(r" {2,}", found.string[end:])
    # Padding belongs behind the whole word; where the word goes on, its rest is short enough not to matter.
    return other + " " * short if short > 0 and gap and end == found.end() else other


def private() -> dict[str, str]:
    """Names of this machine and its user, and what stands for them; a name that is a plain word stays."""
    user = pwd.getpwuid(os.getuid()).pw_name
    names = {os.uname().nodename: "host", user: "me"}
    return {name: other for name, other in names.items() if len(name) > 2 and name != "root"}


def truth(check: Check) -> tuple[str, str | None, list[str]]:
    """The outcome and cause that a check wanted, and other outcomes that were right, too."""
    outcome, _, cause = check.right[0].partition("/")
    others = {one.partition("/")[0] for one in check.right} - {outcome}
    return outcome, cause or None, sorted(others)


def offer(folder: Path, result: Result, names: dict[str, str]) -> list[Path]:
    """Keep the screens of a cell's checks that were not right, each with its truth beside it; gives their files."""
    kept = []
    for check in result.checks:
        if check.ok or check.point == "start":
            continue
        place = folder / result.agent
        place.mkdir(parents=True, exist_ok=True)
        outcome, cause, others = truth(check)
        file = place / f"{result.cell.failure}--{result.cell.situation}--{check.point.replace(' ', '-')}.txt"
        told = {"agent": result.agent, "outcome": outcome, "cause": cause, "alsoRight": others, "title": check.title,
                "cols": COLS, "source": f"{result.agent} {result.version}", "said": check.said,
                "backend": result.cell.failure}  # fmt: skip
        file.write_text(clean(check.screen, names))
        file.with_suffix(".json").write_text(json.dumps(told, ensure_ascii=False) + "\n")
        kept.append(file)
    return kept


def keep(file: Path, samples: Path = SAMPLES) -> tuple[str, bool]:
    """Make a sample of a candidate; gives its name, and whether it is judged right already."""
    told: dict[str, Any] = json.loads(file.with_suffix(".json").read_text())
    name = f"{told['agent']}/{told['outcome']}--live-{file.stem.replace('--', '-')}.txt"
    (samples / told["agent"]).mkdir(parents=True, exist_ok=True)
    (samples / name).write_text(file.read_text())
    sample = {"file": name, "agent": told["agent"], "outcome": told["outcome"], "cause": told["cause"],
              "alsoRight": told["alsoRight"], "turnSeconds": None, "title": told["title"], "cols": told["cols"],
              "origin": "captured", "set": "live", "source": told["source"],
              "note": f"the backend did: {told['backend']}"}  # fmt: skip
    index = samples / "index.jsonl"
    rows = [line for line in _read(index) if json.loads(line)["file"] != name]
    rows.append(json.dumps(sample, ensure_ascii=False))
    index.write_text("".join(f"{line}\n" for line in sorted(rows, key=lambda line: str(json.loads(line)["file"]))))
    file.unlink()
    file.with_suffix(".json").unlink()
    return name, judged(samples, name)


def _read(index: Path) -> list[str]:
    return index.read_text().splitlines() if index.exists() else []


def judged(samples: Path, name: str) -> bool:
    """Whether fleet-replay judges one sample as its row wants it."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "fleettools.commands.replay",
        "--json",
        str(samples / name.partition("/")[0]),
    ]
    env = {"PATH": os.environ["PATH"], "HOME": str(samples), "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    found = [one for one in map(json.loads, done.stdout.splitlines()) if one["file"] == name]
    return bool(found) and not found[0]["wrong"]
