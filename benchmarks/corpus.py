"""Files of records to measure with, made from the sample screens."""

import json
import os
import random

SCREENS = os.path.join(os.path.dirname(__file__), os.pardir, "samples", "screens")
SIZE = 5_000


def screens(agents: list[str] | None = None) -> list[tuple[str, str]]:
    """Agent and text of every scored sample screen, in the order of the index."""
    found = []
    with open(os.path.join(SCREENS, "index.jsonl"), encoding="utf-8") as index:
        for entry in map(json.loads, index):
            if entry["file"].startswith("ambiguous/") or (agents and entry["agent"] not in agents):
                continue
            with open(os.path.join(SCREENS, entry["file"]), encoding="utf-8") as file:
                found.append((entry["agent"], file.read()))
    return found


def write(path: str, count: int, agents: list[str] | None = None, size: int = SIZE) -> None:
    """`count` pane records of about `size` bytes: sample screens below an older conversation that fills them up."""
    chance = random.Random(20260131)
    pool = screens(agents)
    with open(path, "w", encoding="utf-8") as out:
        for number in range(count):
            agent, text = chance.choice(pool)
            filler = ""
            while len((filler + text).encode()) < size:
                filler += (
                    f"  src/module_{chance.randrange(999)}.py: renamed helper {chance.randrange(9999)}, tests pass\n"
                )
            record = {
                "type": "pane", "v": 1, "ts": "2026-01-31T12:00:00.000Z", "server": "host:/s/default:7",
                "target": f"%{number % 400}", "pid": 100 + number % 400, "profile": f"p{number % 20}",
                "agent": agent, "text": filler + text, "cols": 110, "rows": 40,
            }  # fmt: skip
            out.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_small(path: str, count: int) -> None:
    """`count` records of about 260 bytes, of a type that no filter consumes."""
    with open(path, "w", encoding="utf-8") as out:
        for number in range(count):
            record = {
                "type": "note", "v": 1, "ts": "2026-01-31T12:00:00.000Z", "server": "host:/s/default:7",
                "target": f"%{number % 400}", "n": number, "text": "a record of a type that no filter here knows " * 2,
            }  # fmt: skip
            out.write(json.dumps(record) + "\n")
