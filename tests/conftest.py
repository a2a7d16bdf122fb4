"""With FLEET_TEST_REQUIRE=1 (as in .ci/run) a test that would skip, for a program that is missing, fails instead.

Property tests try the same examples every time; FLEET_TEST_EXAMPLES=5000 has them try so many new ones.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
if number := os.environ.get("FLEET_TEST_EXAMPLES"):
    settings.register_profile("new", max_examples=int(number), deadline=None)
settings.load_profile("new" if number else "same")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("FLEET_TEST_REQUIRE") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
    return report


def _run(command: Sequence[str | Path], user: int | None) -> None:
    subprocess.run(command, user=user, group=user, check=True, capture_output=True, timeout=60, cwd="/")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[tuple[Path, Path, int | None]]:
    """A PostgreSQL server of the tests' own, started when one asks: its programs, its data, and the user it runs as."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("no PostgreSQL server is installed (apt-get install postgresql)")
    programs = found[-1].parent
    user = 65534 if os.getuid() == 0 else None
    # A short path: the name of a Unix socket has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="fpg", dir="/tmp"))
    try:
        if user:
            os.chown(folder, user, user)
        data = folder / "data"
        _run([programs / "initdb", "-D", data, "-U", "fleet", "-A", "trust", "-N", "--no-locale", "-E", "UTF8"], user)
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        start: list[str | Path] = ["start", "-w", "-t", "60", "-o", options, "-l", folder / "log"]
        _run([programs / "pg_ctl", "-D", data, *start], user)
        try:
            yield programs, data, user
        finally:
            _run([programs / "pg_ctl", "-D", data, "stop", "-m", "immediate", "-w"], user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: tuple[Path, Path, int | None]) -> str:
    """The URL of a database without tables of ours."""
    psycopg = pytest.importorskip("psycopg")
    url = f"postgresql://fleet@/postgres?host={postgres_server[1].parent}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS fleet_state, fleet_deleted")
    return url
