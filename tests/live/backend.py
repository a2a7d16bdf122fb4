"""A model backend on loopback that answers, or fails, as it is told; one for each pane, on a port of its own.

    with Backend() as backend:
        backend.serve(Step(tool="ls", times=1), Step(failure="529"))   # a tool call, then 529 to all that follows
        ... backend.url ...
        backend.log                                                    # when what was asked, and what it got

It answers at most MOST requests to one plan, then closes connections unanswered: no agent can run away with it.
"""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from live import protocols
from live.failures import FAILURES, PAGE, Failure, Said, body
from live.protocols import Answer, Wire

MOST = 300  # requests to one plan
HANG = 900.0  # seconds at most
CUT = 3  # events of a reply before the connection is cut

STORY = "\n\n".join(
    f"Paragraph {n}: the build was read line by line and its tests were run; each of them passed as it should."
    for n in range(1, 9)
)


class Step(NamedTuple):
    """What requests get: a failure, a tool call or a reply, so many times (0: from now on), after `delay` seconds.

    A tool call that `asks` needs a person's permission.
    `pace` is the seconds between the pieces of a reply; a failure that cuts or breaks a stream sends `text` before.
    """

    failure: str = ""
    text: str = "All is well."
    tool: str = ""
    asks: bool = False
    times: int = 0
    pace: float = 0.02
    delay: float = 0.5


class Request(NamedTuple):
    """One request: when it came and its answer ended (seconds since the epoch), what it got, and what it asked."""

    came: float
    served: float
    got: str  # the failure's name, "tool", "reply", "aside"
    main: bool  # a turn's own request, not one of the agent's small questions
    asked: str


