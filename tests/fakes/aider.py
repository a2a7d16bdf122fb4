#!/usr/bin/env python3
"""An agent without a drawn composer, as aider is: a bare prompt below a rule. Logs every line that it is given.

    aider LOG [MODE ...]

Modes: tool (a program runs beside it on pipes), edit (a person has opened an editor in its terminal), dead (it ends at
once, and leaves its screen).
"""

import json
import subprocess
import sys

LOG, MODES = sys.argv[1], sys.argv[2:]
PROMPT = "─" * 60 + "\n> "


def main() -> None:
    print("Aider v0.86.1\n")
    if "tool" in MODES:
        subprocess.Popen(["sleep", "1000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    print(PROMPT, end="", flush=True)
    if "edit" in MODES:
        subprocess.run(["cat"], check=False)
    if "dead" in MODES:
        print("\b\b", end="", flush=True)
        return
    for line in sys.stdin:
        with open(LOG, "a", encoding="utf-8") as file:
            file.write(json.dumps({"submitted": line.rstrip("\n")}) + "\n")
        print("\nUnderstood.\n\nTokens: 1.2k sent, 30 received.\n" + PROMPT, end="", flush=True)


main()
