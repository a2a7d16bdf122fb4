"""Text into a live agent's pane: typed only where nothing else stands, and never said to be sent without proof.

The guard runs inside tmux, in the same call as the paste: pasting into a dead pane ends the server of tmux 3.1 to 3.3a.
"""

import secrets
from collections.abc import Callable
from typing import Literal, NamedTuple

from fleettools import records
from fleettools.adapters import clock
from fleettools.adapters.tmux import PaneRow, Tmux
from fleettools.errors import NoPane, NoServer, Unavailable
from fleettools.screens import judge as classify
from fleettools.screens import typed as screen
from fleettools.screens.look import Look
from fleettools.screens.patterns import Rules

SHELLS = frozenset(
    ("sh", "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh", "tcsh", "xonsh", "yash", "zsh")
)
BETWEEN_LOOKS = 1.0
SETTLE = 0.3  # seconds from seeing the text to Enter: Codex takes an Enter within 0.12 s of a paste for a newline
APPEAR, LEAVE, LEAVE_AGAIN = 3.0, 1.5, 3.0  # seconds for the text to be seen, and to leave the composer
POLL = 0.15
HISTORY = 2000
_TYPING = frozenset({"working", "retrying"})


class Result(NamedTuple):
    """What became of it. `outcome` None: nothing was tried, and it may be tried later."""

    outcome: records.DeliveryOutcome | None
    reason: str


class Sight(NamedTuple):
    """One look at a pane: what the agent is at, and what stands in its composer."""

    outcome: records.Outcome
    composer: Literal["empty", "draft", "absent"]
    text: str


class Site:
    """A pane to type into: the row that was seen, and its agent's look. `pause` waits for some seconds."""

    def __init__(self, tmux: Tmux, row: PaneRow, look: Look, pause: Callable[[float], None] = clock.sleep) -> None:
        self.tmux, self.row, self.look, self.pause = tmux, row, look, pause

    def see(self, history: int = 0) -> Sight:
        """Look at it now; raises NoPane when it has vanished.

        A line that was wrapped before the pane was resized stays joined to what is drawn below it since, so where no
        composer is to be seen the lines are taken as they stand, too.
        """
        sight = self._look(history, joined=True)
        if sight.composer != "absent" or sight.outcome == "blocked":
            return sight
        plain = self._look(history, joined=False)
        return sight if plain.composer == "absent" else plain

    def _look(self, history: int, joined: bool) -> Sight:
        text = self.tmux.capture([self.row.id], history, joined=joined).get(self.row.id)
        if text is None:
            raise self.tmux.error(f"no pane {self.row.id}", "", NoPane)
        pane = records.Pane(
            ts=records.to_ts(clock.now_ms()), text=text, agent=self.look.name, dead=self.row.dead or None
        )
        return Sight(classify.judge(pane, self.look, Rules()).outcome, screen.composer(text, self.look).state, text)

    def place(self, sight: Sight, token: str | None) -> str:
        """Where the token stands: `composer`, `above` or `none`. With no token, whether anything is in the composer."""
        if token is not None:
            return screen.holds(sight.text, self.look, token)
        return "composer" if sight.composer == "draft" else "above" if sight.composer == "empty" else "none"


def refusal(row: PaneRow) -> str:
    """Why nothing may be typed into a pane, "" when it may."""
    if row.dead:
        return "its process has ended"
    if row.in_mode:
        return "it is in copy mode"
    if row.input_off:
        return "its input is off"
    if row.synchronized:
        return "its window types into all its panes at once"
    if row.command.lstrip("-") in SHELLS:
        return f"it runs a shell ({row.command}), or its agent was started by one without exec"
    return ""


def unready(sight: Sight) -> str:
    """Why not now, "" when a text would be taken as an answer or a new prompt."""
    if sight.outcome in _TYPING:
        return "its agent is at work"
    if sight.composer == "draft":
        return "somebody's draft stands in its composer"
    if sight.composer == "absent":
        return "its agent asks a question" if sight.outcome == "blocked" else "no composer is to be seen"
    return ""


def paste(tmux: Tmux, row: PaneRow, text: str) -> str:
    """Paste into the pane if it still is what was seen; "" when done, else the reason why not."""
    buffer = f"fleet-{secrets.token_hex(8)}"
    sent = f"paste-buffer -p -d -b {buffer} -t {row.id} ; display-message -p SENT"
    guarded = ["if-shell", "-F", "-t", row.id, _guard(row), sent, f"delete-buffer -b {buffer}"]
    out, _ = tmux.run(["load-buffer", "-b", buffer, "-"], guarded, stdin=text.encode())
    return "" if "SENT" in out else _why(tmux, row)


