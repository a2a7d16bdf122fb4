"""The manual pages say what the code does: options, fields, keys, statuses, and every example that they print."""

import doctest
import importlib
import inspect
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import click
import msgspec
import pytest
from sandbox import ROOT, Sandbox, sandbox

import fleettools
from fleettools import config, records
from fleettools.__main__ import COMMANDS as LISTED
from fleettools.adapters import shapes
from fleettools.errors import Exit
from fleettools.screens import agentdata
from fleettools.screens.look import Look

MAN = ROOT / "man"
PAGES = sorted(MAN.iterdir())
COMMANDS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
OTHERS = {"tmux(1)", "jq(1)", "tee(1)", "cron(8)", "crontab(5)", "systemd(1)", "systemd.service(5)", "flock(1)"}
OTHERS |= {
    "ps(1)",
    "lsof(8)",
    "sd_notify(3)",
    "crontab(1)",
    "systemctl(1)",
    "sh(1)",
    "grep(1)",
    "signal(7)",
    "strftime(3)",
}


def mandoc(text: str, *options: str) -> str:
    """The page as a terminal without colours shows it."""
    run = subprocess.run(["mandoc", "-T", "ascii", *options], input=text, capture_output=True, text=True, check=True)
    return re.sub(".\x08", "", run.stdout)


def section(page: Path, title: str) -> str:
    """The source of a section, empty when the page has none of that title."""
    found = re.search(rf"^\.Sh {re.escape(title)}\n(.*?)(?=^\.Sh |\Z)", page.read_text(), re.M | re.S)
    return found[1] if found else ""


def items(text: str, macro: str) -> list[str]:
    """The first words of `.It macro word` lines."""
    return re.findall(rf"^\.It {macro} (\S+)", text, re.M)


