"""A small agent for tests: draws itself as Claude Code does, and logs every submit as a JSON line.

    agent.py LOG [MODE ...]

Modes: plain (no bracketed paste), slow-enter (an Enter within 0.12 s of a paste is a newline), swallow (the first
Enter is lost), sticky (every Enter is lost), spinner (redraws ten times a second), busy=SECONDS (works at first),
works=SECONDS (works after each submit), dialog (asks for a permission), draft (somebody has begun to type),
vim (keys are commands), shell (what is typed is run by a shell), low=ROWS (its composer shows only so many last rows),
proposes (a next prompt stands faint in its empty composer), joined (the terminal takes its composer's last row and the
rule below for one wrapped line), limit (its last turn ended at a limit), gone (leaves its screen to a shell), dead
(leaves its screen and ends), beside (somebody types just after a paste), editor (a paste opens one in its terminal).
"""

import json
import os
import select
import subprocess
import sys
import termios
import time
import tty

WIDTH = 100
PASTE, PASTE_END = b"\x1b[200~", b"\x1b[201~"


class Agent:
    def __init__(self, log: str, modes: dict[str, float]) -> None:
        self.log, self.modes = log, modes
        self.items = ["> say hello", "", "⏺ Hello."]
        if "limit" in modes:
            self.items += ["", "> go on", "", "● You've hit your limit · resets 3pm (Europe/Berlin)"]
        self.draft = "half a thought" if "draft" in modes else ""
        self.busy_until = time.monotonic() + modes.get("busy", 0.0)
        self.dialog = "dialog" in modes
        self.pasting = False
        self.typed_at = 0.0
        self.swallow = 1 if "swallow" in modes else 10**6 if "sticky" in modes else 0
        self.frame = 0

    def note(self, **what: object) -> None:
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")

    @property
    def busy(self) -> bool:
        return time.monotonic() < self.busy_until

    def screen(self) -> list[str]:
        lines = [*self.items, ""]
        if self.busy:
            lines += [f"✻ Pruning… ({self.frame}s · ↓ 301 tokens · esc to interrupt)", ""]
        if self.dialog:
            rule = "─" * (WIDTH - 2)
            asks = ["Bash command", "", "  rm -r build", "", "Do you want to proceed?", "❯ 1. Yes", "  2. No"]
            return [*lines, f"╭{rule}╮", *(f"│ {line:<{WIDTH - 4}} │" for line in asks), f"╰{rule}╯"]
        glyph = "!" if "shell" in self.modes else "❯"
        width = min(WIDTH, os.get_terminal_size().columns)
        rows = [f"{glyph} {self.draft}"[i : i + width] for i in range(0, len(self.draft) + 2, width)]
        if "low" in self.modes and len(rows) > self.modes["low"]:
            rows = rows[-int(self.modes["low"]) :]
            rows[0] = f"{glyph} {rows[0][2:]}"
        if "proposes" in self.modes and not self.draft:
            rows = [f"{glyph} \x1b[7mr\x1b[0;2mun the tests\x1b[0m"]
        footer = f"  ? for shortcuts {'|/-'[self.frame % 3] if 'spinner' in self.modes else ''}"
        if "joined" in self.modes:
            width = os.get_terminal_size().columns
            rows[-1] = rows[-1].ljust(width) + "─" * width
            return [*lines, "─" * width, *rows, footer]
        return [*lines, "─" * width, *(rows or [f"{glyph} "]), "─" * width, footer]

    def draw(self) -> None:
        self.frame += 1
        text = "\x1b[H\x1b[2J" + "\r\n".join(self.screen()[-os.get_terminal_size().lines :])
        os.write(1, text.encode())

    def keys(self, data: bytes) -> None:
        while data:
            if data.startswith((PASTE, PASTE_END)):
                self.pasting = data.startswith(PASTE)
                data = data[len(PASTE) :]
                if not self.pasting:
                    self.pasted()
            elif data.startswith(b"\r") and not self.pasting:
                data = data[1:]
                self.enter()
            else:
                end = min(i for i in (data.find(b"\r"), data.find(b"\x1b", 1), len(data)) if i >= 0) or 1
                self.typed_at = time.monotonic()
                if "vim" not in self.modes and not self.dialog:
                    self.draft += data[:end].decode(errors="replace").replace("\r", "\n")
                data = data[end:]

    def pasted(self) -> None:
        if "beside" in self.modes:
            self.draft += " rm it all"
        if "editor" in self.modes:
            self.draw()
            subprocess.Popen(["cat"])

    def enter(self) -> None:
        if self.dialog:
            self.note(accepted="1. Yes")
            self.dialog = False
        elif "slow-enter" in self.modes and time.monotonic() - self.typed_at < 0.12:
            self.draft += "\n"
        elif self.swallow:
            self.swallow -= 1
            self.note(swallowed=self.draft)
        elif self.draft and "shell" in self.modes:
            self.note(accepted=f"!{self.draft}")
            self.draft = ""
        elif self.draft:
            self.note(submitted=self.draft)
            self.items += ["", *(f"> {self.draft}"[i : i + WIDTH] for i in range(0, len(self.draft) + 2, WIDTH)), ""]
            self.items.append("⏺ Understood.")
            self.draft = ""
            self.busy_until = time.monotonic() + self.modes.get("works", 0.0)
        else:
            self.note(empty=True)

    def run(self) -> None:
        tty.setraw(0)
        if "plain" not in self.modes:
            os.write(1, b"\x1b[?2004h")
        while True:
            self.draw()
            wait = 0.1 if "spinner" in self.modes or self.busy else None
            if select.select([0], [], [], wait)[0]:
                data = os.read(0, 65536)
                if not data:
                    return
                self.keys(data)


def main() -> None:
    modes = {name: float(value or 1) for name, _, value in (mode.partition("=") for mode in sys.argv[2:])}
    agent = Agent(sys.argv[1], modes)
    if "dead" in modes or "gone" in modes:
        agent.draw()
        print("\r")
        if "gone" in modes:
            os.execvp("sh", ["sh"])
        return
    before = termios.tcgetattr(0)
    try:
        agent.run()
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)


if __name__ == "__main__":
    main()
