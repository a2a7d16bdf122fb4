"""scripts/setup: what is missing is installed where that is possible, else one line says how."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from sandbox import ROOT

NEEDED = ("sh", "dirname", "basename", "cat", "mktemp", "rm", "touch", "tail", "ls", "env", "chmod")
PYTHON = "#!/bin/sh\nexit 0\n"
INSTALLS = """#!/bin/sh
echo "$*" >> "$LOG"
case $* in *install*)
    for package; do :; done
    printf '#!/bin/sh' > "$BIN/$package"
    chmod +x "$BIN/$package" ;;
esac
"""


@pytest.fixture(name="machine")
def _machine(tmp_path: Path) -> Path:
    """A checkout whose environment is ready, on a machine with next to nothing."""
    for folder in ("scripts", "bin", ".venv"):
        (tmp_path / folder).mkdir()
    shutil.copy(ROOT / "scripts/setup", tmp_path / "scripts/setup")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / ".venv/.ready").touch()
    for name in NEEDED:
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    program(tmp_path, "python3", PYTHON)
    return tmp_path


def program(machine: Path, name: str, text: str) -> None:
    path = machine / "bin" / name
    path.write_text(text)
    path.chmod(0o755)


def setup(machine: Path, *tools: str, user: int = 0) -> tuple[int, list[str]]:
    program(machine, "id", f"#!/bin/sh\necho {user}\n")
    env = {"PATH": str(machine / "bin"), "BIN": str(machine / "bin"), "LOG": str(machine / "log"), "HOME": "/"}
    done = subprocess.run([machine / "scripts/setup", *tools], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


def test_nothing_is_said_when_all_is_there(machine: Path) -> None:
    program(machine, "tmux", "#!/bin/sh\n")
    assert setup(machine, "tmux") == (0, [])


def test_root_gets_what_is_missing_from_the_package_manager(machine: Path) -> None:
    program(machine, "apt-get", INSTALLS)
    assert setup(machine, "tmux") == (0, ["setup: installing: tmux"])
    assert os.access(machine / "bin/tmux", os.X_OK)
    assert (machine / "log").read_text().splitlines()[-1] == "install -y --no-install-recommends tmux"


def test_a_user_with_sudo_that_asks_nothing_gets_it_too(machine: Path) -> None:
    program(machine, "apt-get", INSTALLS)
    program(machine, "sudo", '#!/bin/sh\n[ "$1" = -n ] && shift\nexec "$@"\n')
    program(machine, "true", "#!/bin/sh\n")
    assert setup(machine, "tmux", user=1000) == (0, ["setup: installing: tmux"])


@pytest.mark.parametrize(
    ("manager", "line"),
    [
        ("apt-get", "sudo apt-get install -y --no-install-recommends tmux jq"),
        ("dnf", "sudo dnf install -y tmux jq"),
        ("apk", "sudo apk add tmux jq"),
        ("none", "your package manager on: tmux jq"),
    ],
)
def test_a_user_without_rights_is_told_the_one_line(machine: Path, manager: str, line: str) -> None:
    program(machine, manager, "#!/bin/sh\nexit 1\n")
    status, said = setup(machine, "tmux", "jq", user=1000)
    assert status == 69
    assert len(said) == 1
    assert said[0].startswith("setup: missing: tmux jq; install with")
    assert line in said[0]


def test_an_installation_that_fails_is_said_with_its_last_words(machine: Path) -> None:
    program(machine, "apt-get", "#!/bin/sh\necho no space left\nexit 1\n")
    status, said = setup(machine, "tmux")
    assert status == 69
    assert said[1:] == [
        "no space left",
        "setup: missing: tmux; this did not work: apt-get install -y --no-install-recommends tmux",
    ]


def test_a_python_that_is_too_old_counts_as_missing(machine: Path) -> None:
    program(machine, "python3", "#!/bin/sh\nexit 1\n")
    status, said = setup(machine, user=1000)
    assert (status, said) == (69, ["setup: missing: python3; install with your package manager on: python3"])
