"""fleet-replay as a process: the bundled screens, and folders of one's own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import drawing

OVERLOADED = drawing.failure("claude", "API Error: 529 Overloaded")


def run(folder: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("FLEET", "XDG", "TMUX"))}
    command = [sys.executable, "-m", "fleettools.commands.replay", *args]
    env = {**keep, "HOME": str(folder)}
    return subprocess.run(command, text=True, capture_output=True, cwd=folder, env=env, check=False)


def test_every_bundled_screen_is_judged_right(tmp_path: Path) -> None:
    done = run(tmp_path, "--verbose", str(drawing.SAMPLES))
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith(" screens, 0 wrong, 0 false alarms\n")
    assert "not scored: ambiguous/" in done.stdout


def test_a_folder_without_an_index_is_read_off_its_names(tmp_path: Path) -> None:
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "backend_error--x.txt").write_text(OVERLOADED)
    (tmp_path / "claude" / "stale--x.txt").write_text(OVERLOADED)
    (tmp_path / "claude" / "stale--x.baseline.txt").write_text(OVERLOADED)
    done = run(tmp_path, ".")
    assert done.returncode == 0 and done.stdout.endswith("2 screens, 0 wrong, 0 false alarms\n")


def test_a_wrong_screen_ends_it_with_one_and_verbose_says_why(tmp_path: Path) -> None:
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "completed--x.txt").write_text(OVERLOADED)
    done = run(tmp_path, "-v", "claude")
    assert done.returncode == 1 and "backend_error, not completed" in done.stdout and "rule: claude:" in done.stdout
    assert done.stdout.endswith("1 screens, 1 wrong, 1 false alarms\n")


def test_the_index_says_what_else_is_right_and_which_profile(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(OVERLOADED)
    (tmp_path / "fleetd.yaml").write_text("profiles: {p: {agent: claude, command: c, errorPattern: none}}\n")
    cases = [
        {"file": "a.txt", "agent": "claude", "outcome": "failed", "alsoRight": ["backend_error"]},
        {"file": "a.txt", "profile": "p", "outcome": "completed"},
        {"file": "a.txt", "agent": "claude", "outcome": "backend_error", "cause": "server"},
    ]
    (tmp_path / "index.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    done = run(tmp_path, ".")
    assert "cause overload, not server" in done.stdout and "3 screens, 1 wrong, 0 false alarms" in done.stdout


def test_the_index_says_when_the_screen_was_seen_and_when_the_limit_resets(tmp_path: Path) -> None:
    """A reset is right within its minute; null says that none may be read."""
    (tmp_path / "a.txt").write_text(drawing.failure("claude", "You've hit your weekly limit · resets 3pm"))
    look = {
        "file": "a.txt",
        "agent": "claude",
        "outcome": "exhausted",
        "ts": "2026-07-05T10:00:00Z",
        "tz": "Asia/Tokyo",
    }
    rights = ["2026-07-06T06:00:30Z", "2026-07-06T07:00:00Z", None]
    cases = [{**look, "resetsAt": right} for right in rights]
    (tmp_path / "index.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    done = run(tmp_path, ".")
    assert "resets at 2026-07-06T06:00:00.000Z, not 2026-07-06T07:00:00Z" in done.stdout, done.stdout
    assert "not None" in done.stdout and "3 screens, 2 wrong, 0 false alarms" in done.stdout


def test_a_folder_of_an_index_is_judged_by_it(tmp_path: Path) -> None:
    for folder in ("claude", "codex"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "failed--x.txt").write_text(OVERLOADED)
    cases = [{"file": f"{folder}/failed--x.txt", "agent": "claude", "outcome": outcome} for folder, outcome in
             (("claude", "backend_error"), ("codex", "completed"))]  # fmt: skip
    (tmp_path / "index.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    done = run(tmp_path, "claude/")
    assert done.returncode == 0 and done.stdout.endswith("1 screens, 0 wrong, 0 false alarms\n"), done.stdout


def test_a_broken_index_or_an_empty_folder_is_bad_input(tmp_path: Path) -> None:
    assert run(tmp_path, ".").returncode == 65
    (tmp_path / "index.jsonl").write_text("{}\n")
    done = run(tmp_path, ".")
    assert done.returncode == 65 and "index.jsonl:1" in done.stderr


def test_json_gives_an_object_for_each_screen(tmp_path: Path) -> None:
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "completed--x.txt").write_text(OVERLOADED)
    (tmp_path / "claude" / "unlabelled.txt").write_text(OVERLOADED)
    done = run(tmp_path, "--json", "claude")
    wrong, unscored = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, wrong["right"], wrong["outcome"]) == (1, "completed", "backend_error")
    assert (wrong["wrong"], wrong["alarm"]) == ("backend_error, not completed", True)
    assert (unscored["right"], unscored["wrong"], unscored["outcome"]) == (None, None, "backend_error")
