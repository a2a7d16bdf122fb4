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
    said: list[str] = []
    store = PostgresStore(postgres_url, lambda text: said.append(str(text)), patient=True)
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
        "postgresql://fleet:x@s3cret@127.0.0.1:1/fleet",
        "postgresql://fleet:1/s3cret@127.0.0.1:1/fleet",
        "postgresql://fleet:s3cret@127.0.0.1:1/fleet?nonsense=s3cret",
    ],
    ids=["refused", "no socket", "no URL", "a raw @", "a raw /", "unknown parameter"],
)
def test_the_password_is_in_no_message(url: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(FleetError) as caught:
        PostgresStore(url, print)
    assert isinstance(caught.value, Unavailable | UsageError)
    assert "s3cr" not in str(caught.value) and caught.value.mend


def test_a_missing_driver_is_said_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(Unavailable, match=r"pip install 'psycopg\[binary\]', or pipx inject fleettools"):
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


FILTER = """
import sys
from fleettools.adapters.stores import open_store
from fleettools.adapters.lines import Input, pump
from fleettools.cli import command

@command("fleet-try")
def main(ctx):
    "Counts in the store."
    store = ctx.store(sys.argv[0], patient=True)
    def count(raw):
        value, version = store.get("n")
        store.put("n", str(int(value or b"0") + 1).encode(), version)
        return [raw]
    return pump(Input([], ctx.out, ctx.messages), ctx.out, ctx.messages, {"x": count})

sys.argv[0] = sys.argv.pop(1)
main()
"""


def control(server: Server, *words: str) -> None:
    programs, data, user = server
    command: list[str | Path] = [programs / "pg_ctl", "-D", data, *words, "-w", "-l", data.parent / "log"]
    subprocess.run(command, user=user, group=user, check=True, capture_output=True, timeout=60, cwd="/")


def test_a_filter_waits_for_a_lost_server_and_loses_no_record(
    postgres_url: str, postgres_server: Server, tmp_path: Path
) -> None:
    data = postgres_server[1]
    options = (data / "postmaster.opts").read_text().split('" "', 1)[1].rstrip().strip('"').replace('" "', " ")
    options = " ".join(word for word in options.split() if word not in ("-D", str(data)))
    command = [sys.executable, "-c", FILTER, postgres_url]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **streams, text=True, cwd=tmp_path) as process:  # type: ignore[call-overload]
        try:
            process.stdin.write('{"type":"x","n":0}\n')
            process.stdin.flush()
            assert process.stdout.readline() == '{"type":"x","n":0}\n'
            control(postgres_server, "stop", "-m", "immediate")
            process.stdin.write("".join(f'{{"type":"x","n":{n}}}\n' for n in range(1, 20)))
            process.stdin.close()
            assert "waiting for the server" in process.stderr.readline()
            with pytest.raises(Unavailable):
                PostgresStore(postgres_url, print)
        finally:
            control(postgres_server, "start", "-o", options)
        assert [f'{{"type":"x","n":{n}}}\n' for n in range(1, 20)] == process.stdout.readlines()
        assert "is back after" in process.stderr.read()
        assert process.wait(60) == 0
    store = PostgresStore(postgres_url, print)
    assert int(store.get("n")[0] or b"0") in (20, 21)  # the answer to one commit may have been lost
    store.close()


def test_who_is_not_patient_is_told_of_a_lost_server_at_once(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    store = PostgresStore(postgres_url, print)
    store.put("a", b"1", 0)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fleettools'")

    def refused(*_args: object, **_more: object) -> None:
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(psycopg, "connect", refused)
    monkeypatch.setattr("fleettools.adapters.clock.sleep", lambda _: pytest.fail("waited"))
    with pytest.raises(Unavailable, match="connection refused"):
        store.get("a")
