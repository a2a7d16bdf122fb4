"""Back to work, the whole story: fleetd on real tmux, four members on two accounts, and nobody touches a key."""

import json
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sandbox import Sandbox, wait_for
from test_fleetd import Running, fleetd

APART = 3
CONFIG = f"""
profiles:
  claude-a: {{agent: claude, credentialId: team-a}}
  claude-b: {{agent: claude, credentialId: team-b}}
outage: {{coolOffSeconds: 8}}
resume: {{apart: {APART}}}
"""
MEMBERS = {"ada": "claude-a", "bob": "claude-a", "cleo": "claude-b", "dora": "claude-b"}
OUTAGE = "API Error: 529 Overloaded. This is a server-side issue, usually temporary"


class Fleet(NamedTuple):
    """A sandbox with four members, a lead and a backend that they share."""

    box: Sandbox
    log: Path

    def backend(self, failure: str) -> float:
        """From now on the backend fails with this, "" for not at all; the time."""
        (self.box.folder / "backend").write_text(failure)
        return time.time()

    def requests(self, since: float) -> list[float]:
        """When the backend was asked since then, in seconds."""
        lines = map(json.loads, self.log.read_text().splitlines())
        return [at - since for line in lines if (at := line.get("requested", 0)) >= since]

    def send(self) -> dict[str, str]:
        """Hand everybody some work; the tickets by name."""
        tickets = {}
        for name in MEMBERS:
            sent = self.box.run("fleet-send", name, stdin=f"work, {name}")
            assert sent.status == 0, sent
            tickets[name] = json.loads(sent.out)["id"]
        return tickets

    def all_finish(self, tickets: dict[str, str], patience: float) -> None:
        """Wait until the last ticket of each chain is completed."""

        def finished() -> bool:
            done = self.box.run("fleet-collect", *tickets.values())
            ends = [json.loads(line) for line in done.out.splitlines()]
            return done.status == 0 and [end["outcome"] for end in ends] == ["completed"] * len(tickets)

        wait_for(finished, f"finishing all of {tickets}", patience)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    box = Sandbox(tmp_path)
    fleet = Fleet(box, tmp_path / "log")
    fleet.backend("")
    (tmp_path / "fleetd.yaml").write_text(CONFIG)
    try:
        lead = box.claude(tmp_path / "lead", agent="claude", runs="claude.py")
        for name, profile in MEMBERS.items():
            mode = f"backend={tmp_path}/backend"
            box.claude(fleet.log, mode, profile=profile, name=name, lead=lead, runs="claude.py")
        yield fleet
    finally:
        box.close()


def said(running: Running, kind: str, **fields: Any) -> list[dict[str, Any]]:
    return [record for record in running.of(kind) if fields.items() <= record.items()]


def once_each_and_apart(requests: list[float]) -> None:
    """One request of ours until that one's turn has shown work, then at most one each `apart` seconds."""
    pauses = [later - earlier for earlier, later in pairwise(requests)]
    assert len(requests) == len(MEMBERS) and min(pauses) >= APART - 0.2, requests


def test_an_outage_that_outlasts_two_cool_offs(fleet: Fleet) -> None:
    """The first ones of both accounts fail once more, and what is handed out is finished all the same."""
    with fleetd(fleet.box, "run") as running:
        running.wait_until_up(6)
        fleet.backend(OUTAGE)
        tickets = fleet.send()
        wait_for(
            lambda: {record["credentialId"] for record in said(running, "incident", again=True)} == {"team-a", "team-b"}
        )
        well = fleet.backend("")
        fleet.all_finish(tickets, 60)
        once_each_and_apart(fleet.requests(well))
    assert all(record["outcome"] == "submitted" for record in running.of("resume"))
    assert {record["credentialId"] for record in said(running, "resume", probe=True)} == {"team-a", "team-b"}


def test_a_quota_that_resets(fleet: Fleet) -> None:
    """Both accounts are used up until the same moment; then one is tried, and the rest follow within a minute."""
    with fleetd(fleet.box, "run") as running:
        running.wait_until_up(6)
        resets = int(time.time()) + 30
        fleet.backend(f"Claude AI usage limit reached|{resets}")
        tickets = fleet.send()
        wait_for(lambda: {record["credentialId"] for record in running.of("quarantine")} == {"team-a", "team-b"})
        assert time.time() < resets
        wait_for(lambda: time.time() >= resets)
        fleet.backend("")
        fleet.all_finish(tickets, 70)
        once_each_and_apart(fleet.requests(resets))
    assert not running.of("incident")
