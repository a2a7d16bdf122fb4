"""Installs the releases of coding agents, each in a folder of its own: `python tests/live/releases.py [AGENT ...]`.

An environment variable with an agent's name in capitals pins its release: CLAUDE=2.1.290. What is installed already is
used again; a pinned release that is there needs no registry. Exit status 77: one could not be had, and why.
"""

import fcntl
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

CACHE = Path(__file__).resolve().parents[2] / ".live" / "agents"
CANNOT = 77  # exit status: what it takes is not there
PATIENCE = 600  # seconds for one installation
PLATFORM = (
    f"{platform.system().lower()}-{ {'x86_64': 'x64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine()) }"
)
VERSION = re.compile(r"\d+\.\d+\.\d+[\w.-]*")
NEVER_A_PIN = "1"  # opencode sets OPENCODE=1 for what it starts


class Missing(Exception):
    """What a release takes is not there; its text is one line for the user."""


class Package(NamedTuple):
    """Where an agent comes from."""

    name: str
    native: tuple[str, ...] = ()  # its own programs below the folder, first that is there; without one, Node runs it
    pip: bool = False


PACKAGES = {
    "claude": Package("@anthropic-ai/claude-code", (f"node_modules/@anthropic-ai/claude-code-{PLATFORM}/claude",)),
    "codex": Package("@openai/codex"),
    "gemini": Package("@google/gemini-cli"),
    "opencode": Package(
        "opencode-ai",
        (f"node_modules/opencode-{PLATFORM}-baseline/bin/opencode", f"node_modules/opencode-{PLATFORM}/bin/opencode"),
    ),
    "qwen": Package("@qwen-code/qwen-code"),
    "kimi": Package("@moonshot-ai/kimi-code"),
    "cline": Package("cline", (f"node_modules/@cline/cli-{PLATFORM}/bin/cline",)),
    "copilot": Package("@github/copilot"),
    "pi": Package("@earendil-works/pi-coding-agent"),
    "amp": Package("@ampcode/cli", (f"node_modules/@ampcode/cli-{PLATFORM}/amp",)),
    "aider": Package("aider-chat", ("bin/aider",), pip=True),
}
NO_PACKAGE = {
    "goose": "no package registry has it",
    "cursor": "no package registry has it",
    "agy": "no package registry has it",
    "crush": "its package only fetches it from elsewhere",
}
OTHERS = f"there are {', '.join(PACKAGES)}"


class Release(NamedTuple):
    """An installed release."""

    agent: str
    version: str
    folder: Path
    executable: Path
    path: tuple[str, ...]  # folders to stand first in PATH: the agent's, then its Node's
    note: str = ""  # why it is not the newest; empty when it is, or was asked for


class Offer(NamedTuple):
    """A release that a registry has, and the lowest Node that it asks for."""

    version: str
    node: tuple[int, ...]


def pinned(agent: str, env: Mapping[str, str]) -> str | None:
    """The version that the environment asks of an agent. Raises Missing for a value that is no version."""
    value = env.get(agent.upper(), "")
    if not value or value == NEVER_A_PIN:
        return None
    if not VERSION.fullmatch(value):
        raise Missing(f"{agent.upper()}={value} is no version; it wants three numbers, as in {agent.upper()}=1.2.3")
    return value


def node_asked(engines: object) -> tuple[int, ...]:
    """The lowest Node that a package's `engines` allow, as in (22, 19, 0); empty when they ask for none."""
    text = engines.get("node", "") if isinstance(engines, dict) else ""
    lows = [
        tuple(int(number or 0) for number in found.groups())
        for found in re.finditer(r"(?<![<\d.])(?:>=|\^|~|=|\b)\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?", str(text))
    ]
    return min(lows, default=())


def newest_for(offers: list[Offer], node: tuple[int, ...]) -> Offer | None:
    """The newest full release that a Node can run."""
    plain = [offer for offer in offers if re.fullmatch(r"\d+\.\d+\.\d+", offer.version) and offer.node <= node]
    return max(plain, key=lambda offer: [int(part) for part in offer.version.split(".")], default=None)


