"""The one door to tmux: what its panes are, what they show, and windows and options of ours.

Every call has a timeout, because a stopped server blocks its clients for ever.
"""

import os
import re
import secrets
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgspec

from fleettools.errors import NoPane, NoServer, Silent, TmuxError, Unusable

TIMEOUT = 4.0
OLDEST = (3, 2)
_NO_SERVER = ("no server running on", "error connecting to", "failed to connect to server", "lost server",
              "server exited", "[server exited]", "[lost server]")  # fmt: skip


class Target(Protocol):
    """The pane that was seen, and is to be typed into."""

    @property
    def id(self) -> str:
        """The pane's id, such as `%12`."""

    @property
    def pid(self) -> int:
        """The pane's process."""

    @property
    def server_pid(self) -> int:
        """The tmux server's process."""


class PaneRow(NamedTuple):
    """One pane as list-panes shows it. `activity`: whole seconds, of its window; `*_option`: as tmux inherits them."""

    server: str
    server_pid: int
    id: str
    pid: int
    activity: int
    panes: int
    dead: bool
    in_mode: int
    input_off: bool
    synchronized: bool
    alternate: bool
    cols: int
    rows: int
    window_index: int
    pane_index: int
    session: str
    window: str
    command: str
    title: str
    profile_option: str
    lead_option: str
    name_option: str
    agent_option: str
    runs_option: str


class Shown(NamedTuple):
    """What a pane shows, its process then, and its window: when it last changed, in whole seconds, and its panes."""

    text: str
    pid: int
    activity: int
    panes: int


# User options and titles may hold tabs and newlines; tmux takes them out at twice the price of the whole list, so it is
# asked to only when a row does not fit. [[:cntrl:]] does not work there: the class needs the raw bytes.
_PLAIN, _CLEAN = "#{%s}", "#{s/[\x01-\x1f]/?/:%s}"
_SERVER = ["socket_path", "pid"]
_NUMBERS = ["pane_id", "pane_pid", "window_activity", "window_panes", "pane_dead", "pane_in_mode", "pane_input_off",
            "pane_synchronized", "alternate_on", "pane_width", "pane_height", "window_index", "pane_index"]  # fmt: skip
_TEXTS = ["session_name", "window_name", "pane_current_command", "pane_title",
          "@fleet_profile", "@fleet_lead", "@fleet_name", "@fleet_agent", "@fleet_runs"]  # fmt: skip
_CONTROLS = dict.fromkeys(range(32), "?")


