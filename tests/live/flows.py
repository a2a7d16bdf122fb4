"""Whole flows with real agents under fleetd: who is told, how tickets settle, and who goes on after an outage."""

import json
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from live.backend import STORY, Step
from live.lab import DAEMON, Pane
from live.matrix import Installed, World, world
from live.situations import Trial

LEADS = ("claude", "codex", "gemini", "opencode")
COOL_OFF = 60  # seconds
PATIENCE = 120.0
THINKS = 2.5  # seconds that a model takes at least: less is no turn
QUIET = 8.0  # seconds in which nothing more may come
ONWARD = "go on with it"
CONFIG = f"""\
outage: {{coolOffSeconds: {COOL_OFF}}}
resume: {{after: free, prompt: {ONWARD}, apart: 2}}
profiles:
"""
PROFILE = "  group-{0}: {{agent: {1}, command: {1}, credentialId: team-{0}}}\n"


class Outcome(NamedTuple):
    """What a flow came to; `wrong` is "" when all of it was right."""

    what: str
    wrong: str
    seconds: float


class Wrong(Exception):
    """Something of a flow was not as it should be."""


class Group(NamedTuple):
    """Two members on one credential, and their lead."""

    number: int
    lead: Pane
    members: list[Pane]


def plan(installed: list[Installed]) -> list[tuple[Installed, Installed]]:
    """The lead and the members' agent of each group: each of four agents leads once, and fails under another."""
    names = {one.agent.name: one for one in installed}
    leads = [names[name] for name in LEADS if name in names]
    return [(lead, next((one for one in leads[::-1] if one is not lead), lead)) for lead in leads]


def run(installed: list[Installed], kept: Path) -> list[Outcome]:
    """Every flow, side by side, under one fleetd."""
    groups = plan(installed)
    alone = len(groups)  # the group whose lead's pane holds a shell
    profiles = [PROFILE.format(number, member.agent.name) for number, (_, member) in enumerate(groups)]
    profiles.append(PROFILE.format(alone, groups[0][1].agent.name))
    profiles += [PROFILE.format(alone + 1 + number, one.agent.name) for number, one in enumerate(installed)]
    with world(CONFIG + "".join(profiles), kept, DAEMON) as here:
        flows: list[tuple[str, Callable[[], None]]] = []
        for number, (lead, member) in enumerate(groups):
            what = f"two of {member.agent.title} fail, {lead.agent.title} leads: told once, and they go on afterwards"
            flows.append((what, partial(_outage, here, number, lead, member)))
        flows.append(("a shell in a lead's pane gets nothing", partial(_shell, here, alone, groups[0][1])))
        for number, one in enumerate(installed, alone + 1):
            what = f"{one.agent.title}: a ticket settles after a streamed reply, after Esc and after {one.agent.clear}"
            flows.append((what, partial(_tickets, here, number, one)))
        with ThreadPoolExecutor(3) as pool:
            return list(pool.map(_tried, flows))


def _tried(flow: tuple[str, Callable[[], None]]) -> Outcome:
    what, go = flow
    began, wrong = time.monotonic(), ""
    try:
        go()
    except Wrong as error:
        wrong = str(error)
    except Exception:
        wrong = traceback.format_exc()
    outcome = Outcome(what, wrong, time.monotonic() - began)
    print(
        f"{'WRONG' if wrong else 'right'}  {what} ({outcome.seconds:.0f} s){f': {wrong}' if wrong else ''}", flush=True
    )
    return outcome


# -- who is told, and who goes on