def install(agent: str, version: str | None = None, cache: Path = CACHE) -> Release:
    """An installed release of an agent, the newest that runs here without a version. Raises Missing."""
    package = PACKAGES.get(agent)
    if package is None:
        raise Missing(f"{agent} cannot be installed: {NO_PACKAGE.get(agent, OTHERS)}")
    (cache / agent).mkdir(parents=True, exist_ok=True)
    with (cache / agent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return (_from_pip if package.pip else _from_npm)(agent, package, version, cache)


def _from_npm(agent: str, package: Package, version: str | None, cache: Path) -> Release:
    if not shutil.which("npm"):
        raise Missing(f"{agent} needs Node and npm, which are not installed")
    note = ""
    if version is None:
        offer = _offers(agent, f"{package.name}@latest")[0]
        if not package.native and not _node_for(offer.node, cache):
            wanted = ".".join(map(str, offer.node))
            lesser = newest_for(_offers(agent, f"{package.name}@*"), _own_node())
            if lesser is None:
                raise Missing(f"{agent} {offer.version} needs Node {wanted} and no release runs with an older one")
            note = f"the newest, {offer.version}, needs Node {wanted}"
            offer = lesser
        version = offer.version
    folder = cache / agent / version
    if not _complete(folder):
        _npm_install(agent, folder, f"{package.name}@{version}")
    for native in package.native:
        if (folder / native).exists():
            return Release(agent, version, folder, folder / native, (str((folder / native).parent),), note)
    executable = folder / "node_modules" / ".bin" / agent
    if not executable.exists():
        raise Missing(f"{agent} {version} holds no program for {PLATFORM}")
    manifest = json.loads((folder / "node_modules" / package.name / "package.json").read_text())
    asked = node_asked(manifest.get("engines"))
    node = _node_for(asked, cache)
    if node is None:
        raise Missing(f"{agent} {version} needs Node {'.'.join(map(str, asked))}, which is not to be had")
    return Release(agent, version, folder, executable, (str(executable.parent), node), note)


def _npm_install(agent: str, folder: Path, spec: str) -> None:
    with _fresh(folder):
        (folder / "package.json").write_text("{}")
        _run(agent, ["npm", "install", *QUIET, "--prefix", str(folder), spec])


QUIET = (
    "--ignore-scripts",
    "--include=optional",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--loglevel=error",
)


def _offers(agent: str, spec: str) -> list[Offer]:
    """What the registry has for a package's name and range, oldest first; at least one."""
    told = json.loads(_run(agent, ["npm", "view", spec, "version", "engines", "--json"]) or "[]")
    rows = told if isinstance(told, list) else [told]
    offers = [  # a package that asks for no engines is told of by its version alone
        Offer(row["version"], node_asked(row.get("engines"))) if isinstance(row, dict) else Offer(str(row), ())
        for row in rows
    ]
    if not offers:
        raise Missing(f"{agent} cannot be installed: the registry has no {spec}")
    return offers


def _own_node() -> tuple[int, ...]:
    node = shutil.which("node")
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout if node else ""
    return tuple(int(number) for number in re.findall(r"\d+", told)[:3])


def _node_for(asked: tuple[int, ...], cache: Path) -> str | None:
    """The folder of a Node that is new enough: the machine's own, or else one of the registry's; None without any."""
    own = shutil.which("node")
    if own and asked <= _own_node():
        return str(Path(own).parent)
    package, lowest = f"node-{PLATFORM}", ".".join(map(str, asked))
    folder = cache / "node" / lowest
    program = folder / "node_modules" / package / "bin" / "node"
    if not _complete(folder):
        try:
            _npm_install("node", folder, f"{package}@^{lowest}")
        except Missing:
            return None
    return str(program.parent) if program.exists() else None


def _from_pip(agent: str, package: Package, version: str | None, cache: Path) -> Release:
    if version is None:
        look = ["install", "--dry-run", "--no-deps", "--ignore-installed", "--quiet", "--report", "-", package.name]
        report: dict[str, Any] = json.loads(_run(agent, [*PIP, *look]))
        version = str(report["install"][0]["metadata"]["version"])
    folder = cache / agent / version
    if not _complete(folder):
        with _fresh(folder):
            _run(agent, [sys.executable, "-m", "venv", str(folder)])
            pip = [str(folder / "bin" / "python"), *PIP[1:]]
            _run(agent, [*pip, "install", "--quiet", "--only-binary", ":all:", f"{package.name}=={version}"])
    executable = folder / package.native[0]
    return Release(agent, version, folder, executable, (str(executable.parent),))


PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def _complete(folder: Path) -> bool:
    return (folder / ".complete").exists()


@contextmanager
def _fresh(folder: Path) -> Iterator[None]:
    """An empty folder to install into; what fails or is killed leaves none that counts as complete."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield
    except Missing:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    (folder / ".complete").touch()


def _run(agent: str, command: list[str]) -> str:
    """What an installer prints. Raises Missing with the last of what it complains of."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Missing(f"{agent} cannot be installed: {command[0]} did not end within {PATIENCE} s") from None
    if done.returncode:
        raise Missing(f"{agent} cannot be installed: {complaint(done.stderr) or f'{command[0]} failed'}")
    return done.stdout


def complaint(stderr: str) -> str:
    """The line of an installer's that says most: the first that is a sentence, the last without one."""
    lines = [re.sub(r"^(?:npm error|ERROR:)\s*", "", line).strip() for line in stderr.splitlines()]
    lines = [line for line in lines if line]
    return next((line for line in lines if len(line.split()) > 3), lines[-1] if lines else "")


def main(agents: list[str]) -> int:
    """Installs the agents named, all without a name, and prints a line for each; the exit status."""
    status = 0
    for agent in agents or PACKAGES:
        try:
            release = install(agent, pinned(agent, os.environ))
        except Missing as missing:
            print(f"releases.py: {missing}", file=sys.stderr)
            status = CANNOT
            continue
        print("\t".join([release.agent, release.version, str(release.executable), release.note]).rstrip(), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