def enter(tmux: Tmux, row: PaneRow) -> str:
    """Press Enter in the pane if it still is what was seen; "" when done, else the reason why not."""
    sent = f"send-keys -t {row.id} Enter ; display-message -p SENT"
    out, _ = tmux.run(["if-shell", "-F", "-t", row.id, _guard(row), sent])
    return "" if "SENT" in out else _why(tmux, row)


def _guard(row: PaneRow) -> str:
    """A tmux format that is 1 only in the very pane that was seen, alive, in no mode, and not running a shell."""
    same = (("pane_id", row.id), ("pane_pid", row.pid), ("pid", row.server_pid))
    terms = [f"#{{==:#{{{name}}},{value}}}" for name, value in same]
    terms += [f"#{{?{flag},0,1}}" for flag in ("pane_dead", "pane_in_mode", "pane_input_off", "pane_synchronized")]
    terms.append(f"#{{?#{{m/r:^-?({'|'.join(sorted(SHELLS))})$,#{{pane_current_command}}}},0,1}}")
    guard = terms.pop()
    while terms:
        guard = f"#{{&&:{terms.pop()},{guard}}}"
    return guard


def _why(tmux: Tmux, row: PaneRow) -> str:
    try:
        now = tmux.pane(row.id)
    except NoPane:
        return "the pane has vanished"
    if (now.pid, now.server_pid) != (row.pid, row.server_pid):
        return "another process runs in the pane now"
    return refusal(now) or "the pane had changed for a moment"


def deliver(site: Site, text: str, token: str | None, step: Callable[[str], bool] = lambda _: True) -> Result:
    """Put a text into the pane and submit it, with proof.

    `token` is a word of the text that is shown nowhere else; without one (a long prompt, which agents fold), the
    composer that fills and empties is the proof. `step` is told each step before it is done, and stops it by False.
    Raises Unavailable only as long as nothing can have been typed.
    """
    reason = refusal(site.row) or unready(site.see())
    if not reason:
        site.pause(BETWEEN_LOOKS)
        reason = unready(site.see())
    if reason:
        return Result(None, reason)
    if not step("typed"):
        return Result(None, "another process has taken it over")
    try:
        reason = paste(site.tmux, site.row, text)
    except NoServer as error:
        return Result("refused", error.what)
    except Unavailable as error:
        return Result("unknown", f"while the text was pasted: {error.what}")
    if reason:
        return Result("refused", reason)
    step("pasted")
    try:
        return _submit(site, token, step)
    except Unavailable as error:
        return Result("unknown", f"pasted, then: {error.what}")


def finish(site: Site, token: str, step: Callable[[str], bool] = lambda _: True) -> Result:
    """End what another process began: find the token on the screen or above it, and press Enter if that is missing."""
    sight = site.see(HISTORY)
    where = site.place(sight, token)
    if where == "above":
        return Result("submitted", "found above the composer")
    if where == "none":
        return Result("unknown", "the process that typed it ended, and the pane shows no trace of it")
    reason = refusal(site.row)
    return Result(None, reason) if reason else _submit(site, token, step)


def _submit(site: Site, token: str | None, step: Callable[[str], bool]) -> Result:
    """See the text in the composer, press Enter, see it leave; press Enter once more if it stays."""
    sight, where = _wait(site, token, ("composer",), APPEAR)
    if where != "composer":
        return Result("stuck", "the text is not to be seen in the composer, so Enter was not pressed")
    busy = sight.outcome in _TYPING
    step("shown")
    site.pause(SETTLE)
    for patience in (LEAVE, LEAVE_AGAIN):
        if _asks(site.see()):
            return Result("stuck", "its agent asks a question that Enter would answer")
        reason = enter(site.tmux, site.row)
        if reason:
            return Result("stuck", f"the text is in the composer, Enter was refused: {reason}")
        step("entered")
        sight, where = _wait(site, token, ("above",), patience)
        if where != "composer":
            break
    if where == "composer":
        return Result("stuck", "the text stays in the composer")
    if where == "none" and sight.outcome not in _TYPING:
        where = site.place(site.see(HISTORY), token)
        if where != "above":
            return Result("unknown", "the text has left the composer and is not to be seen above it")
    return Result("queued", "its agent was at work") if busy else Result("submitted", "seen above the composer")


def _asks(sight: Sight) -> bool:
    return sight.outcome == "blocked" and sight.composer == "absent"


def _wait(site: Site, token: str | None, places: tuple[str, ...], seconds: float) -> tuple[Sight, str]:
    """Look until the token stands in one of the places or the time is over; the last look, and where it stood."""
    end = clock.monotonic() + seconds
    while True:
        sight = site.see()
        where = site.place(sight, token)
        at_work = where == "none" and sight.outcome in _TYPING and "above" in places
        if where in places or at_work or clock.monotonic() >= end:
            return sight, where
        site.pause(POLL)
