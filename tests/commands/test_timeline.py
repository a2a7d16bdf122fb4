"""fleet-timeline: a chart at every width, a picture that can be rendered, one object, and where records come from."""

import json
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from desk import NOON, Desk, stamp

SERVER = "h:/s:1"
HOSTILE = "n\x1b[2J<b>&\u202e"


def story(start: int, name: str = "api") -> str:
    """Two hours: turns of two members, an outage that a lead was told of, and a quarantine that nobody was."""

    def at(minutes: float) -> str:
        return stamp(start + round(minutes * 60_000))

    def turn(minutes: float, target: str, outcome: str, profile: str, **more: Any) -> dict[str, Any]:
        who = {"server": SERVER, "target": target, "name": name, "profile": profile, "role": "member"}
        return {
            "type": "verdict", "ts": at(minutes), "outcome": outcome, "event": f"{target}:{at(minutes)}", **who, **more
        }  # fmt: skip

    rows = [turn(minutes, "%1", "completed", "a") for minutes in (0, 10, 11, 12, 90)]
    rows += [turn(20, "%1", "backend_error", "a"), turn(20.5, "%2", "backend_error", "a")]
    rows += [turn(60, "%3", "exhausted", "b"), turn(100, "%3", "failed", "b", reason="too fast")]
    who = {"targets": [{"server": SERVER, "target": "%1", "name": name}], "profiles": ["a"], "evidence": ["x"]}
    rows += [
        {"type": "incident", "ts": at(20.5), "id": "i", "credentialId": "a", "windowSeconds": 60,
         "coolingOffForSeconds": 60, **who},
        {"type": "delivery", "ts": at(20.6), "id": "i", "server": SERVER, "target": "%0", "outcome": "submitted",
         "reason": "seen"},
        {"type": "quarantine", "ts": at(60), "id": "q", "credentialId": "b", "quarantinedForSeconds": 1800,
         "until": at(90), "source": "cooldown", "profiles": ["b"]},
        {"type": "nobody knows this", "ts": at(120)},
    ]  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


def drawn(desk: Desk, *args: str, stdin: str, env: dict[str, str] | None = None) -> str:
    desk.env |= {"TZ": "UTC"} | (env or {})
    process = desk.start("timeline", *args)
    out, said = process.communicate(stdin, timeout=60)
    assert (process.returncode, said) == (0, "")
    return str(out)


@pytest.mark.parametrize("width", [40, 41, 57, 80, 133, 400])
def test_no_line_is_wider_than_was_asked_for_and_everything_is_there(desk: Desk, width: int) -> None:
    text = drawn(desk, "--width", str(width), stdin=story(NOON))
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    for said in ("7 turns", "2 backend errors", "out for 1 min", "1 out of quota"):
        assert said in words
    assert "a cooled off for 1 min; failed: api; told: %0" in words
    assert "b was in quarantine for 30 min; nobody was told" in words
    assert "api failed: too fast" in words


def test_what_happened_stands_at_its_time(desk: Desk) -> None:
    """Over 120 minutes on 120 columns a minute is a column."""
    lines = drawn(desk, "--width", "126", "--since", "120m", stdin=story(NOON) + last(NOON)).splitlines()
    out = {line[:6].strip(): line for line in lines[lines.index("a  7 turns, 2 backend errors, out for 1 min") :][:6]}
    assert [column - 6 for column, c in enumerate(out["fail"]) if c == "×"] == [20]
    assert [column - 6 for column, c in enumerate(out["out"]) if c == "▒"] == [20, 21]
    assert [column - 6 for column, c in enumerate(out["told"]) if c == "▲"] == [20]
    row = next(line for line in lines if "█" in line and line.startswith("  out"))
    assert (row.index("█") - 6, row.rindex("█") - 6) == (60, 90)


def last(start: int) -> str:
    return json.dumps({"type": "incident", "ts": stamp(start + 120 * 60_000), "id": "z", "credentialId": "z",
                       "windowSeconds": 60, "coolingOffForSeconds": 60}) + "\n"  # fmt: skip


