"""What `make live` is made of, without an agent: the backend, the matrix, the table, candidates, what is missing."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live import candidates, cells, failures, flows, lab, namespace, protocols, report
from live.backend import MOST, Backend, Step
from live.cells import Cell
from live.failures import FAILURES
from live.matrix import Installed
from live.situations import Check, Result
from sandbox import ROOT

PATHS = {
    "anthropic": "/v1/messages",
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
}
SHELL = {"name": "bash", "parameters": {"properties": {"command": {"type": "string"}}, "required": ["command"]}}
TOOLS: dict[str, Any] = {
    "anthropic": [{"name": "Bash", "input_schema": SHELL["parameters"]}],
    "openai": [{"type": "function", "function": SHELL}],
    "responses": [{"type": "function", **SHELL}],
    "gemini": [{"functionDeclarations": [SHELL | {"name": "run_shell_command"}]}],
}


@pytest.fixture
def backend() -> Iterator[Backend]:
    with Backend() as one:
        yield one


def ask(backend: Backend, family: str, tools: bool = True, timeout: float = 5) -> tuple[int, str, bool]:
    """A turn's request: the status, what was read of the body, and whether the body was whole."""
    connection = http.client.HTTPConnection("127.0.0.1", backend.port, timeout=timeout)
    asked = {"stream": True, "tools": TOOLS[family] if tools else []}
    try:
        connection.request("POST", PATHS[family], json.dumps(asked))
        answer = connection.getresponse()
        try:
            return answer.status, answer.read().decode(), True
        except http.client.IncompleteRead as cut:
            return answer.status, cut.partial.decode(), False
    finally:
        connection.close()


def quick(*steps: Step) -> list[Step]:
    return [step._replace(delay=0.0, pace=0.0) for step in steps]


# -- the backend


@pytest.mark.parametrize("family", PATHS)
def test_the_backend_refuses_with_the_status_and_words_of_each_failure(backend: Backend, family: str) -> None:
    wire = protocols.wire_of(PATHS[family])
    assert wire is not None
    for name, failure in FAILURES.items():
        if failure.how == "status":
            said = failure.words(wire.family)
            backend.serve(*quick(Step(failure=name)))
            status, body, whole = ask(backend, family)
            assert (status, whole) == (said.status, True) and said.message in json.dumps(json.loads(body)), name


@pytest.mark.parametrize("family", PATHS)
def test_the_backend_answers_asks_for_a_command_and_breaks_off_in_each_protocol(backend: Backend, family: str) -> None:
    backend.serve(*quick(Step(tool="cat notes.txt", times=1), Step(failure="in-stream", text="half", times=1),
                         Step(failure="cut-middle", text="half", times=1), Step(text="all is well")))  # fmt: skip
    called, broken, cut, answered = (ask(backend, family) for _ in range(4))
    assert "cat notes.txt" in called[1] and called[2]
    assert "half" in broken[1] and "verloaded" in broken[1] and broken[2]
    assert "half" in cut[1] and not cut[2]
    assert "all is well" in answered[1] and answered[2]
    assert [one.got for one in backend.log] == ["tool", "in-stream", "cut-middle", "reply"]


def test_the_backend_cuts_refuses_hangs_and_serves_a_page_of_a_proxy(backend: Backend) -> None:
    backend.serve(*quick(Step(failure="cut-before")))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        ask(backend, "openai")
    backend.serve(*quick(Step(failure="refused")))
    with pytest.raises(ConnectionRefusedError):
        ask(backend, "openai")
    backend.serve(*quick(Step(failure="hang")))
    with pytest.raises(TimeoutError):
        ask(backend, "openai", timeout=0.3)
    backend.serve(*quick(Step(failure="proxy")))
    status, body, _ = ask(backend, "openai")
    assert (status, "502 Bad Gateway" in body) == (502, True)


def test_the_backend_recovers_and_safeguards_end_an_answer(backend: Backend) -> None:
    backend.serve(*quick(Step(failure="recovers", times=1), Step(text="it works again")))
    assert [ask(backend, "anthropic")[0] for _ in range(2)] == [500, 200]
    backend.serve(*quick(Step(failure="safeguards")))
    assert '"refusal"' in ask(backend, "anthropic")[1]
    assert "PROHIBITED_CONTENT" in ask(backend, "gemini")[1]
    assert ask(backend, "openai")[0] == 400