class Tmux:
    """One tmux server, by socket `path` or `name`, else $FLEET_TMUX_SOCKET, else the server we are in, else tmux's own.

    Every method raises NoServer, Silent or another TmuxError that names the socket and the mend.
    """

    def __init__(self, path: str | None = None, name: str | None = None, timeout: float = TIMEOUT) -> None:
        inherited = os.environ.get("FLEET_TMUX_SOCKET") or os.environ.get("TMUX", "").partition(",")[0]
        if path is None and name is None and inherited:
            path = inherited
        if path is not None:
            self.socket = os.path.abspath(path)
            self._choice = ["-S", self.socket]
        else:
            folder = os.path.realpath(os.environ.get("TMUX_TMPDIR") or "/tmp")
            self.socket = os.path.join(folder, f"tmux-{os.getuid()}", name or "default")
            self._choice = ["-L", name or "default"]
        self.host = os.uname().nodename
        self._timeout = timeout
        self._checked = False
        self.environment = {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE", "LC_ALL")}
        self.environment["LC_ALL"] = "C.UTF-8"

    def error(self, what: str, mend: str = "", kind: type[TmuxError] = TmuxError) -> TmuxError:
        """An error about this server, its socket first."""
        return kind(what, mend, f"tmux on {self.socket}")

    def run(self, *commands: Sequence[str], stdin: bytes = b"", check: bool = True) -> tuple[str, str]:
        """What one tmux process prints for the commands on stdout and stderr; `check` makes any failure an error."""
        if not self._checked:
            self._checked = True
            self.version()
        words: list[str] = []
        for command in commands:
            words += [";", *command] if words else command
        status, out, err = self._process([*self._choice, *words], stdin)
        said = err.strip() or out.strip() or f"status {status}"
        if status and said.startswith(_NO_SERVER) and "Permission denied" not in said:
            raise self.error("no server is running", "start tmux, or name its socket with -S or -L", NoServer)
        if status and check and said.startswith(("can't find pane", "no such pane")):
            raise self.error(f"no pane {said.rpartition(' ')[2]}", "tmux list-panes -a shows what there is", NoPane)
        if status and check:
            raise self.error(said, "see tmux(1)")
        return out, err

    def _process(self, words: Sequence[str], stdin: bytes = b"") -> tuple[int, str, str]:
        """Run tmux: its status, output and errors; raises Unavailable when it is not there or does not answer."""
        try:
            # In a session of its own: ^C is for us, and must not cut a paste short.
            done = subprocess.run(
                ["tmux", "-u", *words], input=stdin, capture_output=True, env=self.environment,
                timeout=self._timeout, start_new_session=True,
            )  # fmt: skip
        except FileNotFoundError:
            raise self.error("tmux is not installed", "install tmux 3.2 or later", Unusable) from None
        except subprocess.TimeoutExpired:
            mend = "is it stopped? kill -CONT its process, or end it"
            raise self.error(f"no answer within {self._timeout:g} s", mend, Silent) from None
        except OSError as error:
            raise self.error(f"tmux cannot be started ({error.strerror})", "see that tmux -V works") from None
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def version(self) -> str:
        """What `tmux -V` says; raises Unusable when there is none or it is too old."""
        said = self._process(["-V"])[1].strip()
        number = re.search(r"(\d+)\.(\d+)", said)
        if number and (int(number[1]), int(number[2])) < OLDEST:
            raise self.error(f"{said} is too old", "install tmux 3.2 or later", Unusable)
        return said

    # -- reading

    def server(self) -> str:
        """The server's identity, `host:socket path:server pid`."""
        out, _ = self.run(["display-message", "-p", "#{pid}\t#{socket_path}"])
        return self._identity(*out.strip("\n").split("\t"))

    def _identity(self, pid: str, path: str) -> str:
        return f"{self.host}:{path if os.path.isabs(path) else self.socket}:{pid}"

    def panes(self, commands: bool = True) -> list[PaneRow]:
        """Every pane of the server, each once; raises TmuxError when tmux answers in another shape.

        Without `commands` that column is empty: tmux looks each one up in /proc, a quarter of the price of the list.
        """
        rows: dict[str, PaneRow] = {}
        for columns in self._listed(_PLAIN, commands) or self._listed(_CLEAN, commands):
            row = self._row(columns)
            rows.setdefault(row.id, row)  # a window linked into several sessions comes once for each
        return list(rows.values())

    def _listed(self, text: str, commands: bool) -> list[list[str]]:
        """The columns of every pane, none when a tab in a text made some row too long."""
        # A fresh marker begins each row, since a newline in a text could pretend that another row begins.
        marker = secrets.token_hex(8)
        columns = [marker, *(_PLAIN % name for name in _SERVER + _NUMBERS), *(text % name for name in _TEXTS)]
        if not commands:
            columns[columns.index(text % "pane_current_command")] = ""
        out, _ = self.run(["list-panes", "-a", "-F", "\t".join(columns)])
        rows = [row.split("\t") for row in f"\n{out}"[:-1].split(f"\n{marker}\t")[1:]]
        if text == _PLAIN and any(len(row) != len(columns) - 1 for row in rows):
            return []
        if out and not rows:
            raise self.error("list-panes gave no rows", "does tmux know a UTF-8 locale? try LC_ALL=C.UTF-8")
        return [[column.translate(_CONTROLS) for column in row] for row in rows]

    def _row(self, columns: list[str]) -> PaneRow:
        expected = len(_SERVER + _NUMBERS + _TEXTS)
        if len(columns) != expected:
            what = f"list-panes gave {len(columns)} columns instead of {expected}"
            raise self.error(what, "does tmux know a UTF-8 locale? try LC_ALL=C.UTF-8")
        path, server_pid, *rest = columns
        try:
            # Not strict: every column is text, and the types of PaneRow say what it stands for.
            return msgspec.convert([self._identity(server_pid, path), server_pid, *rest], PaneRow, strict=False)
        except msgspec.ValidationError as error:
            raise self.error(f"list-panes gave something else ({error})", "see that tmux list-panes -a works") from None

    def pane(self, pane: str) -> PaneRow:
        """The pane of that id; raises NoPane when there is none."""
        for row in self.panes():
            if row.id == pane:
                return row
        raise self.error(f"no pane {pane}", "tmux list-panes -a shows what there is", NoPane)

    def capture(
        self, panes: Iterable[str], history: int = 0, colours: bool = True, joined: bool = True
    ) -> dict[str, str]:
        """What each pane shows, lines that the terminal wrapped joined; panes that are gone are left out.

        `history` lines above the screen come too; without `colours` the text is plain, without `joined` as it stands.
        """
        shown = self._of_each(panes, _capture(history, colours, joined))
        return {pane: _stripped(text) for pane, text in shown.items() if text}

    def look(self, panes: Iterable[str], history: int = 0) -> dict[str, Shown]:
        """What each pane shows, in colour, and when it last changed; panes that are gone are left out."""
        # Asked behind the text, in the same call: asked before it, what is drawn in between would be dated too early.
        foot = secrets.token_hex(16)
        after = f'"{foot} #{{pane_pid}} #{{window_activity}} #{{window_panes}}"'
        found: dict[str, Shown] = {}
        for pane, text in self._of_each(panes, f"{_capture(history)}\ndisplay-message -p -t @ {after}").items():
            screen, behind, numbers = text.rpartition(f"{foot} ")
            values = numbers.split()
            if behind and len(values) == 3 and all(value.isdecimal() for value in values):
                pid, activity, beside = map(int, values)
                found[pane] = Shown(_stripped(screen), pid, activity, beside)
        return found

    def _of_each(self, panes: Iterable[str], script: str) -> dict[str, str]:
        """What commands, `-t @` standing for the pane, print for each; a pane that vanished meanwhile is left out."""
        # A fresh marker, since a pane could show one that it has seen; ids without %, which strftime would eat.
        marker = f"{secrets.token_hex(16)}."
        found: dict[str, str] = {}
        left = list(panes)
        while left:
            lines = "".join(
                f"display-message -p {marker}{pane[1:]}\n{script.replace('-t @', f'-t {pane}')}\n" for pane in left
            )
            out, err = self.run(["source-file", "-"], stdin=lines.encode(), check=False)
            looked = [part.partition("\n") for part in out.split(marker)[1:]]
            if not looked:
                raise self.error(err.strip() or "capture-pane gave nothing", "see tmux(1)")
            found.update({f"%{number}": text for number, _, text in looked})
            # A pane that vanished meanwhile may end the batch: go on behind it.
            left = left[len(looked) :]
        return found

    # -- typing

    def paste(self, row: Target, text: str) -> bool:
        """Paste into the pane; False when it is not what was seen any more, or takes no keys just now.

        The guard runs inside tmux, in the same call: pasting into a dead pane ends the server of tmux 3.1 to 3.3a.
        """
        buffer = f"fleet-{secrets.token_hex(8)}"
        sent = f"paste-buffer -p -d -b {buffer} -t {row.id} ; display-message -p SENT"
        guarded = ["if-shell", "-F", "-t", row.id, _guard(row), sent, f"delete-buffer -b {buffer}"]
        return "SENT" in self.run(["load-buffer", "-b", buffer, "-"], guarded, stdin=text.encode())[0]

    def enter(self, row: Target) -> bool:
        """Press Enter in the pane; False when it is not what was seen any more, or takes no keys just now."""
        sent = f"send-keys -t {row.id} Enter ; display-message -p SENT"
        return "SENT" in self.run(["if-shell", "-F", "-t", row.id, _guard(row), sent])[0]

    # -- windows and options

    def having(self, panes: Iterable[str], option: str) -> frozenset[str]:
        """Those of these panes, by id, that have the option of their own, even if it is empty."""
        left = list(panes)
        shown = self._of_each(left, f"show-options -pq -t @ {option}") if left else {}
        return frozenset(pane for pane, text in shown.items() if text.strip())

    def set_options(self, pane: str, options: Mapping[str, str]) -> None:
        """Set user options (`@fleet_profile`) of the pane itself; raises NoPane."""
        if options:
            self.run(*(["set-option", "-p", "-t", pane, name, literal(value)] for name, value in options.items()))

    def unset_options(self, pane: str, names: Iterable[str]) -> None:
        """Take user options off the pane itself; raises NoPane."""
        commands = [["set-option", "-p", "-u", "-t", pane, name] for name in names]
        if commands:
            self.run(*commands)

    def new_window(
        self,
        command: str,
        *,
        name: str | None = None,
        session: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> PaneRow:
        """Open a window that runs a shell command, in `session` or the one tmux prefers, and set its pane's options.

        Starts a server with a session (`session`, else "fleet") when there is none. Raises NoPane when the command
        has ended already.
        """
        settings = [*(["-n", name] if name else []), *_begin(cwd)]
        try:
            where = ["-t", f"={session}:"] if session else []
            out, _ = self._open(["new-window", *where, *settings, command], env)
        except NoServer:
            out = self._new_session(session or "fleet", [*settings, command], env)
        return self._opened(out.strip(), options or {})

    def _new_session(self, name: str, words: Sequence[str], env: Mapping[str, str] | None) -> str:
        out, err = self._open(["new-session", "-s", name, *words], env, check=False)
        if not out.startswith("%"):  # tmux says "error creating" its socket with status 0
            what = err.strip() or "tmux said nothing"
            raise self.error(f"no server can be started there ({what})", "make its folder, or name another socket")
        return out

    def split_window(
        self,
        pane: str,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> PaneRow:
        """Open a pane beside another that runs a shell command, and set its options; raises NoPane."""
        out, _ = self._open(["split-window", "-t", pane, *_begin(cwd), command], env)
        return self._opened(out.strip(), options or {})

    def _open(self, words: Sequence[str], env: Mapping[str, str] | None, check: bool = True) -> tuple[str, str]:
        """Run a command that opens a pane with these variables set, which may be secret."""
        if not env:
            return self.run([literal(word) for word in words], check=check)
        # Every user of the machine can read the arguments of a process, nobody its standard input.
        settings = [word for key, value in env.items() for word in ("-e", f"{key}={value}")]
        line = " ".join(_quoted(word) for word in (words[0], *settings, *words[1:]))
        start = [["start-server"]] if words[0] == "new-session" else []
        return self.run(*start, ["source-file", "-"], stdin=f"{line}\n".encode(), check=check)

    def _opened(self, pane: str, options: Mapping[str, str]) -> PaneRow:
        try:
            self.set_options(pane, options)
            return self.pane(pane)
        except NoServer:  # the pane was its last
            raise self.error(f"no pane {pane}", "its command ended at once", NoPane) from None
        except BaseException:
            # Nothing may run that its caller does not know of.
            with suppress(TmuxError):
                self.kill_pane(pane)
            raise

    def kill_pane(self, pane: str) -> None:
        """End the pane and what runs in it; raises NoPane."""
        self.run(["kill-pane", "-t", pane])


def _capture(history: int, colours: bool = True, joined: bool = True) -> str:
    options = ("-e " if colours else "") + ("-J" if joined else "") + (f" -S -{history}" if history else "")
    return f"capture-pane -p {options} -t @"


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip(" ") for line in text[:-1].split("\n"))


def _guard(row: Target) -> str:
    """A tmux format that is 1 only in the very pane that was seen, alive, in no mode, and open to keys."""
    same = (("pane_id", row.id), ("pane_pid", row.pid), ("pid", row.server_pid))
    terms = [f"#{{==:#{{{name}}},{value}}}" for name, value in same]
    terms += [f"#{{?{flag},0,1}}" for flag in ("pane_dead", "pane_in_mode", "pane_input_off", "pane_synchronized")]
    guard = terms.pop()
    while terms:
        guard = f"#{{&&:{terms.pop()},{guard}}}"
    return guard


def _begin(cwd: str | None) -> list[str]:
    """How a new pane begins: in the background, its id printed, its folder."""
    words = ["-d", "-P", "-F", "#{pane_id}"]
    if cwd:
        words += ["-c", cwd.replace("#", "##")]  # tmux expands formats in it
    return words


def _quoted(word: str) -> str:
    """A word for a line that tmux reads from a file: within single quotes nothing means anything."""
    return "'" + word.replace("'", "'\\''") + "'"


def literal(word: str) -> str:
    """A word that tmux takes as it is: at a word's end `;` would end the command."""
    return word[:-1] + "\\;" if word.endswith(";") else word


def is_server(pid: int) -> bool:
    """Whether a tmux process has that pid on this machine."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            name, _, rest = file.read().partition("(")[2].rpartition(") ")
            return name.startswith("tmux") and not rest.startswith(("Z", "X"))  # a zombie serves nobody
    except OSError:
        if os.path.isdir("/proc/self"):
            return False
    listed = subprocess.run(["ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True, timeout=TIMEOUT)
    return "tmux" in listed.stdout
