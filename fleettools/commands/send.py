"""fleet-send: hand a member a prompt, with proof that it was submitted, and open a ticket for it."""

from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, complete, state, tmux_server
from fleettools.errors import BadInput, Exit, NotNow

if TYPE_CHECKING:
    from fleettools import records
    from fleettools.adapters.tmux import PaneRow, Tmux
    from fleettools.policy.members.roster import MemberState
    from fleettools.screens.look import Look
    from fleettools.services.delivery.inject import Result
    from fleettools.services.store import Store

LONGEST = 1 << 20  # bytes of a prompt
LEASE_WAIT = 10.0  # seconds to wait for another writer to the same pane


@command("fleet-send")
@click.argument("target", shell_complete=complete("targets"))
@state
@tmux_server
def main(ctx: Context, target: str, state_url: str | None, socket_path: str | None, socket_name: str | None) -> Exit:
    """Hand a member the prompt on standard input.

    TARGET is a pane id (%5) or a member's exact name. Prints the `ticket`. Exit 75: the prompt was not submitted.
    """
    prompt = _prompt(ctx)
    from fleettools.adapters.tmux import Tmux

    tmux = Tmux(socket_path, socket_name)
    store = ctx.store(state_url)
    row, member = _member(ctx, store, tmux, target)
    sending = Sending(ctx, store, tmux, row, member)
    reason = sending.refusal(member) or sending.unfit(prompt)
    if reason:
        raise NotNow(f"{target} {reason}", "nothing was typed")
    return sending.run(prompt)


def _prompt(ctx: Context) -> str:
    """The text on stdin, its last newlines taken off; raises BadInput for one that no agent would read as it stands."""
    import os
    import sys
    import unicodedata

    from fleettools.adapters import signals

    if sys.stdin is not None and os.isatty(0):
        ctx.messages.info("reading the prompt from the terminal; end with ^D")
    parts: list[bytes] = []
    with signals.waiting():
        while sum(map(len, parts)) <= LONGEST and (chunk := os.read(0, LONGEST)):
            parts.append(chunk)
    data = b"".join(parts)
    if len(data) > LONGEST:
        raise BadInput("the prompt is over 1 MiB", "write it to a file, and send its name", "stdin")
    try:
        text = data.decode().rstrip("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 (byte {error.start})", "send the prompt as UTF-8", "stdin") from None
    for place, character in enumerate(text):
        if unicodedata.category(character) == "Cc" and character not in "\n\t":
            what = f"control character U+{ord(character):04X} at {place}"
            raise BadInput(what, "of these only newline and tab may stand in a prompt", "stdin")
    if not text.strip():
        raise BadInput("the prompt is empty", "write it on standard input", "stdin")
    return text


def _member(ctx: Context, store: "Store", tmux: "Tmux", target: str) -> "tuple[PaneRow, MemberState]":
    """The pane and the member that TARGET means; a pane that says it is one enters the roster here."""
    from fleettools.adapters import clock
    from fleettools.policy.members import marking, roster
    from fleettools.services import fleet
    from fleettools.services.members import commit, moment
    from fleettools.services.store import read

    rows = {row.id: row for row in tmux.panes()}
    server = next(iter(rows.values())).server if rows else tmux.server()
    looks = _seated(ctx, tmux, rows)
    known = roster.find([m for m in fleet.members(store) if m.server == server and m.target in rows], target, server)
    named = [pane for pane, look in looks.items() if target in (pane, look.name)]
    pane = known.target if known else named[0] if len(named) == 1 else None
    if pane is None or (known is None and pane not in looks):
        what = f"{target} is more than one pane" if len(named) > 1 else f"{target} is no member of the fleet"
        ctx.messages.warn(f"{what} on {server}")
        raise NotNow("nothing was typed", "fleet-list shows the members, tmux list-panes -a the panes")
    row = rows[pane]
    if pane in looks and (known is None or known.pid not in (None, row.pid)):
        at = moment(store, clock)
        commit(store, server, pane, lambda member, won: marking.step(member, looks[pane], won, at))
    member = read(store, roster.member_key(server, pane), roster.MemberState)
    if member is None or member.pid not in (None, row.pid):
        raise NotNow(f"{target} runs another process than the roster knows", "nothing was typed")
    return row, member


def _seated(ctx: Context, tmux: "Tmux", rows: "dict[str, PaneRow]") -> "dict[str, records.Verdict]":
    """What each pane says of itself, as a look that has seen nothing yet; only of those that are members."""
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.policy.members.seats import seats

    config = ctx.config()
    agents = {name: profile.agent for name, profile in config.profiles.items()}
    asked = [row.id for row in rows.values() if not row.profile_option] if config.panes else []
    found, _ = seats(list(rows.values()), config.panes, agents, frozenset(tmux.having(asked, "@fleet_profile")))
    stamp = clock.stamp()
    return {
        pane: records.Verdict(
            **stamp, server=rows[pane].server, target=pane, pid=rows[pane].pid, name=seat.name, profile=seat.profile,
            agent=seat.agent, lead=seat.lead, role=seat.role, outcome="idle",
        )
        for pane, seat in found.items()
        if seat.role == "member"
    }  # fmt: skip


