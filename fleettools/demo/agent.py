"""A program that draws Claude Code's screen, works at a prompt, and takes what is typed or pasted: a fake, for a pane.

`agent.py PROMPT` starts working at once, without a prompt it waits for one. SIGUSR1 is a backend that fails, SIGUSR2
a turn that ends well with a report of somebody else's failure.
"""

import os
import select
import shutil
import signal
import sys
import termios
import tty

ERROR = "API Error: 500 Internal server error. This is a server-side issue, usually temporary"
REPORT = 'Done. ada told me about "API Error: 500 Internal server error"; nothing of the kind here.'
GREY, YELLOW, WHITE, PLAIN = "\x1b[38;5;246m", "\x1b[38;5;220m", "\x1b[38;5;231m", "\x1b[39m"
PASTE, PASTE_END = "\x1b[200~", "\x1b[201~"


class Screen:
    """The conversation so far, the composer below it, and whether a turn is under way."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.typed = ""
        self.busy = False

    def prompt(self, text: str) -> None:
        """Begin a turn: the prompt stands in the conversation, and work is under way."""
        self.told += [f"\x1b[48;5;237m❯ {WHITE}{text}{PLAIN}\x1b[49m", ""]
        self.busy = True

    def end(self, colour: str, text: str, text_colour: str = PLAIN) -> None:
        """End the turn with a line behind a dot; the colours are escape sequences."""
        self.told += [f"{colour}●{PLAIN} {text_colour}{text}{PLAIN}", "", f"{GREY}✻ Cooked for 7s{PLAIN}", ""]
        self.busy = False

    def drawn(self) -> str:
        """What to write to the terminal: it is cleared, and shows the last rows of all this."""
        columns, rows = shutil.get_terminal_size()
        lines = [f" ▐▛███▜▌   Claude Code {GREY}v2.1.197{PLAIN}", f"▝▜█████▛▘  {GREY}~/work/app{PLAIN}", "  ▘▘ ▝▝", ""]
        lines += self.told
        if self.busy:
            lines += [f"{YELLOW}✻{PLAIN} {YELLOW}Cooking…{PLAIN} {GREY}(2s · esc to interrupt){PLAIN}", ""]
        lines += self.below(columns)
        return "\x1b[H\x1b[2J" + "\r\n".join(lines[-rows:])

    def below(self, columns: int) -> list[str]:
        """What stands below the conversation: the composer between its rules, and the footer."""
        rule = f"\x1b[38;5;244m{'─' * columns}{PLAIN}"
        footer = "esc to interrupt" if self.busy else "? for shortcuts"
        return [rule, f"❯\u00a0{self.typed}\x1b[7m \x1b[0m", rule, f"  {GREY}{footer}{PLAIN}"]

    def take(self, text: str) -> str:
        """What came from the keyboard: Enter submits what a paste or keys have put into the composer.

        Gives back the beginning of a paste whose end has not come yet.
        """
        while text:
            if text.startswith(PASTE):
                pasted, end, text = text.removeprefix(PASTE).partition(PASTE_END)
                if not end:
                    return PASTE + pasted
                self.put(pasted)
                continue
            key, text = text[0], text[1:]
            if key == "\r":
                self.enter()
            elif key.isprintable():
                self.put(key)
        return ""

    def put(self, text: str) -> None:
        """Take what was typed or pasted into the composer."""
        self.typed += text

    def enter(self) -> None:
        """Submit what stands in the composer, and answer it at once."""
        if self.typed:
            self.prompt(self.typed)
            self.typed = ""
            self.end(WHITE, "I will run fleet-list and hold back new work on that credential.")


def main() -> None:
    """Draw until the pane is closed."""
    screen = Screen()
    signal.signal(signal.SIGUSR1, lambda *_: screen.end(YELLOW, ERROR, YELLOW))
    signal.signal(signal.SIGUSR2, lambda *_: screen.end(WHITE, REPORT))
    woken, wake = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(wake)
    if sys.argv[1:]:
        screen.prompt(sys.argv[1])
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        shown = unread = ""
        while True:
            if shown != screen.drawn():
                shown = screen.drawn()
                os.write(1, b"\x1b[?2004h" + shown.encode())
            ready, _, _ = select.select([0, woken], [], [])
            if woken in ready:
                os.read(woken, 64)
            if 0 in ready:
                text = os.read(0, 65536).decode(errors="replace")
                if not text or "\x03" in text:
                    return
                unread = screen.take(unread + text)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


if __name__ == "__main__":
    main()
