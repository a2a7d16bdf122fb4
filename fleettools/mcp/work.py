"""What each tool does: its verb is asked in this process, and answers with what its command would print."""

from collections.abc import Sequence
from typing import Any

import msgspec

from fleettools import records
from fleettools.adapters import journal
from fleettools.adapters.lines import tell
from fleettools.errors import FleetError, UsageError
from fleettools.mcp import inputs, pages, refusal
from fleettools.mcp.call import Call
from fleettools.policy import story
from fleettools.policy.members import tickets
from fleettools.policy.members.tickets import TicketState
from fleettools.services.gate import Gate
from fleettools.services.verbs import collect, release, send, spawn, timeline, views
from fleettools.services.verbs import reply as replying

Answer = dict[str, Any]
HEARTBEAT = 5.0  # seconds after which a wait is told to go on


def do_spawn(call: Call, asked: inputs.Spawn) -> Answer:
    """A new member."""
    _one(asked.profile, asked.auto)
    _any_policy(asked.policy, asked.auto)
    own = call.lead
    place = spawn.Place(asked.lead or (own.target if own else None), asked.name, asked.cwd, asked.session, asked.split)
    said: list[records.Record] = []
    choice = spawn.spawn(call.spawning(), spawn.Wish(asked.profile, asked.policy), spawn.checked(place), said.append)
    decision = said[0]
    assert isinstance(decision, records.Decision)
    if not choice.allowed:
        raise refusal.of_choice(choice, decision)
    return {"decision": _plain(decision), "member": _plain(said[1])}


def do_gate(call: Call, asked: inputs.Gate) -> Answer:
    """Whether a profile may spawn."""
    _one(asked.profile, asked.auto)
    _any_policy(asked.policy, asked.auto)
    gate = Gate(lambda: call.view, call.config)
    choice = gate.ask_any(asked.candidates, asked.policy) if asked.profile is None else gate.ask(asked.profile)
    decision = choice.record(call.clock.stamp())
    if not choice.allowed:
        raise refusal.of_choice(choice, decision)
    return _plain(decision)


def do_send(call: Call, asked: inputs.Send) -> Answer:
    """A prompt."""
    own = call.lead
    handed = send.send(call.sending(), asked.target, send.checked(asked.prompt), own.target if own else None)
    ticket = handed.sent.ticket
    record = tickets.record(ticket, **call.clock.stamp()) if ticket else None
    if handed.trouble or record is None:
        assert handed.trouble
        raise refusal.of_error(handed.trouble, record)
    return _plain(record)


def do_reply(call: Call, asked: inputs.Reply) -> Answer:
    """The answer to a ticket."""
    settled = replying.reply(call.store, call.clock, asked.ticket, asked.text)
    return _plain(tickets.record(settled, **call.clock.stamp()))


def do_collect(call: Call, asked: inputs.Collect) -> Answer:
    """How tickets ended; they are marked once the client has them."""
    own = None if asked.everybody or asked.tickets else call.lead
    wanted = collect.Wanted(asked.tickets, f"{own.server}/{own.target}" if own else None)
    ended: list[TicketState] = []
    left: list[TicketState] = []
    told = call.clock.monotonic()
    for one in collect.rounds(call.store, call.clock, wanted, asked.wait_seconds):
        ended += one.ended
        left = one.open
        if one.ended or call.clock.monotonic() >= told + HEARTBEAT:
            told = call.clock.monotonic()
            call.progress(len(ended), len(ended) + len(left), f"{len(left)} of the tickets not ended yet")
        if asked.any and ended:
            break
    shown, following = pages.page(ended, _order, asked.cursor, asked.limit)
    call.after = lambda later: collect.mark(later.store, shown)
    stamp = call.clock.stamp()
    made: Answer = {"tickets": [_plain(tickets.record(one, **stamp)) for one in shown]}
    made["open"] = [_plain(tickets.record(one, **stamp)) for one in left[: asked.limit]]
    return made | _next(following)


def _order(ticket: TicketState) -> pages.Key:
    return ticket.settled_ms or 0, ticket.id


def do_release(call: Call, asked: inputs.Release) -> Answer:
    """A member that goes, or a credential that is free again."""
    if (asked.target is None) == (asked.credential is None) or (
        asked.target is None and (asked.kill or asked.reinstate)
    ):
        raise UsageError("name either a member or a credential", "give target, or credential alone")
    if asked.kill and asked.reinstate:
        raise UsageError("kill and reinstate exclude each other", "give one of them")
    if asked.target is None:
        answer = release.lift(call.releasing(), str(asked.credential))
    else:
        by = f"lead {call.lead.target}" if call.lead else "a program"
        answer = release.release(call.releasing(), asked.target, kill=asked.kill, reinstate=asked.reinstate, by=by)
    if answer.code:
        who = asked.target or asked.credential
        error = FleetError(f"{who}: {answer.record.reason}", code=answer.code)
        raise refusal.of_error(error, answer.record)
    return _plain(answer.record)


def do_list(call: Call, asked: inputs.List) -> Answer:
    """Who is in the fleet."""
    own = call.lead
    made = views.members(call.config, call.view, released=asked.released)
    if own and not asked.everybody:
        mine = (own.server, own.target)
        made["members"] = [one for one in made["members"] if (one["server"], one.get("lead")) == mine]
    rows, following = pages.page(made["members"], _place, asked.cursor, asked.limit)
    lead = {"server": own.server, "target": own.target} if own else None
    return made | {"members": rows, "lead": lead} | _next(following)


def _place(member: Answer) -> pages.Key:
    return str(member["server"]), int(member["target"][1:])


def do_profiles(call: Call, asked: inputs.Profiles) -> Answer:
    """Which profiles may spawn."""
    made = views.profiles(call.config, call.view)
    rows, following = pages.page(made["profiles"].items(), lambda row: (row[0],), asked.cursor, asked.limit)
    return made | {"profiles": dict(rows)} | _next(following)


def do_timeline(call: Call, asked: inputs.Timeline) -> Answer:
    """What happened."""
    told = story.Timeline(asked.by, call.config.credential_of)

    def feed(names: Sequence[str]) -> None:
        if names:
            tell(names, call.setting.messages, timeline.KINDS, told.add)

    chart = timeline.journal(told, timeline.begin(asked.since), call.clock.now_ms(), journal.days, feed)
    made: Answer = dict(story.view(chart))
    rows, following = pages.page(made["lanes"], lambda lane: (lane["name"],), asked.cursor, asked.limit)
    return made | {"lanes": [_shortened(lane, asked.failures) for lane in rows]} | _next(following)


def _shortened(lane: Answer, most: int) -> Answer:
    failures = lane["failures"]
    out = len(failures) - most
    return lane if out <= 0 else lane | {"failures": failures[out:], "failuresLeftOut": out}


def _next(cursor: str | None) -> Answer:
    return {"nextCursor": cursor} if cursor else {}


def _plain(record: records.Record) -> Answer:
    made: Answer = msgspec.to_builtins(record)
    return made


def _one(profile: str | None, auto: bool) -> None:
    if (profile is not None) == auto:
        raise UsageError("name one profile, or ask for any", "give profile, or auto: true")


def _any_policy(policy: str | None, auto: bool) -> None:
    if policy and not auto:
        raise UsageError("policy says how auto chooses", "give auto: true, or leave policy out")