def test_a_question_on_the_side_takes_no_step_and_is_no_turn(backend: Backend) -> None:
    backend.serve(*quick(Step(text="once", times=1), Step(text="then")))
    assert "title" in ask(backend, "openai", tools=False)[1]
    assert ["once" in ask(backend, "openai")[1], "then" in ask(backend, "openai")[1]] == [True, True]
    assert [one.main for one in backend.log] == [False, True, True] and len(backend.since(0)) == 2


def test_no_agent_runs_away_with_the_backend(backend: Backend) -> None:
    backend.serve(*quick(Step()))
    for _ in range(MOST):
        backend.next(True)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        ask(backend, "openai")
    backend.serve(*quick(Step(text="anew")))
    assert "anew" in ask(backend, "openai")[1]


def test_a_served_moment_lies_behind_the_delay(backend: Backend) -> None:
    backend.serve(Step(failure="500", delay=0.2))
    before = time.time()
    ask(backend, "openai")
    assert backend.log[0].served - before >= 0.2


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ({"command": {"type": "string"}, "why": {"type": "string"}}, {"command": "ls"}),
        ({"cmd": {"type": "string"}}, {"cmd": "ls"}),
        ({"command": {"type": "array"}}, {"command": ["sh", "-c", "ls"]}),
        ({"commands": {"type": "array"}}, {"commands": ["ls"]}),
    ],
)
def test_a_command_is_put_as_the_tool_wants_it(properties: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert protocols.arguments({"parameters": {"properties": properties}}, "ls") == wanted


# -- the matrix


def test_each_failure_is_tried_in_two_situations_and_each_situation_with_two_failures() -> None:
    chosen = cells.cells()
    assert len(chosen) == len(set(chosen)) and all(cells.fits(*cell) for cell in chosen)
    failing = [cell for cell in chosen if cell.situation in cells.FAILING]
    counted = Counter(cell.failure for cell in failing)
    assert set(counted) == set(FAILURES) and min(counted.values()) >= 2
    situations = Counter(cell.situation for cell in chosen)
    assert set(situations) == set(cells.SITUATIONS) and min(situations.values()) >= 2


def test_a_full_run_holds_every_cell_of_a_short_one_and_each_cell_once() -> None:
    full = cells.cells(full=True)
    assert set(cells.cells()) < set(full) and len(full) == len(set(full))


@pytest.mark.parametrize("full", [False, True])
def test_sessions_hold_every_cell_once_and_a_first_turn_comes_first(full: bool) -> None:
    asked = cells.cells(full)
    dealt = cells.sessions(asked)
    assert sorted(cell for session in dealt for cell in session) == sorted(asked)
    assert all(cell.situation != "first" for session in dealt for cell in session[1:])


def test_what_is_said_of_an_agent_names_failures_that_there_are() -> None:
    from fleettools.adapters import agentfiles

    for name, agent in lab.agents().items():
        assert name in agentfiles.names()
        assert {*agent.forever, *agent.shows, *agent.hides} <= set(FAILURES), name
        assert set(agent.without) <= set(cells.SITUATIONS), name


def test_a_quotation_names_its_failure() -> None:
    assert "529" in failures.quotation("529") and "Overloaded" in failures.quotation("529")


# -- whole flows


def test_each_of_four_agents_leads_once_and_its_members_are_another_agent() -> None:
    known = lab.agents()
    groups = flows.plan([Installed(known[name], "1.0.0", "") for name in ("kimi", *flows.LEADS)])
    assert [lead.agent.name for lead, _ in groups] == list(flows.LEADS)
    assert all(lead is not member for lead, member in groups)


@pytest.mark.parametrize(
    "request_",
    [
        {"messages": [{"role": "user", "content": "old"}, {"role": "assistant", "content": "so"},
                      {"role": "user", "content": [{"type": "text", "text": "<reminder>"},
                                                   {"type": "text", "text": "fleet notice ab12: x"}]}]},
        {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "old"}]},
                   {"role": "user", "content": [{"type": "input_text", "text": "fleet notice ab12: x"}]}]},
        {"contents": [{"role": "user", "parts": [{"text": "old"}]}, {"role": "model", "parts": [{"text": "so"}]},
                      {"role": "user", "parts": [{"text": "fleet notice ab12: x"}]}]},
    ],
    ids=["messages", "responses", "gemini"],
)  # fmt: skip
def test_what_was_asked_last_is_found_in_each_protocol(request_: dict[str, Any]) -> None:
    assert flows.asked_last(json.dumps(request_)) == "fleet notice ab12: x"


