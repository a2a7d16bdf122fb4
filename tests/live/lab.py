"""Real agents in panes of a tmux server of its own, and the real pipe that watches them all."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from live.backend import Backend
from sandbox import ROOT, Sandbox

from fleettools import records

HERE = Path(__file__).resolve().parent
COLS, ROWS = 110, 40
STAGES = (("scrape", "--follow"), ("classify",), ("resolve",), ("correlate",))
DAEMON = (("fleetd", "run", "--all"),)
Stages = tuple[tuple[str, ...], ...]
NUMBERS = re.compile(r"\x1b\[[0-9;:]*m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


Verdict = dict[str, Any]


class Agent(NamedTuple):
    """How an agent is started, asked and stopped; an entry of agents.yaml."""

    name: str
    command: list[str]
    title: str
    ready: str  # what its composer shows when a prompt can be typed
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    opening: list[str] = []  # keys that answer a question of its first screen
    approve: list[str] = ["Enter"]
    stop: list[str] = ["Escape"]
    empty: list[str] = ["C-u"]
    clear: str = "/clear"
    cleared: list[str] = []  # keys that answer what it asks then
    popup: str = "/"
    without: list[str] = []  # situations that it does not know
    forever: list[str] = []  # failures that it tries again for longer than a cell lasts
    shows: dict[str, list[str]] = {}  # failures of which its screen says something else: outcome, or outcome/cause
    hides: dict[str, str] = {}  # failures that it does not draw, and why
    patience: float = 40.0  # seconds until it must have ended a failing turn


def agents() -> dict[str, Agent]:
    """Every agent that can be asked for."""
    known = yaml.safe_load((HERE / "agents.yaml").read_text())
    return {name: Agent(name, **entry) for name, entry in known.items()}


class Pipe:
    """The stages, as processes joined by pipes, over every pane of a server; what the last of them says is kept."""

    def __init__(self, box: Sandbox, records_file: Path, stages: Stages = STAGES) -> None:
        self.said: dict[str, list[Verdict]] = {}  # by pane
        self.news: list[dict[str, Any]] = []  # what is no verdict
        self._box, self._file, self._asked = box, records_file, stages
        self._news = threading.Condition()
        self._stages: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the processes; from now on their records are read."""
        self._file.unlink(missing_ok=True)
        source: Any = subprocess.DEVNULL
        with open(self._file.with_suffix(".err"), "wb") as errors:
            for name, *args in self._asked:
                words = [sys.executable, "-P", "-m", f"fleettools.commands.{name}", *args]
                stage = self._box.process(words, stdin=source, stderr=errors)
                if source is not subprocess.DEVNULL:
                    source.close()
                source = stage.stdout
                self._stages.append(stage)
        threading.Thread(target=self._read, args=(source,), daemon=True).start()

    def stop(self) -> None:
        """End the first process; the others drain and end after it."""
        for stage in self._stages:
            stage.terminate()
            stage.wait(30)

    def _read(self, source: Any) -> None:
        with open(self._file, "ab") as kept:
            for line in source:
                kept.write(line)
                record = json.loads(line)
                with self._news:
                    verdict = record.get("type") == "verdict"
                    kept_by = self.said.setdefault(record.get("target", ""), []) if verdict else self.news
                    kept_by.append(record)
                    self._news.notify_all()

    def wait(self, target: str, since: float, true: Callable[[Verdict], bool], patience: float) -> Verdict | None:
        """The first verdict of a pane, of a look after a moment, of which this is true; None when it takes too long."""
        deadline, read = time.monotonic() + patience, 0
        with self._news:
            while True:
                said = self.said.get(target, [])
                for record in said[read:]:
                    if moment(record) >= since and true(record):
                        return record
                read = len(said)
                if (left := deadline - time.monotonic()) <= 0:
                    return None
                self._news.wait(left)

    def between(self, target: str, since: float) -> list[Verdict]:
        """The verdicts of a pane, of looks after a moment."""
        with self._news:
            return [one for one in self.said.get(target, []) if moment(one) >= since]


def moment(record: Verdict) -> float:
    """When a record was made, in seconds since the epoch."""
    return records.to_ms(record["ts"]) / 1000


