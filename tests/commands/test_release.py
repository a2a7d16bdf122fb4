"""fleet-release: members, credentials, and rows of the store that no command can read."""

import subprocess
import sys
from pathlib import Path

from desk import Desk, stamp
from test_list import CONFIG, feed, shown, verdict

from fleettools.adapters.sqlite import SqliteStore


def release(path: Path, *args: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "fleettools.commands.release", "--state", str(path), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=path.parent)
    return done.returncode, done.stderr


def test_a_row_that_cannot_be_read_is_removed_by_its_key(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "state.db"), print)
    store.put("member/h:/s:1/%1", b"{", 0)
    command = [sys.executable, "-m", "fleettools.commands.list", "--state", store.path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith('{"members":[]')
    mend = done.stderr.rpartition("; remove it with ")[2]
    assert mend == "fleet-release --row member/h:/s:1/%1\n"
    assert release(tmp_path / "state.db", *mend.split()[1:])[0] == 0
    assert store.get("member/h:/s:1/%1") == (None, 0)
    assert release(tmp_path / "state.db", *mend.split()[1:])[0] == 1
    store.close()


def test_a_failed_member_is_ready_for_work_again_by_a_person_s_word(desk: Desk) -> None:
    (desk.folder / "fleetd.yaml").write_text(CONFIG)
    failed = verdict(desk, "%1", "a-one", "backend_error")
    feed(desk, failed, verdict(desk, "%2", "b", "working"))
    done = desk.run("release", "n1", "--reinstate")
    (record,) = done.records
    assert (done.status, record["state"], record["reason"]) == (0, "idle", "reinstated by a person")
    # The failure that still stands on its screen does not fail it again, and is no evidence again.
    desk.now_ms += 30_000
    feed(desk, failed | {"ts": stamp(desk.now_ms)})
    assert {one["name"]: one["state"] for one in shown(desk)["members"]} == {"n1": "idle", "n2": "busy"}
    for name in ("n1", "n2", "nobody"):
        done = desk.run("release", name, "--reinstate")
        assert (done.status, [one["changed"] for one in done.records]) == (1, [False]), done
        assert "WARN" in done.said


def test_a_lifted_cool_off_ends_as_released_and_an_unknown_credential_is_a_no(desk: Desk) -> None:
    (desk.folder / "fleetd.yaml").write_text(CONFIG)
    errors = [verdict(desk, pane, "a-one", "backend_error") for pane in ("%1", "%2")]
    (incident,) = [one for one in desk.pipe(errors, "resolve", "correlate") if one["type"] == "incident"]
    desk.now_ms += 20_000
    done = desk.run("release", "--credential", "team-a")
    assert (done.status, done.records[0]["changed"]) == (0, True)
    assert desk.run("gate", "--profile", "a-one").status == 0
    desk.now_ms += 5_000
    ended = desk.run("correlate").records
    assert [(one["type"], one["id"], one["seconds"], one["why"]) for one in ended] == [
        ("ended", incident["id"], 20, "released")
    ]
    assert desk.run("correlate").records == []
    known = desk.run("release", "--credential", "team-b")
    assert (known.status, known.records[0]["changed"]) == (0, False)
    typo = desk.run("release", "--credential", "taem-a")
    assert (typo.status, typo.records[0]["changed"]) == (1, False) and "WARN" in typo.said
