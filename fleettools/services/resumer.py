"""Prompts again the members that failed, when their credential is free: the store, tmux and the policy of rounds."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, Protocol

from fleettools import records
from fleettools.config import Config
from fleettools.errors import NotNow, Unavailable, Unknown
from fleettools.moments import Moment
from fleettools.policy.accounts import resuming
from fleettools.policy.accounts.credential import CREDENTIALS, CredentialState, credential_key
from fleettools.policy.accounts.resuming import Next, Rules
from fleettools.policy.accounts.rounds import Round
from fleettools.policy.members import handover, roster
from fleettools.policy.members.roster import MemberState
from fleettools.policy.members.tickets import TicketState, ticket_key
from fleettools.seen import Seen
from fleettools.services import fleet, halfway
from fleettools.services.delivery import sending
from fleettools.services.delivery.sending import May, Order, Sent
from fleettools.services.owner import Ownership
from fleettools.services.ports import Messages
from fleettools.services.store import Store, change, read, read_all

NOTHING_TYPED = "not typed: "
KINDS: tuple[Literal["incident", "quarantine"], ...] = ("incident", "quarantine")


class Prompt(NamedTuple):
    """What is typed to one member: the text, and the failed ticket that it continues."""

    text: str
    again: str | None = None


class Pane(Protocol):
    """A member's pane, looked up now."""

    def unready(self, text: str) -> str:
        """Why the text may not be typed there, "" when it may."""

    def shows(self, baseline: str | None) -> bool:
        """Whether it shows what it showed then, so that nothing has gone in since."""

    def send(self, text: str, order: Order, may: May) -> Sent:
        """Type it, with proof, under the order's ticket."""


class Doors(NamedTuple):
    """What resuming reaches outside through. `pane` raises Unavailable for one that cannot be reached from here."""

    store: Store
    owner: Ownership
    now: Callable[[], Moment]
    stamp: Callable[[], dict[str, Any]]
    pane: Callable[[MemberState], Pane]
    ours: Callable[[MemberState], bool]
    new_ticket: Callable[[], str]
    messages: Messages


