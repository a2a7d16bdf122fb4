"""What became of the turn on a screen. Pure: no clock, no file, no tmux. `ORDER` is the order of judgement."""

import hashlib
import re
from collections.abc import Callable

import msgspec

from fleettools import records
from fleettools.screens import evidence, legacy, operators, signs
from fleettools.screens.blocks import Screen
from fleettools.screens.case import WHY, Case, Earlier, Outcome, is_long_wait
from fleettools.screens.look import Look
from fleettools.screens.patterns import Rules, ran_out
from fleettools.screens.scrub import scrubbed

_FRAMES = re.compile("[\u2500-\u259f]+")  # lines and blocks that grow and shrink with the pane


class Judgement(msgspec.Struct):
    """A verdict with how it came about: notes for a person, and the patterns that ran out of time."""

    verdict: records.Verdict
    notes: list[str] = []
    over: list[str] = []
    failures: int = 0  # those that a pane of an unknown agent has shown by now


def judge(pane: records.Pane, look: Look | None, rules: Rules) -> records.Verdict:
    """The verdict on a pane, whose `ts` must be set; `look` is None when its agent is unknown."""
    return weigh(pane, look, rules).verdict


def weigh(
    pane: records.Pane, look: Look | None, rules: Rules, explain: bool = False, earlier: Earlier | None = None
) -> Judgement:
    """As `judge`, with the patterns that ran out of time, and notes when they are asked for.

    `earlier` is the look before at the pane of an unknown agent: what stood there then is no new failure.
    """
    case = Case(pane, look, rules, earlier, explain)
    found = _outcome(case)
    notes = [scrubbed(note) for note in (*_seen(case.screen), *(case.notes or ()))] if explain else []
    return Judgement(_verdict(case, found), notes, [*case.search.over, *ran_out()], case.failures)


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


def _gone(case: Case) -> Outcome | None:
    if not case.pane.gone and not case.pane.dead:
        return None
    # A pane that lives on, but whose agent has ended, is no member any more.
    return Outcome("failed", "agent gone" if case.pane.unmarked else "pane gone")


def _unmarked(case: Case) -> Outcome | None:
    return Outcome("stale", "the pane is a member no more") if case.pane.unmarked else None


def _undescribed(case: Case) -> Outcome | None:
    if case.look is not None:
        return None
    if not any(case.screen.lines):
        return signs.empty(case)
    found, case.failures = legacy.judged(case, case.earlier)
    return found or _too_fast(case) or Outcome("completed", "no pattern matches; the agent is unknown", inferred=True)


def _stale(case: Case) -> Outcome | None:
    """Nothing is new since the baseline, and no sign of work: `stale` where that holds an old failure, else `idle`."""
    turn = case.pane.turn
    if case.look is None or not turn or not turn.baseline:
        return None
    if not _nothing_new(case.screen, Screen(turn.baseline, case.look)):
        return None
    if signs.retrying(case) or signs.working(case):
        return None
    old = Case(msgspec.structs.replace(case.pane, text=turn.baseline, turn=None), case.look, case.rules)
    found = _failed(old)
    if found is None:
        return Outcome("idle", "nothing is new since the baseline", pattern=records.BASELINE)
    reason = "nothing is new since the baseline, which holds an old failure"
    return Outcome("stale", reason, found.line, pattern=records.BASELINE)


def _failed(case: Case) -> Outcome | None:
    """The last item is a failure by the operator's patterns, else by those of the agent that still hold."""
    screen, rules = case.screen, case.rules
    if rules.configured and (found := operators.failure(case)) is not None:
        return found
    run = evidence.failing(screen, case.notes)
    if not run:
        return None
    bundled = (rules.exhausted.bundled, rules.error.bundled)
    kind, cause, pattern, line, text = evidence.decide(screen, run, bundled)
    if kind == "backend_error" and bundled[0] and cause in ("rate_limit", "overload", "unknown") and is_long_wait(text):
        kind, cause = "exhausted", "quota"
    if not bundled[kind == "backend_error"]:
        return None
    reason = f"{WHY[cause]}, says the agent as its last item"
    return Outcome(kind, reason, line, pattern, cause, text=text, inferred=pattern == "place")  # type: ignore[arg-type]


def _too_fast(case: Case) -> Outcome | None:
    if not case.pane.turn or not case.is_fast:
        return None
    seconds = f"{case.pane.turn.seconds:g}"
    return Outcome("failed", f"too fast: ended after {seconds} s without a known failure", inferred=True)


def _ended(case: Case) -> Outcome | None:
    reason = "the turn ended without a failure of the agent's own"
    return Outcome("completed", reason, inferred=not evidence.is_marked(case.screen))


