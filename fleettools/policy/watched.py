"""What a fleetd watches, in one line; and what makes its silence mean nothing."""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from fleettools import records


class Seat(NamedTuple):
    """A pane that was looked at, as its verdict says."""

    member: bool
    profile: str | None
    lead: bool


def seat_of(verdict: records.Heading) -> Seat | None:
    """Who sits in a pane; None when nobody does any more."""
    if verdict.gone or verdict.unmarked:
        return None
    return Seat(verdict.role != "lead", verdict.profile, verdict.lead is not None)


def summary(seats: Collection[Seat]) -> str:
    """The members by profile, and how many leads there are."""
    counts = Counter(seat.profile or "no profile" for seat in seats if seat.member)
    leads = sum(not seat.member for seat in seats)
    members = ", ".join(f"{profile} {number}" for profile, number in sorted(counts.items())) or "no members"
    return f"watching: {members}; leads: {leads or 'none'}"


def faults(seats: Collection[Seat], alerts: bool) -> list[str]:
    """Why nobody would hear of a failure, each with its mend."""
    members = [seat for seat in seats if seat.member]
    if not members:
        return ["watching nothing: no pane is a member; set @fleet_profile on one, or give fleetd.yaml a panes: rule"]
    if not alerts and not any(seat.lead for seat in members):
        return ["nobody is told of a failure: no member has a lead; set @fleet_lead, or give fleetd.yaml alerts:"]
    return []
