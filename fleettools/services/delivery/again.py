"""A failed member's pane, to be prompted again: from nowhere else is anything typed to a member that has failed."""

from collections.abc import Callable
from typing import NamedTuple

from fleettools.config import Config
from fleettools.errors import NoPane, Unavailable
from fleettools.policy import foreground
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.seats import matching
from fleettools.screens.look import Look
from fleettools.screens.scrub import scrubbed
from fleettools.services.delivery.inject import Doors as SiteDoors
from fleettools.services.delivery.inject import Site, breaks, unready
from fleettools.services.delivery.panes import socket_of
from fleettools.services.delivery.sending import May, Order, Sending, Sent
from fleettools.services.owner import Ownership
from fleettools.services.ports import Clock, Keys, Messages, Terminals
from fleettools.services.store import Store


class Doors(NamedTuple):
    """What this reaches outside through. `tmux` opens a server by its socket; `look` is by profile and agent."""

    store: Store
    tmux: Callable[[str], Keys]
    terminals: Terminals
    owner: Ownership
    clock: Clock
    messages: Messages
    config: Config
    look: Callable[[str | None, str | None], Look | None]


class FailedPane:
    """One failed member's pane, as it is now; raises Unavailable when it cannot be reached."""

    def __init__(self, doors: Doors, member: MemberState) -> None:
        self._doors, self._member = doors, member
        self._tmux = doors.tmux(socket_of(member.server))
        self._row = self._tmux.pane(member.target)
        if self._row.server != member.server or member.pid not in (None, self._row.pid):
            raise self._tmux.error(f"{member.target} runs another process by now", kind=NoPane)
        look = doors.look(member.profile, member.agent)
        if look is None:
            raise Unavailable(f"{member.target} runs no agent that is known", "set @fleet_agent on it")
        self._look = look

    def _site(self, pause: Callable[[float], None]) -> Site:
        doors, rule = self._doors, matching(self._row, self._doors.config.panes)
        seated = (*self._row.runs_option.split(), *(rule.runs if rule else ()))
        runs = doors.config.runs_of(self._member.profile, seated)
        site = SiteDoors(self._tmux, doors.terminals, doors.clock, pause)
        return Site(site, self._row, self._look, foreground.programs(self._look, runs))

    def unready(self, text: str) -> str:
        """Why the text may not be typed there, "" when its agent alone reads it and its composer is empty."""
        if breaks(text, self._look):
            return "its agent would take each line as a prompt of its own"
        site = self._site(self._doors.clock.sleep)
        return site.hindrance() or unready(site.see())

    def shows(self, baseline: str | None) -> bool:
        """Whether it shows what it showed then, with an empty composer: nothing has gone in since."""
        sight = self._site(self._doors.clock.sleep).see()
        return not unready(sight) and scrubbed(sight.text) == baseline

    def send(self, text: str, order: Order, may: May) -> Sent:
        """Type the text and see it submitted, under the order's ticket."""
        doors = self._doors
        sending = Sending(doors.store, doors.owner, doors.clock, doors.messages, self._member, may, order)
        return sending.run(self._site(sending.pause), text)
