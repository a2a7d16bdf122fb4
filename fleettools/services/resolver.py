"""What fleet-resolve does with each record: members, tickets and turns in the store, and the verdict that follows."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from fleettools import records
from fleettools.config import Config
from fleettools.errors import BadInput, Undecodable
from fleettools.moments import Moment
from fleettools.moments import of as made_at
from fleettools.policy.accounts.usage import UsageState, heard, usage_key
from fleettools.policy.members import hearing, marking, roster
from fleettools.policy.members.roster import Answer
from fleettools.policy.members.wordings import MOST as MOST_WORDINGS
from fleettools.policy.members.wordings import Wording, wording_key
from fleettools.seen import Seen
from fleettools.services.members import commit
from fleettools.services.ports import Messages
from fleettools.services.signaling import MOST, SIGNALS
from fleettools.services.store import Store, change, read, read_all

SIGNAL_MS = 600_000  # what an agent said longer ago is dropped
PANES = 4096  # of which the last look is remembered


class Resolver:
    """Turns each verdict into what is now known of its member: the verdict with `resolved`, `event`, `ticket` ..."""

    def __init__(self, store: Store, config: Config, messages: Messages, host: str, flush: Callable[[], None]) -> None:
        """`host`: whose panes' posted signals are taken up; `flush` writes out what was yielded before."""
        self._store, self._config, self._messages = store, config, messages
        self._host, self._flush = host, flush
        self._looks: dict[tuple[str, str, int | None], Moment] = {}
        self._worded_before: Seen[str] = Seen()
        self._leads: Seen[tuple[str | None, str | None]] = Seen()
        self._early: dict[tuple[str | None, str | None], list[records.Signal]] = {}

    def verdict(self, line: bytes) -> Iterator[bytes]:
        """The verdict as it now stands; one about a lead passes untouched. Raises BadInput for a wrong time in it."""
        seen = records.decode(line, records.Verdict)
        if seen.role == "lead":
            self._leads.add((seen.server, seen.target))
            yield line
            return
        if seen.server is None or seen.target is None:
            yield self._said(line, seen.profile, {"resolved": True})
            return
        at = self._placed(seen)
        pane = (seen.server, seen.target, seen.pid)
        last = self._looks.pop(pane, None)
        answer = commit(
            self._store, seen.server, seen.target, lambda member, won: marking.step(member, seen, won, at, last)
        )
        self._looks[pane] = at if last is None or at.since(last) > 0 else last
        if len(self._looks) > PANES:
            del self._looks[next(iter(self._looks))]
        if not answer.known:
            self._warn(seen, answer)
        changes = _changes(answer)
        if changes["resolved"] and changes.get("pattern", seen.pattern) == records.PLACE:
            self._worded(seen.agent, changes.get("line", seen.line), at.ms)
        yield self._said(line, seen.profile, changes)
        if answer.known:
            yield from self._late(seen.server, seen.target)

    def _worded(self, agent: str | None, line: str | None, at_ms: int) -> None:
        """Say a failure's wording that no list knows, once a store."""
        key = wording_key(agent, line or "")
        if line is None or not self._worded_before.add(key) or self._store.get(key)[0] is not None:
            return
        if sum(1 for _ in self._store.scan(f"{key.rpartition('/')[0]}/")) >= MOST_WORDINGS:
            return
        if self._store.put(key, msgspec.json.encode(Wording(line=line, first_ms=at_ms)), 0):
            mend = "its agent file, or errorPattern, can name them"
            self._messages.warn(f"{agent or 'unknown'}: a failure in words that no list knows: {line}; {mend}")

    def _said(self, line: bytes, profile: str | None, changes: dict[str, Any]) -> bytes:
        credential = self._config.credential_of(profile)
        return records.patched(line, **changes, **({"credential_id": credential} if credential else {}))

    def _placed(self, record: records.Record) -> Moment:
        """When a record was made, by the store's clock and the uptime of the machine that made it."""
        made = made_at(record)
        return Moment(self._store.placed(made).ms, made.boot, made.up_ms)

    def _warn(self, seen: records.Verdict, answer: Answer) -> None:
        what = f"{seen.target} on {seen.server}: {answer.reason}; its verdict is not counted"
        self._messages.warn(what, once=True)

    def tmux(self, line: bytes) -> Iterator[bytes]:
        """The record itself; the members of a server that ended are released."""
        news = records.decode(line, records.Tmux)
        if news.state == "down":
            at_ms = self._placed(news).ms
            members = read_all(self._store, f"{roster.MEMBERS}{news.server}/", roster.MemberState)
            for member in [member for _, member in members if member.server == news.server]:
                commit(
                    self._store,
                    member.server,
                    member.target,
                    lambda now, won: roster.release(now, roster.DOWN, "gone", at_ms, won),
                )
        yield line

    # -- the agent's own word

    def signal(self, line: bytes) -> Iterator[bytes]:
        """The signal itself, then the verdict that it makes. Raises BadInput for a wrong time in it.

        A word of a pane that nobody knows yet is kept until a look at it, or the end of the input.
        """
        word = records.decode(line, records.Signal)
        made_at(word)
        yield line
        pane = (word.server, word.target)
        if None not in pane and self._is_known(word):
            yield from self._heard(word)
        elif word.said != "usage" and pane not in self._leads:
            kept = self._early.setdefault(pane, [])
            del kept[: len(kept) + 1 - MOST]
            kept.append(word)
            if len(self._early) > PANES:
                del self._early[next(iter(self._early))]

    def alone(self) -> Iterator[bytes]:
        """What hooks said of panes that nobody has looked at by the end: verdicts of nobody's profile."""
        for word in (word for words in self._early.values() for word in words):
            if word.source == "hook":
                yield self._said(records.encode(hearing.alone(word)), None, {"resolved": True})
        self._early = {}

    def _late(self, server: str, target: str) -> Iterator[bytes]:
        for word in self._early.pop((server, target), ()) if self._early else ():
            yield from self._heard(word)

    def posted(self) -> Iterator[bytes]:
        """What agents posted since the last call: each signal, the oldest first, with the verdict that it makes.

        One whose member is not known yet waits; it is dropped when it has grown old, or too many wait.
        """
        waiting: dict[str, int] = {}
        for key, version, word in self._waiting():
            pane = f"{word.server}/{word.target}"
            waiting[pane] = waiting.get(pane, 0) + 1
            old = self._store.moment().since(self._store.placed(made_at(word))) > SIGNAL_MS
            if not old and self._is_known(word):
                yield records.encode(word)
                yield from self._heard(word)
                # Only what was written out is taken away; a repeated word changes nothing.
                self._flush()
            elif not old and waiting[pane] <= MOST:
                continue
            self._store.put(key, None, version)

    def _is_known(self, word: records.Signal) -> bool:
        """Whether a word's pane has a member that can be read."""
        try:
            key = roster.member_key(str(word.server), str(word.target))
            return read(self._store, key, roster.MemberState) is not None
        except Undecodable as error:
            self._messages.error(error, once=True)
            return False

    def _waiting(self) -> list[tuple[str, int, records.Signal]]:
        """The signals posted for this host with key and version, the oldest first; what is none is dropped."""
        found = []
        for key, value, version in list(self._store.scan(f"{SIGNALS}{self._host}:")):
            try:
                word = records.decode(value, records.Signal)
                made_at(word)
            except BadInput as error:
                self._messages.warn(f"{key} in the store is dropped: {error}")
                self._store.put(key, None, version)
                continue
            found.append((key, version, word))
        return sorted(found, key=lambda one: (made_at(one[2]).ms, one[0]))

    def _heard(self, word: records.Signal) -> Iterator[bytes]:
        """The verdict that a signal makes; what it says of a limit is kept for the credential."""
        if word.server is None or word.target is None:
            return
        key = roster.member_key(word.server, word.target)
        at = self._placed(word)
        if word.said == "usage":
            member = read(self._store, key, roster.MemberState)
            self._used(word, self._config.credential_of(member.profile) if member else None)
            return
        answer = commit(self._store, word.server, word.target, lambda member, won: hearing.hear(member, word, won, at))
        member = read(self._store, key, roster.MemberState)
        if member is None or not answer.known:
            self._messages.debug(f"signal {word.id} of {word.target} on {word.server}: {answer.reason}")
            return
        line = records.encode(hearing.verdict(member, word))
        yield self._said(line, member.profile, _changes(answer))

    def _used(self, word: records.Signal, credential: str | None) -> None:
        if credential is not None and word.usage:
            said, now = word.usage, self._store.placed(made_at(word))
            change(
                self._store, usage_key(credential), UsageState, lambda known: (heard(known, said, now, word.ts), None)
            )


def _changes(answer: Answer) -> dict[str, Any]:
    """What a verdict says after its member has answered."""
    changes: dict[str, Any] = {"resolved": answer.resolved, "event": answer.event} | dict(answer.fields or {})
    return changes | ({"ticket": answer.ticket} if answer.ticket else {})
