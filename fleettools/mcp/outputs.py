"""What each tool gives: the records that its command prints, and what an answer of several is made of."""

from typing import Any, Literal

import msgspec

from fleettools import records


class Output(msgspec.Struct, kw_only=True, rename="camel"):
    """An answer."""


class Answer(Output, kw_only=True):
    """An answer of several; `untrusted` says so where it quotes what members said, `next_cursor` goes on with it."""

    untrusted: str | None = None
    next_cursor: str | None = None


class Lead(Output, kw_only=True):
    """The pane of the lead that asks."""

    server: str
    target: str


class Spawned(Output, kw_only=True):
    """The gate's answer and the new member."""

    decision: records.Decision
    member: records.Member


class Collected(Answer, kw_only=True):
    """Tickets that have ended, each once, and those that have not."""

    tickets: list[records.Ticket]
    open: list[records.Ticket]


class Member(Output, kw_only=True):
    """A member as fleet-list shows it; what it does not have is left out."""

    server: str
    target: str
    state: records.State
    since: str
    age_seconds: int
    name: str | None = None
    pid: int | None = None
    profile: str | None = None
    credential_id: str | None = None
    agent: str | None = None
    lead: str | None = None
    ticket: str | None = None
    failure_reason: str | None = None
    reason: str | None = None


class Profile(Output, kw_only=True):
    """A profile as fleet-profiles shows it; `free` is null without a limit, what is not the case is left out."""

    free: int | None
    credential_id: str | None
    cooling_off_for_seconds: int | None = None
    quarantined_for_seconds: int | None = None
    cool_off: dict[str, Any] | None = None
    quarantine: dict[str, Any] | None = None
    tried_by: str | None = None
    tried_for_seconds: int | None = None
    last_worked: str | None = None
    last_worked_seconds_ago: int | None = None
    usage: list[dict[str, Any]] | None = None


class Fleet(Answer, kw_only=True):
    """What fleet-list prints; `lead` is yours, whose members these are, null when it is not known."""

    members: list[Member]
    profiles: dict[str, Profile]
    health_coverage: Literal["full", "detection-only", "off"]
    lead: Lead | None
    daemons: list[dict[str, Any]] | None = None


class Profiles(Answer, kw_only=True):
    """What fleet-profiles prints."""

    profiles: dict[str, Profile]
    cooling_off: dict[str, int]
    quarantined: dict[str, int]


class Lane(Output, kw_only=True):
    """One line of the story; `failures_left_out`: older ones that were not asked for."""

    name: str
    turns: dict[str, int]
    out_seconds: int
    failures: list[dict[str, Any]]
    periods: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    failures_left_out: int | None = None


class Story(Answer, kw_only=True):
    """What fleet-timeline --json prints."""

    by: Literal["credential", "profile", "agent", "member"]
    since: str
    until: str
    lanes: list[Lane]
