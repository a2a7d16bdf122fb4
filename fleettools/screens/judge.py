"""What became of the turn on a screen. Pure: no clock, no file, no tmux.

The order of judgement, first match wins (design section 3); `_outcome` is its one place:

    failed      the pane has vanished or its process is dead
    stale       nothing is new since the baseline
    blocked     the agent asks a person something (a dialog about a used-up limit is exhaustion)
    retrying, working   it is busy; a wait of hours before the next try is exhaustion
    idle        a person stopped the turn, there was none, or the agent has left to the shell
    exhausted, backend_error   the last item of the block is the agent's own failure
    failed      the turn ended too fast
    completed
"""

import hashlib
from typing import NamedTuple

import msgspec

from fleettools import records
from fleettools.screens import composer as composers
from fleettools.screens import evidence
from fleettools.screens.blocks import Screen
from fleettools.screens.evidence import Finding
from fleettools.screens.items import Item
from fleettools.screens.look import Look, compiled
from fleettools.screens.patterns import Own, Rules, Search
from fleettools.screens.scrub import scrubbed
from fleettools.screens.sgr import lines_of, squeezed

LEGACY = Own("legacy", r"(?i)\bAPI Error\s*:")
RAW_LINES = 20
GONE = "pane gone"
AGENT_GONE = "agent gone"
_FRAMES = dict.fromkeys(range(0x2500, 0x25A0))  # lines and blocks that grow and shrink with the pane
_BUSY_ANYWHERE = ("esctointerrupt", "esctocancel", "escinterrupt", "ctrl+ctointerrupt", "ctrl+ctostop")
_SHELL = r"[\w.-]+@[\w.-]+[: ][^\n]*[$#%❯](?: .*)?$|(?:bash|sh|zsh)-[\d.]+[$#](?: .*)?$"
_CHOICE = r"\W{0,4}[❯›●▸→▶>]\s*\d+[.)] \S"

# What a cause means, in words that no agent fails with: they reach people and leads as `failureReason`.
WHY = {
    "overload": "the backend had no room",
    "server": "the backend broke down",
    "network": "the backend was out of reach",
    "auth": "the backend did not let the account in",
    "rate_limit": "the backend took no more for the moment",
    "concurrency": "the backend took no more at the same time",
    "model": "the backend does not have that model",
    "context": "the turn is longer than the model takes",
    "request": "the backend did not take what it was sent",
    "quota": "the account's plan is used up",
    "credits": "the account's money is used up",
    "unknown": "it could not go on",
}


class Outcome(NamedTuple):
    """What is known about a turn."""

    outcome: str
    reason: str
    line: str = ""
    pattern: str | None = None
    cause: str | None = None
    attempt: int | None = None
    text: str = ""
    stopped: bool = False


class Judgement(msgspec.Struct):
    """A verdict with how it came about: notes for a person, and the patterns that ran out of time."""

    verdict: records.Verdict
    notes: list[str] = []
    over: list[str] = []


def judge(pane: records.Pane, look: Look | None, rules: Rules) -> records.Verdict:
    """The verdict on a pane, whose `ts` must be set; `look` is None when its agent is unknown."""
    return weigh(pane, look, rules).verdict


def weigh(pane: records.Pane, look: Look | None, rules: Rules, explain: bool = False) -> Judgement:
    """As `judge`, with the patterns that ran out of time, and notes when they are asked for."""
    case = _Case(pane, look, rules)
    found = case.outcome()
    notes = [scrubbed(note) for note in (*case.seen(), *case.notes)] if explain else []
    return Judgement(case.verdict(found), notes, case.search.over)


def explained(judgement: Judgement) -> list[str]:
    """How a verdict came about, in lines for a person who writes a pattern."""
    verdict = judgement.verdict
    lines = [
        f"{verdict.outcome}: {verdict.reason}",
        f"path {verdict.path}, coverage {verdict.coverage}, screen {verdict.screen}",
    ]
    facts = {"line": verdict.line, "rule": verdict.pattern, "cause": verdict.cause, "attempt": verdict.attempt}
    lines += [f"{name} {value}" for name, value in (facts | {"resets at": verdict.resets_at}).items() if value]
    return lines + judgement.notes + [f"{key} ran out of its time" for key in judgement.over]


