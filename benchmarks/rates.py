"""Rates: panes judged, and small records passed on, against `jq -c .` copying the same file."""

import os
import tempfile
from collections.abc import Iterator

import corpus
from measure import Row, command, paired, seconds

PANES, SMALL = 20_000, 200_000


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        panes, small = os.path.join(folder, "panes.jsonl"), os.path.join(folder, "small.jsonl")
        corpus.write(panes, PANES)
        corpus.write_small(small, SMALL)
        env = os.environ | {"HOME": folder, "FLEET_STATE": os.path.join(folder, "state.db")}
        yield rate("fleet-classify, 20,000 mixed panes of 5 KB", panes, PANES, command("classify"), env, 1, 3)
        for name in ("correlate", "resolve"):
            what = f"fleet-{name}, 200,000 small records passing through"
            yield rate(what, small, SMALL, command(name), env, 3, 6)


def rate(what: str, path: str, count: int, argv: list[str], env: dict[str, str], goal: float, aim: float) -> Row:
    """A row for one filter: how many times as fast as jq it is."""
    ours, jq, ratio = paired(lambda: seconds(argv, path, env), lambda: seconds(["jq", "-c", "."], path), 3)
    times = 1 / ratio
    figure = f"{times:.2f}x jq ({count / ours:,.0f} / {count / jq:,.0f} a second)"
    return Row(what, figure, f">= {goal}x jq, aim {aim}x", times >= goal)
