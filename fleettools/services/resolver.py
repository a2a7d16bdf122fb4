"""What fleet-resolve does with each record: members, tickets and turns in the store, and the verdict that follows."""

from collections.abc import Iterator
from typing import Any

from fleettools import records
from fleettools.config import Config
from fleettools.moments import Moment
from fleettools.moments import of as made_at
from fleettools.policy.members import marking, roster
from fleettools.policy.members.roster import Answer
from fleettools.seen import Seen
from fleettools.services.members import commit
from fleettools.services.ports import Messages
from fleettools.services.store import Store, read_all


class Resolver:
    """Turns each verdict into what is now known of its member: the verdict with `resolved`, `event`, `ticket` ..."""

    def __init__(self, store: Store, config: Config, messages: Messages) -> None:
        self._store, self._config, self._messages = store, config, messages
        self._warned: Seen[tuple[str | None, str | None, str]] = Seen()

    def verdict(self, line: bytes) -> Iterator[bytes]:
        """The verdict as it now stands; one about a lead passes untouched. Raises BadInput for a wrong time in it."""
        seen = records.decode(line, records.Verdict)
        if seen.role == "lead":
            yield line
            return
        credential = self._config.credential_of(seen.profile)
        if seen.server is None or seen.target is None:
            yield records.patched(line, resolved=True, **({"credential_id": credential} if credential else {}))
            return
        made = made_at(seen)
        at = Moment(self._store.placed(made).ms, made.boot, made.up_ms)
        answer = commit(self._store, seen.server, seen.target, lambda member, won: marking.step(member, seen, won, at))
        if not answer.known:
            self._warn(seen, answer)
        changes: dict[str, Any] = {"resolved": answer.resolved, "event": answer.event} | dict(answer.fields or {})
        changes |= {"ticket": answer.ticket} if answer.ticket else {}
        changes |= {"credential_id": credential} if credential else {}
        yield records.patched(line, **changes)

    def _warn(self, seen: records.Verdict, answer: Answer) -> None:
        fact = (seen.server, seen.target, answer.reason)
        if self._warned.add(fact):
            self._messages.warn(f"{seen.target} on {seen.server}: {answer.reason}; its verdict is not counted")

    def tmux(self, line: bytes) -> Iterator[bytes]:
        """The record itself; the members of a server that ended are released."""
        news = records.decode(line, records.Tmux)
        if news.state == "down":
            at_ms = self._store.placed(made_at(news)).ms
            members = read_all(self._store, f"{roster.MEMBERS}{news.server}/", roster.MemberState)
            for member in [member for _, member in members if member.server == news.server]:
                commit(
                    self._store,
                    member.server,
                    member.target,
                    lambda now, won: roster.release(now, roster.DOWN, "gone", at_ms, won),
                )
        yield line