# -- the pages themselves


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_mandoc_has_nothing_to_say_about_a_page(page: Path) -> None:
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False)
    assert (lint.returncode, lint.stdout + lint.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_called_as_its_file_and_refers_to_pages_that_exist(page: Path) -> None:
    text = page.read_text()
    assert re.search(rf"^\.Dt {page.stem.upper()} {page.suffix[1:]}$", text, re.M)
    assert re.search(rf"^\.Nm {page.stem}$", text, re.M)
    referred = {f"{name}({number})" for name, number in re.findall(r"Xr (\S+) (\d)", text)}
    assert referred <= OTHERS | {f"{each.stem}({each.suffix[1:]})" for each in PAGES}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_page_and_a_line_in_the_overview(name: str) -> None:
    assert (MAN / f"{name}.1").exists()
    assert items(section(MAN / "fleettools.7", "COMMANDS"), "Xr").count(name) == 1


def test_the_overview_and_the_list_of_commands_say_the_same_in_the_same_order() -> None:
    """`python -m fleettools` has what fleettools(7) has; none is missing, as the test above sees."""
    table = re.findall(r"^\.It Xr (\S+) 1\n(.*)$", section(MAN / "fleettools.7", "COMMANDS"), re.M)
    assert table == [pair for commands in LISTED.values() for pair in commands.items()]
    titles = re.findall(r"^(.*):\n\.Bl", section(MAN / "fleettools.7", "COMMANDS"), re.M)
    assert titles == list(LISTED)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_of_a_command_has_every_section_and_no_status_of_its_own(name: str) -> None:
    page = MAN / f"{name}.1"
    titles = re.findall(r"^\.Sh (.+)$", page.read_text(), re.M)
    assert {"NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"} <= set(titles)
    statuses = re.findall(r"^\.It (?:Li |Cm )?(\d+)\b", section(page, "EXIT STATUS"), re.M)
    assert {int(status) for status in statuses} <= set(Exit)


def test_every_page_is_installed_where_man_looks() -> None:
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    installed = {source: place for source, place in hatch["shared-data"].items() if source.startswith("man/")}
    assert installed == {f"man/{page.name}": f"share/man/man{page.suffix[1:]}/{page.name}" for page in PAGES}


# -- options


def options_of(name: str) -> set[str]:
    """The options that click knows, `-h` and `--help` among them."""
    module, _, function = COMMANDS[name].partition(":")
    command: click.Command = getattr(importlib.import_module(module), function)
    known: set[str] = set()
    todo = [command]
    while todo:
        each = todo.pop()
        todo += getattr(each, "commands", {}).values()
        for param in each.get_params(click.Context(each, **each.context_settings)):
            if isinstance(param, click.Option) and not param.hidden:
                known |= {*param.opts, *param.secondary_opts}
    return known


def flags(line: str) -> set[str]:
    """The options that a line of mdoc names."""
    return {f"-{flag}" for flag in re.findall(r"\bFl (\S+)", line)}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_documents_exactly_the_options_of_its_command(name: str) -> None:
    text = (MAN / f"{name}.1").read_text()
    documented = {flag for line in re.findall(r"^\.It Fl .*$", text, re.M) for flag in flags(line)}
    assert documented == options_of(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_synopsis_shows_only_options_that_there_are(name: str) -> None:
    synopsis = section(MAN / f"{name}.1", "SYNOPSIS")
    assert synopsis
    assert flags(synopsis) <= options_of(name)


# -- records


SECTIONS: dict[str, type[msgspec.Struct]] = {
    "Every record": records.Record,
    "Who sits in a pane": records.Seat,
    "Incidents and quarantines": records.Outage,
    "turn": records.Turn,
    "worker": records.Worker,
    "lead pane": records.LeadPane,
    "usage": records.Usage,
    "notice item": records.NoticeItem,
}
WORDS: dict[object, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    records.Time: "time",
    records.PaneId: "pane id",
    records.Name: "name",
    list[str]: "list of text",
    list[records.Worker]: "list of objects",
    list[records.LeadPane]: "list of objects",
    list[records.Usage]: "list of objects",
    list[records.NoticeItem]: "list of objects",
    dict[str, Any]: "object",
    records.Turn: "object",
}


def word(kind: Any) -> str:
    """How the page writes a type."""
    args = [arg for arg in get_args(kind) if arg is not type(None)]
    if kind not in WORDS and type(None) in get_args(kind):
        return word(args[0])
    if kind not in WORDS and args and all(isinstance(arg, str) for arg in args):
        return f"one of {', '.join(args)}"
    return WORDS[kind] if kind in WORDS else word(kind.__origin__)


def own_fields(cls: type[msgspec.Struct]) -> dict[str, str]:
    """The fields that a record adds to those that it shares, as the page writes them."""
    shared = {f.name for f in msgspec.structs.fields(cls.__mro__[1])} if cls.__mro__[1] is not msgspec.Struct else set()
    kinds = get_type_hints(cls, include_extras=True)
    found = {}
    for field in msgspec.structs.fields(cls):
        if field.name in shared:
            continue
        found[field.encode_name] = word(kinds[field.name]) + (", always" if field.required else "")
    return found


def documented_fields() -> dict[str, dict[str, str]]:
    """Each subsection of fleet-records(5), and the fields with their types in it."""
    found = {}
    for title, text in re.findall(
        r"^\.Ss (.*?)\n(.*?)(?=^\.S[sh] |\Z)", (MAN / "fleet-records.5").read_text(), re.M | re.S
    ):
        # Rendered, because how a list of values has to be marked up is of no interest here.
        wide = mandoc(f".Dd January 31, 2026\n.Dt X 5\n.Os\n.Sh X\n{text}", "-O", "width=300")
        fields = re.findall(r"^     (\w+) \((.*)\)$", wide, re.M)
        found[title] = {name: kind.replace("; always", ", always") for name, kind in fields}
    return found


DOCUMENTED = documented_fields()


def test_fleet_records_describes_every_record_there_is() -> None:
    assert DOCUMENTED.keys() == SECTIONS.keys() | records.TYPES.keys()


@pytest.mark.parametrize("title", sorted(SECTIONS.keys() | records.TYPES.keys()))
def test_fleet_records_gives_every_field_with_its_type(title: str) -> None:
    cls = (SECTIONS | records.TYPES)[title]
    fields = own_fields(cls)
    if cls is records.Record:
        fields = {"type": "text, always"} | fields
    assert DOCUMENTED[title] == fields


# -- configuration


def test_fleetd_yaml_describes_exactly_the_keys_there_are() -> None:
    documented = items((MAN / "fleetd.yaml.5").read_text(), "Cm")
    assert sorted(documented) == sorted(key.place for key in shapes.keys(config.Config))


# -- the overview


def test_the_overview_describes_exactly_the_keys_of_an_agent_file() -> None:
    set_by_the_loader = {"name", "backends"}
    structs = (Look, agentdata.Prompt, agentdata.ComposerLook, agentdata.AccountSource)
    keys = {field.encode_name for struct in structs for field in msgspec.structs.fields(struct)} - set_by_the_loader
    assert set(items(section(MAN / "fleettools.7", "AGENT FILES"), "Ic")) == keys | {"extends"}


def test_the_overview_gives_exactly_the_exit_statuses_there_are() -> None:
    listed = re.findall(r"^\.It (\d+)$", section(MAN / "fleettools.7", "EXIT STATUS"), re.M)
    assert [int(status) for status in listed] == sorted(Exit)


def test_the_overview_gives_every_environment_variable_of_ours() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "fleettools").rglob("*.py"))
    used = set(re.findall(r"\"(FLEET_[A-Z_]+)\"", sources))
    documented = re.findall(r"^\.It Ev (.*)$", section(MAN / "fleettools.7", "ENVIRONMENT"), re.M)
    assert used == {name for line in documented for name in re.findall(r"FLEET_[A-Z_]+", line)}


