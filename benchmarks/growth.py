"""Cost over size: sweep, correlate, gate and views up to 2,000 panes and 500 credentials; writes growth.svg."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator

from fleet import running
from measure import Row, command, drawing, seconds
from sweep import batched, ours

from fleettools.adapters.tmux import Tmux

SIZES = (125, 250, 500, 1000, 2000)
Points = list[tuple[int, float]]


def rows() -> Iterator[Row]:
    own, tmux = sweeps()
    curves = {"sweep": own, **dict(stored())}
    plot(drawing("growth.svg"), {"tmux alone": tmux, **curves})
    # tmux looks through all its panes for each command, so its own part of a sweep is steeper than linear.
    small, large = (own[at][1] / tmux[at][1] for at in (2, -1))
    figure = f"{small:.2f}x tmux alone at {SIZES[2]}, {large:.2f}x at {SIZES[-1]}"
    yield Row("what fleettools adds to tmux's part of a sweep", figure, "no worse than linear", large <= 1.1 * small)
    for name, points in curves.items():
        (small, quick), (large, slow) = points[2], points[-1]
        steepness = (slow / quick) / (large / small)
        figure = f"{quick * 1e3:.0f} ms at {small}, {slow * 1e3:.0f} ms at {large}"
        yield Row(f"{name} over size (growth.svg)", figure, "no worse than linear", steepness <= 1.1)


def best(argv: list[str], env: dict[str, str]) -> float:
    """The quickest of three runs: what the work itself costs."""
    return min(seconds(argv, env=env) for _ in range(3))


def sweeps() -> tuple[Points, Points]:
    """One sweep that finds every pane changed, and the two bare calls of tmux in it."""
    points: tuple[Points, Points] = [], []
    for size in SIZES:
        with running(size) as fleet:
            tmux = Tmux(fleet.socket, timeout=30)
            for found, measured in zip(points, (lambda: ours(tmux), lambda: batched(fleet)), strict=True):  # noqa: B023
                found.append((size, min(measured() for _ in range(3))))
    return points


def stored() -> Iterator[tuple[str, Points]]:
    """correlate, gate and the views on a store filled by correlate and resolve with as many members and a quarter as
    many credentials; the start-up of a command is taken off."""
    curves: dict[str, Points] = {"correlate": [], "gate": [], "fleet-list": [], "fleet-profiles": []}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            config, day = os.path.join(folder, "fleetd.yaml"), os.path.join(folder, "day.jsonl")
            write_config(config, size // 4)
            write_day(day, size)
            env = os.environ | {"HOME": folder, "FLEET_STATE": os.path.join(folder, "state.db"),
                                "FLEET_NOW": "2026-01-31T12:00:30Z"}  # fmt: skip
            subprocess.run(command("resolve", "-c", config, day), env=env, check=True, stdout=subprocess.DEVNULL)
            runs = {
                "correlate": command("correlate", "-c", config, "--state", "memory:", day),
                "gate": command("gate", "-c", config, "--auto", "--fail-open"),
                "fleet-list": command("list", "-c", config),
                "fleet-profiles": command("profiles", "-c", config),
            }
            for name, argv in runs.items():
                bare = best([*argv[:3], "--version"], env)
                curves[name].append((size, max(best(argv, env) - bare, 1e-3)))
    yield from curves.items()


def write_config(path: str, credentials: int) -> None:
    """As many profiles as credentials, each with room for any number of members."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("profiles:\n")
        for number in range(credentials):
            file.write(f"  p{number}: {{agent: claude, command: claude, credentialId: c{number}}}\n")


def write_day(path: str, members: int) -> None:
    """A verdict for each member; every fourth credential fails."""
    with open(path, "w", encoding="utf-8") as out:
        for number in range(members):
            credential = number % (members // 4)
            failed = credential % 4 == 0
            verdict = {
                "type": "verdict", "v": 1, "ts": f"2026-01-31T12:00:{number % 20:02d}.000Z",
                "server": "host:/s/default:7", "target": f"%{number}", "pid": 1000 + number, "name": f"m{number}",
                "profile": f"p{credential}", "agent": "claude", "outcome": "backend_error" if failed else "completed",
                "cause": "overload" if failed else None, "screen": f"s{number}:1", "event": f"s{number}:1@%{number}",
                "at": f"2026-01-31T12:00:{number % 20:02d}.000Z",
            }  # fmt: skip
            out.write(json.dumps({k: v for k, v in verdict.items() if v is not None}) + "\n")


def plot(path: str, curves: dict[str, Points]) -> None:
    """Both axes logarithmic: linear growth is a line at 45 degrees."""
    from math import log10

    left, top, side = 70, 20, 420
    low = min(cost for points in curves.values() for _, cost in points)
    decades = 4
    floor = int(log10(low) - 1)

    def x(size: float) -> float:
        return left + side * (log10(size) - 2) / 1.5

    def y(cost: float) -> float:
        return top + side * (1 - (log10(cost) - floor) / decades)

    colours = ("#888888", "#1b6ca8", "#c8553d", "#4a7c59", "#7d4e9e", "#b08900")
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="680" height="{side + 70}" font-family="sans-serif" '
             'font-size="13"><rect width="100%" height="100%" fill="white"/>']  # fmt: skip
    for size in SIZES:
        parts.append(f'<text x="{x(size):.0f}" y="{top + side + 20}" text-anchor="middle">{size}</text>')
    for power in range(floor, floor + decades + 1):
        parts.append(
            f'<text x="{left - 8}" y="{y(10.0**power) + 4:.0f}" text-anchor="end">{10.0**power * 1e3:g} ms</text>'
        )
        parts.append(f'<path d="M{left} {y(10.0**power):.0f}h{side}" stroke="#ddd"/>')
    for (name, points), colour in zip(curves.items(), colours, strict=True):
        line = " ".join(f"{x(size):.1f},{y(cost):.1f}" for size, cost in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{left + side + 8}" y="{y(points[-1][1]) + 4:.0f}" fill="{colour}">{name}</text>')
    parts.append(f'<text x="{left + side / 2:.0f}" y="{top + side + 42}" text-anchor="middle">panes</text></svg>\n')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts))
