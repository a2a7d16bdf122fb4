"""Who runs in a pane: by what name a program goes, and whether an agent is alone at its terminal."""

from typing import NamedTuple

import pytest

from fleettools.policy import foreground
from fleettools.screens.agentdata import ComposerLook
from fleettools.screens.look import Look

# Rule: a program's own name; behind an interpreter that of its script or module; a title's first word.
NAMES: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "a program": (["/usr/local/bin/claude", "--resume"], ("claude",)),
    "a program in a folder with a blank": (["/home/a b/claude"], ("claude",)),
    "a login shell": (["-bash"], ("bash",)),
    "a script by env": (["python3", "/home/ada/.local/bin/aider", "--model", "x"], ("aider",)),
    "a script of a version of its interpreter": (["/opt/venv/bin/python3.12", "/opt/venv/bin/aider"], ("aider",)),
    "a module": (["python3", "-m", "aider", "claude"], ("aider",)),
    "a module within a package": (["python", "-m", "aider.main"], ("aider",)),
    "a module behind letters": (["python3", "-Im", "aider"], ("aider",)),
    "a module at its letter": (["python3", "-maider"], ("aider",)),
    "options with values stand before a script": (["python3", "-X", "dev", "-Wignore", "/bin/aider"], ("aider",)),
    "code is no script": (["python3", "-c", "import claude", "claude"], ("python3",)),
    "code behind letters": (["python3", "-uc", "pass", "claude"], ("python3",)),
    "a REPL": (["python3"], ("python3",)),
    "a script by node": (["node", "--max-old-space-size=8192", "/usr/bin/gemini"], ("gemini",)),
    "a preloaded module is no script": (["node", "-r", "/x/claude.js", "/x/codex.mjs"], ("codex.mjs", "codex")),
    "node without a script": (["node", "--eval", "1", "claude"], ("node",)),
    "a script behind the end of options": (["node", "--", "claude"], ("claude",)),
    "deno's verb": (["deno", "run", "-A", "/x/claude.ts"], ("claude.ts", "claude")),
    "a wrapper by sh": (["sh", "/home/ada/wrapper.sh", "claude"], ("wrapper.sh", "wrapper")),
    "a command line by sh": (["sh", "-c", "claude"], ("sh",)),
    "a command line by a login shell": (["bash", "-lc", "claude"], ("bash",)),
    "what npm runs is its child": (["npm exec @openai/codex"], ("npm exec @openai/codex", "npm")),
    "npx as a script": (["node", "/usr/bin/npx", "codex"], ("npx",)),
    "a title": (["Kimi Code"], ("Kimi Code", "Kimi")),
    "a title with a colon": (["gemini: working"], ("gemini: working", "gemini")),
    "an applet": (["busybox", "sh"], ("sh",)),
    "under an emulator": (["/usr/bin/qemu-x86_64", "/usr/bin/claude"], ("claude",)),
    "by its loader": (["/lib64/ld-linux-x86-64.so.2", "--library-path", "/x", "/opt/claude"], ("claude",)),
    "ssh is ssh, whatever it runs": (["ssh", "box", "claude"], ("ssh",)),
    "docker is docker": (["docker", "run", "-it", "claude"], ("docker",)),
    "nothing": ([], ()),
    "an empty word": ([""], ()),
}


@pytest.mark.parametrize(("words", "names"), NAMES.values(), ids=NAMES.keys())
def test_what_a_process_is_called(words: list[str], names: tuple[str, ...]) -> None:
    assert foreground.names(words) == names


class One(NamedTuple):
    """A process in a table: its command line, its parents, and what else is unusual."""

    pid: int
    line: str
    ancestors: tuple[int, ...] = ()
    state: str = "S"
    reads: bool = True

    @property
    def words(self) -> list[str]:
        return self.line.split()