class Backend:
    """The backend of one pane. All its methods may be called from any thread."""

    def __init__(self) -> None:
        self.log: list[Request] = []
        self._lock = threading.Lock()
        self._plan: list[Step] = [Step()]
        self._count = 0  # requests to this plan
        self._given = 0  # requests to its first step
        self._changed = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self.port = 0

    def __enter__(self) -> "Backend":
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._changed.set()
        self._deaf()

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def refuses(self) -> bool:
        """Whether nothing can be asked of it now."""
        return self._server is None

    def serve(self, *steps: Step) -> None:
        """What requests get from now on, one step after the other; a request that hangs is let go."""
        with self._lock:
            self._changed.set()
            self._changed = threading.Event()
            self._plan, self._count, self._given = list(steps), 0, 0
        if steps and steps[0].failure and FAILURES[steps[0].failure].how == "refused":
            self._deaf()
        elif self._server is None:
            self._listen()

    def since(self, moment: float) -> list[Request]:
        """A turn's own requests that came after a moment."""
        with self._lock:
            return [one for one in self.log if one.main and one.came >= moment]

    def next(self, main: bool) -> tuple[Step | None, threading.Event]:
        """The step for a request, and what tells that the plan has changed; None when there were too many."""
        with self._lock:
            self._count += 1
            if self._count > MOST:
                return None, self._changed
            step = self._plan[0]
            if main:
                self._given += 1
                if step.times and self._given >= step.times and len(self._plan) > 1:
                    self._plan, self._given = self._plan[1:], 0
            return step, self._changed

    def note(self, request: Request) -> int:
        """Keep what was asked and given; its place in the log."""
        with self._lock:
            self.log.append(request)
            return len(self.log) - 1

    def gave(self, place: int) -> None:
        """A streamed answer comes to its end, or is broken off, just now."""
        with self._lock:
            self.log[place] = self.log[place]._replace(served=time.time())

    def _listen(self) -> None:
        server = _Server(("127.0.0.1", self.port), _Handler)
        server.backend = self
        self.port = server.server_port
        self._server = server
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    def _deaf(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 32
    backend: Backend

    def handle_error(self, *_: Any) -> None:
        """An agent that goes away in the middle is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    place = 0  # of its request in the log

    def log_message(self, format: str, *args: Any) -> None:
        """Said by the log of requests."""

    def do_HEAD(self) -> None:
        self._send(200, b"")

    def do_GET(self) -> None:
        if "models" in self.path:
            names = ("gpt-5", "gemini-2.5-pro", "claude-sonnet-4-5")
            known = [{"id": name, "object": "model", "context_length": 200_000} for name in names]
            self._json(200, {"object": "list", "data": known, "models": []})
        else:
            self._json(404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        came = time.time()
        asked = _object(raw)
        wire = protocols.wire_of(self.path)
        if wire is None:
            self._json(200, {"input_tokens": 10, "totalTokens": 10})
            return
        shell = protocols.shell_of(asked)
        step, changed = self.server.backend.next(shell is not None)
        got = (
            "refused"
            if step is None
            else step.failure or ("aside" if shell is None else "tool" if step.tool else "reply")
        )
        if step is not None and step.delay:
            changed.wait(step.delay)
        # Noted before it is given: whoever sees an answer on a screen finds it here.
        request = Request(came, time.time(), got, shell is not None, raw.decode(errors="replace"))
        self.place = self.server.backend.note(request)
        if step is None:
            self._cut()
        elif step.failure:
            self._fail(wire, step, changed, asked)
        else:
            self._answer(wire, _answer(step, shell), asked, step.pace)

    # -- answers

    def _answer(self, wire: Wire, answer: Answer, asked: dict[str, Any], pace: float) -> None:
        if protocols.streams(self.path, asked):
            self._stream(protocols.events(wire, answer), pace)
            self._end()
        else:
            self._json(200, protocols.document(wire, answer))

    def _fail(self, wire: Wire, step: Step, changed: threading.Event, asked: dict[str, Any]) -> None:
        failure = FAILURES[step.failure]
        streamed = protocols.streams(self.path, asked)
        if failure.how == "hang":
            changed.wait(HANG)
            self._cut()
        elif failure.how in ("before", "refused") or (failure.how == "middle" and not streamed):
            self._cut()
        elif failure.how == "html":
            self._send(502, PAGE.encode(), {"content-type": "text/html"})
        elif failure.how == "middle" or (failure.how == "stream" and streamed):
            self._break(wire, step, failure)
        elif failure.how == "refusal" and streamed and failure.words(wire.family).status == 200:
            self._stream(protocols.refusal_events(wire, failure.words(wire.family)), 0)
            self._end()
        else:
            self._refuse(failure.words(wire.family), wire)

    def _break(self, wire: Wire, step: Step, failure: Failure) -> None:
        """A stream that ends before its end: with an error as an event of its own, or cut."""
        whole = list(protocols.events(wire, Answer(step.text)))
        pieces = max(CUT, len(whole) - 4) if step.pace > 0.1 else CUT
        self._stream(iter(whole[:pieces]), step.pace)
        if failure.how == "stream":
            time.sleep(step.delay)  # an error is a piece of its own
            self._chunk(protocols.error_event(wire, failure.words(wire.family)))
            self._end()
        else:
            self._cut()

    def _refuse(self, said: Said, wire: Wire) -> None:
        soon = str(int(time.time()) + 7200)
        headers = {name: value.replace("{in_two_hours}", soon) for name, value in said.headers}
        status = said.status if said.status >= 400 else 400
        self._send(status, json.dumps(body(said, wire.family)).encode(), headers)

    # -- the connection

    def _json(self, status: int, document: dict[str, Any]) -> None:
        self._send(status, json.dumps(document).encode())

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        every = {"content-type": "application/json", "content-length": str(len(data)), "connection": "close"}
        for name, value in (every | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True

    def _stream(self, events: Iterator[bytes], pace: float) -> None:
        self.send_response(200)
        for name, value in (("content-type", "text/event-stream"), ("transfer-encoding", "chunked")):
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            self._chunk(event)
            time.sleep(pace)
        self.server.backend.gave(self.place)

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _end(self) -> None:
        """The empty chunk that tells a whole stream from one that was cut."""
        self.wfile.write(b"0\r\n\r\n")

    def _cut(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


def _object(raw: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(raw)
    except ValueError:
        return {}
    return asked if isinstance(asked, dict) else {}


def _answer(step: Step, shell: dict[str, Any] | None) -> Answer:
    if shell is None:
        return protocols.aside()
    if not step.tool:
        return Answer(step.text)
    return Answer(step.text, shell["name"], protocols.arguments(shell, step.tool, step.asks), f"{time.time_ns()}")