class Resumer:
    """Takes the next step of each credential's round, one tick at a time; what it says it says once a run."""

    def __init__(self, doors: Doors, config: Config, dry_run: bool) -> None:
        self._doors, self._config, self._dry_run = doors, config, dry_run
        rules = config.resume
        ignored = frozenset(config.outage.ignore_causes)
        self._rules = Rules(ignore_causes=ignored)
        self._text = "continue"
        self._tickets_own = False
        if rules is not None:
            self._rules = Rules(most=rules.most, apart_ms=round(rules.apart * 1000), ignore_causes=ignored)
            self._tickets_own = rules.prompt == "ticket"
            self._text = self._text if self._tickets_own else rules.prompt
        self._said: Seen[tuple[str, str]] = Seen()
        self._typed: Seen[str] = Seen()  # the failures after which this run has typed, and said what became of it
        self._forced: str | None = None  # by a dry run, which keeps nothing

    def begin(self, credential: str) -> None:
        """Begin a round of a credential's last period, however long ago that ended; raises NotNow, Unknown."""
        now = self._doors.now()
        key = credential_key(credential)
        known = read(self._doors.store, key, CredentialState)
        if known is None and credential not in map(self._config.credential_of, self._config.profiles):
            raise Unknown(f"{credential}: nobody spends it", "name a credential that fleet-profiles shows")
        if known is None or (known.cool_off is None and known.quarantine is None):
            raise NotNow(f"{credential} has had no cool-off or quarantine", "fleet-profiles shows what is known of it")
        self._forced = credential
        if not self._dry_run:
            change(self._doors.store, key, CredentialState, lambda state: (state and resuming.forced(state, now), None))

    def tick(self) -> tuple[list[records.Resume], int]:
        """What was done now, and how many rounds are not over."""
        said: list[records.Resume] = []
        open_rounds = 0
        members = fleet.members(self._doors.store)
        for key, state in list(read_all(self._doors.store, CREDENTIALS, CredentialState)):
            name = key.removeprefix(CREDENTIALS)
            mine = [member for member in members if self._config.credential_of(member.profile) == name]
            mine = [self._made_good(key, name, member, said) for member in mine]
            now = self._doors.now()
            if self._dry_run and name == self._forced:
                state = resuming.forced(state, now)
            state = self._brought(key, state, mine, now)
            coming = resuming.upcoming(state, mine, self._rules, now)
            if coming.what in ("probe", "prompt"):
                coming = resuming.paced(coming, self._beside(name, coming, members), self._rules, now)
            self._doors.messages.debug(f"credential {name}: {coming.what}: {coming.reason}")
            open_rounds += coming.what != "done"
            for member, reason in coming.left:
                if self._doors.ours(member) and (member.turn is None or member.turn.event not in self._typed):
                    said += self._recorded(member, name, "refused", _untyped(reason), False)
            if coming.what in ("probe", "prompt"):
                said += self._prompted(key, name, coming, state.round)
        return said, open_rounds

    def _beside(self, name: str, coming: Next, members: list[MemberState]) -> Iterator[CredentialState]:
        """The other credentials on which the same agents run: for all that is known, they share a backend."""
        agents = {member.agent for member in coming.members}
        others = {self._config.credential_of(member.profile) for member in members if member.agent in agents} - {name}
        for other in sorted(filter(None, others)):
            if known := read(self._doors.store, credential_key(other), CredentialState):
                yield known

    def _made_good(self, key: str, name: str, member: MemberState, said: list[records.Resume]) -> MemberState:
        """The member, where a process ended while it prompted it: as it is when that was proved, or taken back."""
        if member.attempt is None or self._dry_run or not self._doors.ours(member):
            return member
        now = roster.clocked(member, self._doors.now()).ms
        found = halfway.made_good(self._doors.store, self._doors.owner, member, self._doors.pane, now)
        if found is None:
            return member
        if found.outcome == "submitted":
            text, again = self._prompt(found.member)
            order = Order(found.ticket, again, resumed=True, kept=self._tickets_own)
            sending.opened(self._doors.store, member, order, text, member.turn.began_ms if member.turn else now)
        else:
            change(self._doors.store, key, CredentialState, lambda s: (s and resuming.untried(s, found.ticket), None))
        typed = "" if found.outcome != "refused" else NOTHING_TYPED
        said += self._recorded(found.member, name, found.outcome, typed + found.reason, False, found.ticket)
        return read(self._doors.store, roster.member_key(member.server, member.target), MemberState) or member

    def _brought(self, key: str, state: CredentialState, members: list[MemberState], now: Moment) -> CredentialState:
        """The credential's state with what has ended, and what its first one's turn has shown."""

        def step(known: CredentialState | None) -> tuple[CredentialState | None, CredentialState | None]:
            if known is None:
                return None, None
            for kind in KINDS:
                known = resuming.begun(known, kind, now)
            known = resuming.looked(known, members, self._rules, now)
            return known, known

        if self._dry_run:
            return step(state)[1] or state
        return change(self._doors.store, key, CredentialState, step) or state

    def _prompted(self, key: str, name: str, coming: Next, seen: Round | None) -> Iterable[records.Resume]:
        """Prompt the first of these that takes it, say of others why not. `seen`: the round that this follows from."""
        probe = coming.what == "probe"
        for member in coming.members:
            if not self._doors.ours(member):
                continue
            pane, reason = self._looked_up(member)
            if pane is None or reason:
                yield from self._recorded(member, name, "refused", _untyped(reason), probe)
            elif self._dry_run:
                yield from self._recorded(member, name, "would", f"would be prompted: {coming.reason}", probe)
            else:
                made, seen = self._tried(key, name, member, pane, coming, seen)
                yield from made
                if seen is None:
                    return

    def _looked_up(self, member: MemberState) -> tuple[Pane | None, str]:
        """The member's pane, and why nothing may be typed there, "" when it may."""
        try:
            pane = self._doors.pane(member)
            return pane, pane.unready(self._prompt(member).text)
        except Unavailable as error:
            return None, str(error)

    def _tried(
        self, key: str, name: str, member: MemberState, pane: Pane, coming: Next, seen: Round | None
    ) -> tuple[list[records.Resume], Round | None]:
        """Prompt one member: the record of it, if it is news, and the round when another may be tried in its place."""
        probe, many = coming.what == "probe", len(coming.members)
        ticket, now = self._doors.new_ticket(), self._doors.now()
        event = member.turn.event if member.turn else ""

        def claim(known: CredentialState | None) -> tuple[CredentialState | None, bool]:
            if known is None or known.round != seen:
                return known, False
            return resuming.tried(known, ticket, member.name or member.target, many, now), True

        def give_back(known: CredentialState | None) -> tuple[CredentialState | None, Round | None]:
            after = known and resuming.untried(known, ticket)
            return after, after.round if after else None

        if not change(self._doors.store, key, CredentialState, claim):
            return [], None  # another process has taken this step
        text, again = self._prompt(member)
        order = Order(ticket, again, resumed=True, kept=self._tickets_own)
        sent = pane.send(text, order, lambda found, at: handover.may_be_resumed(found, event, at))
        free = sent.ticket is None or sent.result.outcome in (None, "refused", "stuck")
        left = change(self._doors.store, key, CredentialState, give_back) if free else None
        outcome = sent.result.outcome or "refused"
        why = sent.result.reason if sent.result.outcome else _untyped(sent.result.reason)
        opened = sent.ticket.id if sent.ticket else None
        if opened:
            self._typed.add(event)
        return self._recorded(member, name, outcome, why, probe, opened), left

    def _prompt(self, member: MemberState) -> Prompt:
        """What this member is prompted with; its failed ticket's own prompt when that is asked for and is known."""
        ticket = member.turn.ticket if member.turn else None
        known = read(self._doors.store, ticket_key(ticket), TicketState) if ticket else None
        if self._tickets_own and known is not None and known.prompt:
            return Prompt(known.prompt, ticket)
        return Prompt(self._text, ticket)

    def _recorded(
        self, member: MemberState, name: str, outcome: str, reason: str, probe: bool, ticket: str | None = None
    ) -> list[records.Resume]:
        """The record of what was done, none when this run has said it before."""
        event = member.turn.event if member.turn else ""
        if not self._said.add((event, reason)):
            return []
        return [records.Resume(
            **self._doors.stamp(), id=f"resume:{event}", credential_id=name, server=member.server,
            target=member.target, ticket=ticket, outcome=outcome, reason=reason, probe=probe or None,
        )]  # fmt: skip


def _untyped(reason: str) -> str:
    """Why nothing was typed, in the words that always stand first."""
    return NOTHING_TYPED + reason.removeprefix(NOTHING_TYPED)
