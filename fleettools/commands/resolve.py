"""fleet-resolve: owns the turns; settles tickets by verdicts and marks members (design section 5)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fleettools.cli import Context, command, files, state
from fleettools.errors import Exit

if TYPE_CHECKING:
    from fleettools.adapters.streams import Messages
    from fleettools.policy.members.roster import Answer
    from fleettools.records import Verdict
    from fleettools.services.store import Store


class Resolver:
    """Turns each verdict into what is now known of its member, and the verdict with `resolved`, `ticket`, `event`."""

    def __init__(self, store: "Store", messages: "Messages") -> None:
        self._store, self._messages = store, messages
        self._warned: set[tuple[str | None, str | None, str]] = set()

    def verdict(self, line: bytes) -> Iterator[bytes]:
        """The verdict with `resolved`; one about a lead passes untouched."""
        from fleettools import records
        from fleettools.policy.members import marking, roster
        from fleettools.services.members import commit

        seen = records.decode(line, records.Verdict)
        if seen.role == "lead":
            yield line
            return
        if seen.server is None or seen.target is None:
            yield records.patched(line, resolved=True)
            return
        answer = commit(self._store, seen.server, seen.target, lambda member, won: marking.step(member, seen, won))
        if not answer.known:
            self._warn(seen, answer)
        changes: dict[str, object] = {"resolved": answer.resolved, "event": answer.event}
        if answer.ticket:
            changes["ticket"] = answer.ticket
        if answer.reason == roster.GONE:
            # Whatever its screen says, a pane that is gone is no evidence against its credential.
            changes |= {"outcome": "failed", "reason": roster.GONE, "cause": None}
        yield records.patched(line, **changes)

    def _warn(self, seen: "Verdict", answer: "Answer") -> None:
        fact = (seen.server, seen.target, answer.reason)
        if fact not in self._warned:
            self._warned = {*list(self._warned)[-999:], fact}
            self._messages.warn(f"{seen.target} on {seen.server}: {answer.reason}; its verdict is not counted")

    def tmux(self, line: bytes) -> Iterator[bytes]:
        """The record itself; the members of a server that ended are released."""
        from fleettools import records
        from fleettools.policy.members import roster
        from fleettools.services.members import commit
        from fleettools.services.store import read_all

        news = records.decode(line, records.Tmux)
        if news.state == "down":
            at_ms = records.to_ms(news.ts)
            members = read_all(self._store, f"{roster.MEMBERS}{news.server}/", roster.MemberState)
            for member in [member for _, member in members if member.server == news.server]:
                commit(
                    self._store,
                    member.server,
                    member.target,
                    lambda now, won: roster.release(now, roster.DOWN, "gone", at_ms, won),
                )
        yield line


@command("fleet-resolve")
@state
@files
def main(ctx: Context, state_url: str | None, files: tuple[str, ...]) -> Exit:
    """Settle tickets by verdicts and keep the roster.

    Reads verdict and tmux records, writes them again: a verdict with `resolved`, the turn's `event` and its `ticket`.
    """
    from fleettools.adapters.lines import Input, pump

    resolver = Resolver(ctx.store(state_url), ctx.messages)
    consume = {"verdict": resolver.verdict, "tmux": resolver.tmux}
    return pump(Input(files, ctx.out, ctx.messages), ctx.out, ctx.messages, consume, strict=ctx.strict)


if __name__ == "__main__":
    main()
