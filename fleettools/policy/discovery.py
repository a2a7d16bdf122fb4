"""Members that nobody marked: panes that run an agent, and the account that tells their credentials apart.

An account is a fingerprint of what the process itself says: the first of its agent's sources that says anything counts,
so a key given in the environment may go before the account in a file, or after it, as the agent itself does it.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fleettools.policy.foreground import Process, living, names
from fleettools.policy.members.seats import Seat

DIGITS = 6
# What any agent may be told to spend, for agents whose file names no source.
_PROVIDERS = "ANTHROPIC OPENAI OPENROUTER GEMINI GOOGLE DEEPSEEK MISTRAL XAI GROQ MOONSHOT DASHSCOPE ZAI"
PROVIDER_KEYS = tuple(f"{name}_API_KEY" for name in _PROVIDERS.split())
_HOME = re.compile(r"\$\{(\w+):-([^}]*)\}")


class Source(Protocol):
    """Where an account can be told from: variables, all of those that are set; or a file, by keys that lead to it."""

    @property
    def env(self) -> Sequence[str]:
        """Names of variables."""

    @property
    def file(self) -> str | None:
        """A file of JSON, None for variables."""

    @property
    def at(self) -> Sequence[str]:
        """The keys that lead to the account's name in the file."""


class Agent(NamedTuple):
    """An agent that may be found: the names of its programs, and where its account can be told from."""

    commands: frozenset[str]
    account: Sequence[Source]


class Found(NamedTuple):
    """An agent in a pane, and its process."""

    agent: str
    pid: int


def found(processes: Iterable[Process], agents: Mapping[str, Agent]) -> Found | None:
    """The agent among the programs that read a terminal, None when there is none."""
    for process in living(processes):
        known = names(process.words)
        # A script `agent.py` is nobody's; an agent is installed under its bare name.
        called = [name for name in known if not any(other.startswith(f"{name}.") for other in known)]
        for name, agent in agents.items():
            if not agent.commands.isdisjoint(called):
                return Found(name, process.pid)
    return None


class Account(NamedTuple):
    """Whose account a process spends: its fingerprint, and where a person finds it: a file, or variables (`$KEY`)."""

    digits: str
    told_by: str


def account(sources: Iterable[Source], env: Mapping[str, str], read: Callable[[str], Any]) -> Account | None:
    """The account that a process spends, None when it cannot be told.

    `env` is the environment of the process; `read` gives the JSON value of a file, None when it cannot be read.
    """
    known = list(sources)
    for source in known:
        if found := _variables(source.env, env) if source.file is None else _filed(source, env, read):
            return found
    return None if known else _variables(PROVIDER_KEYS, env)


def _filed(source: Source, env: Mapping[str, str], read: Callable[[str], Any]) -> Account | None:
    path = place(source.file or "", env)
    value = read(path) if path else None
    for key in source.at:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, str) or not value:
        return None
    home = env.get("HOME", "").rstrip("/")
    shown = f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}/") else path
    return Account(fingerprint(value), shown)


def _variables(wanted: Iterable[str], env: Mapping[str, str]) -> Account | None:
    there = [name for name in wanted if env.get(name)]
    if not there:
        return None
    digits = fingerprint("\0".join(f"{name}={env[name]}" for name in there))
    return Account(digits, " ".join(f"${name}" for name in there))


def place(template: str, env: Mapping[str, str]) -> str:
    """The path that `${CODEX_HOME:-~/.codex}/auth.json` means to a process; "" when its home is not known."""
    path = _HOME.sub(lambda found: env.get(found[1]) or found[2], template)
    if not path.startswith("~"):
        return path
    return env["HOME"] + path[1:] if env.get("HOME") else ""


def fingerprint(text: str) -> str:
    """Six hexadecimal digits that stand for a text: enough to tell accounts apart, too few to tell what it was."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:DIGITS]


def seat(agent: str, account: str | None) -> Seat:
    """The seat of a member that was found."""
    return Seat(profile=f"{agent}-{account}" if account else agent, agent=agent, role="member")


def is_found(profile: str | None, agent: str | None) -> bool:
    """Whether a member's profile is one that `seat` gives."""
    return bool(agent) and bool(re.fullmatch(rf"{re.escape(agent or '')}(-[0-9a-f]{{{DIGITS}}})?", profile or ""))
