"""The line between policy and the world: a decision sees records, patterns and plain values, nothing else."""

import ast
from pathlib import Path

import pytest

import fleettools

PACKAGE = Path(fleettools.__file__).parent
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
PLAIN |= {"operator", "re", "shlex", "string", "typing", "unicodedata", "zoneinfo"}
OURS = {"fleettools.records", "fleettools.errors", "fleettools.policy"}
ALLOWED = {
    "policy": PLAIN | OURS | {"msgspec", "regex"},
    "records.py": PLAIN | {"msgspec", "fleettools.errors"},
    "errors.py": PLAIN,
}


def imports(source: Path) -> set[str]:
    """Every module that a file names in an import, wherever in the file it stands."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            found |= {f"{base}.{alias.name}" for alias in node.names} if base == "fleettools" else {base}
    return found


FILES = [path for place in ALLOWED for path in sorted((PACKAGE / place).rglob("*.py")) or [PACKAGE / place]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_stay_on_their_side_of_the_line(path: Path) -> None:
    allowed = ALLOWED[path.relative_to(PACKAGE).parts[0]]
    crossing = {name for name in imports(path) if not any(f"{name}.".startswith(f"{ok}.") for ok in allowed)}
    assert not crossing


def test_adapters_do_not_know_the_commands() -> None:
    for path in (PACKAGE / "adapters").glob("*.py"):
        assert not {name for name in imports(path) if name.startswith("fleettools.commands")}, path