# -- from Python


PYTHON = MAN / "fleettools.3"
CALLS = (fleettools.judge, fleettools.verdicts, fleettools.correlate, fleettools.Gate.ask, fleettools.Gate.choose)


def test_the_page_for_python_names_all_that_the_module_offers() -> None:
    described = re.findall(r"\b(?:Fn|Vt) ([^.\n]*)", PYTHON.read_text())
    assert set(fleettools.__all__) <= {name for line in described for name in re.findall(r"\w+", line)}


def test_the_page_for_python_shows_every_call_with_its_arguments() -> None:
    synopsis = re.sub(r"\s+", " ", section(PYTHON, "SYNOPSIS"))
    listed = {
        name for line in re.findall(r"^\.It Va (.*)$", PYTHON.read_text(), re.M) for name in re.findall(r"\w+", line)
    }
    named = set()
    for call in (*CALLS, fleettools.Gate):
        given = [each for each in inspect.signature(call).parameters.values() if each.name != "self"]
        plain = inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in given])
        assert f"{call.__name__}{plain}" in synopsis
        named |= {each.name for each in given}
    assert listed == named


def test_every_example_for_python_runs_and_prints_what_the_page_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """One session from the first to the last, in this process, in a folder with what README speaks of."""
    shown = mandoc(PYTHON.read_text(), "-T", "utf8", "-O", "width=400")
    (examples,) = re.findall(r"^EXAMPLES\n(.*?)^ERRORS$", shown, re.M | re.S)
    session = "".join(f"{line[11:]}\n" for line in examples.splitlines())
    test = doctest.DocTestParser().get_doctest(session, {}, PYTHON.name, str(PYTHON), 0)
    assert len(test.examples) > 10
    said: list[str] = []
    with sandbox(panes=False) as box:
        monkeypatch.chdir(box.work)
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "FLEET_STATE"):
            monkeypatch.setenv(name, box.env[name])
        doctest.DocTestRunner().run(test, out=said.append)
    assert not said, "".join(said)


# -- examples


class Example(NamedTuple):
    """A command as it is printed, and the lines below it."""

    command: str
    output: str

    @property
    def endless(self) -> bool:
        """Whether it runs until it is stopped."""
        daemon = re.match(r"fleetd( run)?( -\S+)*( \||$)", self.command)
        return "--follow" in self.command or bool(daemon and not re.search(r"--(once|print)\b", daemon[0]))