def test_the_width_is_that_of_the_environment_or_80(desk: Desk) -> None:
    assert max(map(len, drawn(desk, stdin=story(NOON), env={"COLUMNS": "66"}).splitlines())) == 66
    del desk.env["COLUMNS"]
    assert max(map(len, drawn(desk, stdin=story(NOON)).splitlines())) == 80


def test_it_is_plain_in_a_pipe_and_what_does_not_print_is_escaped(desk: Desk) -> None:
    text = drawn(desk, "--by", "member", stdin=story(NOON, HOSTILE))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"n\x1b[2J<b>&\u202e" in text


def test_the_picture_is_xml_with_every_failure_and_nothing_that_runs(desk: Desk, tmp_path: Path) -> None:
    place = tmp_path / "out.svg"
    assert drawn(desk, "--svg", str(place), stdin=story(NOON, HOSTILE)) == ""
    text = place.read_text()
    assert drawn(desk, "--svg", "-", stdin=story(NOON, HOSTILE)) == text
    root = ElementTree.fromstring(text)
    spaced = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{spaced}svg"
    assert {element.tag.removeprefix(spaced) for element in root.iter()} <= {
        "svg", "title", "style", "rect", "text", "line", "path", "circle"
    }  # fmt: skip
    titles = [element.text or "" for element in root.iter(f"{spaced}title")]
    assert sum(title.startswith(r"n\x1b[2J<b>&\u202e: ") for title in titles) == 4
    assert not list(tmp_path.glob("*.new"))


def test_no_figure_of_a_lane_is_left_out_of_the_picture(desk: Desk) -> None:
    kinds = ("completed", "failed", "backend_error", "exhausted")
    told = [
        {"type": "verdict", "ts": stamp(NOON + 1000 * at), "at": stamp(NOON + 1000 * at), "server": "h:/s:1",
         "target": "%1", "role": "member", "credentialId": "a", "outcome": kind, "reason": "r", "event": f"e{at}"}
        for at, kind in enumerate(kinds)
    ]  # fmt: skip
    out = {"id": "q", "credentialId": "a", "targets": [], "profiles": ["a"], "leads": [], "evidence": ["e3"]}
    out |= {"quarantinedForSeconds": 60, "until": stamp(NOON + 63_000), "source": "cooldown"}
    told += [
        {"type": "quarantine", "ts": stamp(NOON + 3000), **out},
        told[0] | {"ts": stamp(NOON + 9000), "event": "x"},
    ]
    told[-1]["at"] = told[-1]["ts"]
    text = drawn(desk, "--svg", "-", stdin="".join(json.dumps(one) + "\n" for one in told))
    for figure in ("5 turns", "1 failed", "1 backend error", "1 out of quota", "out for 6 s"):
        assert figure in text


def test_what_a_mark_means_stands_beside_it_on_a_narrow_terminal(desk: Desk) -> None:
    lines = drawn(desk, "--width", "40", stdin=story(NOON)).splitlines()
    for meaning in ("× backend error", "◆ out of quota", "▒ cooling off", "█ quarantined"):
        assert any(meaning in line for line in lines), lines