NODE = One(30, "node /usr/bin/claude", (1, 10, 20))
PROGRAMS = frozenset({"claude"})
# Rule: one is the agent, and each other living reader of the terminal is the agent too, or above it.
TYPED: dict[str, tuple[list[One] | None, str]] = {
    "the agent alone": ([One(10, "claude")], ""),
    "npm, sh and node": ([One(10, "npm exec claude"), One(20, "sh -c claude", (1, 10)), NODE], ""),
    "a wrapper above it": ([One(10, "sh wrapper.sh"), NODE], ""),
    "the agent as its own child": ([One(20, "node /usr/bin/claude", (10,)), NODE], ""),
    "a child on pipes": ([NODE, One(40, "docker run -i box", (1, 10, 20, 30), reads=False)], ""),
    "a child that has ended": ([NODE, One(40, "vim", (1, 10, 20, 30), state="Z")], ""),
    "an editor of its own": ([NODE, One(40, "vim /tmp/x", (1, 10, 20, 30))], "vim"),
    "an editor by sh": ([NODE, One(40, "sh -c vim", (30,)), One(41, "vim", (30, 40))], "vim"),
    "a shell": ([One(10, "-bash")], "bash"),
    "a restricted shell": ([One(10, "rbash")], "rbash"),
    "ssh": ([One(10, "ssh box claude")], "ssh"),
    "a wrapper that has gone on to ssh": ([One(10, "sh wrapper.sh"), One(11, "ssh box", (10,))], "ssh"),
    "a script of that name that has gone on to ssh": ([One(10, "sh claude"), One(11, "ssh box", (10,))], "ssh"),
    "a REPL": ([One(10, "python3")], "python3"),
    "npm that asks before it installs": ([One(10, "npm exec claude")], "npm"),
    "an agent that reads something else": ([One(10, "sh x.sh"), NODE._replace(reads=False)], "x.sh"),
    "an agent that is stopped": ([NODE._replace(state="T")], "claude is stopped"),
    "nobody": ([], "no program reads"),
    "only what has ended": ([NODE._replace(state="Z")], "no program reads"),
    "nothing tells": (None, "nothing here tells"),
}


@pytest.mark.parametrize(("table", "why"), TYPED.values(), ids=TYPED.keys())
def test_who_is_typed_to(table: list[One] | None, why: str) -> None:
    said = foreground.hindrance(table, PROGRAMS)
    assert said.startswith(f"not typed: {why}") if why else said == ""


def test_a_programs_name_is_printed_plain_and_short() -> None:
    said = foreground.hindrance([One(10, "\x1b[31mevil‮" + "x" * 99)], PROGRAMS)
    assert said == "not typed: ?[31mevil?" + "x" * 30 + "..."


@pytest.mark.parametrize(
    ("runs", "drawn", "taken"),
    [
        pytest.param(["my-agent"], False, True, id="a program of one's own"),
        pytest.param(["docker"], True, True, id="docker, with a drawn composer"),
        pytest.param(["docker"], False, False, id="docker, with a bare prompt line"),
        pytest.param(["bash"], False, False, id="a shell, with a bare prompt line"),
        pytest.param(["python3.12"], False, False, id="an interpreter, with a bare prompt line"),
    ],
)
def test_a_persons_word_for_what_runs_there(runs: list[str], drawn: bool, taken: bool) -> None:
    look = Look(name="x", commands=["x"], composer=ComposerLook(frames=["rules"] if drawn else ["rules", "line"]))
    assert foreground.programs(look, runs) == {"x", *(runs if taken else ())}


def test_the_agent_is_the_one_furthest_down() -> None:
    table = [One(10, "node /x/codex"), One(11, "bash /x/claude", (10,)), One(12, "vim", (10, 11), reads=False)]
    assert foreground.agent_of(table, {"codex": ["codex"], "claude": ["claude"], "vim": ["vim"]}) == "claude"
    assert foreground.agent_of([One(10, "bash")], {"codex": ["codex"]}) is None
