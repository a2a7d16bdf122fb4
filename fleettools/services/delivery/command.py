"""The way of `fleet-notify --exec`: each notice is handed to a command instead of being typed."""

from fleettools import records
from fleettools.services.delivery.ways import Message, Reach, Result, Step, To
from fleettools.services.ports import Runner


class Command:
    """Runs a command for each text, see `ways.Way`."""

    singly = False

    def __init__(self, command: str, run: Runner) -> None:
        self._command, self._run = command, run

    def begin(self) -> None:
        """Nothing is remembered between ticks."""

    def reaches(self, to: To) -> Reach:
        """A command can always be run, and works on no credential."""
        return Reach()

    def submit(self, to: To, message: Message, step: Step) -> Result:
        """Run the command; submitted when it ends with status 0, tried again with any other."""
        if not step("typed"):
            return Result(None, "another process has taken it over")
        answer = self._run(self._command, records.encode(message.record), {})
        step("pasted")
        return Result("submitted" if answer.taken else "unknown" if answer.maybe else "refused", answer.reason)

    def recover(self, to: To, token: str, step: Step) -> Result:
        """Nothing can be looked at: the command may have run."""
        return Result("unknown", "the process that ran the command ended with it")
