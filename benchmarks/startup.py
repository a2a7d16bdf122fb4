"""Start-up: one record through a command, --help, --version, and the gate, in units of a minimal click command."""

import os
import tempfile
import tomllib
from collections.abc import Iterator

import corpus
from measure import MINIMAL_CLICK, Measured, Row, command, paired, seconds

CONFIG = "profiles:\n  one: {agent: claude, command: claude, credentialId: team-a, maxMembers: 4}\n"


def modules() -> list[str]:
    """The module of every command that pyproject.toml installs."""
    with open("pyproject.toml", "rb") as file:
        scripts = tomllib.load(file)["project"]["scripts"].values()
    return [script.removeprefix("fleettools.commands.").removesuffix(":main") for script in scripts]


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        one = os.path.join(folder, "one.jsonl")
        corpus.write(one, 1, agents=["claude"])
        config = os.path.join(folder, "fleetd.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG)
        env = os.environ | {"FLEET_STATE": os.path.join(folder, "state.db"), "HOME": folder}
        yield ratio(
            "one record through fleet-classify --agent claude", 1.8, command("classify", "--agent", "claude"), env, one
        )
        yield ratio("fleet-gate --profile on SQLite", 1.8, command("gate", "-c", config, "--profile", "one"), env)
        yield ratio("fleet-list --status on SQLite", 1.8, command("list", "-c", config, "--status"), env)
        hook = os.path.join(folder, "hook.json")
        with open(hook, "w", encoding="utf-8") as file:
            file.write('{"hook_event_name": "StopFailure", "session_id": "s", "prompt_id": "p", "error": "overloaded"}')
        yield ratio(
            "fleet-hook --post, until the agent goes on", 1.8, command("hook", "--agent", "claude", "--post"), env, hook
        )
        for flag in ("--help", "--version"):
            tried = [(against_click(command(module, flag), env, 5)[2], module) for module in modules()]
            # The largest of many medians is the unluckiest: the three slowest are measured again.
            again = [(against_click(command(module, flag), env, 25)[2], module) for _, module in sorted(tried)[-3:]]
            times, module = max(again)
            yield Row(f"{flag}, the slowest command ({module})", f"{times:.2f}x minimal click", "<= 1.2x", times <= 1.2)


def against_click(argv: list[str], env: dict[str, str], runs: int, stdin: str | None = None) -> Measured:
    """Our command and a minimal click command, in turn."""
    return paired(lambda: seconds(argv, stdin, env), lambda: seconds(MINIMAL_CLICK), runs)


def ratio(what: str, goal: float, argv: list[str], env: dict[str, str], stdin: str | None = None) -> Row:
    """A row for one command against a minimal click command."""
    ours, yard, times = against_click(argv, env, 15, stdin)
    return Row(
        what, f"{times:.2f}x ({ours * 1e3:.0f} / {yard * 1e3:.0f} ms)", f"<= {goal}x minimal click", times <= goal
    )
