"""fleet-send: hand a member a prompt, with proof that it was submitted, and open a ticket for it."""

from typing import TYPE_CHECKING, NamedTuple

import click

from fleettools.cli import Context, command, complete, state, tmux_server
from fleettools.errors import BadInput, Exit, NotNow, Unknown

if TYPE_CHECKING:
    from fleettools import records
    from fleettools.adapters.tmux import PaneRow, Tmux
    from fleettools.policy.members.roster import MemberState
    from fleettools.policy.members.seats import Seat
    from fleettools.screens.look import Look
    from fleettools.services.delivery.sending import Sent
    from fleettools.services.store import Store

LONGEST = 1 << 20  # bytes of a prompt


class Found(NamedTuple):
    """The member that is meant: its pane, and the names of programs that a person says are its agent there."""

    row: "PaneRow"
    member: "MemberState"
    runs: tuple[str, ...]


@command("fleet-send")
@click.argument("target", shell_complete=complete("targets"))
@state
@tmux_server
def main(ctx: Context, target: str, state_url: str | None, socket_path: str | None, socket_name: str | None) -> Exit:
    """Hand a member the prompt on standard input.

    TARGET is a pane id (%5) or a member's exact name. Prints the `ticket`. Exit 75: the prompt was
    not submitted; 1: there is no such member.
    """
    prompt = _prompt(ctx)
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.adapters.tmux import Tmux
    from fleettools.policy.members import handover, tickets
    from fleettools.services.members import now_ms

    tmux = Tmux(socket_path, socket_name)
    store = ctx.store(state_url)
    found = _member(ctx, store, tmux, target)
    look = _look(ctx, found.member)
    reason = handover.may_be_sent(found.member, now_ms(store, clock, found.member)) or _unfit(
        prompt, found.member, look
    )
    if reason or look is None:
        raise NotNow(f"{target} {reason}", "nothing was typed")
    sent = _sent(ctx, store, tmux, found, look, prompt)
    if sent.ticket is not None:
        ctx.out.write(records.encode(tickets.record(sent.ticket, **clock.stamp())))
        ctx.out.flush()
    if sent.submitted:
        return Exit.OK
    outcome, why = sent.result
    ctx.messages.error(f"{found.row.id}: not submitted ({outcome or 'not now'}): {why}")
    return Exit.NOT_NOW


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


def _member(ctx: Context, store: "Store", tmux: "Tmux", target: str) -> Found:
    """The pane and the member that TARGET means; a pane that says it is one enters the roster here."""
    from fleettools.adapters import clock
    from fleettools.policy.members import marking, roster
    from fleettools.services import fleet
    from fleettools.services.members import commit, moment
    from fleettools.services.store import read

    rows = {row.id: row for row in tmux.panes()}
    server = next(iter(rows.values())).server if rows else tmux.server()
    found = _seated(ctx, tmux, rows)
    looks = {pane: _look_at(rows[pane], seat) for pane, seat in found.items() if seat.role == "member"}
    known = roster.find([m for m in fleet.members(store) if m.server == server and m.target in rows], target, server)
    named = [pane for pane, look in looks.items() if target in (pane, look.name)]
    pane = known.target if known else named[0] if len(named) == 1 else None
    if pane is None or (known is None and pane not in looks):
        what = f"{target} is more than one pane" if len(named) > 1 else f"{target} is no member of the fleet"
        ctx.messages.warn(f"{what} on {server}")
        raise Unknown("nothing was typed", "fleet-list shows the members, tmux list-panes -a the panes")
    row = rows[pane]
    if pane in looks and (known is None or known.pid not in (None, row.pid)):
        at = moment(store, clock)
        commit(store, server, pane, lambda member, won: marking.step(member, looks[pane], won, at))
    member = read(store, roster.member_key(server, pane), roster.MemberState)
    if member is None or member.pid not in (None, row.pid):
        raise NotNow(f"{target} runs another process than the roster knows", "nothing was typed")
    return Found(row, member, found[pane].runs)


def _seated(ctx: Context, tmux: "Tmux", rows: "dict[str, PaneRow]") -> "dict[str, Seat]":
    """The seat of every pane."""
    from fleettools.policy.members.seats import may_opt_out, seats

    config, finder = ctx.config(), ctx.finder()
    agents = {name: profile.agent for name, profile in config.profiles.items()}
    asked = may_opt_out(rows.values(), bool(config.panes) or finder is not None)
    out = tmux.having(asked, "@fleet_profile")
    found, _ = seats(list(rows.values()), config.panes, agents, out)
    return found | finder.look(rows.values(), found, out) if finder else found


def _look_at(row: "PaneRow", seat: "Seat") -> "records.Verdict":
    """What a pane says of itself, as a look that has seen nothing yet."""
    from fleettools import records
    from fleettools.adapters import clock

    return records.Verdict(
        **clock.stamp(), server=row.server, target=row.id, pid=row.pid, name=seat.name, profile=seat.profile,
        agent=seat.agent, lead=seat.lead, role=seat.role, outcome="idle",
    )  # fmt: skip


def _look(ctx: Context, member: "MemberState") -> "Look | None":
    from fleettools.adapters import agentfiles

    return agentfiles.of(ctx.config(), member.profile, member.agent)


def _unfit(prompt: str, member: "MemberState", look: "Look | None") -> str:
    """Why this prompt cannot go to this member's agent, empty when it can."""
    if look is None:
        return f"runs no agent that is known ({member.agent}); set @fleet_agent, see fleetd.yaml(5)"
    from fleettools.services.delivery.inject import breaks

    if breaks(prompt, look):
        return f"would take each line as a prompt of its own ({look.name}); send one line"
    return ""


def _sent(ctx: Context, store: "Store", tmux: "Tmux", found: "Found", look: "Look", prompt: str) -> "Sent":
    """Type the prompt into the member's pane."""
    from fleettools.adapters import clock, terminals
    from fleettools.policy import foreground
    from fleettools.services.delivery.inject import Doors, Site
    from fleettools.services.delivery.sending import Order, Sending
    from fleettools.services.owner import Ownership

    owner = Ownership(store, clock.boot(), terminals.started)
    rules = ctx.config().resume
    order = Order(kept=rules is not None and rules.prompt == "ticket")
    sending = Sending(store, owner, clock, ctx.messages, found.member, order=order)
    programs = foreground.programs(look, ctx.config().runs_of(found.member.profile, found.runs))
    site = Site(Doors(tmux, terminals.Terminals(), clock, sending.pause), found.row, look, programs)
    return sending.run(site, prompt)


if __name__ == "__main__":
    main()
