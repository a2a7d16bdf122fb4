"""What is new, gone or judged differently in a release, what is recorded of it, and how it all ends."""

import json
from pathlib import Path

import pytest
from live import drift, releases
from live.drift import Change

LIMIT, ABORTED = "You've hit your {}.", "API Error: Request was aborted."
FOUND = {LIMIT: "limit", ABORTED: "failure"}


def row(text: str, first: str = "1.0.0", last: str = "1.2.0", **more: object) -> drift.Row:
    right = drift.verdict("claude", FOUND.get(text, "failure"), text)
    kind = FOUND.get(text, "failure")
    return {"agent": "claude", "kind": kind, "text": text, **right, "first": first, "last": last, **more}


def test_a_release_that_says_what_is_recorded_differs_in_nothing() -> None:
    assert drift.compare("claude", "1.3.0", FOUND, [row(LIMIT), row(ABORTED)]) == []


def test_a_new_string_is_told_with_its_verdict_and_one_that_is_gone_with_its_last_version() -> None:
    assert drift.compare("claude", "1.3.0", {LIMIT: "limit"}, [row(ABORTED)]) == [
        Change("new", LIMIT, "limit, judged exhausted quota"),
        Change("gone", ABORTED, "last in 1.2.0"),
    ]


def test_a_string_that_is_judged_otherwise_than_a_person_said() -> None:
    wrong = row(ABORTED, outcome="completed", cause=None)
    assert drift.compare("claude", "1.2.0", {ABORTED: "failure"}, [wrong]) == [
        Change("judged", ABORTED, "backend_error request, should be completed")
    ]


def test_a_string_that_the_judge_owes_is_told_of_when_it_is_judged_right() -> None:
    found = {ABORTED: "failure"}
    assert drift.compare("claude", "1.2.0", found, [row(ABORTED, outcome="completed", cause=None, owed=True)]) == []
    assert drift.compare("claude", "1.2.0", found, [row(ABORTED, owed=True)]) == [
        Change("judged", ABORTED, "backend_error request, no more owed")
    ]


def test_what_stands_on_the_screen_may_be_more_than_the_string() -> None:
    plain = row("Connection lost while your computer was asleep")
    assert drift.judged(plain)["outcome"] == "completed"
    assert drift.judged(plain | {"shown": f"API Error: {plain['text']}"})["outcome"] == "backend_error"


def test_a_string_that_ends_nothing_is_known_and_not_judged() -> None:
    assert drift.compare("claude", "1.2.0", {ABORTED: "failure"}, [row(ABORTED, outcome=None, cause=None)]) == []


def test_a_proposal_differs_until_a_person_has_looked() -> None:
    found = drift.compare("claude", "1.2.0", {ABORTED: "failure"}, [row(ABORTED, proposed=True)])
    assert [(change.what, change.text) for change in found] == [("proposed", ABORTED)]


@pytest.mark.parametrize(
    ("version", "texts"),
    [
        ("1.10.0", ["now"]),  # newer than what is recorded: as the newest
        ("1.9.0", ["now"]),
        ("1.5.0", ["now", "once"]),  # within
        ("1.0.0", ["once"]),
        ("0.9.0", ["once"]),  # older: as the oldest
    ],
)
def test_what_a_version_should_still_say(version: str, texts: list[str]) -> None:
    rows = [{"text": "now", "first": "1.5.0", "last": "1.9.0"}, {"text": "once", "first": "1.0.0", "last": "1.5.0"}]
    assert [row["text"] for row in drift.expected(rows, version)] == texts
    assert drift.expected([], version) == []


def test_recording_lengthens_a_span_both_ways_and_proposes_what_is_new() -> None:
    once = drift.recorded("claude", "1.10.0", FOUND, [row(LIMIT, "1.2.0", "1.9.0")])
    again = drift.recorded("claude", "1.1.0", {LIMIT: "limit"}, once)
    assert [(row["text"], row["first"], row["last"], row.get("proposed")) for row in again] == [
        (ABORTED, "1.10.0", "1.10.0", True),
        (LIMIT, "1.1.0", "1.10.0", None),
    ]


def test_two_releases_are_compared_without_the_record() -> None:
    assert drift.between("claude", {LIMIT: "limit"}, {ABORTED: "failure"}) == [
        Change("new", LIMIT, "limit, judged exhausted quota"),
        Change("gone", ABORTED, "failure"),
    ]


