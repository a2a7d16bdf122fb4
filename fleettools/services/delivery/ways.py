"""How a text reaches a lead: typed into its pane, or handed to a command."""

import os
import subprocess
from collections.abc import Callable

import msgspec

from fleettools.adapters import agentfiles, clock
from fleettools.adapters.tmux import PaneRow, Tmux, is_server
from fleettools.config import Config
from fleettools.errors import NoPane, NoServer, Silent, Unavailable
from fleettools.policy.members.seats import seats
from fleettools.policy.notices.nudge import LONGEST, room
from fleettools.policy.notices.outbox import Item
from fleettools.screens.look import Look
from fleettools.services.delivery import inject
from fleettools.services.delivery.courier import LeadGone
from fleettools.services.delivery.inject import Result, Site

REST = 10.0  # seconds for which a server that did not answer is left alone
COMMAND_SECONDS = 30.0


def socket_of(server: str) -> str:
    """The socket path in a server's identity."""
    return server.partition(":")[2].rpartition(":")[0]


def is_ours(server: str, chosen: Tmux | None) -> bool:
    """Whether a lead's server runs on this machine, and is the chosen one if one was chosen."""
    if server.partition(":")[0] != os.uname().nodename:
        return False
    return chosen is None or os.path.realpath(socket_of(server)) == os.path.realpath(chosen.socket)


class PaneWay:
    """Types into the lead's pane. `pause` waits for some seconds."""

    def __init__(self, config: Config, pause: Callable[[float], None]) -> None:
        self._config, self._pause = config, pause
        self._agents = {name: profile.agent for name, profile in config.profiles.items()}
        self._servers: dict[str, Tmux] = {}
        self._rows: dict[str, dict[str, PaneRow]] = {}
        self._resting: dict[str, tuple[float, str]] = {}

    def fresh(self) -> None:
        """Forget what the panes were; called at each tick."""
        self._rows.clear()

    def unready(self, server: str, target: str) -> str:
        """Why nothing can be typed there now, "" when it can; raises LeadGone."""
        try:
            row = self._row(server, target)
            reason = inject.refusal(row)
            if reason:
                return reason
            look = self._look(row)
            if look is None:
                return "its agent is not known; set @fleet_agent on the pane"
            return inject.unready(self._site(row, look).see())
        except NoPane:
            raise LeadGone("the lead's pane has vanished") from None
        except Unavailable as error:
            return str(error)

    def room(self, server: str, target: str) -> int:
        """The longest text that the lead's agent shows whole in its pane."""
        row = self._row(server, target)
        look = self._look(row)
        return room(look.whole_notice if look else LONGEST, row.cols, row.rows)

    def credential(self, server: str, target: str) -> str | None:
        """The credential of the lead's own profile."""
        try:
            rows = self._all(server)
        except (Unavailable, LeadGone):
            return None
        found, _ = seats(list(rows.values()), self._config.panes, self._agents)
        return self._config.credential_of(found[target].profile) if target in found else None

    def tell(
        self, server: str, target: str, token: str, text: str, about: list[Item], step: Callable[[str], bool]
    ) -> Result:
        """Paste and submit the text, with proof."""
        row = self._row(server, target)
        look = self._look(row)
        return inject.deliver(self._site(row, look), text, token, step) if look else Result(None, "no agent")

    def look_for(self, server: str, target: str, token: str, step: Callable[[str], bool]) -> Result:
        """Find a text that another process typed, and end its delivery."""
        try:
            row = self._row(server, target)
            look = self._look(row)
            return inject.finish(self._site(row, look), token, step) if look else Result("unknown", "no agent there")
        except NoPane:
            raise LeadGone("the lead's pane has vanished") from None
        except Unavailable as error:
            return Result(None, str(error))

    def _site(self, row: PaneRow, look: Look) -> Site:
        return Site(self._servers[row.server], row, look, self._pause)

    def _look(self, row: PaneRow) -> Look | None:
        agent = row.agent_option or self._agents.get(row.profile_option)
        folder = self._config.agents
        if not agent:
            looks = ((name, agentfiles.load(name, folder)) for name in agentfiles.names(folder))
            agent = next((name for name, look in looks if look and row.command in look.commands), None)
        return agentfiles.load(agent, folder) if agent else None

    def _row(self, server: str, target: str) -> PaneRow:
        try:
            return self._all(server)[target]
        except KeyError:
            raise LeadGone("the lead's pane has vanished") from None

    def _all(self, server: str) -> dict[str, PaneRow]:
        """The panes of a server by id; raises LeadGone when that server has ended, Silent while it rests."""
        if server in self._rows:
            return self._rows[server]
        tmux = self._servers.setdefault(server, Tmux(socket_of(server)))
        since, what = self._resting.get(server, (-REST, ""))
        if clock.monotonic() - since < REST:
            raise tmux.error(what, kind=Silent)
        try:
            rows = {row.id: row for row in tmux.panes() if row.server == server}
        except Silent as error:
            self._resting[server] = (clock.monotonic(), error.what)
            raise
        except NoServer:
            rows = {}
            if is_server(_pid(server)):
                raise
        if not rows and not is_server(_pid(server)):
            raise LeadGone("the lead's tmux server has ended")
        if not rows:
            raise tmux.error(f"another server than {_pid(server)} answers there", "end one of the two")
        self._rows[server] = rows
        return rows


def _pid(server: str) -> int:
    pid = server.rpartition(":")[2]
    return int(pid) if pid.isdigit() else 0


class CommandWay:
    """Hands each notice as one JSON object to a shell command, on its standard input."""

    def __init__(self, command: str) -> None:
        self._command = command

    def fresh(self) -> None:
        """Nothing is remembered between ticks."""

    def unready(self, server: str, target: str) -> str:
        """A command can always be run."""
        return ""

    def room(self, server: str, target: str) -> int:
        """As long as a notice gets."""
        return LONGEST

    def credential(self, server: str, target: str) -> str | None:
        """Not asked: the command is no agent, and works on no credential."""
        return None

    def tell(
        self, server: str, target: str, token: str, text: str, about: list[Item], step: Callable[[str], bool]
    ) -> Result:
        """Run the command; submitted when it ends with status 0, tried again with any other."""
        if not step("typed"):
            return Result(None, "another process has taken it over")
        data = {"type": "notice", "v": 1, **clock.stamp(), "server": server, "target": target, "token": token}
        data |= {"text": text, "items": [{"id": item.id, **msgspec.to_builtins(item.facts)} for item in about]}
        given = msgspec.json.encode(data) + b"\n"
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", self._command], input=given, stdout=subprocess.DEVNULL, timeout=COMMAND_SECONDS
            )
        except subprocess.TimeoutExpired:
            return Result("unknown", f"the command did not end within {COMMAND_SECONDS:g} s")
        except OSError as error:
            return Result("refused", f"the command cannot be started ({error.strerror})")
        step("pasted")
        ended = f"the command ended with status {done.returncode}"
        return Result("refused" if done.returncode else "submitted", ended)

    def look_for(self, server: str, target: str, token: str, step: Callable[[str], bool]) -> Result:
        """Nothing can be looked at: the command may have run."""
        return Result("unknown", "the process that ran the command ended with it")
