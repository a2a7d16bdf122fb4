"""The house: data runs down its rooms, and no arrow runs back up. ARCHITECTURE.md draws the same order."""

import ast
from pathlib import Path

import pytest

import fleettools

PACKAGE = Path(fleettools.__file__).parent

# Each room may import what stands before it, and itself. Doors are handed in: only the last rooms name them.
VALUES = ("errors", "seen", "records", "moments")
ORDER = (*VALUES, "screens", "policy", "config", "services", "mcp", "commands", "daemon", "demo", "api")
BESIDE = {"cli": "commands", "completion": "commands", "__main__": "commands", "configcheck": "config"}
ABOVE = {"fleettools.commands.fleetd": "api"}  # the command of the daemon stands over it
DOORS = {*VALUES, "screens", "config"}  # what adapters may import, besides each other
ENTER_DOORS = {"mcp", "commands", "daemon", "demo", "api"}

PURE = (*VALUES, "screens", "policy", "config")
PLAIN = {
    "bisect",
    "collections",
    "dataclasses",
    "datetime",
    "enum",
    "fnmatch",
    "functools",
    "hashlib",
    "itertools",
    "math",
}
PLAIN |= {
    "operator",
    "re",
    "shlex",
    "string",
    "typing",
    "unicodedata",
    "warnings",
    "zoneinfo",
    "msgspec",
    "regex",
    "tomllib",
}
BANNED_CALLS = {"now", "today", "utcnow", "open", "print", "input", "getenv"}

# Arrows that are still to be turned round; the list only ever gets shorter.
OWED: set[tuple[str, str]] = set()


def room_of(module: str) -> str:
    """The room of a module of ours: `fleettools.policy.members.turns` is in policy."""
    if module in ABOVE:
        return ABOVE[module]
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else ""
    return BESIDE.get(name, name)


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports(source: str) -> set[str]:
    """Every module that a source imports, wherever it stands: in a function and for type checking too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name their module whole"
            base = node.module or ""
            inner = {f"{base}.{alias.name}" for alias in node.names}
            found |= (inner & FILES.keys()) | ({base} if not inner <= FILES.keys() else set())
    return found - {"__future__"}


def crossing(module: str, source: str) -> set[str]:
    """What a module imports although the order of rooms does not allow it."""
    room = room_of(module)
    return {name for name in imports(source) if not _allowed(room, name) and (module, name) not in OWED}


def _allowed(room: str, name: str) -> bool:
    if name.partition(".")[0] != "fleettools":
        return room not in PURE or name.partition(".")[0] in PLAIN
    other = room_of(name)
    if not other or room == other:
        return bool(other) or name == "fleettools"
    if room == "adapters":
        return other in DOORS
    if other == "adapters":
        return room in ENTER_DOORS
    return ORDER.index(other) < ORDER.index(room)


def calls(source: str) -> set[str]:
    """Calls that reach outside, by the last word of what is called."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found |= {name} & BANNED_CALLS
    return found


@pytest.mark.parametrize("module", [name for name in FILES if name != "fleettools"])
def test_an_import_names_only_what_stands_before(module: str) -> None:
    assert not crossing(module, FILES[module].read_text())


@pytest.mark.parametrize("module", [name for name in FILES if room_of(name) in PURE])
def test_a_pure_room_calls_nothing_outside(module: str) -> None:
    assert not calls(FILES[module].read_text())


def test_no_two_files_import_each_other() -> None:
    arrows = {
        name: {other for other in imports(path.read_text()) & FILES.keys() - {name} if (name, other) not in OWED}
        for name, path in FILES.items()
    }
    while leaves := {name for name, targets in arrows.items() if not targets}:
        arrows = {name: targets - leaves for name, targets in arrows.items() if name not in leaves}
    assert not arrows


def test_what_is_owed_is_still_there() -> None:
    assert all(name in imports(FILES[module].read_text()) for module, name in OWED)


WRONG = (
    ("fleettools.screens.judge", "import os"),
    ("fleettools.screens.judge", "from fleettools.policy.members import turns"),
    ("fleettools.policy.members.turns", "def f():\n    from fleettools import config"),
    ("fleettools.policy.members.turns", "import click"),
    ("fleettools.config", "from fleettools.services import fleet"),
    ("fleettools.config", "if TYPE_CHECKING:\n    from fleettools.adapters import tmux"),
    ("fleettools.services.fleet", "from fleettools.adapters.tmux import Tmux"),
    ("fleettools.services.fleet", "if TYPE_CHECKING:\n    from fleettools.cli import Context"),
    ("fleettools.adapters.tmux", "from fleettools.policy.accounts import outage"),
    ("fleettools.adapters.tmux", "from fleettools.services import fleet"),
    ("fleettools.commands.list", "from fleettools import daemon"),
    ("fleettools.services.verbs.send", "from fleettools.mcp import call"),
    ("fleettools.mcp.call", "from fleettools.cli import Context"),
    ("fleettools.daemon", "from fleettools.commands import fleetd"),
    ("fleettools.cli", "from fleettools.demo import show"),
    ("fleettools.records", "from fleettools.screens import sgr"),
)


@pytest.mark.parametrize(("module", "source"), WRONG)
def test_an_import_in_a_forbidden_direction_is_found(module: str, source: str) -> None:
    assert crossing(module, source)


@pytest.mark.parametrize(
    "source", ["datetime.now()", "date.today()", "def f():\n    return open('x')", "print(1)", "dt.datetime.utcnow()"]
)
def test_a_call_that_reaches_outside_is_found(source: str) -> None:
    assert calls(source)