class _Case:
    """One pane before the judge."""

    def __init__(self, pane: records.Pane, look: Look | None, rules: Rules) -> None:
        self.pane, self.look, self.rules = pane, look, rules
        self.notes: list[str] = []
        self.search = Search()
        self.screen = Screen(pane.text or "", look or Look(name=pane.agent or ""))
        self.path: records.Path = "block" if self.screen.prompts else "raw"

    def outcome(self) -> Outcome:
        """See the head of this module."""
        if self.pane.gone or self.pane.dead:
            # A pane that lives on, but whose agent has ended, is no member any more.
            return Outcome("failed", AGENT_GONE if self.pane.unmarked else GONE)
        if self.pane.unmarked:
            return Outcome("stale", "the pane is a member no more")
        if self.look is None:
            return (None if self.screen.lines else self._empty()) or self._unknown_agent()
        for step in (self._stale, self._asking, self._busy, self._stopped, self._empty, self._failure, self._too_fast):
            found = step()
            if found is not None:
                return found
        return Outcome("completed", "the turn ended without a failure of the agent's own")

    def seen(self) -> list[str]:
        """What of the screen was judged: composer, prompt, and the items of the block."""
        screen = self.screen
        frame = f"rows {screen.frame.top + 1} to {screen.frame.bottom}" if screen.frame else "not found"
        asked = f"row {screen.prompts[-1].row + 1}" if screen.prompts else "not on the screen"
        notes = [f"composer {frame}; last prompt {asked}"]
        for item in screen.items[-4:]:
            notes.append(f"item {item.kind}, row {item.row + 1}: {scrubbed(item.lines[0].strip())[:100]}")
        return notes + evidence.near_misses(screen)

    def verdict(self, found: Outcome) -> records.Verdict:
        """The record of an outcome."""
        pane = self.pane
        ts = pane.ts or ""
        at = pane.changed or min(ts, pane.activity or ts, key=records.to_ms)
        dated = bool(pane.changed or pane.activity)
        screen = screen_id(self.screen)
        turn = pane.turn.id if pane.turn else ""
        event = turn or f"{screen}@{pane.server or ''}/{pane.target or ''}"
        reset, rolled = None, False
        if found.text and found.outcome in ("exhausted", "backend_error", "retrying"):
            from fleettools.screens import resets  # late: its patterns are a twentieth of a start

            reset = resets.read(found.text, records.to_ms(at), pane.tz, brief=found.outcome == "retrying")
            rolled = reset is not None and not dated and resets.rolled(found.text, records.to_ms(at), pane.tz)
        line = scrubbed(found.line.strip())
        path = "fast" if found.outcome in records.ENDINGS and self._is_fast() and not pane.gone else self.path
        return records.Verdict(
            ts=ts, boot=pane.boot, up=pane.up, server=pane.server, target=pane.target, pid=pane.pid, dead=pane.dead,
            gone=pane.gone, name=pane.name, profile=pane.profile, agent=pane.agent, lead=pane.lead, role=pane.role,
            outcome=found.outcome, reason=found.reason, line=line or None, pattern=found.pattern,  # type: ignore[arg-type]
            coverage=self._coverage(), path=path, cause=found.cause, attempt=found.attempt,  # type: ignore[arg-type]
            resets_at=records.to_ts(reset) if reset else None, rolled=rolled or None, screen=screen, event=event, at=at,
            undated=None if dated else True, block=self._block(), proved=self._proved(found),
            stopped=found.stopped or None, unmarked=pane.unmarked,
        )  # fmt: skip

    def _block(self) -> str | None:
        """The hash of what the turn itself drew, None while it has drawn nothing."""
        drawn = "".join(item.words for item in evidence.drawn(self.screen)).translate(_FRAMES)
        return hashlib.sha256(drawn.encode(errors="replace")).hexdigest()[:16] if drawn else None

    def _proved(self, found: Outcome) -> bool | None:
        """False for an end that is only inferred."""
        if found.outcome == "completed" and not evidence.is_marked(self.screen):
            return False
        return False if found.outcome == "failed" and found.reason != GONE else None

    def _coverage(self) -> records.Coverage:
        if self.rules.configured:
            return "configured"
        return "legacy" if self.look is None else "bundled"

    def _unknown_agent(self) -> Outcome:
        lines = [line for line in self.screen.lines if line]
        if self.pane.turn and self.pane.turn.baseline:
            old = set(lines_of(self.pane.turn.baseline))
            lines = [line for line in lines if line not in old]
        lines = lines[-RAW_LINES:]
        found = self._own(lines)
        if found is None and not self.rules.configured:
            found = self._search("backend_error", (LEGACY,), lines)
        if found is not None:
            return found
        if any(sign in squeezed(line) for sign in _BUSY_ANYWHERE for line in lines[-6:]):
            return Outcome("working", "a sign of work stands at the foot of the screen")
        return self._too_fast() or Outcome("completed", "no pattern matches; the agent is unknown")

    def _own(self, lines: list[str]) -> Outcome | None:
        return self._search("exhausted", self.rules.exhausted.own, lines) or self._search(
            "backend_error", self.rules.error.own, lines
        )

    def _search(self, kind: str, own: tuple[Own, ...], lines: list[str]) -> Outcome | None:
        hit = self.search.first(own, lines) if own else None
        if hit is None:
            return None
        pattern, line = hit
        cause = evidence.cause_of(self.screen.look, "\n".join(lines))[0]
        if (kind == "exhausted") != (cause in ("quota", "credits")):
            cause = "unknown"
        return Outcome(kind, f"matches {pattern.key}", line, pattern.key, cause, text="\n".join(lines))

    def _stale(self) -> Outcome | None:
        turn = self.pane.turn
        if self.look is None or not turn or not turn.baseline:
            return None
        before = Screen(turn.baseline, self.look)
        if not _nothing_new(self.screen, before):
            return None
        if self._busy() is not None:
            return None
        old = _Case(msgspec.structs.replace(self.pane, text=turn.baseline, turn=None), self.look, self.rules)
        found = old._failure()
        if found is None:
            return Outcome("idle", "nothing is new since the baseline")
        return Outcome("stale", "nothing is new since the baseline, which holds an old failure", found.line)

    def _asking(self) -> Outcome | None:
        screen, look = self.screen, self.screen.look
        if screen.frame is not None and not (look.questions and look.question.match(screen.frame.text)):
            return None
        lines = screen.lines[screen.start :]
        question = next((line for line in lines if look.question.search(line)), None)
        if question is None and not look.shared:
            question = next((line for line in lines if compiled(_CHOICE).match(line)), None)
        if question is None:
            return None
        words = squeezed(" ".join(lines))
        for phrase in look.limit_dialogs:
            if squeezed(phrase) in words:
                since = screen.prompts[-2].after if len(screen.prompts) > 1 else screen.start
                text = " ".join(line.strip(" │┃") for line in screen.lines[since:])
                rule = f"{look.name}: {phrase}"
                return Outcome("exhausted", "asks what to do about a limit", question, rule, "quota", text=text)
        return Outcome("blocked", "the agent asks a person something", question)

    def _is_busy(self) -> str | None:
        """The line that shows that the agent is at work."""
        screen = self.screen
        busy = screen.look.busy_sign
        if screen.look.busy:
            for line in screen.footer:
                if busy.search(line):
                    return line
        items = evidence.significant(screen)
        if items and items[-1].kind == "busy":
            return items[-1].lines[0]
        if screen.look.streams and screen.frame is None and screen.lines and not screen.fresh and not self._left():
            return items[-1].lines[-1] if items else screen.lines[-1]
        return None

    def _busy(self) -> Outcome | None:
        line = self._is_busy()
        retry = self._retry(line)
        if retry is not None:
            return retry
        return Outcome("working", "the agent is at work", line) if line is not None else None

    def _retry(self, busy: str | None) -> Outcome | None:
        """The agent's own next try; exhausted when it waits for hours."""
        look = self.screen.look
        items = evidence.significant(self.screen)
        if look.shared and busy is None:
            return None  # words of a reply could stand there
        run: list[Item] = []
        if items and items[-1].kind == "busy":
            if look.is_retry(items[-1].words):
                run = [items[-1]]
            else:
                items = items[:-1]
        if (
            not run
            and items
            and (
                items[-1].kind == "retry"
                or (items[-1].kind in ("error", "own", "notice") and look.is_retry(items[-1].words))
            )
        ):
            run = [items[-1]]
            for item in reversed(items[:-1]):
                if item.kind not in ("error", "retry") and not (look.tail and item.kind == "plain"):
                    break
                run.append(item)
        text = " ".join(item.text for item in reversed(run[:3]))
        line = run[0].lines[0] if run else ""
        if not run and busy is not None and busy in self.screen.footer:
            footer = self.screen.footer
            words = " ".join(row.strip() for row in footer[footer.index(busy) :])
            if look.is_retry(squeezed(words)) or evidence.cause_of(look, words)[0] != "unknown":
                text = line = words
        if not text:
            return None
        cause, pattern = evidence.cause_of(look, text)
        if _is_long_wait(text):
            cause = cause if cause in ("quota", "credits") else "quota"
            return Outcome(
                "exhausted", "the agent would wait for long", line, pattern, cause, evidence.attempt(text), text
            )
        for item in run:
            line = next((each for each in item.lines if look.is_retry(squeezed(each))), line)
            break
        return Outcome(
            "retrying", "the agent tries again by itself", line, pattern, cause, evidence.attempt(text), text
        )

    def _empty(self) -> Outcome | None:
        """Nothing is on the screen: before the agent has drawn, in the middle of a redraw, or after a clear."""
        if self.screen.prompts or evidence.significant(self.screen):
            return None
        if self.pane.turn:
            return Outcome("stale", "nothing is on the screen that would tell of the turn")
        return Outcome("idle", "nothing is on the screen")

    def _stopped(self) -> Outcome | None:
        items = evidence.significant(self.screen)
        if items and items[-1].kind == "stop":
            return Outcome("idle", "a person stopped the turn", items[-1].lines[0], stopped=True)
        if self.screen.fresh and not (items and items[-1].kind == "error"):
            return Outcome("idle", "no turn yet")
        left = self._left()
        if left:
            return Outcome("idle", "the agent has left to the shell", left)
        if self._is_offer_gone(items):
            return Outcome("idle", "a person stopped the turn; its prompt stands in the composer again", stopped=True)
        if self.screen.prompts and not self.screen.items:
            if self.screen.look.always_busy and self.screen.frame:
                return Outcome("idle", "a person stopped the turn before the agent drew anything", stopped=True)
            return Outcome("working", "nothing stands below the prompt yet")
        return None

    def _is_offer_gone(self, items: list[Item]) -> bool:
        """Whether the agent no longer offers what it offers behind its last failure, and a prompt waits to be sent."""
        screen = self.screen
        if not screen.look.offers or not screen.frame or not screen.margin or not items or items[-1].kind != "error":
            return False
        words = items[-1].words
        return (
            all(squeezed(offer) not in words for offer in screen.look.offers)
            and composers.state(screen.frame, screen.look.composer).state == "draft"
        )

    def _left(self) -> str:
        last = self.screen.lines[-1] if self.screen.lines else ""
        return last if compiled(_SHELL).match(last) and not self.screen.look.head.match(last) else ""

    def _failure(self) -> Outcome | None:
        screen, rules = self.screen, self.rules
        items = evidence.significant(screen)
        if rules.configured and items:
            found = self._own(items[-1].lines)
            if found is not None:
                return found
        run = evidence.failing(screen, self.notes)
        if not run:
            return None
        found_ = evidence.decide(screen.look, run, (rules.exhausted.bundled, rules.error.bundled))
        return self._typed(found_, screen.look) if found_ else None

    def _typed(self, found: Finding, look: Look) -> Outcome:
        kind, cause = found.kind, found.cause
        long = _is_long_wait(found.text)
        if (
            kind == "backend_error"
            and long
            and self.rules.exhausted.bundled
            and cause in ("rate_limit", "overload", "unknown")
        ):
            kind, cause = "exhausted", "quota"
        reason = f"{WHY.get(cause or 'unknown', WHY['unknown'])}, says the agent as its last item"
        return Outcome(kind, reason, found.line, found.pattern, cause, text=found.text)

    def _is_fast(self) -> bool:
        seconds = self.pane.turn.seconds if self.pane.turn else None
        return seconds is not None and seconds < self.rules.min_turn_seconds

    def _too_fast(self) -> Outcome | None:
        if not self.pane.turn or not self._is_fast():
            return None
        return Outcome("failed", f"too fast: ended after {self.pane.turn.seconds:g} s without a known failure")


