"""The ways of `alerts:`: people are told by a command of theirs, or by a web service."""

from collections.abc import Callable

from fleettools import records
from fleettools.policy.notices import alerts
from fleettools.policy.notices.alerts import Shape
from fleettools.services.delivery.ways import Message, Reach, Result, Step, To
from fleettools.services.ports import Answer, Poster, Runner

Send = Callable[[records.Alert], Answer]


class Alert:
    """Sends each alert by itself, see `ways.Way`; what was not taken for certain is sent again."""

    singly = True

    def __init__(self, send: Send) -> None:
        self._send = send

    def begin(self) -> None:
        """Nothing is remembered between ticks."""

    def reaches(self, to: To) -> Reach:
        """It can always be tried."""
        return Reach()

    def submit(self, to: To, message: Message, step: Step) -> Result:
        """Send it."""
        if not step("typed"):
            return Result(None, "another process has taken it over")
        assert isinstance(message.record, records.Alert)
        answer = self._send(message.record)
        step("pasted")
        return Result("submitted" if answer.taken else "unknown" if answer.maybe else "refused", answer.reason)

    def recover(self, to: To, token: str, step: Step) -> Result:
        """It may have been taken: it is sent again, with the same id."""
        return Result("unknown", "the process that sent it ended with it")


def by_command(command: str, run: Runner) -> Send:
    """Hands an alert to a command, as its environment and as a record on its standard input."""
    return lambda alert: run(command, records.encode(alert), alerts.environment(alert))


def by_webhook(url: str, shape: Shape, post: Poster) -> Send:
    """Posts an alert to a web service."""

    def send(alert: records.Alert) -> Answer:
        made = alerts.post(alert, shape)
        return post(url, made.body, made.headers)

    return send
