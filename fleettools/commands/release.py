"""fleet-release: let a member go, or lift a credential's cool-off and quarantine."""

from typing import TYPE_CHECKING

import click

from fleettools.cli import Context, command, complete, state, tmux_server
from fleettools.errors import Exit, FleetError, NoPane, Unavailable, UsageError

if TYPE_CHECKING:
    from fleettools.adapters.tmux import Tmux
    from fleettools.policy.members.roster import MemberState
    from fleettools.services.store import Store

OPTIONS = ("@fleet_profile", "@fleet_lead", "@fleet_name", "@fleet_agent", "@fleet_runs")


@command("fleet-release")
@click.argument("target", required=False, shell_complete=complete("targets"))
@click.option("--kill", is_flag=True, help="End the member's pane, too.")
@click.option("--reinstate", is_flag=True, help="Make a failed member ready for work again instead.")
@click.option("--credential", metavar="C", shell_complete=complete("credentials"),
              help="Lift this credential's cool-off and quarantine instead.")  # fmt: skip
@click.option("--row", metavar="KEY", help="Remove a row of the store that cannot be read instead.")
@state
@tmux_server
def main(
    ctx: Context,
    target: str | None,
    kill: bool,
    reinstate: bool,
    credential: str | None,
    row: str | None,
    state_url: str | None,
    socket_path: str | None,
    socket_name: str | None,
) -> Exit:
    """Let a member go, or lift a credential's cool-off and quarantine.

    TARGET is a pane id (%5) or a member's exact name. Its pane lives on, without the fleet's options. Exit 1: there is
    no such member or credential, and the record says changed: false.
    """
    if [target, credential, row].count(None) != 2 or (target is None and (kill or reinstate)) or (kill and reinstate):
        raise UsageError("name either a member or a credential", "give TARGET, --credential C or --row KEY alone")
    store = ctx.store(state_url)
    if row is not None:
        return _remove(ctx, store, row)
    if credential:
        return _lift(ctx, store, credential)
    from fleettools.adapters.tmux import Tmux
    from fleettools.policy.members import roster
    from fleettools.services import fleet

    tmux = Tmux(socket_path, socket_name)
    server, trouble = _server(tmux)
    member = roster.find(fleet.members(store), str(target), server)
    if member is None:
        ctx.messages.warn(f"{target} is no member of the fleet; fleet-list shows who is")
        return _no(ctx, server, str(target))
    if reinstate:
        return _reinstate(ctx, store, member)
    return _release(ctx, store, tmux, member, trouble if member.server != server else None, kill)


def _remove(ctx: Context, store: "Store", key: str) -> Exit:
    """Delete a row, whatever it holds: no command could use it."""
    while (found := store.get(key))[0] is not None:
        if store.put(key, None, found[1]):
            ctx.messages.info(f"{key} is removed")
            return Exit.OK
    ctx.messages.warn(f"{key} is no row of the store; a message that a row cannot be read names its key")
    return Exit.NO


def _server(tmux: "Tmux") -> tuple[str | None, FleetError]:
    """The server's identity; a member can be released without one, so that it may be gone."""
    try:
        return tmux.server(), FleetError("its pane is on another tmux server", "name that with -S or -L")
    except Unavailable as error:
        return None, error


def _release(
    ctx: Context, store: "Store", tmux: "Tmux", member: "MemberState", trouble: FleetError | None, kill: bool
) -> Exit:
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.policy.members import roster
    from fleettools.services.members import commit
    from fleettools.services.store import read

    now_ms = store.now_ms()
    reason = "released by a person"
    answer = commit(
        store, member.server, member.target, lambda kept, won: roster.release(kept, reason, "release", now_ms, won)
    )
    if not answer.known:
        ctx.messages.warn(f"{member.target}: {answer.reason}; fleet-list --all shows it")
        return _no(ctx, member.server, member.target)
    if trouble:
        ctx.messages.warn(f"the options of pane {member.target} stay as they are: {trouble}")
    else:
        _leave(ctx, tmux, member, kill)
    kept = read(store, roster.member_key(member.server, member.target), roster.MemberState)
    assert kept is not None
    credential = ctx.config().credential_of(kept.profile)
    ctx.out.write(records.encode(roster.record(kept, credential, answer.reason, **clock.stamp())))
    ctx.out.flush()
    return Exit.OK


def _reinstate(ctx: Context, store: "Store", member: "MemberState") -> Exit:
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.policy.members import roster
    from fleettools.services.members import commit
    from fleettools.services.store import read

    at = store.moment()
    answer = commit(store, member.server, member.target, lambda kept, _: roster.reinstate(kept, at))
    kept = read(store, roster.member_key(member.server, member.target), roster.MemberState)
    if not answer.resolved or kept is None:
        ctx.messages.warn(f"{member.target} stays as it is: {answer.reason}")
        return _no(ctx, member.server, member.target, answer.reason)
    credential = ctx.config().credential_of(kept.profile)
    ctx.out.write(records.encode(roster.record(kept, credential, answer.reason, **clock.stamp())))
    ctx.out.flush()
    return Exit.OK


def _no(ctx: Context, server: str | None, target: str, reason: str = "no member of the fleet") -> Exit:
    """Say that nothing was changed, and why."""
    from fleettools import records
    from fleettools.adapters import clock

    who = {"server": server, "target": target} if target.startswith("%") else {"name": target}
    record = records.Member(**clock.stamp(), **who, changed=False, reason=reason)
    ctx.out.write(records.encode(record))
    ctx.out.flush()
    return Exit.NO


def _leave(ctx: Context, tmux: "Tmux", member: "MemberState", kill: bool) -> None:
    """Take the options off the pane, or end it, if it is still the one that the roster knows."""

    try:
        row = tmux.pane(member.target)
        if member.pid not in (None, row.pid):
            ctx.messages.info(f"pane {member.target} runs another process by now; it is left alone")
        elif kill:
            tmux.kill_pane(member.target)
        else:
            tmux.unset_options(member.target, OPTIONS)
    except NoPane:
        ctx.messages.info(f"pane {member.target} is gone already")


def _lift(ctx: Context, store: "Store", name: str) -> Exit:
    from fleettools import records
    from fleettools.adapters import clock
    from fleettools.errors import BadConfig
    from fleettools.policy.accounts import outage, quarantine
    from fleettools.policy.accounts.credential import CredentialState, credential_key, is_name
    from fleettools.services.store import change

    if not is_name(name):
        mend = "use letters, digits and . _ @ + -, at most 64, the first a letter or digit"
        raise BadConfig(f"{name!r} is no credential id", mend, "--credential")
    config, now = ctx.config(), store.moment()

    def step(kept: CredentialState | None) -> tuple[CredentialState | None, tuple[bool, str]]:
        if kept is None:
            return None, (False, "nothing is known against it")
        kept, cooled, why = outage.lift(kept, now)
        kept, quarantined, and_why = quarantine.lift(kept, now)
        return kept, (cooled or quarantined, f"{why}; {and_why}")

    changed, reason = change(store, credential_key(name), CredentialState, step)
    known = changed or store.get(credential_key(name))[1] or name in map(config.credential_of, config.profiles)
    (ctx.messages.info if known else ctx.messages.warn)(f"{name}: {reason if known else 'nobody spends it'}")
    record = records.Credential(**clock.stamp(), credential_id=name, changed=changed, reason=reason)
    ctx.out.write(records.encode(record))
    ctx.out.flush()
    return Exit.OK if known else Exit.NO


if __name__ == "__main__":
    main()
