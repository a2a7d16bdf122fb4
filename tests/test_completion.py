"""Completion in the three shells: each asks the command itself what may stand at the cursor."""

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from sandbox import ROOT, Sandbox, sandbox

SCRIPTS = sorted((ROOT / "completions").glob("*/*"))
COMMANDS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed")


@pytest.mark.parametrize("shell", [pytest.param(shell, marks=needs(shell)) for shell in CHECKS])
def test_every_script_is_sound(shell: str) -> None:
    scripts = [path for path in SCRIPTS if path.parent.name == shell]
    assert len(scripts) == len(COMMANDS)
    for path in scripts:
        checked = subprocess.run([*CHECKS[shell], path], capture_output=True, text=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, ""), path


def test_the_scripts_are_those_that_the_generator_writes() -> None:
    checked = subprocess.run([sys.executable, ROOT / "scripts/completions", "--check"], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_scripts_are_installed_where_the_shells_look() -> None:
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    places = {
        "completions/bash": "share/bash-completion/completions",
        "completions/zsh": "share/zsh/site-functions",
        "completions/fish": "share/fish/vendor_completions.d",
    }
    assert places.items() <= hatch["shared-data"].items()


# -- what the command answers


def asked(box: Sandbox, *words: str) -> list[str]:
    """The candidates for the last of the words, the first being the command."""
    ended = box.run(*words, env={"_FLEET_COMPLETE": "1"})
    assert (ended.status, ended.err) == (0, "")
    return [line.partition("\t")[0] for line in ended.out.splitlines()]


CASES = [
    pytest.param(["fleet-gate", "--fail"], ["--fail-open"], id="an option"),
    pytest.param(["fleet-gate", "--policy", "l"], ["least-loaded"], id="one of the values that an option takes"),
    pytest.param(["fleet-gate", "--profile", ""], ["claude-a", "claude-b", "codex-b"], id="profiles"),
    pytest.param(["fleet-gate", "--profile=co"], ["--profile=codex-b"], id="a profile behind an equals sign"),
    pytest.param(["fleet-classify", "--profile", "claude-b"], ["claude-b"], id="a profile that is complete"),
    pytest.param(["fleet-classify", "--agent", "cla"], ["claude"], id="agents"),
    pytest.param(["fleet-release", "--credential", ""], ["codex-b", "team-a", "team-b"], id="credentials"),
    pytest.param(["fleet-classify", "scr"], [":"], id="a file"),
    pytest.param(["fleet-gate", "-c", "fl"], [":"], id="the file of an option"),
    pytest.param(["fleet-gate", "-c", "missing.yaml", "--profile", ""], [], id="nothing without the configuration"),
    pytest.param(["fleetd", "che"], ["check"], id="what fleetd shall do"),
    pytest.param(["fleet-spawn", "--profile", "cl"], ["claude-a", "claude-b"], id="the profile to spawn"),
    pytest.param(["fleet-scrape", "-t", ""], ["%0", "%1", "%2", "%3"], id="panes"),
    pytest.param(["fleet-send", "%"], ["%1", "%2", "%3"], id="members to send to"),
    pytest.param(["fleet-release", "%"], ["%1", "%2", "%3"], id="members to release"),
]


@pytest.fixture(scope="module")
def fleet() -> Iterator[Sandbox]:
    with sandbox() as box:
        pipe = "fleet-scrape | fleet-classify | fleet-resolve > /dev/null"
        assert box.run("bash", "-o", "pipefail", "-c", pipe).status == 0
        yield box


@pytest.mark.parametrize("words, wanted", CASES)
def test_a_command_says_what_may_stand_at_the_cursor(fleet: Sandbox, words: list[str], wanted: list[str]) -> None:
    assert asked(fleet, *words) == wanted


def test_a_tab_leaves_nothing_behind() -> None:
    with sandbox(panes=False) as box:
        before = sorted(box.folder.rglob("*"))
        asked(box, "fleet-release", "--credential", "")
        asked(box, "fleet-send", "")
        asked(box, "fleet-scrape", "-t", "")
        assert sorted(box.folder.rglob("*")) == before


def test_completion_is_loaded_by_no_command_that_is_not_asked() -> None:
    code = "import sys; from fleettools.commands import gate; sys.exit('fleettools.completion' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_name_that_a_shell_would_act_on_is_no_candidate() -> None:
    from fleettools.completion import _source

    context = click.Context(click.Command("fleet-gate"))
    names = iter([("good-1", ""), ("$(touch x)", ""), ("a b", ""), ("a\nb", "")])
    assert [item.value for item in _source(lambda _context: names)(context, "")] == ["good-1"]


# -- the shells


BASH = """
source completions/bash/fleet-gate
COMP_WORDS=(fleet-gate {words}) COMP_CWORD={cursor}
compopt() {{ echo "compopt $*"; }}
_fleettools fleet-gate
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@needs("bash")
@pytest.mark.parametrize(
    "words, cursor, wanted",
    [
        pytest.param("--profile cl", 2, "claude-a\nclaude-b\n", id="a value"),
        pytest.param("--profile ''", 2, "claude-a\nclaude-b\ncodex-b\n", id="an empty word"),
        pytest.param("--profile = co", 3, "codex-b\n", id="an equals sign is a word of its own"),
        pytest.param("--profile =", 2, "claude-a\nclaude-b\ncodex-b\n", id="right behind the equals sign"),
        pytest.param("--fail", 1, "--fail-open\n", id="an option"),
        pytest.param("day", 1, "compopt -o default\n\n", id="files are left to bash"),
    ],
)
def test_bash_offers_the_candidates(fleet: Sandbox, words: str, cursor: int, wanted: str) -> None:
    code = BASH.format(words=words, cursor=cursor).replace("completions", f"{ROOT}/completions")
    ended = fleet.run("bash", "--norc", "-c", code)
    assert (ended.out, ended.err) == (wanted, "")


ZSH = """
autoload -Uz _fleet-gate
_describe() { shift; print -rl -- ${(P)1}; }
_files() { print files; }
words=(%s) CURRENT=$#words PREFIX=${(Q)words[-1]}
_fleet-gate
"""


@needs("zsh")
@pytest.mark.parametrize(
    "words, wanted",
    [
        pytest.param("fleet-gate --profile cl", "claude-a:claude, team-a\nclaude-b:claude, team-b\n", id="a value"),
        pytest.param("fleet-gate --profile=co", "--profile=codex-b:codex\n", id="behind an equals sign"),
        pytest.param("fleet-gate --fail", "--fail-open:Allow when the store cannot be reached.\n", id="the first word"),
        pytest.param("fleet-gate day", "files\n", id="files are left to zsh"),
    ],
)
def test_zsh_offers_the_candidates(fleet: Sandbox, words: str, wanted: str) -> None:
    ended = fleet.run("zsh", "-f", "-c", ZSH % words, env={"FPATH": f"{ROOT}/completions/zsh"})
    assert (ended.out, ended.err) == (wanted, "")


@needs("fish")
@pytest.mark.parametrize(
    "line, wanted",
    [
        pytest.param("fleet-gate --profile cl", ["claude-a\tclaude, team-a", "claude-b\tclaude, team-b"], id="a value"),
        pytest.param("fleet-gate --profile=co", ["--profile=codex-b\tcodex"], id="behind an equals sign"),
        pytest.param("fleet-gate --fail", ["--fail-open\tAllow when the store cannot be reached."], id="an option"),
        pytest.param("fleet-gate day", ["day.jsonl"], id="files"),
    ],
)
def test_fish_offers_the_candidates(fleet: Sandbox, line: str, wanted: list[str]) -> None:
    script: Path = ROOT / "completions/fish/fleet-gate.fish"
    ended = fleet.run("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'", env={"LANG": "C.UTF-8"})
    assert ([found.rstrip("\t") for found in ended.out.splitlines()], ended.err) == (wanted, "")