# First match wins. Each step is pure, and answers None when its rule does not apply.
ORDER: tuple[tuple[str, Callable[[Case], Outcome | None]], ...] = (
    ("a pane that has vanished or whose process is dead has failed", _gone),
    ("a pane that is a member no more tells of no turn", _unmarked),
    ("an agent that nobody described is judged by words alone", _undescribed),
    ("what the baseline showed is no evidence", _stale),
    ("a person began anew", signs.begun_anew),
    ("a dialog of the agent's waits for a person; one about a used-up limit is exhaustion", signs.asking),
    ("a list that a person opened hides too much to tell", signs.covered),
    ("it tries again by itself; a wait of hours is exhaustion", signs.retrying),
    ("it is at work", signs.working),
    ("nothing is there", signs.empty),
    ("a person stopped the turn, there was none, or the agent has left", signs.stopped),
    ("the last item is the agent's own failure", _failed),
    ("nothing of the model's stands below the prompt yet", signs.unearned),
    ("a draft hides the sign of work, and the end is not marked", signs.unfinished),
    ("a turn that ended at once has failed", _too_fast),
    ("the turn has ended well", _ended),
)


def _outcome(case: Case) -> Outcome:
    """The first answer of `ORDER`; a title that shows work holds back an end that is only inferred."""
    found = next(found for _, step in ORDER if (found := step(case)) is not None)
    title = case.pane.title or ""
    if found.inferred and title and case.screen.look.title and case.screen.look.working_title.search(title):
        return Outcome("working", "the pane's title shows work", title)
    return found


def _seen(screen: Screen) -> list[str]:
    """What of the screen was judged: composer, prompt, and the items of the block."""
    above = screen.skipped
    frame = f"rows {above + screen.frame.top + 1} to {above + screen.frame.bottom}" if screen.frame else "not found"
    asked = f"row {above + screen.prompts[-1].row + 1}" if screen.prompts else "not on the screen"
    notes = [f"composer {frame}; last prompt {asked}"]
    if screen.cover:
        notes.append(f"a {screen.cover.kind} lies over it from row {above + screen.cover.top + 1} on")
    for item in screen.items[-4:]:
        notes.append(f"item {item.kind}, row {above + item.row + 1}: {scrubbed(item.lines[0].strip())[:100]}")
    return notes + evidence.near_misses(screen)


def _verdict(case: Case, found: Outcome) -> records.Verdict:
    """The record of an outcome."""
    pane = case.pane
    ts = pane.ts or ""
    at = pane.changed or min(ts, pane.activity or ts, key=records.to_ms)
    dated = bool(pane.changed or pane.activity)
    screen = screen_id(case.screen) if case.look else legacy.screen_id(case.failures)
    turn = pane.turn.id if pane.turn else ""
    event = turn or f"{screen}@{pane.server or ''}/{pane.target or ''}"
    reset, rolled, passed = None, False, False
    if found.text and found.outcome in ("exhausted", "backend_error", "retrying"):
        from fleettools.screens import resets  # late: its patterns are a twentieth of a start

        reset = resets.read(found.text, records.to_ms(at), pane.tz, brief=found.outcome == "retrying")
        rolled = reset is not None and not dated and resets.rolled(found.text, records.to_ms(at), pane.tz)
        passed = reset is None and resets.passed(found.text, records.to_ms(at), pane.tz)
    line = scrubbed(found.line.strip())
    path = "fast" if found.outcome in records.ENDINGS and case.is_fast and not pane.gone else case.path
    return records.Verdict(
        ts=ts, boot=pane.boot, up=pane.up, server=pane.server, target=pane.target, pid=pane.pid, dead=pane.dead,
        gone=pane.gone, name=pane.name, profile=pane.profile, agent=pane.agent, lead=pane.lead, role=pane.role,
        outcome=found.outcome, reason=found.reason, line=line or None, pattern=found.pattern,
        coverage=_coverage(case), path=path, cause=found.cause, attempt=found.attempt,  # type: ignore[arg-type]
        resets_at=records.to_ts(reset) if reset else None, rolled=rolled or None, passed=passed or None,
        screen=screen, event=event, at=at,
        undated=None if dated else True, block=_block(case.screen), proved=False if found.inferred else None,
        stopped=found.stopped or None, unmarked=pane.unmarked,
    )  # fmt: skip


def _coverage(case: Case) -> records.Coverage:
    if case.rules.configured:
        return "configured"
    if case.look is None:
        return "legacy"
    return "bundled" if case.look.is_seen else "unseen"


def _block(screen: Screen) -> str | None:
    """The hash of what the turn itself drew, None while it has drawn nothing."""
    drawn = "".join([item.words for item in evidence.drawn(screen)])
    drawn = drawn if drawn.isascii() else _FRAMES.sub("", drawn)
    return hashlib.sha256(drawn.encode(errors="replace")).hexdigest()[:16] if drawn else None


def screen_id(screen: Screen) -> str:
    """The hash of agent and last prompt, `:`, and that prompt's ordinal among equal ones on the screen (0: none)."""
    prompt, ordinal = ("", 0) if screen.window and screen.window.hides else (screen.prompt, screen.ordinal)
    digest = hashlib.sha256(f"{screen.look.name}\0{prompt}".encode(errors="replace")).hexdigest()
    return f"{digest[:16]}:{ordinal}"


def _nothing_new(now: Screen, before: Screen) -> bool:
    """Whether a screen shows no more than its baseline, aligned by content: scrolling and re-wrapping do not count."""
    new, old = ([item.words for item in screen.telling] for screen in (now, before))
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
