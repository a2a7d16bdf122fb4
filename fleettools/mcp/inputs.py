"""What each tool takes, with the words that an agent is told of it."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fleettools import records


class Input(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The arguments of a tool."""


TARGET = Meta(description="The member: its exact name, or its pane id (%5), as fleet_list shows them.")
CURSOR = Meta(description="nextCursor of the answer before, for what follows it.")
Cursor = Annotated[str | None, CURSOR]
Policy = Annotated[
    Literal["priority", "least-loaded"] | None,
    Meta(description="How auto chooses [default: as the configuration says, else priority]."),
]
ProfileName = Annotated[str | None, Meta(description="The profile, as fleet_profiles shows it. Give this or auto.")]
Auto = Annotated[bool, Meta(description="Choose a profile that may spawn now.")]


class Spawn(Input):
    """fleet_spawn."""

    profile: ProfileName = None
    auto: Auto = False
    policy: Policy = None
    name: Annotated[records.Name | None, Meta(description="The member's name, by which it can be sent to.")] = None
    cwd: Annotated[str | None, Meta(description="Its folder [default: the profile's, else this server's].")] = None
    session: Annotated[str | None, Meta(description="tmux session of its window [default: yours].")] = None
    split: Annotated[records.PaneId | None, Meta(description="Split this pane (%5) in place of a new window.")] = None
    lead: Annotated[records.PaneId | None, Meta(description="Its lead's pane (%5) [default: your own].")] = None


class Send(Input):
    """fleet_send."""

    target: Annotated[str, TARGET]
    prompt: Annotated[str, Meta(description="What it is to do, as a person would type it; at most 1 MiB.")]


class Reply(Input):
    """fleet_reply."""

    ticket: Annotated[str, Meta(description="The ticket's id, as fleet_send gave it.")]
    text: Annotated[str, Meta(description="The answer; secrets in it are replaced.")]


class Collect(Input):
    """fleet_collect."""

    tickets: Annotated[list[str], Meta(description="These, fetched before or not [default: all new ones].")] = []
    wait_seconds: Annotated[
        float,
        Meta(description="Wait so long for those that have not ended.", ge=0, le=86_400),
    ] = 0
    any: Annotated[bool, Meta(description="Wait only until one has ended, in place of all.")] = False
    everybody: Annotated[bool, Meta(description="Those of other leads, too.")] = False
    cursor: Cursor = None
    limit: Annotated[int, Meta(description="At most so many tickets.", ge=1, le=200)] = 20


class Release(Input):
    """fleet_release."""

    target: Annotated[str | None, TARGET] = None
    kill: Annotated[bool, Meta(description="End the member's pane, too, and what runs in it.")] = False
    reinstate: Annotated[bool, Meta(description="Make a failed member ready for work again instead.")] = False
    credential: Annotated[str | None, Meta(description="Lift its cool-off and quarantine instead.")] = None


class List(Input):
    """fleet_list."""

    everybody: Annotated[bool, Meta(description="All members, in place of your own.")] = False
    released: Annotated[bool, Meta(description="Members that were released, too.")] = False
    cursor: Cursor = None
    limit: Annotated[int, Meta(description="At most so many members.", ge=1, le=500)] = 50


class Profiles(Input):
    """fleet_profiles."""

    cursor: Cursor = None
    limit: Annotated[int, Meta(description="At most so many profiles.", ge=1, le=500)] = 50


class Gate(Input):
    """fleet_gate."""

    profile: ProfileName = None
    auto: Auto = False
    policy: Policy = None
    candidates: Annotated[list[str] | None, Meta(description="With auto: only among these profiles.")] = None


class Timeline(Input):
    """fleet_timeline."""

    since: Annotated[str | None, Meta(description="Begin 90m, 6h, 2d ago, or at an RFC 3339 time [default: 6h].")] = (
        None
    )
    by: Annotated[
        Literal["credential", "profile", "agent", "member"], Meta(description="What one line of the story is.")
    ] = "credential"
    failures: Annotated[int, Meta(description="The newest failures of each line, at most so many.", ge=0, le=500)] = 20
    cursor: Cursor = None
    limit: Annotated[int, Meta(description="At most so many lines.", ge=1, le=200)] = 20
