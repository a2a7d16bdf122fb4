"""The tests' agent: draws Claude Code's screen as the demo's does, and logs each submit as a JSON line.

    claude.py LOG [MODE ...]

SIGUSR1 is a backend that fails, SIGUSR2 a turn that ends well, SIGHUP one that a person stopped; ^O opens a dialog,
^D leaves the screen to a shell. A prompt is answered at once, unless: waits (it is worked at until a signal),
works=SECONDS (so long), fails (it fails at once), backend=FILE (its request is logged with its time, is worked at for
three seconds, and fails with what the file says then, if anything). error=TEXT (what a failure says), menu (opens one
below a failure), greeted (a first turn is over), limit (the last turn ended at a limit), busy=SECONDS (works at first),
plain (no bracketed paste), slow-enter (an Enter within 0.12 s of a paste is a newline), swallow (the first Enter is
lost), sticky (every Enter is lost), spinner (redraws ten times a second), dialog (asks for a permission), draft
(somebody has begun to type), vim (keys are commands), shell (what is typed is run by a shell), low=ROWS (its composer
shows only so many last rows), proposes (a next prompt stands faint in its empty composer), joined (the terminal takes
its composer's last row and the rule below for one wrapped line), gone (leaves its screen to a shell), dead (leaves its
screen and ends), beside=N (somebody types just after the Nth paste and each later one), editor (a paste opens one in
its terminal).
"""

import json
import os
import select
import signal
import subprocess
import sys
import termios
import time
import tty
from pathlib import Path

from fleettools.demo.agent import ERROR, GREY, PLAIN, WHITE, YELLOW, Screen

WIDTH = 100
TICK = 0.1  # seconds between two drawings of what moves
WORK = 3.0  # seconds that the backend takes
CURSOR = "\x1b[7m \x1b[0m"
LIMIT = ["What do you want to do?", "", "❯ 1. Stop and wait for limit to reset", "  2. Use credits", "",
         "Enter to confirm · Esc to cancel"]  # fmt: skip
PERMISSION = ["Bash command", "", "  rm -r build", "", "Do you want to proceed?", "❯ 1. Yes", "  2. No"]


def cut(text: str, width: int) -> list[str]:
    """The rows of a text, cut hard at a width as an agent that wraps itself does."""
    return [line[at : at + width] for line in text.split("\n") for at in range(0, max(len(line), 1), width)]