def _is_long_wait(text: str) -> bool:
    from fleettools.screens import resets

    return resets.wait_seconds(text) >= resets.LONG_WAIT


def screen_id(screen: Screen) -> str:
    """The hash of agent and last prompt, `:`, and that prompt's ordinal among equal ones on the screen (0: none)."""
    digest = hashlib.sha256(f"{screen.look.name}\0{screen.prompt}".encode(errors="replace")).hexdigest()
    return f"{digest[:16]}:{screen.ordinal}"


def _nothing_new(now: Screen, before: Screen) -> bool:
    """Whether a screen shows no more than its baseline, aligned by content: scrolling and re-wrapping do not count."""
    new, old = ([item.words for item in evidence.significant(screen)] for screen in (now, before))
    if now.prompts and before.prompts:
        if now.prompt != before.prompt or now.ordinal > before.ordinal:
            return False
        return _same(new, old)
    if now.prompts:
        return False
    ahead, behind = "".join(new), "".join(old)
    return bool(ahead) and (behind.endswith(ahead) or ahead.endswith(behind))


def _same(new: list[str], old: list[str]) -> bool:
    if len(new) != len(old):
        return False
    # An agent may cut its last line short in a narrower pane.
    return all(
        a == b or (min(len(a), len(b)) >= 16 and (a.startswith(b) or b.startswith(a)))
        for a, b in zip(new, old, strict=True)
    )