def examples(page: Path) -> list[Example]:
    """The commands in a page's literal displays, those after `$ `, and `> ` for their further lines."""
    found: list[Example] = []
    blocks = re.findall(r"^\.Bd -literal.*?^\.Ed$|(?:^\.Dl .*\n)+", section(page, "EXAMPLES"), re.M | re.S)
    for block in blocks:
        shown = mandoc(f".Dd January 31, 2026\n.Dt X 1\n.Os\n.Sh X\n{block}\n", "-O", "width=400")
        lines = shown.expandtabs().splitlines()[3:-2]
        margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        for line in (line[margin:].rstrip() for line in lines):
            if line.startswith("$ "):
                found.append(Example(line[2:], ""))
            elif line.startswith("> ") and found and not found[-1].output:
                found[-1] = Example(f"{found[-1].command}\n{line[2:]}", "")
            elif found:
                found[-1] = Example(found[-1].command, f"{found[-1].output}{line}\n")
    return [Example(command, output.strip("\n")) for command, output in found]


def script(shown: list[Example]) -> str:
    """A script of bash that runs the examples one after the other, and marks where each begins and how it ends."""
    lines = ["exec 2>&1", "st=0"]
    for number, example in enumerate(shown):
        command = example.command
        if example.endless:
            command = f"timeout --preserve-status -s TERM 3 bash -c {shlex.quote(command)}"
        # The status of the one before is what `echo $?` has to see.
        lines += [f"printf '@@begin {number}\\n'", "(exit $st)", f"{{ {command}\n}} </dev/null"]
        lines += ["st=$?", f"printf '\\n@@end {number} %s\\n' $st"]
    return "\n".join(lines)


def matches(printed: str, output: str) -> bool:
    """Whether the output is what is printed, where `...` stands for anything."""
    pattern = ".*".join(re.escape(part) for part in printed.split("..."))
    return re.fullmatch(pattern, output, re.S) is not None


def allowed(example: Example, following: str | None) -> set[int]:
    """The statuses that the page lets a reader expect."""
    if following == "echo $?":
        return set(range(256))
    return {0, 143} if example.endless else {0}


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.name)
def test_every_example_runs_and_prints_what_the_page_prints(page: Path) -> None:
    shown = examples(page)
    with sandbox() as box:
        ended = box.run("bash", "-c", script(shown))
    wrong = []
    for number, example in enumerate(shown):
        found = re.search(rf"^@@begin {number}\n(.*?)\n?@@end {number} (\d+)$", ended.out, re.M | re.S)
        assert found, f"$ {example.command}\n{ended}"
        output, status = "\n".join(line.rstrip() for line in found[1].strip("\n").splitlines()), int(found[2])
        following = shown[number + 1].command if number + 1 < len(shown) else None
        if status not in allowed(example, following) or (example.output and not matches(example.output, output)):
            wrong.append(f"$ {example.command}\n{output}\n(status {status})")
    assert not wrong, "\n".join(wrong)


def test_every_command_shows_an_example() -> None:
    assert not [name for name in COMMANDS if not examples(MAN / f"{name}.1")]


def test_an_example_that_prints_something_else_is_found() -> None:
    assert matches("a ... c", "a b\nb c")
    assert not matches("a ... c", "a b")
    assert not matches("one", "one\ntwo")


def test_the_sandbox_is_what_the_pages_assume() -> None:
    with sandbox() as box:
        assert members(box) == {"%1": "api", "%2": "docs", "%3": "tests"}
        assert "API Error" in box.screen("%3")


def members(box: Sandbox) -> dict[str, str]:
    """The panes that have a profile, with their names."""
    lines = box.tmux("list-panes", "-a", "-F", "#{pane_id} #{@fleet_profile} #{@fleet_name}").splitlines()
    return {words[0]: words[2] for words in map(str.split, lines) if len(words) == 3}