# -- the table


def result(said: str = "backend_error/server", screen: str = "", situation: str = "first", note: str = "") -> Result:
    check = Check("failure", ["backend_error/server"], said, 0.8, screen, "a title", "API Error: 500")
    return Result("claude", "2.1.332", Cell("500", situation), [check], note)


def test_rows_come_back_as_they_were_and_differences_name_the_cell() -> None:
    before = [report.row(result(), "2026-12-01")]
    now = [report.row(result("completed"), "2026-12-02")]
    assert report.read(report.lines(before)) == before
    assert list(report.differences(before, before)) == []
    (difference,) = report.differences(before, now)
    assert difference.startswith("claude 500 first: ") and "completed, not backend_error/server" in difference


def test_the_page_shows_seconds_what_is_wrong_and_leaves_blank_what_was_not_run() -> None:
    rows = [report.row(one, "2026-12-01") for one in (result(), result("completed", situation="tool"))]
    page = report.page(rows, {"claude": "Claude Code"})
    assert "## Claude Code 2.1.332, 2026-12-01" in page and "1 of 2 right" in page
    assert "| 500 | 0.8 | **wrong** |" in page and "\n| 503" not in page
    assert "- 500, after a tool call: failure completed, not backend_error/server, by `API Error: 500`" in page


# -- candidates


def test_a_candidate_loses_keys_paths_and_names_and_keeps_its_columns() -> None:
    screen = (
        "│ cwd: /var/tmp/fleet-a1b2/claude-x9/work  │\n│ /home/jane   │ ask jane at box7 sk-ant-api03-abcdefgh12345678"
    )
    cleaned = candidates.clean(screen, {"jane": "me", "box7": "host"})
    assert "fleet-" not in cleaned and "jane" not in cleaned and "box7" not in cleaned and "sk-ant" not in cleaned
    assert cleaned.splitlines()[0].startswith("│ cwd: /home/me/work")
    assert "│ /home/me     │ ask me at host [secret]" in cleaned


def test_a_screen_that_was_right_is_no_candidate(tmp_path: Path) -> None:
    assert candidates.offer(tmp_path, result(), {}) == []


@pytest.mark.parametrize(
    ("error", "right"), [("● API Error: 500 Internal server error", True), ("● All is well.", False)]
)
def test_a_candidate_becomes_a_sample_that_is_judged_by_what_the_backend_did(
    tmp_path: Path, error: str, right: bool
) -> None:
    rule = "─" * 80
    screen = f"❯ look at the notes\n\n{error}\n\n{rule}\n❯ \n{rule}\n  ? for shortcuts\n"
    (file,) = candidates.offer(tmp_path / "kept", result("completed", screen), {})
    samples = tmp_path / "samples"
    name, judged = candidates.keep(file, samples)
    assert (name, judged) == ("claude/backend_error--live-500-first-failure.txt", right)
    (row,) = map(json.loads, (samples / "index.jsonl").read_text().splitlines())
    assert (row["file"], row["outcome"], row["cause"], row["origin"]) == (name, "backend_error", "server", "captured")
    assert (samples / name).read_text() == screen and not list((tmp_path / "kept").rglob("*.*"))


# -- what is missing


def test_without_what_it_takes_it_ends_with_77_and_one_line() -> None:
    env = {"PATH": "/nonexistent", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-m", "tests.live"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (namespace.CANNOT, "", 1), done
    assert done.stderr.startswith("live: needs ")


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert namespace.missing().startswith("needs root")
