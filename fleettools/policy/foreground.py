"""Who runs in a pane: the programs that read its terminal, and whether an agent is alone among them.

A list of what is no agent would always lack the next one, so a program has to be named to be taken for the agent: its
own name, or behind an interpreter that of the script or module that it runs.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from fleettools.screens.look import Look

GONE = "ZX"  # states of a process that has ended
STOPPED = "Tt"
UNTOLD = "nothing here tells which program reads its terminal"
_SHOWN = 40  # letters of a program's name in a reason
_SHELLS = "sh ash bash csh dash elvish fish ksh mksh nu pwsh rbash tcsh xonsh yash zsh"


class Process(Protocol):
    """A process of the foreground group of a terminal."""

    @property
    def pid(self) -> int:
        """The process id."""

    @property
    def ancestors(self) -> Collection[int]:
        """The ids of the processes above it."""

    @property
    def state(self) -> str:
        """The letter that ps shows, such as `S` or `T`."""

    @property
    def reads(self) -> bool:
        """Whether its standard input is the terminal, or is not told."""

    @property
    def words(self) -> Sequence[str]:
        """Its argv."""


class Interpreter(NamedTuple):
    """Its options: those that a value follows, those that leave no script, those that a module follows.

    `verbs` may stand before the script.
    """

    name: re.Pattern[str]
    valued: Collection[str] = ()
    scriptless: Collection[str] = ()
    module: Collection[str] = ()
    verbs: Collection[str] = ()


def _interpreter(name: str, *options: str) -> Interpreter:
    return Interpreter(re.compile(rf"(?:{name})(?:\.exe)?"), *(words.split() for words in options))


_INTERPRETERS = (
    _interpreter(r"(?:python|pypy)\d*(?:\.\d+)*t?", "-W -X -Q", "-c", "-m"),
    _interpreter(
        r"node(?:js)?\d*",
        "-r --require --import --loader --experimental-loader -C --conditions --env-file --title",
        "-e --eval -p --print -i --interactive",
    ),
    _interpreter("bun|deno", "--preload -r --config -c", "-e --eval -p --print", "", "run"),
    _interpreter(_SHELLS.replace(" ", "|"), "-o +o -O +O --rcfile --init-file", "-c -s"),
    _interpreter(r"(?:ruby|perl|php|lua|luajit|tclsh)\d*(?:\.\d+)*", "-I -r -C", "-e -E"),
    # These run another program in their own process: their options leave it in its place.
    _interpreter(r"ld(?:-[\w.-]+)?\.so(?:\.\d+)?", "--library-path --preload --argv0"),
    _interpreter(r"qemu-\w+|busybox|toybox", "-L -cpu -E"),
)
# Whatever they are told to run: what is typed into them goes elsewhere, where nobody can see what reads it.
_CARRIERS = frozenset(
    f"{_SHELLS} docker podman nerdctl lxc incus kubectl oc ssh mosh mosh-client telnet su sudo doas run0 machinectl "
    "nsenter chroot systemd-nspawn systemd-run screen tmux zellij script expect distrobox toolbox flatpak vagrant "
    "gcloud az aws wsl".split()
)
_SUFFIX = re.compile(r"\.(?:[cm]?[jt]sx?|pyz?w?|rb|pl|php|lua|sh|exe)$")


def names(words: Sequence[str]) -> tuple[str, ...]:
    """What a process of that command line may be called, the most telling name first; () when it has none."""
    if not words:
        return ()
    first = words[0]
    # A program that has given itself a title has it in place of its words.
    titled = " " in first.strip() and not first.startswith(("/", "./", "~"))
    program = first.strip() if titled else _base(first)
    called = (program, program.split()[0].rstrip(":")) if titled else (program,)
    for kind in _INTERPRETERS:
        if not titled and kind.name.fullmatch(program):
            script = _script(words[1:], kind)
            return script or called
    return tuple(dict.fromkeys(name for name in called if name))


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2].removeprefix("-")  # a login shell has a dash before its name


def _script(words: Sequence[str], kind: Interpreter) -> tuple[str, ...]:
    """The names of what an interpreter runs, () when it reads commands itself."""
    left = iter(words)
    for word in left:
        option, value = _option(word, kind)
        if option in kind.scriptless:
            return ()
        if option in kind.module:
            name = value or next(left, "")
            return tuple(filter(None, [name.partition(".")[0]]))
        if option in kind.valued:
            value = value or next(left, "")
        elif word == "--":
            return _file(next(left, ""))
        elif not word.startswith(("-", "+")) and word not in kind.verbs:
            return _file(word) if kind.scriptless else names([word, *left])
    return ()


def _option(word: str, kind: Interpreter) -> tuple[str, str]:
    """The option that a word is, or that a cluster of letters holds (`-Im`), and the value that it brings along."""
    known = {*kind.valued, *kind.scriptless, *kind.module}
    if word not in known and re.match(r"-[A-Za-z]", word):
        for at, letter in enumerate(word[1:], 2):
            if f"-{letter}" in known:
                return f"-{letter}", word[at:]
    return word, ""


def _file(path: str) -> tuple[str, ...]:
    name = _base(path)
    return tuple(dict.fromkeys(filter(None, (name, _SUFFIX.sub("", name)))))


def living(processes: Iterable[Process]) -> list[Process]:
    """Those that live and read the terminal, those furthest down the tree first."""
    found = [process for process in processes if process.state[:1] not in GONE and process.reads]
    return sorted(found, key=lambda process: (-len(process.ancestors), -process.pid))


def agent_of(processes: Iterable[Process], agents: Mapping[str, Collection[str]]) -> str | None:
    """Which agent runs there, by the names of its programs; None when none of them does."""
    for process in living(processes):
        called = names(process.words)
        for agent, programs in agents.items():
            if any(name in programs for name in called):
                return agent
    return None


def hindrance(processes: Sequence[Process] | None, programs: Collection[str]) -> str:
    """Why nothing may be typed to a terminal, "" when one of `programs` and nothing but its ancestors reads it.

    `processes` are those of the terminal's foreground group, None when nothing tells them.
    """
    if processes is None:
        return f"not typed: {UNTOLD}"
    readers = living(processes)
    if not readers:
        return "not typed: no program reads its terminal"
    agents = [process for process in readers if any(name in programs for name in names(process.words))]
    above = {pid for agent in agents for pid in agent.ancestors}
    others = [process for process in readers if process not in agents and process.pid not in above]
    if not agents or others:
        return f"not typed: {shown((others or readers)[0])}"
    stopped = [agent for agent in agents if agent.state[:1] in STOPPED]
    return f"not typed: {shown(stopped[0])} is stopped" if stopped else ""


def shown(process: Process) -> str:
    """The program's name as a message may hold it."""
    called = (*names(process.words), "a program without a name")[0]
    plain = "".join(letter if letter.isprintable() else "?" for letter in called)
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}..."


def programs(look: Look, runs: Iterable[str]) -> frozenset[str]:
    """The names under which an agent runs: its file's `commands`, and what a person says that it `runs` as.

    A person's word is not taken for a program that passes on what is typed (docker, ssh, a shell), or reads it itself
    (a bare interpreter), unless the agent draws a frame around its composer: a bare prompt line may be anyone's.
    """
    drawn = "line" not in look.composer.frames
    return frozenset(look.commands) | {name for name in (*look.runs, *runs) if drawn or not _passes_on(name)}


def _passes_on(name: str) -> bool:
    return name in _CARRIERS or any(kind.name.fullmatch(name) for kind in _INTERPRETERS)