@pytest.mark.skipif(not shutil.which("rsvg-convert"), reason="rsvg-convert is not installed")
def test_a_renderer_shows_the_picture(desk: Desk, tmp_path: Path) -> None:
    drawn(desk, "--svg", str(tmp_path / "out.svg"), stdin=story(NOON))
    command = ["rsvg-convert", str(tmp_path / "out.svg"), "-o", str(tmp_path / "out.png")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_written_is_74(desk: Desk) -> None:
    done = desk.run("timeline", "--svg", "/dev/null/x.svg", stdin=story(NOON))
    assert (done.status, done.records) == (74, [])
    assert "/dev/null/x.svg" in done.said


def test_one_object_with_the_lanes_that_were_asked_for(desk: Desk) -> None:
    (view,) = desk.run("timeline", "--json", "--by", "profile", stdin=story(NOON)).records
    assert [(lane["name"], lane["turns"]) for lane in view["lanes"]] == [
        ("a", {"completed": 5, "backend_error": 2}),
        ("b", {"exhausted": 1, "failed": 1}),
    ]


def test_records_end_with_the_latest_of_them(desk: Desk) -> None:
    desk.now_ms = NOON + 50 * 86_400_000
    (view,) = desk.run("timeline", "--json", "--since", "30m", stdin=story(NOON)).records
    assert (view["since"], view["until"]) == (stamp(NOON + 70 * 60_000), stamp(NOON + 100 * 60_000))
    assert [period["id"] for lane in view["lanes"] for period in lane["periods"]] == ["q"]


def test_without_records_the_journal_is_read_up_to_now(desk: Desk) -> None:
    journal = Path(desk.env["XDG_STATE_HOME"]) / "fleettools" / "journal"
    journal.mkdir(parents=True)
    midnight = NOON // 86_400_000 * 86_400_000
    (journal / f"{stamp(midnight)[:10]}.jsonl").write_text(story(midnight))
    (journal / f"{stamp(midnight - 1)[:10]}.jsonl").write_text(
        story(midnight - 9 * 3_600_000) + story(midnight - 3 * 3_600_000)
    )
    desk.now_ms = midnight + 2 * 3_600_000
    (view,) = from_the_journal(desk, "--json").records
    assert (view["since"], view["until"]) == (stamp(midnight - 4 * 3_600_000), stamp(desk.now_ms))
    assert view["lanes"][0]["turns"] == {"completed": 10, "backend_error": 4}
    (view,) = from_the_journal(desk, "--json", "--since", stamp(midnight)).records
    assert view["lanes"][0]["turns"] == {"completed": 5, "backend_error": 2}


def from_the_journal(desk: Desk, *args: str) -> Any:
    """With nothing to read: cron and a terminal are like that."""
    process = desk.start("timeline", *args, stdin=subprocess.DEVNULL)
    out, said = process.communicate(timeout=60)
    return type("Ended", (), {"records": [json.loads(line) for line in out.splitlines()], "said": said})


def test_a_journal_that_has_just_begun_is_drawn_from_its_beginning_and_what_goes_on_is_said_so(desk: Desk) -> None:
    journal = Path(desk.env["XDG_STATE_HOME"]) / "fleettools" / "journal"
    journal.mkdir(parents=True)
    (journal / f"{stamp(NOON)[:10]}.jsonl").write_text(story(NOON))
    desk.now_ms = NOON + 70 * 60_000
    desk.env["TZ"] = "UTC"
    process = desk.start("timeline", stdin=subprocess.DEVNULL)
    out, _ = process.communicate(timeout=60)
    assert out.startswith("2024-01-01 12:00 to 13:10 UTC\n")
    assert "b is in quarantine until 13:30; nobody was told" in out
    desk.env["TZ"] = "Europe/Berlin"
    out, _ = desk.start("timeline", stdin=subprocess.DEVNULL).communicate(timeout=60)
    assert out.startswith("2024-01-01 13:00 to 14:10 CET\n")


def test_a_journal_that_is_not_there_is_said(desk: Desk) -> None:
    ended = from_the_journal(desk, "--json")
    assert ended.records[0]["lanes"] == []
    assert "no journal in" in ended.said


def test_a_bad_line_is_said_and_the_rest_is_drawn(desk: Desk) -> None:
    done = desk.run("timeline", "--json", stdin=f"nonsense\n{story(NOON)}")
    assert done.status == 65
    assert "stdin:1: " in done.said
    assert len(done.records[0]["lanes"]) == 2
    assert desk.run("timeline", "--strict", "--json", stdin=f"nonsense\n{story(NOON)}").records[0]["lanes"] == []


def test_a_time_that_is_none_is_a_usage_error(desk: Desk) -> None:
    done = desk.run("timeline", "--since", "yesterday", stdin="")
    assert done.status == 2
    assert "write 90m, 6h, 2d" in done.said
