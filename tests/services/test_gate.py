"""The gate asked in this process: what it answers, what it reads for that, and what it does without a store."""

from collections.abc import Iterator
from typing import NoReturn

import pytest
from msgspec.structs import replace

from fleettools import records
from fleettools.adapters.memory import MemoryStore
from fleettools.config import Config, Profile
from fleettools.errors import BadInput, Exit, Unavailable
from fleettools.policy.accounts.credential import CredentialState, credential_key
from fleettools.policy.accounts.periods import Period, spanning
from fleettools.services.gate import Gate
from fleettools.services.store import change

CONFIG = Config(
    profiles={
        "a-one": Profile(credential_id="team-a", priority=9),
        "a-two": Profile(credential_id="team-a", priority=8),
        "b": Profile(credential_id="team-b", priority=1),
    }
)
LIMITED = replace(CONFIG, profiles=CONFIG.profiles | {"b": Profile(credential_id="team-b", max_members=1)})


class Watched(MemoryStore):
    """A store that keeps what was looked for in it; team-a cools off for a minute."""

    def __init__(self) -> None:
        super().__init__(print)
        period = Period(id="i", why="incident", evidence=[], **spanning(self.moment(), 60_000))
        state = CredentialState(cool_off=period)
        change(self, credential_key("team-a"), CredentialState, lambda _: (state, None))
        self.scans: list[str] = []

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes, int]]:
        self.scans.append(prefix)
        return super().scan(prefix)


def lost() -> NoReturn:
    """A store that is not there."""
    raise Unavailable("the store is gone", "wait")


def test_a_refusal_says_who_waits_for_what_and_how_long() -> None:
    choice = Gate(Watched, CONFIG).ask("a-two")
    assert not choice.allowed
    assert (choice.credential_id, choice.exit) == ("team-a", Exit.NOT_NOW)
    assert choice.back_in == choice.cooling_off_for_seconds == 60
    assert choice.reason == "a-two: credential team-a is cooling off for another 60 s after backend errors"


REQUESTS = [
    (records.Spawn(profile="b"), "b", True),
    (records.Spawn(profile="a-one"), "a-one", False),
    (records.Spawn(profile="nobody"), "nobody", False),
    (records.Spawn(auto=True), "b", True),
    (records.Spawn(auto=True, candidates=["a-one", "a-two"]), "a-one", False),
    (records.Spawn(auto=True, candidates=[]), None, False),
]


@pytest.mark.parametrize(("request_", "profile", "allowed"), REQUESTS)
def test_a_request_is_answered_about_its_profile_or_the_best_candidate(
    request_: records.Spawn, profile: str | None, allowed: bool
) -> None:
    choice = Gate(Watched, CONFIG).answer(request_)
    assert (choice.profile, choice.allowed) == (profile, allowed), choice.reason


@pytest.mark.parametrize("request_", [records.Spawn(), records.Spawn(auto=True, profile="b")])
def test_a_request_for_both_or_for_nothing_is_no_request(request_: records.Spawn) -> None:
    with pytest.raises(BadInput, match="either profile or auto"):
        Gate(Watched, CONFIG).answer(request_)


@pytest.mark.parametrize(
    ("config", "policy", "counted"),
    [(CONFIG, "priority", False), (CONFIG, "least-loaded", True), (LIMITED, "priority", True)],
)
def test_the_roster_is_read_only_where_members_are_counted(config: Config, policy: str, counted: bool) -> None:
    store = Watched()
    Gate(lambda: store, config, policy).ask_any()
    assert ("member/" in store.scans) is counted


def test_without_a_store_only_who_fails_open_is_allowed() -> None:
    with pytest.raises(Unavailable):
        Gate(lost, CONFIG).ask("b")
    choice = Gate(lost, CONFIG, fail_open=True).ask("b")
    assert choice.allowed
    assert choice.reason == "b: allowed by --fail-open, the store cannot be reached (the store is gone)"
    assert not Gate(lost, CONFIG, fail_open=True).ask("nobody").allowed


def test_a_store_that_comes_back_is_asked_again() -> None:
    doors = iter([lost, Watched])
    gate = Gate(lambda: next(doors)(), CONFIG, fail_open=True)
    assert gate.ask("a-one").allowed
    assert not gate.ask("a-one").allowed