def test_values_are_filled_in_and_every_kind_is_drawn_where_it_stands() -> None:
    assert drift.filled("resets {} · attempt {}/{} in {}") == "resets at 3pm · attempt 2/10 in 40s"
    assert drift.filled("You've hit your {}{}{}") == "You've hit your session limit"
    assert drift.filled("Your limit is set to $0{}") == "Your limit is set to $0"
    assert drift.verdict("claude", "question", "Do you want to proceed?")["outcome"] == "blocked"
    assert drift.verdict("claude", "retry", "· retrying in {}s · attempt {}/{}")["outcome"] == "retrying"
    assert drift.verdict("codex", "retry", "Reconnecting... {}/{}")["outcome"] == "retrying"
    assert drift.verdict("codex", "question", "Would you like to run the following command?")["outcome"] == "blocked"


def test_a_long_list_is_cut_and_says_so() -> None:
    lines = list(drift.report("claude 1.0.0", [Change("new", f"{count}") for count in range(70)]))
    assert (lines[0], len(lines), lines[-1]) == ("claude 1.0.0: 70 new", drift.SHOWN + 2, "  and 10 more")
    assert list(drift.report("claude 1.0.0", [])) == ["claude 1.0.0: nothing differs"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Releases of Kimi Code without any registry, and an empty record; the record's path."""

    def install(agent: str, version: str | None = None) -> releases.Release:
        version = version or "2.0.0"
        if version == "9.9.9":
            raise releases.Missing(f"{agent} cannot be installed: no {version}")
        script = tmp_path / agent / version / drift.SOURCES["kimi"].files
        script.parent.mkdir(parents=True, exist_ok=True)
        texts = {"1.0.0": ["Prompt is too long", "Request timed out"], "2.0.0": ["Prompt is too long"]}[version]
        script.write_text(";".join(json.dumps(text) for text in texts))
        return releases.Release(agent, version, tmp_path / agent / version, script, ())

    wordings = tmp_path / "wordings.jsonl"
    wordings.write_text('{"file": "kimi", "phrase": "a", "text": "a b"}\n')
    monkeypatch.setattr(drift, "WORDINGS", wordings)
    monkeypatch.setattr(releases, "install", install)
    return wordings


def test_a_release_is_recorded_looked_at_and_then_differs_in_nothing(
    installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drift.main({"AGENTS": "kimi", "RECORD": "1", "KIMI": "1.0.0"}) == 1
    assert drift.main({"AGENTS": "kimi", "KIMI": "1.0.0"}) == 1
    assert "2 proposed" in capsys.readouterr().out
    rows = [json.loads(line) for line in installed.read_text().splitlines()]
    assert [row["text"] for row in rows] == ["a b", "Prompt is too long", "Request timed out"]
    looked = [{key: value for key, value in row.items() if key != "proposed"} for row in rows]
    installed.write_text("".join(json.dumps(row) + "\n" for row in looked))
    assert drift.main({"AGENTS": "kimi", "KIMI": "1.0.0"}) == 0
    assert capsys.readouterr().out == "kimi 1.0.0, 2 strings: nothing differs\n"
    assert drift.main({"AGENTS": "kimi"}) == 1
    assert "gone     Request timed out  [last in 1.0.0]" in capsys.readouterr().out
    assert drift.main({"AGENTS": "kimi", "SINCE": "1.0.0"}) == 1
    assert capsys.readouterr().out.startswith("kimi 2.0.0, 1 strings, since 1.0.0: 1 gone\n")


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"AGENTS": "copilot"}, "copilot cannot be read: its text is packed"),
        ({"AGENTS": "nosuch"}, "nosuch cannot be read: there are claude, codex"),
        ({"AGENTS": "kimi", "KIMI": "9.9.9"}, "kimi cannot be installed: no 9.9.9"),
        ({"AGENTS": "kimi", "KIMI": "new"}, "KIMI=new is no version"),
        ({"SINCE": "1.0.0"}, "name it with AGENTS="),
    ],
    ids=str,
)
def test_what_cannot_run_is_one_line_and_status_77(
    installed: Path, capsys: pytest.CaptureFixture[str], env: dict[str, str], said: str
) -> None:
    assert drift.main(env) == 77
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_an_agent_whose_release_is_pinned_is_the_one_that_is_meant() -> None:
    assert drift.agents_of({"CLAUDE": "2.1.290"}) == ["claude"]
    assert drift.agents_of({"AGENTS": "codex, pi"}) == ["codex", "pi"]
    assert drift.agents_of({}) == list(drift.SOURCES)
