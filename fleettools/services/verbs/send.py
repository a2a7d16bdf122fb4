"""A prompt for a member: who is meant, whether it fits, and the typing of it."""

import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from fleettools import records
from fleettools.config import Config
from fleettools.errors import BadInput, NotNow, Unknown
from fleettools.policy import foreground
from fleettools.policy.members import handover, marking, roster
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.seats import Seat, may_opt_out, seats
from fleettools.screens.look import Look
from fleettools.services import fleet, members
from fleettools.services.delivery import inject
from fleettools.services.delivery.inject import Site, breaks
from fleettools.services.delivery.sending import Order, Sending, Sent
from fleettools.services.finder import Finder
from fleettools.services.owner import Ownership
from fleettools.services.ports import Clock, Keys, Messages, PaneRow, Terminals
from fleettools.services.store import Store, read

NOTHING = "nothing was typed"
AGAIN = 5  # seconds after which a pane in use is worth another try


class Doors(NamedTuple):
    """What a prompt reaches outside through.

    `look_of` gives the look of who runs on a profile, or of an agent; `started` when a process began, if it lives;
    `finder` finds members that nobody marked.
    """

    config: Config
    store: Store
    tmux: Keys
    terminals: Terminals
    clock: Clock
    messages: Messages
    look_of: Callable[[Config, str | None, str | None], Look | None]
    started: Callable[[int], str | None]
    finder: Finder | None


class Found(NamedTuple):
    """The member that is meant: its pane, and the names of programs that a person says are its agent there."""

    row: PaneRow
    member: MemberState
    runs: tuple[str, ...]


class Handed(NamedTuple):
    """What became of a prompt. `trouble`: why it was not submitted, None when it was."""

    sent: Sent
    trouble: NotNow | None


def checked(text: str) -> str:
    """The prompt, its last newlines taken off; raises BadInput for one that no agent would read as it stands."""
    text = text.rstrip("\n")
    for place, character in enumerate(text):
        if unicodedata.category(character) == "Cc" and character not in "\n\t":
            what = f"control character U+{ord(character):04X} at {place}"
            raise BadInput(what, "of these only newline and tab may stand in a prompt", "stdin")
    if not text.strip():
        raise BadInput("the prompt is empty", "write it on standard input", "stdin")
    return text


def send(doors: Doors, target: str, prompt: str, lead: str | None = None) -> Handed:
    """Hand a member a `checked` prompt. `lead`: who is told how it ended, None for the member's own lead.

    Raises Unknown when there is no such member, NotNow when nothing was tried.
    """
    found = _member(doors, target)
    look = doors.look_of(doors.config, found.member.profile, found.member.agent)
    if why := handover.hindrance(found.member, members.now_ms(doors.store, doors.clock, found.member)):
        raise NotNow(f"{target} {why.words}", NOTHING, code=why.code, retry_after=why.seconds)
    if look is None:
        words = f"runs no agent that is known ({found.member.agent}); set @fleet_agent, see fleetd.yaml(5)"
        raise NotNow(f"{target} {words}", NOTHING, code="unknown_agent")
    if breaks(prompt, look):
        words = f"would take each line as a prompt of its own ({look.name}); send one line"
        raise NotNow(f"{target} {words}", NOTHING, code="breaks")
    sent = _sent(doors, found, look, prompt, lead)
    return Handed(sent, None if sent.submitted else _trouble(found.row.id, sent))


def _trouble(pane: str, sent: Sent) -> NotNow:
    result = sent.result
    words = f"{pane}: not submitted ({result.outcome or 'not now'}): {result.reason}"
    # What was typed and not seen to go in must not be typed again.
    again = AGAIN if result.outcome is None else None
    return NotNow(words, code=result.code or f"not_{result.outcome or 'now'}", retry_after=again)


def _member(doors: Doors, target: str) -> Found:
    """The pane and the member that TARGET means; a pane that says it is one enters the roster here."""
    store, tmux = doors.store, doors.tmux
    rows = {row.id: row for row in tmux.panes()}
    server = next(iter(rows.values())).server if rows else tmux.server()
    found = _seated(doors, rows)
    looks = {pane: _look_at(doors, rows[pane], seat) for pane, seat in found.items() if seat.role == "member"}
    known = roster.find([m for m in fleet.members(store) if m.server == server and m.target in rows], target, server)
    named = [pane for pane, look in looks.items() if target in (pane, look.name)]
    pane = known.target if known else named[0] if len(named) == 1 else None
    if pane is None or (known is None and pane not in looks):
        what = f"{target} is more than one pane" if len(named) > 1 else f"{target} is no member of the fleet"
        mend = "fleet-list shows the members, tmux list-panes -a the panes"
        raise Unknown(f"{what} on {server}", mend, code="ambiguous_target" if len(named) > 1 else "unknown_target")
    row = rows[pane]
    if pane in looks and (known is None or known.pid not in (None, row.pid)):
        at = members.moment(store, doors.clock)
        members.commit(store, server, pane, lambda member, won: marking.step(member, looks[pane], won, at))
    member = read(store, roster.member_key(server, pane), MemberState)
    if member is None or member.pid not in (None, row.pid):
        raise NotNow(f"{target} runs another process than the roster knows", NOTHING, code="gone")
    return Found(row, member, found[pane].runs)


def _seated(doors: Doors, rows: dict[str, PaneRow]) -> dict[str, Seat]:
    """The seat of every pane."""
    config, finder = doors.config, doors.finder
    agents = {name: profile.agent for name, profile in config.profiles.items()}
    asked = may_opt_out(rows.values(), bool(config.panes) or finder is not None)
    out = doors.tmux.having(asked, "@fleet_profile")
    found, _ = seats(list(rows.values()), config.panes, agents, out)
    return found | finder.look(rows.values(), found, out) if finder else found


def _look_at(doors: Doors, row: PaneRow, seat: Seat) -> records.Verdict:
    """What a pane says of itself, as a look that has seen nothing yet."""
    return records.Verdict(
        **doors.clock.stamp(), server=row.server, target=row.id, pid=row.pid, name=seat.name, profile=seat.profile,
        agent=seat.agent, lead=seat.lead, role=seat.role, outcome="idle",
    )  # fmt: skip


def _sent(doors: Doors, found: Found, look: Look, prompt: str, lead: str | None) -> Sent:
    """Type the prompt into the member's pane."""
    config, clock = doors.config, doors.clock
    owner = Ownership(doors.store, clock.boot(), doors.started)
    order = Order(kept=config.resume is not None and config.resume.prompt == "ticket", lead=lead)
    sending = Sending(doors.store, owner, clock, doors.messages, found.member, order=order)
    programs = foreground.programs(look, config.runs_of(found.member.profile, found.runs))
    site = Site(inject.Doors(doors.tmux, doors.terminals, clock, sending.pause), found.row, look, programs)
    return sending.run(site, prompt)