class Sending:
    """One prompt on its way into one member's pane."""

    def __init__(self, ctx: Context, store: "Store", tmux: "Tmux", row: "PaneRow", member: "MemberState") -> None:
        import secrets

        self._ctx, self._store, self._tmux, self._row = ctx, store, tmux, row
        self._before = member
        self._ticket = f"t-{secrets.token_hex(6)}"
        self._look = self._agent()

    def _agent(self) -> "Look | None":
        from fleettools.adapters import agentfiles

        return agentfiles.load(self._before.agent, self._ctx.config().agents) if self._before.agent else None

    def refusal(self, member: "MemberState | None") -> str:
        """Why the member may not be sent anything, empty when it may."""
        from fleettools.adapters import clock
        from fleettools.policy.members import handover
        from fleettools.services.members import now_ms

        return handover.may_be_sent(member, now_ms(self._store, clock, member))

    def unfit(self, prompt: str) -> str:
        """Why this prompt cannot go to this agent, empty when it can."""
        if self._look is None:
            return f"runs no agent that is known ({self._before.agent}); set @fleet_agent, see fleetd.yaml(5)"
        if "\n" in prompt and not self._look.bracketed_paste:
            return f"would take each line as a prompt of its own ({self._look.name}); send one line"
        return ""

    def run(self, prompt: str) -> Exit:
        """Type it and see it submitted; prints the ticket if one was opened."""
        from fleettools.adapters import clock
        from fleettools.services import owner
        from fleettools.services.delivery.inject import Result, Site, deliver

        assert self._look is not None
        me = owner.me()
        until = clock.monotonic() + LEASE_WAIT
        while not owner.take_pane(self._store, self._row.server, self._row.id, me):
            if clock.monotonic() >= until:
                raise NotNow(f"another process types into {self._row.id}", "nothing was typed")
            clock.sleep(0.2)
        self._opened = False
        # What has been begun to be typed is ended, and its ticket told, before a signal takes effect.
        self._site = Site(
            self._tmux, self._row, self._look, lambda seconds: (clock.hold if self._opened else clock.sleep)(seconds)
        )
        result = Result("unknown", "fleet-send was ended")
        try:
            result = deliver(self._site, prompt, None, self._step)
        finally:
            submitted = self._finished(result)
            owner.drop_pane(self._store, self._row.server, self._row.id, me)
        if submitted:
            return Exit.OK
        self._ctx.messages.error(f"{self._row.id}: not submitted ({result.outcome or 'not now'}): {result.reason}")
        return Exit.NOT_NOW

    def _step(self, name: str) -> bool:
        """Called before each step of the delivery: the ticket is opened right before the paste."""
        from fleettools import records
        from fleettools.adapters import clock
        from fleettools.policy.members import handover, roster, tickets
        from fleettools.screens.scrub import scrubbed
        from fleettools.services.members import now_ms
        from fleettools.services.store import change

        if name != "typed":
            return True
        baseline = scrubbed(self._site.see().text)
        now = now_ms(self._store, clock, self._before)

        def begin(member: roster.MemberState | None) -> tuple[roster.MemberState | None, roster.MemberState | None]:
            if member is None or handover.may_be_sent(member, now):
                return member, None
            return handover.open_ticket(member, self._ticket, baseline, now), member

        key = roster.member_key(self._row.server, self._row.id)
        before = change(self._store, key, roster.MemberState, begin)
        if before is None:
            return False
        self._before, self._opened = before, True
        ticket = tickets.TicketState(
            **records.who(tickets.TicketState, before), id=self._ticket, event=self._ticket, opened_ms=now,
        )  # fmt: skip
        change(self._store, tickets.ticket_key(ticket.id), tickets.TicketState, lambda _: (ticket, None))
        self._ctx.messages.debug(f"{ticket.id} opened at {records.to_ts(now)}")
        return True

    def _finished(self, result: "Result") -> bool:
        """Whether it went in: then its turn has begun, else the ticket ends and the turn before goes on."""
        from fleettools import records
        from fleettools.adapters import clock
        from fleettools.policy.members import handover, roster, tickets
        from fleettools.services.members import now_ms, settle
        from fleettools.services.store import change, read

        if not self._opened:
            return False
        now = now_ms(self._store, clock, self._before)

        def end(member: roster.MemberState | None) -> tuple[roster.MemberState | None, bool]:
            if result.outcome == "submitted":
                return handover.prove(member, self._ticket, now), True
            return handover.withdraw(member, self._before, self._ticket, now)

        submitted = change(self._store, roster.member_key(self._row.server, self._row.id), roster.MemberState, end)
        if not submitted:
            known = result.outcome not in ("unknown", "queued")
            why = f"not {'submitted' if known else 'seen submitted'}: {result.reason}"
            settle(self._store, tickets.Settlement(self._ticket, "send", "failed", why, now, told=True))
        ticket = read(self._store, tickets.ticket_key(self._ticket), tickets.TicketState)
        if ticket is not None:
            self._ctx.out.write(records.encode(tickets.record(ticket, **clock.stamp())))
            self._ctx.out.flush()
        return submitted


if __name__ == "__main__":
    main()
