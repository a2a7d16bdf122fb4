"""Members that nobody marked: which agent runs in a pane, and which account it spends."""

from typing import Any, NamedTuple

import pytest
from terminals import Process

from fleettools.adapters import agentfiles
from fleettools.policy import discovery
from fleettools.policy.discovery import Agent


class Source(NamedTuple):
    """Where an account can be told from."""

    env: tuple[str, ...] = ()
    file: str | None = None
    at: tuple[str, ...] = ()


AGENTS = {"claude": Agent(frozenset({"claude"}), ()), "gemini": Agent(frozenset({"gemini"}), ())}
HERE = [
    ("an agent of its own", [("claude",)], "claude"),
    ("a script behind node", [("node", "--no-warnings", "/usr/bin/gemini")], "gemini"),
    ("a shell", [("-bash",)], None),
    ("a program that only has the agent in its words", [("vim", "claude")], None),
    ("an agent behind a shell that started it", [("sh", "-c", "claude"), ("claude",)], "claude"),
    ("a script that only happens to be called so", [("python3", "/home/me/claude.py")], None),
    ("nothing", [], None),
]


@pytest.mark.parametrize(("programs", "agent"), [row[1:] for row in HERE], ids=[row[0] for row in HERE])
def test_the_agent_is_known_by_its_program_or_script(programs: list[tuple[str, ...]], agent: str | None) -> None:
    processes = [Process(pid, words) for pid, words in enumerate(programs, 10)]
    found = discovery.found(processes, AGENTS)
    assert (found and found.agent) == agent


ENV = {"HOME": "/home/me", "KEY": "sk-secret", "DIR": "/other"}
FILES: dict[str, Any] = {"/home/me/a.json": {"who": {"id": "one"}}, "/other/a.json": {"who": {"id": "two"}, "n": 7}}
SOURCES = [
    ("a key", [Source(env=("KEY",))], "KEY=sk-secret"),
    ("several variables count together", [Source(env=("KEY", "NONE", "DIR"))], "KEY=sk-secret\0DIR=/other"),
    ("the first source that says anything", [Source(env=("NONE",)), Source(env=("KEY",))], "KEY=sk-secret"),
    ("a file below the home", [Source(file="~/a.json", at=("who", "id"))], "one"),
    ("a file where a variable says", [Source(file="${DIR:-~}/a.json", at=("who", "id"))], "two"),
    ("a file where no variable says", [Source(file="${NONE:-~}/a.json", at=("who", "id"))], "one"),
    ("a file that is not there", [Source(file="~/b.json", at=("who",)), Source(env=("KEY",))], "KEY=sk-secret"),
    ("a key that leads nowhere", [Source(file="~/a.json", at=("who", "id", "x"))], None),
    ("a key that leads to no text", [Source(file="/other/a.json", at=("n",))], None),
    ("nothing that is set", [Source(env=("NONE",))], None),
]


@pytest.mark.parametrize(("sources", "said"), [row[1:] for row in SOURCES], ids=[row[0] for row in SOURCES])
def test_an_account_is_what_the_first_source_says(sources: list[Source], said: str | None) -> None:
    account = discovery.account(sources, ENV, FILES.get)
    assert (account and account.digits) == (said and discovery.fingerprint(said))


TOLD_BY = [
    ("variables", [Source(env=("KEY", "NONE", "DIR"))], "$KEY $DIR"),
    ("a file below the home", [Source(file="~/a.json", at=("who", "id"))], "~/a.json"),
    ("a file elsewhere", [Source(file="${DIR:-~}/a.json", at=("who", "id"))], "/other/a.json"),
]


@pytest.mark.parametrize(("sources", "place"), [row[1:] for row in TOLD_BY], ids=[row[0] for row in TOLD_BY])
def test_a_person_is_shown_where_an_account_was_told_from(sources: list[Source], place: str) -> None:
    account = discovery.account(sources, ENV, FILES.get)
    assert account is not None
    assert account.told_by == place


def test_an_agent_without_sources_is_told_apart_by_the_keys_of_providers() -> None:
    one, other = ({"OPENAI_API_KEY": key} for key in ("sk-1", "sk-2"))
    found = {discovery.account((), env, FILES.get) for env in (one, other, {})}
    assert len(found) == 3
    assert None in found


def test_a_home_that_is_not_known_tells_nothing() -> None:
    assert discovery.account([Source(file="~/a.json", at=("who", "id"))], {}, FILES.get) is None


def test_a_fingerprint_is_short_and_holds_nothing_of_the_key() -> None:
    print_ = discovery.fingerprint("KEY=sk-secret")
    assert len(print_) == 6
    assert int(print_, 16) >= 0
    assert discovery.fingerprint("KEY=sk-secret") == print_ != discovery.fingerprint("KEY=sk-secreu")


PROFILES = [
    ("claude", "claude", True), ("claude-1f9a03", "claude", True), ("claude-a", "claude", False),
    ("claude-1f9a03x", "claude", False), ("codex", "claude", False), (None, None, False), ("claude", None, False),
]  # fmt: skip


@pytest.mark.parametrize(("profile", "agent", "found"), PROFILES)
def test_a_profile_that_was_found_is_known_by_its_name(profile: str | None, agent: str | None, found: bool) -> None:
    assert discovery.is_found(profile, agent) is found


def test_a_seat_says_agent_and_account() -> None:
    assert discovery.seat("claude", "1f9a03")[:2] == ("claude-1f9a03", "claude")
    assert discovery.seat("claude", None)[:2] == ("claude", "claude")


# What each agent's own file says, on a home like that of a user of two accounts.
HOMES = [
    ("claude", {"HOME": "/h"}, "/h/.claude.json", {"oauthAccount": {"accountUuid": "u1"}}),
    ("claude", {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json", {"oauthAccount": {"accountUuid": "u1"}}),
    ("codex", {"HOME": "/h"}, "/h/.codex/auth.json", {"tokens": {"account_id": "u1"}}),
    ("codex", {"HOME": "/h", "CODEX_HOME": "/c"}, "/c/auth.json", {"tokens": {"account_id": "u1"}}),
    ("copilot", {"HOME": "/h"}, "/h/.copilot/config.json", {"last_logged_in_user": {"login": "u1"}}),
    ("gemini", {"HOME": "/h"}, "/h/.gemini/google_accounts.json", {"active": "u1"}),
]


@pytest.mark.parametrize(("agent", "env", "path", "value"), HOMES)
def test_an_agents_own_file_names_the_account(agent: str, env: dict[str, str], path: str, value: Any) -> None:
    look = agentfiles.load(agent)
    assert look is not None
    account = discovery.account(look.account, env, {path: value}.get)
    assert (account and account.digits) == discovery.fingerprint("u1")


KEYS = [
    ("claude", "ANTHROPIC_API_KEY"), ("claude", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME"),
    ("codex", "OPENAI_API_KEY"), ("gemini", "GEMINI_API_KEY"), ("aider", "OPENAI_API_KEY"),
    ("qwen", "OPENAI_BASE_URL"), ("amp", "AMP_API_KEY"), ("cursor", "CURSOR_API_KEY"), ("copilot", "GH_TOKEN"),
]  # fmt: skip


@pytest.mark.parametrize(("agent", "variable"), KEYS)
def test_a_variable_alone_tells_two_accounts_apart(agent: str, variable: str) -> None:
    look = agentfiles.load(agent)
    assert look is not None
    found = {discovery.account(look.account, {"HOME": "/h", variable: value}, {}.get) for value in ("1", "2")}
    assert len(found - {None}) == 2