class Pane:
    """A pane that runs an agent, with a home and a backend of its own."""

    def __init__(self, box: Sandbox, agent: Agent, folder: Path, path: str, /, **options: str) -> None:
        self.box, self.agent, self.folder = box, agent, folder
        self.work = folder / "work"
        self.backend = Backend()
        self.backend.__enter__()
        self.id = ""
        self._path, self._options = path, options

    def start(self) -> None:
        """Write the agent's settings and start it."""
        self.work.mkdir(parents=True, exist_ok=True)
        for verb in (("init",), ("commit", "--allow-empty", "-m", "begin")):  # Codex wants a commit for /new
            git = ("git", "-c", "user.name=me", "-c", "user.email=me@example.com", *verb, "--quiet")
            subprocess.run(git, cwd=self.work, check=True, env={**self.box.env, "HOME": str(self.folder)})
        for name, text in self.agent.files.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._filled(text))
        env = {"HOME": str(self.folder), "PATH": self._path, "COLORTERM": "truecolor", "TERM": "screen-256color",
               "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh"}  # fmt: skip
        env |= {name: self._filled(value) for name, value in self.agent.env.items()}
        words = [f"{name}={value}" for name, value in env.items()]
        command = [self._filled(word) for word in self.agent.command]
        # env -i: nothing of whoever runs this reaches an agent.
        place = ("new-session", "-d", "-P", "-F", "#{pane_id}", "-x", str(COLS), "-y", str(ROWS), "-c", str(self.work))
        self.id = self.box.tmux(*place, "--", "env", "-i", *words, *command)
        self.box.tmux("set-option", "-p", "-t", self.id, "remain-on-exit", "on")
        for option, value in self._options.items():
            self.box.tmux("set-option", "-p", "-t", self.id, f"@fleet_{option}", value)

    def _filled(self, text: str) -> str:
        for name, value in (("url", self.backend.url), ("work", str(self.work)), ("home", str(self.folder))):
            text = text.replace(f"<{name}>", value)
        return text

    def screen(self) -> str:
        """What it shows, with colours."""
        return self.box.tmux("capture-pane", "-epJ", "-t", self.id)

    def text(self) -> str:
        """What it shows, without colours."""
        return NUMBERS.sub("", self.screen())

    def said(self, form: str) -> str:
        """What tmux knows of it, as `#{pane_title}`."""
        return self.box.tmux("display-message", "-p", "-t", self.id, form)

    def keys(self, *keys: str) -> None:
        """Press keys, one after the other, each drawn before the next."""
        for key in keys:
            self.box.tmux("send-keys", "-t", self.id, key)
            time.sleep(0.15)

    def type(self, text: str) -> None:
        """Type a text, and wait until its end is drawn; what an agent that still starts has lost is typed again."""
        end = text.split()[-1][-12:]
        count = self.text().count(end)
        for _ in range(3):
            self.box.tmux("send-keys", "-t", self.id, "-l", text)
            if self.until(lambda: self.text().count(end) > count, 10):
                break
        time.sleep(0.3)  # an Enter right behind a paste is a newline to most agents

    def until(self, true: Callable[[], Any], patience: float) -> bool:
        """Look until it is true; false when it takes too long."""
        deadline = time.monotonic() + patience
        while not true():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def resize(self, cols: int) -> None:
        """Another width."""
        self.box.tmux("resize-window", "-t", self.id, "-x", str(cols), "-y", str(ROWS))

    def end(self) -> None:
        """End the agent, what it left running (Codex keeps a server), its files and its backend."""
        self.box.tmux("kill-pane", "-t", self.id, check=False)
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"HOME={self.folder}\0".encode() in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
        self.backend.__exit__()
        shutil.rmtree(self.folder, ignore_errors=True)


def fleet_env(box: Sandbox) -> dict[str, str]:
    """The environment of the project's own commands."""
    return box.env | {
        "PYTHONPATH": str(ROOT),
        "FLEET_CONFIG": str(box.work / "fleetd.yaml"),
        "PATH": os.environ["PATH"],
    }