def _outage(here: World, number: int, lead: Installed, member: Installed) -> None:
    boss = _pane(here, lead, agent=lead.agent.name)
    members = [_pane(here, member, profile=f"group-{number}", name=f"m{number}-{n}", lead=boss.id) for n in range(2)]
    try:
        group = Group(number, boss, members)
        boss.backend.serve(Step(text="I have read the notice."))
        tickets = _fail(here, group)
        for one in members:
            one.backend.serve(Step(text="It goes on.", delay=THINKS))
        _told_once(group)
        for one in members:
            _await(partial(_prompted, one), f"{one.agent.title} is prompted again")
        _await(lambda: len(_resumed(here, members)) >= 2, "both prompts of fleet-resume are proved")
        done = _command(here, "collect", *tickets, "--wait", "90")
        ends = [json.loads(line)["outcome"] for line in done.stdout.splitlines()]
        _must(ends == ["completed", "completed"], f"the tickets ended {ends}, {done.stderr}")
        again = [_prompted(one) for one in members]
        _must(again == [1, 1], f"they were prompted {again} times, not once each")
        _told_once(group)
    finally:
        for pane in (boss, *members):
            pane.end()


def _resumed(here: World, members: list[Pane]) -> list[dict[str, Any]]:
    panes = [one.id for one in members]
    return [one for one in here.pipe.news if one.get("type") == "resume" and one["target"] in panes]


def _prompted(pane: Pane) -> int:
    """How often a member's model was asked to go on."""
    return sum(request.main and ONWARD in asked_last(request.asked) for request in pane.backend.log)


def _fail(here: World, group: Group) -> list[str]:
    """Two members fail on their work; gives their tickets."""
    tickets = []
    for pane in group.members:
        pane.backend.serve(Step(failure="401"))
    for pane in group.members:
        tickets.append(_send(here, pane, "look at the notes"))
    _await(lambda: _incidents(here, group.number), "the incident")
    return tickets


def _told_once(group: Group) -> None:
    """The lead's agent itself has handed each notice to its model exactly once, and one of them tells the incident."""
    about = f"team-{group.number}"
    _await(lambda: any(about in text for text in _notices(group.lead)), f"{group.lead.agent.title} submits the notice")
    time.sleep(QUIET)
    texts = _notices(group.lead)
    tokens = [text.split()[2] for text in texts]
    _must(len(tokens) == len(set(tokens)), f"a notice was submitted twice: {texts}")
    cooling = [text for text in texts if about in text and "cool" in text]
    _must(len(cooling) == 1, f"{len(cooling)} notices tell of the cool-off: {texts}")


def _notices(lead: Pane) -> list[str]:
    """The notices that a lead's model was asked with, one for each request that brought one."""
    asked = [asked_last(request.asked) for request in lead.backend.log if request.main]
    return [text for text in asked if text.startswith("fleet notice")]


def _shell(here: World, number: int, member: Installed) -> None:
    lead = here.box.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "110", "-y", "40", "--", "sh")
    here.box.tmux("set-option", "-p", "-t", lead, "@fleet_agent", "claude")
    members = [_pane(here, member, profile=f"group-{number}", name=f"m{number}-{n}", lead=lead) for n in range(2)]
    try:
        for pane in members:
            pane.backend.serve(Step(failure="401"))
        for pane in members:
            _send(here, pane, "look at the notes")
        _await(lambda: _incidents(here, number), "the incident")
        time.sleep(QUIET)
        shown = here.box.tmux("capture-pane", "-p", "-t", lead)
        _must("fleet" not in shown, f"the shell was typed to: {shown}")
        pending = _command(here, "notify", "--pending").stdout
        _must("sh" in pending, f"nothing says why it was not told: {pending}")
    finally:
        for pane in members:
            pane.end()
        here.box.tmux("kill-pane", "-t", lead, check=False)


# -- tickets


