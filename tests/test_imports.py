"""Start-up time is a feature: what a command loads to deal with one record is listed here, and it loads no more."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"rich", "asyncio", "importlib.metadata", "psycopg", "mcp", "regex", "yaml", "sqlite3", "zoneinfo", "difflib"}
TS = "2026-01-31T12:00:00.000Z"
PANE = {
    "type": "pane",
    "ts": TS,
    "server": "h:/s:1",
    "target": "%1",
    "agent": "claude",
    "text": "❯ hello\n\n● Hello.\n",
}
ERROR = {
    "type": "verdict", "ts": TS, "server": "h:/s:1", "target": "%1", "profile": "one", "role": "member",
    "outcome": "backend_error", "cause": "overload", "screen": "a:1", "event": "e",
}  # fmt: skip
HOOK = {"hook_event_name": "Stop", "session_id": "s"}
CONFIG = "profiles:\n  one: {agent: claude, command: claude, credentialId: team-a, maxMembers: 4}\n"


def imported(command: str, args: list[str], record: dict[str, str] | None, folder: Path) -> set[str]:
    """The modules that a command has imported when it has dealt with one record."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    argv = [sys.executable, "-X", "importtime", "-m", f"fleettools.commands.{command}", *args]
    line = json.dumps(record).encode() if record else b""
    done = subprocess.run(argv, input=line, capture_output=True, cwd=folder, env=env, timeout=60)
    assert done.returncode in (0, 1, 75), done.stderr.decode()
    return {row.rpartition(b"|")[2].strip().decode() for row in done.stderr.splitlines() if b"import time:" in row}


def loaded(command: str, args: list[str], record: dict[str, str] | None, folder: Path) -> set[str]:
    """The heavy ones among them."""
    return imported(command, args, record, folder) & HEAVY


STARTED = ["classify", "resolve", "correlate", "notify", "scrape", "gate", "list", "timeline", "fleetd", "mcp"]


@pytest.mark.parametrize("command", STARTED)
@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(command: str, flag: str, tmp_path: Path) -> None:
    assert loaded(command, [flag], None, tmp_path) == set()


@pytest.mark.parametrize(
    ("command", "args", "record", "expected"),
    [
        pytest.param("classify", [], PANE | {"agent": ""}, {"regex"}, id="classify, the legacy pattern"),
        pytest.param("classify", [], PANE, {"yaml"}, id="classify reads the agent's file"),
        pytest.param("correlate", ["--state", "memory:"], ERROR, set(), id="correlate in memory"),
        pytest.param("correlate", [], ERROR, {"sqlite3"}, id="correlate on SQLite"),
        pytest.param("resolve", [], ERROR, {"sqlite3"}, id="resolve on SQLite"),
        pytest.param("gate", ["--profile", "one"], None, {"sqlite3"}, id="gate without a configuration"),
        pytest.param("gate", [], {"type": "spawn", "profile": "one"}, {"sqlite3"}, id="gate as a filter"),
        pytest.param("list", [], None, {"sqlite3"}, id="the fleet in a pipe"),
        pytest.param("list", ["--status"], None, {"sqlite3"}, id="tmux's status line"),
        pytest.param("profiles", [], None, {"sqlite3"}, id="the profiles in a pipe"),
        pytest.param("collect", [], None, {"sqlite3"}, id="collect with nothing to collect"),
        pytest.param("timeline", ["--json"], ERROR, set(), id="the story as an object"),
        pytest.param("notify", ["--pending"], None, {"sqlite3"}, id="the outbox"),
        pytest.param("hook", ["--agent", "claude"], HOOK, set(), id="a hook"),
        pytest.param("hook", ["--agent", "claude", "--post"], HOOK, set(), id="a hook that posts"),
    ],
)
def test_a_command_loads_what_its_record_needs(
    command: str, args: list[str], record: dict[str, str] | None, expected: set[str], tmp_path: Path
) -> None:
    assert loaded(command, args, record, tmp_path) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import fleettools", {"fleettools"}),
        ("import fleettools; fleettools.__version__; dir(fleettools)", {"fleettools"}),
        ("import fleettools; fleettools.Pane; fleettools.FleetError", {"msgspec", "fleettools.records"}),
        ("import fleettools; fleettools.judge; fleettools.Gate", {"msgspec", "fleettools.records"}),
    ],
)
def test_the_module_loads_nothing_until_a_name_is_asked_for(code: str, expected: set[str]) -> None:
    words = [sys.executable, "-c", f"import sys; before = set(sys.modules); {code}; print(*set(sys.modules) - before)"]
    names = set(subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout.split())
    assert expected <= names
    assert expected != {"fleettools"} or names == expected
    assert not names & {"click", "fleettools.config", "fleettools.services", "fleettools.screens", "logging", *HEAVY}


def test_what_tmux_asks_for_every_few_seconds_loads_no_view(tmp_path: Path) -> None:
    names = imported("list", ["--status"], None, tmp_path)
    assert {"fleettools.policy.segment", "fleettools.services.store"} <= names
    assert not names & {"fleettools.policy.views", "fleettools.policy.accounts.placement", "fleettools.services.fleet"}


def test_a_configuration_compiles_no_pattern_of_a_reader_that_is_not_used() -> None:
    """PyYAML's own patterns take longer than all else; each works when somebody asks for it after all."""
    code = (
        "import re; before = re.compile\n"
        "from fleettools.adapters.libyaml import yaml\n"
        "assert re.compile is before\n"
        "waiting = yaml.reader.Reader.NON_PRINTABLE\n"
        "assert not isinstance(waiting, re.Pattern)\n"
        "assert waiting.search('a\\x00').start() == 1\n"
        "assert yaml.load('[1, 1.5, yes, 2026-01-31]', yaml.SafeLoader)[:3] == [1, 1.5, True]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("command", ["gate", "list", "profiles"])
def test_a_configuration_costs_yaml_and_no_more(command: str, tmp_path: Path) -> None:
    (tmp_path / "fleetd.yaml").write_text(CONFIG)
    args = ["--profile", "one"] if command == "gate" else []
    assert loaded(command, args, None, tmp_path) == {"yaml", "sqlite3"}
