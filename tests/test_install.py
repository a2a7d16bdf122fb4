"""The wheel, and the wheel of the source distribution: every command, manual page and completion, nothing else."""

import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox import ROOT

pytestmark = pytest.mark.xdist_group("install")  # one worker builds, once

SCRIPTS = sorted(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"])
README = (ROOT / "README.md").read_text()
PAGES = sorted(path.name for path in (ROOT / "man").iterdir())


def python(*args: str | Path) -> None:
    subprocess.run([sys.executable, *args], check=True, capture_output=True, cwd="/", timeout=100)


@pytest.fixture(name="built", scope="module")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and in `tree` and `sdist` the wheels made of the tree and of it."""
    folder = tmp_path_factory.mktemp("built")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    for name, source in (("tree", ROOT), ("sdist", next(folder.glob("*.tar.gz")))):
        python("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder / name, source)
    return folder


@pytest.fixture(name="installed", scope="module")
def _installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A virtual environment with the wheel, and this one's packages in place of a download."""
    place = tmp_path_factory.mktemp("venv")
    venv.create(place, with_pip=False, symlinks=True)
    wheel = next((built / "tree").glob("*.whl"))
    python("-m", "pip", "--python", place / "bin/python", "install", "-q", "--no-deps", "--no-index", wheel)
    packages = next(place.glob("lib/python*/site-packages"))
    (packages / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    yield place


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_command_is_installed_and_runs(script: str, installed: Path, tmp_path: Path) -> None:
    done = subprocess.run([installed / "bin" / script, "--version"], capture_output=True, cwd=tmp_path, timeout=60)
    assert done.stdout.decode() == f"{script} 0.1.0\n", done


def test_the_installed_package_is_the_one_that_runs(installed: Path, tmp_path: Path) -> None:
    screen = "❯ go\n\n● API Error: 500 Internal server error.\n\n✻ Cooked for 9s\n"
    command = [installed / "bin/fleet-classify", "--text", "--agent", "claude"]
    done = subprocess.run(command, input=screen.encode(), capture_output=True, cwd=tmp_path, timeout=60)
    assert b'"outcome":"backend_error"' in done.stdout, done
    place = subprocess.run(
        [installed / "bin/python", "-c", "import fleettools; print(fleettools.__file__)"],
        capture_output=True,
        cwd=tmp_path,
    )
    assert str(installed) in place.stdout.decode()


def test_the_lines_that_install_the_extra_bring_what_a_shared_store_needs(
    built: Path, installed: Path, tmp_path: Path
) -> None:
    """README's, with pip in place of pipx, and what is here in place of a download."""
    lines = re.search(r"^pipx install '\.(\[\w+\])' +# or: pipx inject fleettools '(.*)'$", README, re.MULTILINE)
    assert lines
    wheel = next((built / "tree").glob("*.whl"))
    for wanted in (f"{wheel}{lines[1]}", lines[2]):
        command = [sys.executable, "-m", "pip", "--python", installed / "bin/python", "install", "--no-index", wanted]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=100, check=False)
        assert done.returncode == 0, done
        assert "does not provide the extra" not in done.stderr
        assert "psycopg-binary" in done.stdout
    shown = [installed / "bin/fleet-list", "--state", "postgresql://fleet@127.0.0.1:1/fleet"]
    done = subprocess.run(shown, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 69
    assert "connection failed" in done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_every_manual_page_is_installed(page: str, installed: Path) -> None:
    assert (installed / f"share/man/man{page[-1]}" / page).read_bytes() == (ROOT / "man" / page).read_bytes()


def test_completions_are_installed_for_each_command(installed: Path) -> None:
    for shell, place in (
        ("bash", "bash-completion/completions"), ("zsh", "zsh/site-functions"), ("fish", "fish/vendor_completions.d"),
    ):  # fmt: skip
        made = {path.name for path in (ROOT / "completions" / shell).iterdir()}
        assert made == {path.name for path in (installed / "share" / place).iterdir()}
        assert len(made) == len(SCRIPTS)


def test_type_checkers_are_told_that_the_package_is_typed(installed: Path) -> None:
    assert list(installed.glob("lib/python*/site-packages/fleettools/py.typed"))


def test_the_source_distribution_gives_the_same_wheel(built: Path) -> None:
    trees = [zipfile.ZipFile(next((built / name).glob("*.whl"))).namelist() for name in ("tree", "sdist")]
    assert sorted(trees[0]) == sorted(trees[1])


def test_the_source_distribution_has_the_tests_and_the_licence(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {"LICENSE", "Makefile", "README.md", "bin/fleetd", "tests/test_install.py", "man/fleetd.1"} <= names


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_command_runs_from_a_checkout(script: str, tmp_path: Path) -> None:
    (tmp_path / "fleettools").mkdir()  # a folder of this name in the current directory is not ours
    done = subprocess.run([ROOT / "bin" / script, "--version"], capture_output=True, cwd=tmp_path, timeout=60)
    assert (done.stdout.decode(), done.stderr) == (f"{script} 0.1.0\n", b"")
