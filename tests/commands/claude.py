"""A pane's program that draws Claude Code's screen, for tests: USR1 a backend that fails, USR2 a turn that ends well,
HUP one that a person stopped. Every submitted prompt is appended to the file of its first argument;
with `--fails` a prompt fails as soon as it is submitted, with `--ends` it ends well. A third argument is what the
failure says."""

import os
import select
import signal
import sys
import tty
from collections.abc import Callable

from fleettools.demo.agent import ERROR, GREY, PASTE, PASTE_END, PLAIN, WHITE, YELLOW, Screen


def main() -> None:
    screen = Screen()
    log, how = sys.argv[1], sys.argv[2:]

    def fail() -> None:
        screen.end(YELLOW, how[1] if how[1:] else ERROR, YELLOW)

    def end() -> None:
        screen.end(WHITE, "All is done as you asked.")

    def stop() -> None:
        screen.told += [f"  {GREY}⎿{PLAIN} \x1b[31mInterrupted · What should Claude do instead?{PLAIN}", ""]
        screen.busy = False

    def submit() -> None:
        with open(log, "a", encoding="utf-8") as file:
            file.write(screen.typed + "\n")
        screen.prompt(screen.typed.replace("\n", "\r\n  "))
        screen.typed = ""
        if how and how[0] != "--waits":
            {"--fails": fail, "--ends": end}[how[0]]()

    signal.signal(signal.SIGUSR1, lambda *_: fail())
    signal.signal(signal.SIGUSR2, lambda *_: end())
    signal.signal(signal.SIGHUP, lambda *_: stop())
    woken, wake = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(wake)
    tty.setraw(0)
    waiting = ""
    while True:
        os.write(1, b"\x1b[?2004h" + screen.drawn().encode())
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 64)
        if 0 in ready:
            waiting = taken(screen, waiting + os.read(0, 65536).decode(errors="replace"), submit)


def taken(screen: Screen, text: str, submit: Callable[[], None]) -> str:
    """Put what was typed into the composer; gives back what is still incomplete, the beginning of a paste."""
    while text:
        if text.startswith(PASTE):
            if PASTE_END not in text:
                return text
            pasted, _, text = text.removeprefix(PASTE).partition(PASTE_END)
            screen.typed += pasted.replace("\r", "\n")
            continue
        key, text = text[0], text[1:]
        if key == "\r" and screen.typed:
            submit()
        elif key.isprintable():
            screen.typed += key
    return ""


if __name__ == "__main__":
    main()
