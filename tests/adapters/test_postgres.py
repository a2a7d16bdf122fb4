"""The store in PostgreSQL: its clock, its connection, and what its messages keep to themselves."""

import subprocess
import sys
from pathlib import Path

import pytest

from fleettools.adapters import postgres
from fleettools.adapters.postgres import PostgresStore
from fleettools.errors import FleetError, Unavailable, UsageError

Server = tuple[Path, Path, int | None]


def test_the_clock_is_that_of_the_server(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLEET_NOW", raising=False)
    store = PostgresStore(postgres_url, print)
    monkeypatch.setattr("fleettools.adapters.clock.now_ms", lambda: 0)
    assert store.now_ms() > 1_700_000_000_000
    store.close()


def test_a_connection_that_was_cut_is_made_again(postgres_url: str) -> None:
    import psycopg

    store = PostgresStore(postgres_url, print)
    store.put("a", b"1", 0)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fleettools'")
    assert store.get("a") == (b"1", 1)
    assert store.put("a", b"2", 1)
    store.close()


def test_a_server_that_restarts_is_waited_for(postgres_url: str, postgres_server: Server) -> None:
    programs, data, user = postgres_server
    store = PostgresStore(postgres_url, print)
    store.put("a", b"1", 0)
    restart: list[str | Path] = [
        programs / "pg_ctl",
        "-D",
        data,
        "restart",
        "-m",
        "fast",
        "-w",
        "-l",
        data.parent / "log",
    ]
    subprocess.run(restart, user=user, group=user, check=True, capture_output=True, timeout=60, cwd="/")
    assert store.put("a", b"2", 1)
    store.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://fleet:s3cret@127.0.0.1:1/fleet",
        "postgresql://fleet:s3cret@/fleet?host=/nonexistent",
        "postgresql://fleet:s3cr@et@host:x5432s3cret/fleet",
        "postgresql://fleet:s3cret@127.0.0.1:1/fleet?nonsense=s3cret",
    ],
    ids=["refused", "no socket", "no URL", "unknown parameter"],
)
def test_the_password_is_in_no_message(url: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(FleetError) as caught:
        PostgresStore(url, print)
    assert isinstance(caught.value, Unavailable | UsageError)
    assert "s3cr" not in str(caught.value) and caught.value.mend


def test_a_missing_driver_is_said_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(Unavailable, match=r"pip install 'fleettools\[postgres\]'"):
        PostgresStore("postgresql://x@/x", print)


def test_tables_of_somebody_else_are_refused_and_left_as_they_are(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("CREATE TABLE fleet_state (id serial, ship text)")
        other.execute("INSERT INTO fleet_state (ship) VALUES ('Argo')")
        with pytest.raises(Unavailable, match=r"fleet_state are not those of fleettools.*; name another database"):
            PostgresStore(postgres_url, print)
        assert other.execute("SELECT id, ship FROM fleet_state").fetchall() == [(1, "Argo")]
        assert other.execute("SELECT to_regclass('fleet_deleted')").fetchone() == (None,)


def test_a_view_of_a_database_without_tables_is_empty_and_makes_none(postgres_url: str) -> None:
    import psycopg

    view = PostgresStore(postgres_url, print, view=True)
    assert (view.get("a"), list(view.scan("")), view.now_ms() > 0) == ((None, 0), [], True)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        assert other.execute("SELECT to_regclass('fleet_state')").fetchone() == (None,)
    store = PostgresStore(postgres_url, print)
    store.put("a", b"1", 0)
    assert view.get("a") == (b"1", 1)
    with pytest.raises(Unavailable, match="read-only"):
        view.put("a", b"2", 1)
    view.close()
    store.close()


def test_a_lock_that_stays_is_an_error_and_is_not_waited_for(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setattr(postgres, "PATIENCE", 0.3)
    store = PostgresStore(postgres_url, print)
    store.put("a", b"1", 0)
    with psycopg.connect(postgres_url) as holder:
        holder.execute("SELECT * FROM fleet_state FOR UPDATE")
        with pytest.raises(Unavailable, match="kept a statement waiting"):
            store.put("a", b"2", 1)
    assert store.put("a", b"2", 1)
    store.close()
