"""A refusal as a client is told of it: which one, why, what to do next, and when to come back."""

from typing import Annotated, Any

import msgspec

from fleettools import records
from fleettools.errors import FleetError
from fleettools.policy.accounts.placement import UNKNOWN, Choice

# What is in the way of a profile, as placement calls it, and as a client does.
GATE = {
    "quarantine": "quarantined",
    "cool-off": "cooling_off",
    "probe": "being_tried",
    "nearly used up": "nearly_used_up",
    "no place": "slots_full",
    UNKNOWN: "unknown_profile",
}
# What to do next; where nothing stands here the error itself says it.
NEXT = {
    "quarantined": "the account's quota is used up: spawn on a profile of another credential (auto chooses one)",
    "cooling_off": "its backend fails: spawn on a profile of another credential (auto chooses one), or come back then",
    "being_tried": "one member tries whether its backend works again: come back then",
    "nearly_used_up": "spawn on a profile of another credential (auto chooses one), or come back when it resets",
    "slots_full": "release a member that is done, or name another profile; time alone frees no place",
    "unknown_profile": "fleet_profiles shows the profiles that there are",
    "unknown_target": "fleet_list shows the members; name one by its name or pane id",
    "ambiguous_target": "name it by its pane id, as fleet_list shows it",
    "unknown_ticket": "fleet_send gives the id of a ticket, fleet_list shows the one that a member works on",
    "unknown_credential": "fleet_profiles shows the credentials that there are",
    "settled_ticket": "nothing is to be done: fleet_collect with this ticket says how it ended",
    "failed": "see failureReason in fleet_list; fleet_release with reinstate makes it ready again, or spawn another",
    "gone": "release it, and spawn another member",
    "busy": "nothing was typed; come back then, or collect its ticket first",
    "draft": "nothing was typed, since a person is writing there: come back then, or take another member",
    "asks": "nothing was typed: a person has to answer its agent's question in its pane first",
    "no_composer": "nothing was typed: come back when its agent shows its prompt box",
    "hidden": "nothing was typed: come back when nothing lies over its screen",
    "not_the_agent": "nothing was typed, since another program than the agent reads its terminal, or none",
    "not_failed": "reinstate is for members that have failed",
    "store_unreachable": "",
    "tmux_unreachable": "",
    "bad_config": "",
    "bad_input": "",
    "usage": "",
    "not_unknown": "it may have been typed all the same: look into its pane before you send it again",
    "not_stuck": "it stands in the composer, and Enter was not pressed: a person has to look into its pane",
    "not_queued": "its agent was at work and may take it up by itself: do not send it again",
}


class Refusal(msgspec.Struct, kw_only=True, rename="camel"):
    """Why it was not done. The fields of the record that the command would have printed stand beside these."""

    code: Annotated[str, msgspec.Meta(description="Which refusal it is, in a word: " + ", ".join(sorted(NEXT)) + ".")]
    reason: Annotated[str, msgspec.Meta(description="Why, in a sentence.")]
    mend: Annotated[str, msgspec.Meta(description="What to do next.")]
    retry_after: Annotated[
        int | None,
        msgspec.Meta(description="In how many seconds the same call may succeed; null: waiting changes nothing."),
    ]


class Refused(Exception):
    """A tool did not do what it was asked. `record`: what the command would have printed, if anything."""

    def __init__(self, refusal: Refusal, record: records.Record | None = None) -> None:
        super().__init__(refusal.reason)
        self.refusal, self.record = refusal, record

    @property
    def structured(self) -> dict[str, Any]:
        """The record and the refusal as one object."""
        made: dict[str, Any] = {} if self.record is None else msgspec.to_builtins(self.record)
        made |= msgspec.to_builtins(self.refusal)
        return made

    @property
    def text(self) -> str:
        """The refusal for an agent that reads text alone."""
        seconds = self.refusal.retry_after
        again = "waiting changes nothing" if seconds is None else f"try again in {seconds} s"
        mend = f"; {self.refusal.mend}" if self.refusal.mend else ""
        return f"Refused ({self.refusal.code}): {self.refusal.reason}{mend}. retryAfter: {again}."


def of_choice(choice: Choice, record: records.Decision) -> Refused:
    """The gate's refusal."""
    code = GATE[choice.obstacles[0].kind]
    seconds = choice.back_in
    return Refused(Refusal(code=code, reason=choice.reason, mend=NEXT[code], retry_after=seconds), record)


def of_error(error: FleetError, record: records.Record | None = None) -> Refused:
    """What a verb could not do."""
    reason = f"{error.where}: {error.what}" if error.where else error.what
    mend = NEXT.get(error.code) or error.mend
    return Refused(Refusal(code=error.code, reason=reason, mend=mend, retry_after=error.retry_after), record)
