"""`python -m tests.live`: try the real agents. `python -m tests.live keep FILE ...`: make samples of candidates.

Asked for by the environment: AGENTS="claude codex", CLAUDE=2.1.332 (a release of one agent), FULL=1 (every cell),
ONLY=resize (the cells whose name holds it), RECORD=1 (write docs/live.md and docs/live.jsonl), FLOWS=1 (whole flows
under fleetd, in place of the matrix). Exit status: 0 all right, 1 something was not, 77 something it takes is missing.
"""

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
for place in (TESTS, TESTS.parent):
    sys.path.insert(0, str(place))

from live import candidates, flows, lab, matrix, namespace, releases, report  # noqa: E402
from live.matrix import Installed  # noqa: E402
from live.situations import Result  # noqa: E402
from sandbox import ROOT  # noqa: E402  its folder had to be named first

OUT = ROOT / ".live" / "out"
USUAL = ("claude", "codex", "gemini", "opencode", "qwen", "kimi")
INSTALLED = "FLEET_LIVE_INSTALLED"


def main(arguments: list[str]) -> int:
    """Do what was asked for; the exit status."""
    if arguments[:1] == ["keep"]:
        return _keep([Path(name) for name in arguments[1:]])
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    if not namespace.inside():
        if why := namespace.missing():
            namespace.give_up(why)
        os.environ[INSTALLED] = json.dumps(_install(_asked()))
        os.chdir(ROOT)
        return namespace.enter(["-m", "tests.live"])
    namespace.raise_loopback()
    OUT.mkdir(parents=True, exist_ok=True)
    return _flows(_installed()) if os.environ.get("FLOWS") == "1" else _matrix(_installed())


def _asked() -> list[str]:
    known = lab.agents()
    asked = os.environ.get("AGENTS", "").split() or list(USUAL)
    for name in asked:
        if name not in known:
            raise SystemExit(f"live: no agent is called {name}; there are {', '.join(known)}")
    return asked


def _install(names: list[str]) -> list[list[str]]:
    """Each agent's newest release, or the one that was pinned: its name, version and PATH."""
    found = []
    for name in names:
        try:
            release = releases.install(name, releases.pinned(name, os.environ))
        except releases.Missing as missing:
            namespace.give_up(str(missing))
        print(f"{name} {release.version}{f' ({release.note})' if release.note else ''}", flush=True)
        found.append([name, release.version, ":".join([*release.path, "/usr/local/bin", "/usr/bin", "/bin"])])
    return found


def _installed() -> list[Installed]:
    known = lab.agents()
    return [Installed(known[name], version, path) for name, version, path in json.loads(os.environ[INSTALLED])]


def _matrix(installed: list[Installed]) -> int:
    began, names = time.monotonic(), candidates.private()
    table = OUT / "table.jsonl"
    before = report.read(table.read_text()) if table.exists() else []

    def told(result: Result) -> None:
        shown = report.said(report.row(result, ""))
        print(f"{'right' if result.ok else 'WRONG'}  {result.agent} {result.cell}: {shown}", flush=True)
        if not result.ok:
            print(result.checks[-1].screen.rstrip(), "\x1b[m", flush=True)
            for file in candidates.offer(ROOT / ".live" / "candidates", result, names):
                print(f"       kept as {file.relative_to(ROOT)}", flush=True)

    results = matrix.run(installed, os.environ.get("FULL") == "1", OUT, told, os.environ.get("ONLY", ""))
    rows = report.write(OUT, results, f"{datetime.now(UTC):%Y-%m-%d}")
    print()
    for line in (*report.summary(rows), *(f"not as the run before: {one}" for one in report.differences(before, rows))):
        print(line)
    print(f"{len(rows)} cells in {time.monotonic() - began:.0f} s")
    if os.environ.get("RECORD") == "1":
        _record(rows)
    return 0 if all(one["right"] for one in rows) else 1


def _record(rows: list[report.Row]) -> None:
    """Put the rows into docs/, in place of what was there of their agents."""
    kept = ROOT / "docs" / "live.jsonl"
    old = report.read(kept.read_text()) if kept.exists() else []
    now = {row["agent"] for row in rows}
    rows = [row for row in old if row["agent"] not in now] + rows
    kept.write_text(report.lines(rows))
    titles = {name: agent.title for name, agent in lab.agents().items()}
    (ROOT / "docs" / "live.md").write_text(report.page(report.read(report.lines(rows)), titles))


def _flows(installed: list[Installed]) -> int:
    kept = OUT.with_name("flows")
    kept.mkdir(parents=True, exist_ok=True)
    outcomes = flows.run(installed, kept)
    wrong = sum(bool(one.wrong) for one in outcomes)
    print(f"{len(outcomes)} flows, {wrong} wrong")
    return 1 if wrong else 0


def _keep(files: list[Path]) -> int:
    status = 0
    for file in files:
        name, right = candidates.keep(file)
        print(f"samples/screens/{name}: {'judged right' if right else 'judged wrong as yet'}")
        status |= not right
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