def _tickets(here: World, number: int, one: Installed) -> None:
    pane = _pane(here, one, profile=f"group-{number}", name=f"t{number}")
    try:
        pane.backend.serve(Step(text=STORY, pace=0.35))
        ticket = _send(here, pane, "tell a slow story")
        _await(lambda: pane.backend.log, "the request")
        time.sleep(3)
        _must(_outcome(here, ticket) is None, f"settled {_outcome(here, ticket)} while its reply streams")
        _settles(here, ticket, "completed", "after its reply")

        pane.backend.serve(Step(failure="hang"))
        ticket = _send(here, pane, "wait for a stop")
        pane.keys(*one.agent.stop)
        _settles(here, ticket, "failed", "after Esc")
        pane.keys(*one.agent.empty)

        pane.backend.serve(Step(text="All is well.", delay=THINKS))
        ticket = _send(here, pane, "say that all is well")
        _settles(here, ticket, "completed", "before the screen is cleared")
        pane.type(one.agent.clear)
        pane.keys("Enter")
        time.sleep(1)
        pane.keys(*one.agent.cleared)
        time.sleep(QUIET)
        _must(_outcome(here, ticket) == "completed", f"{_outcome(here, ticket)} after {one.agent.clear}")
        ticket = _send(here, pane, "say that all is well")
        _settles(here, ticket, "completed", f"after {one.agent.clear}")
    finally:
        pane.end()


def _settles(here: World, ticket: str, wanted: str, when: str) -> None:
    _await(lambda: _outcome(here, ticket), f"a ticket settles {when}")
    _must(_outcome(here, ticket) == wanted, f"settled {_outcome(here, ticket)}, not {wanted}, {when}")


def _outcome(here: World, ticket: str) -> str | None:
    done = _command(here, "collect", ticket)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return str(lines[0]["outcome"]) if lines and lines[0].get("outcome") else None


# -- the world


_starting = threading.Lock()


def _pane(here: World, one: Installed, **options: str) -> Pane:
    """A pane whose agent has drawn its first composer. Agents start one after the other."""
    pane = Pane(here.box, one.agent, Path(tempfile.mkdtemp(prefix=f"{one.agent.name}-", dir=here.box.folder)), one.path,
                **options)  # fmt: skip
    with _starting:
        if not Trial(pane, here.pipe, one.version).open():
            raise Wrong(f"{one.agent.title} did not get to its first prompt:\n{pane.text()}")
    return pane


def _send(here: World, pane: Pane, prompt: str) -> str:
    """Hand a member work; its ticket."""
    said: list[str] = []
    for _ in range(5):
        done = _command(here, "send", pane.id, stdin=prompt)
        said.append(done.stderr.strip())
        if "(not now)" not in done.stderr:
            break
        time.sleep(1)
    _must(done.returncode == 0, f"fleet-send ended with {done.returncode}: {' / '.join(said)}\n{pane.text()}")
    return str(json.loads(done.stdout)["id"])


def _command(here: World, name: str, *args: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-P", "-m", f"fleettools.commands.{name}", *args]
    env = here.box.env
    return subprocess.run(words, env=env, cwd=here.box.work, input=stdin, capture_output=True, text=True, check=False)


def _incidents(here: World, number: int) -> list[dict[str, Any]]:
    return [one for one in here.pipe.news if one.get("type") == "incident" and one["credentialId"] == f"team-{number}"]


def asked_last(request: str) -> str:
    """The last thing that a person, or who types for one, said in a request."""
    try:
        asked = json.loads(request)
    except ValueError:
        return ""
    turns = asked.get("messages") or asked.get("input") or asked.get("contents") or []
    mine = [turn for turn in turns if isinstance(turn, dict) and turn.get("role") == "user"]
    texts = [text for text in _texts(mine[-1]) if text.strip()] if mine else []
    return next((text for text in reversed(texts) if "fleet notice" in text or ONWARD in text), "".join(texts[-1:]))


def _texts(turn: dict[str, Any]) -> list[str]:
    content = turn.get("content") or turn.get("parts") or []
    if isinstance(content, str):
        return [content]
    return [str(part.get("text", "")) for part in content if isinstance(part, dict)]


def _await(true: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > deadline:
            raise Wrong(f"within {PATIENCE:g} s this did not come: {what}")
        time.sleep(0.3)


def _must(true: bool, otherwise: str) -> None:
    if not true:
        raise Wrong(otherwise)
