"""A member that is let go or made ready again, and a credential whose cool-off and quarantine are lifted."""

from typing import NamedTuple

from fleettools import records
from fleettools.config import Config
from fleettools.errors import BadConfig, FleetError, NoPane, Unavailable
from fleettools.policy.accounts import outage, quarantine
from fleettools.policy.accounts.credential import CredentialState, credential_key, is_name
from fleettools.policy.members import roster
from fleettools.policy.members.roster import MemberState
from fleettools.services import fleet, members
from fleettools.services.ports import Clock, Messages, Windows
from fleettools.services.store import Store, change, read

OPTIONS = ("@fleet_profile", "@fleet_lead", "@fleet_name", "@fleet_agent", "@fleet_runs")
STRANGER = "no member of the fleet"


class Doors(NamedTuple):
    """What a release reaches outside through."""

    config: Config
    store: Store
    tmux: Windows
    clock: Clock
    messages: Messages


class Answer(NamedTuple):
    """What became of it. `code`: for programs, why it was not done, "" when it was."""

    record: records.Member | records.Credential
    code: str = ""


def release(doors: Doors, target: str, *, kill: bool = False, reinstate: bool = False, by: str = "a person") -> Answer:
    """Let a member go, and with `kill` end its pane; or `reinstate` it, that has failed."""
    server, trouble = _server(doors.tmux)
    member = roster.find(fleet.members(doors.store), target, server)
    if member is None:
        doors.messages.warn(f"{target} is {STRANGER}; fleet-list shows who is")
        return _no(doors, server, target, STRANGER)
    if reinstate:
        return _reinstate(doors, member)
    return _release(doors, member, trouble if member.server != server else None, kill, by)


def lift(doors: Doors, name: str) -> Answer:
    """End a credential's cool-off and quarantine; raises BadConfig for what is no credential id."""
    if not is_name(name):
        mend = "use letters, digits and . _ @ + -, at most 64, the first a letter or digit"
        raise BadConfig(f"{name!r} is no credential id", mend, "--credential")
    config, store, now = doors.config, doors.store, doors.store.moment()

    def step(kept: CredentialState | None) -> tuple[CredentialState | None, tuple[bool, str]]:
        if kept is None:
            return None, (False, "nothing is known against it")
        kept, cooled, why = outage.lift(kept, now)
        kept, quarantined, and_why = quarantine.lift(kept, now)
        return kept, (cooled or quarantined, f"{why}; {and_why}")

    changed, reason = change(store, credential_key(name), CredentialState, step)
    known = changed or store.get(credential_key(name))[1] or name in map(config.credential_of, config.profiles)
    said = doors.messages.info if known else doors.messages.warn
    said(f"{name}: {reason if known else 'nobody spends it'}")
    record = records.Credential(**doors.clock.stamp(), credential_id=name, changed=changed, reason=reason)
    return Answer(record, "" if known else "unknown_credential")


def _server(tmux: Windows) -> tuple[str | None, FleetError]:
    """The server's identity; a member can be released without one, so that it may be gone."""
    try:
        return tmux.server(), FleetError("its pane is on another tmux server", "name that with -S or -L")
    except Unavailable as error:
        return None, error


def _release(doors: Doors, member: MemberState, trouble: FleetError | None, kill: bool, by: str) -> Answer:
    """Let the member go, take its marks off its pane where that can be reached, and say so."""
    store, now_ms, reason = doors.store, doors.store.now_ms(), f"released by {by}"
    answer = members.commit(
        store, member.server, member.target, lambda kept, won: roster.release(kept, reason, "release", now_ms, won)
    )
    if not answer.known:
        doors.messages.warn(f"{member.target}: {answer.reason}; fleet-list --all shows it")
        return _no(doors, member.server, member.target, STRANGER)
    if trouble:
        doors.messages.warn(f"the options of pane {member.target} stay as they are: {trouble}")
    else:
        _leave(doors, member, kill)
    return _done(doors, member, answer.reason)


def _reinstate(doors: Doors, member: MemberState) -> Answer:
    at = doors.store.moment()
    answer = members.commit(doors.store, member.server, member.target, lambda kept, _: roster.reinstate(kept, at))
    if not answer.resolved:
        doors.messages.warn(f"{member.target} stays as it is: {answer.reason}")
        return _no(doors, member.server, member.target, answer.reason, "not_failed" if answer.known else "")
    return _done(doors, member, answer.reason)


def _done(doors: Doors, member: MemberState, reason: str) -> Answer:
    kept = read(doors.store, roster.member_key(member.server, member.target), MemberState)
    assert kept is not None
    credential = doors.config.credential_of(kept.profile)
    return Answer(roster.record(kept, credential, reason, **doors.clock.stamp()))


def _no(doors: Doors, server: str | None, target: str, reason: str, code: str = "") -> Answer:
    """That nothing was changed, and why."""
    who = {"server": server, "target": target} if target.startswith("%") else {"name": target}
    record = records.Member(**doors.clock.stamp(), **who, changed=False, reason=reason)
    return Answer(record, code or "unknown_target")


def _leave(doors: Doors, member: MemberState, kill: bool) -> None:
    """Take the options off the pane, or end it, if it is still the one that the roster knows."""
    tmux, say = doors.tmux, doors.messages.info
    try:
        row = tmux.pane(member.target)
        if member.pid not in (None, row.pid):
            say(f"pane {member.target} runs another process by now; it is left alone")
        elif kill:
            tmux.kill_pane(member.target)
        else:
            tmux.unset_options(member.target, OPTIONS)
    except NoPane:
        say(f"pane {member.target} is gone already")