class Claude(Screen):
    def __init__(self, log: str, modes: dict[str, str]) -> None:
        super().__init__()
        self.log, self.modes = log, modes
        if modes.keys() & {"greeted", "limit"}:
            self.prompt("say hello")
            self.end(WHITE, "Hello.")
        if "limit" in modes:
            self.prompt("go on")
            self.end(YELLOW, "You've hit your limit · resets 3pm (Europe/Berlin)")
        self.typed = "half a thought" if "draft" in modes else ""
        self.busy = "busy" in modes
        self.rests_at = time.monotonic() + float(modes.get("busy", "0"))
        self.asks = "dialog" in modes
        self.put_at, self.pastes = 0.0, 0
        self.lost = 1 if "swallow" in modes else 10**6 if "sticky" in modes else 0
        self.frame = 0

    def note(self, **what: object) -> None:
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")

    # -- what it draws

    def prompt(self, text: str) -> None:
        first, *more = cut(text, WIDTH - 2)
        self.told += [f"\x1b[48;5;237m❯ {WHITE}{first}{PLAIN}\x1b[49m"]
        self.told += [*(f"\x1b[48;5;237m  {WHITE}{row}{PLAIN}\x1b[49m" for row in more), ""]
        self.busy = True

    def below(self, columns: int) -> list[str]:
        if self.asks and "menu" in self.modes:
            return ["─" * columns, "", *LIMIT]
        if self.asks:
            rule = "─" * (WIDTH - 2)
            return [f"╭{rule}╮", *(f"│ {line:<{WIDTH - 4}} │" for line in PERMISSION), f"╰{rule}╯"]
        rule, _, _, footer = super().below(columns)
        glyph = "!" if "shell" in self.modes else "❯"
        rows = cut(self.typed, min(WIDTH, columns) - 2)[-int(self.modes.get("low", "1000")) :]
        rows = [f"{'  ' if row else glyph + chr(0xA0)}{text}" for row, text in enumerate(rows)]
        if "proposes" in self.modes and not self.typed:
            rows = [f"{glyph} \x1b[7mr\x1b[0;2mun the tests\x1b[0m"]
        elif "joined" in self.modes:
            return [rule, *rows[:-1], rows[-1].ljust(columns) + "─" * columns, footer]
        elif len(rows[-1]) < columns:
            rows[-1] += CURSOR
        return [rule, *rows, rule, f"{footer} {'|/-'[self.frame % 3] if 'spinner' in self.modes else ''}"]

    # -- what becomes of a turn

    def served(self) -> None:
        """The backend's answer."""
        failure = Path(self.modes["backend"]).read_text()
        if failure:
            self.end(YELLOW, failure, YELLOW)
        else:
            self.finish()

    def fail(self) -> None:
        self.end(YELLOW, self.modes.get("error", ERROR), YELLOW)
        if "menu" in self.modes:
            self.prompt("/rate-limit-options")
            self.busy, self.asks = False, True

    def finish(self) -> None:
        self.end(WHITE, "All is done as you asked.")

    def stop(self) -> None:
        self.told += [f"  {GREY}⎿{PLAIN} \x1b[31mInterrupted · What should Claude do instead?{PLAIN}", ""]
        self.busy = False

    def tick(self) -> float | None:
        """Rest when it is time; seconds until it looks again unasked."""
        self.frame += 1
        if "busy" in self.modes and self.busy and time.monotonic() >= self.rests_at:
            self.busy = False
        if self.modes.keys() & {"works", "backend"} and self.busy and time.monotonic() >= self.rests_at:
            self.served() if "backend" in self.modes else self.finish()
        moves = "spinner" in self.modes or (self.busy and self.modes.keys() & {"busy", "works", "backend"})
        return TICK if moves else None

    # -- what it is given

    def put(self, text: str) -> None:
        if "vim" in self.modes or self.asks:
            return
        self.typed += text.replace("\r", "\n")
        self.put_at = time.monotonic()
        self.pastes += len(text) > 1
        if len(text) > 1 and "beside" in self.modes and self.pastes >= int(self.modes["beside"]):
            self.typed += " rm it all"
        if len(text) > 1 and "editor" in self.modes:
            os.write(1, self.drawn().encode())
            subprocess.Popen(["cat"])

    def take(self, text: str) -> str:
        if text == "\x04":
            termios.tcsetattr(0, termios.TCSANOW, self.before)
            os.execvp("sh", ["sh"])
        if text == "\x0f":
            self.asks = True
        return super().take(text)

    def enter(self) -> None:
        if self.asks:
            self.note(accepted="1. Yes")
            self.asks = False
        elif "slow-enter" in self.modes and time.monotonic() - self.put_at < 0.12:
            self.typed += "\n"
        elif self.lost:
            self.lost -= 1
            self.note(swallowed=self.typed)
        elif not self.typed:
            self.note(empty=True)
        elif "shell" in self.modes:
            self.note(accepted=f"!{self.typed}")
            self.typed = ""
        else:
            self.note(submitted=self.typed)
            self.prompt(self.typed)
            self.typed = ""
            self.answer()

    def answer(self) -> None:
        if "fails" in self.modes:
            self.fail()
        elif "backend" in self.modes:
            self.note(requested=time.time())
            self.rests_at = time.monotonic() + WORK
        elif "works" in self.modes:
            self.rests_at = time.monotonic() + float(self.modes["works"])
        elif "waits" not in self.modes:
            self.finish()

    def run(self) -> None:
        signal.signal(signal.SIGUSR1, lambda *_: self.fail())
        signal.signal(signal.SIGUSR2, lambda *_: self.finish())
        signal.signal(signal.SIGHUP, lambda *_: self.stop())
        woken, wake = os.pipe2(os.O_NONBLOCK)
        signal.set_wakeup_fd(wake)
        self.before = termios.tcgetattr(0)
        tty.setraw(0)
        unread, paste = "", b"" if "plain" in self.modes else b"\x1b[?2004h"
        while True:
            pause = self.tick()
            os.write(1, paste + self.drawn().encode())
            ready, _, _ = select.select([0, woken], [], [], pause)
            if woken in ready:
                os.read(woken, 64)
            if 0 in ready:
                text = os.read(0, 65536).decode(errors="replace")
                if not text:
                    return
                unread = self.take(unread + text)


def main() -> None:
    log, *modes = sys.argv[1:]
    agent = Claude(log, {name: value for name, _, value in (mode.partition("=") for mode in modes)})
    if agent.modes.keys() & {"dead", "gone"}:
        print(agent.drawn(), end="\r\n", flush=True)
        if "gone" in agent.modes:
            os.execvp("sh", ["sh"])
        return
    before = termios.tcgetattr(0)
    try:
        agent.run()
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)


if __name__ == "__main__":
    main()
