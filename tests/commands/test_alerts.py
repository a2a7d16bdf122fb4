"""People are told without a lead: by a command or a web service, at least once, and nobody waits for them."""

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox import wait_for
from server import Server, running
from test_notify import deliveries, incident, lead, pending, submits, verdict


class Web:
    """A web server on the loopback: what it was posted, with headers, and how it answers (a status, or seconds)."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.answer: Callable[[], int] = lambda: 200
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                status = outer.answer()
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://ada:s3cret@127.0.0.1:{self.server.server_port}/topic?key=hidden"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def web() -> Iterator[Web]:
    made = Web()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(tmp_path) as made:
        yield made


def configured(server: Server, *alerts: dict[str, Any], **more: Any) -> None:
    (server.folder / "fleetd.yaml").write_text(json.dumps({"alerts": list(alerts)} | more))


def ended(name: str = "incident:team-a:1") -> bytes:
    record = {"type": "ended", "ts": "", "id": name, "kind": "incident", "credentialId": "team-a", "seconds": 61.5}
    record["ts"] = json.loads(incident_of())["ts"]
    return json.dumps(record | {"why": "time"}).encode() + b"\n"


def incident_of(name: str = "incident:team-a:1", **more: Any) -> bytes:
    class Nobody:
        identity = "h:/s:1"

    return incident(Nobody(), name=name, **more)  # type: ignore[arg-type]


SHAPES: dict[str, Callable[[dict[str, str], bytes], str]] = {
    "json": lambda headers, body: str(json.loads(body)["text"]),
    "slack": lambda headers, body: str(json.loads(body)["text"]),
    "ntfy": lambda headers, body: body.decode() if headers["priority"] == "high" and headers["title"] else "",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_webhook_is_posted_each_event_once_in_its_shape(server: Server, web: Web, shape: str) -> None:
    configured(server, {"name": "ops", "webhook": web.url, "shape": shape})
    given = incident_of() + incident_of()
    done = server.run("notify", stdin=given)
    assert (done.returncode, done.stdout.startswith(given)) == (0, True), done.stderr
    ((path, headers, body),) = web.got
    assert SHAPES[shape](headers, body).startswith("fleet: credential team-a cools off for ")
    assert (path, headers["authorization"]) == ("/topic?key=hidden", "Basic YWRhOnMzY3JldA==")
    assert headers["idempotency-key"] == "incident:team-a:1"
    (delivery,) = deliveries(done.stdout)
    assert (delivery["target"], delivery["outcome"], delivery["attempt"]) == ("alert:ops", "submitted", 1)
    assert ":" not in delivery["server"]
    assert server.run("notify", stdin=given).stdout == given
    assert len(web.got) == 1


def test_an_alert_as_a_record_says_what_it_tells_of(server: Server, web: Web) -> None:
    configured(server, {"webhook": web.url})
    server.run("notify", stdin=incident_of() + ended())
    first, last = (json.loads(body) for _, _, body in sorted(web.got, key=lambda got: b'"ended"' in got[2]))
    assert (first["type"], first["id"], first["name"], first["kind"]) == (
        "alert", "incident:team-a:1", "alert", "incident")  # fmt: skip
    assert first["record"]["credentialId"] == "team-a"
    assert last["id"] == "ended:incident:team-a:1"
    assert last["text"] == "fleet: credential team-a is free again after 1 min 2 s, its time is over"


def test_a_command_finds_the_text_in_its_environment_and_the_record_on_its_input(server: Server) -> None:
    command = 'printf "%s|%s|%s\\n" "$FLEET_TEXT" "$FLEET_KIND" "$FLEET_CREDENTIAL" >>said; cat >>given'
    configured(server, {"name": "me", "exec": command, "on": ["incident", "failed"]})
    given = incident_of() + ended() + verdict(server, "backend_error", cause="overload")
    done = server.run("notify", stdin=given)
    assert done.returncode == 0, done.stderr
    said = sorted((server.folder / "said").read_text().splitlines())
    assert [line.split("|")[1:] for line in said] == [["incident", "team-a"], ["failed", ""]]
    assert said[1].startswith("fleet: worker w1 failed, backend error of cause overload")
    records = [json.loads(line) for line in (server.folder / "given").read_text().splitlines()]
    assert {record["id"] for record in records} == {"incident:team-a:1", "failed:e1"}


def test_what_is_not_taken_is_sent_again_and_nothing_says_where(server: Server, web: Web) -> None:
    answers = iter([500, 302])
    web.answer = lambda: next(answers, 200)
    configured(server, {"name": "ops", "webhook": web.url})
    done = server.run("notify", "-v", stdin=incident_of())
    assert [(d["outcome"], d["attempt"]) for d in deliveries(done.stdout)] == [
        ("unknown", 1), ("refused", 2), ("submitted", 3)]  # fmt: skip
    assert [path for path, _, _ in web.got] == ["/topic?key=hidden"] * 3
    assert b"s3cret" not in done.stdout + done.stderr and b"hidden" not in done.stdout + done.stderr


def test_an_alert_that_nobody_takes_waits_for_the_next_notifier(server: Server, web: Web) -> None:
    web.server.server_close()
    configured(server, {"name": "ops", "webhook": web.url})
    done = server.run("notify", "--wait", "1", stdin=incident_of())
    assert done.returncode == 75
    (item,) = pending(server)
    assert (item["state"], item["target"], "it cannot be reached" in item["reason"]) == ("pending", "alert:ops", True)
    assert "s3cret" not in json.dumps(item)


def test_a_webhook_that_hangs_delays_neither_leads_nor_the_pipe(server: Server, web: Web) -> None:
    go = threading.Event()
    web.answer = lambda: 200 if go.wait(30) else 500
    configured(server, {"name": "slow", "webhook": web.url}, {"name": "quick", "exec": "cat >quick"})
    pane, log = lead(server)
    notify = server.command("notify", "--follow")
    assert notify.stdin and notify.stdout
    try:
        began = time.monotonic()
        for name in ("i:1", "i:2"):
            given = incident(server, pane, name=name)
            notify.stdin.write(given)
            notify.stdin.flush()
            line = notify.stdout.readline()
            while b'"delivery"' in line:
                line = notify.stdout.readline()
            assert line == given
        wait_for(lambda: submits(log) and (server.folder / "quick").exists() and web.got, "the lead's notice")
        assert time.monotonic() - began < 25 and not go.is_set()
        assert any(item["target"] == "alert:slow" for item in pending(server))
        notify.terminate()
        notify.communicate(timeout=20)
    finally:
        go.set()
        notify.kill()
        notify.wait()


def test_an_alert_whose_sender_was_killed_comes_again_with_the_same_id(server: Server, web: Web) -> None:
    configured(server, {"name": "ops", "webhook": web.url})
    killed = server.run("notify", stdin=incident_of(), env={"FLEET_CRASH_AT": "pasted"})
    assert (killed.returncode, len(web.got)) == (-9, 1)
    done = server.run("notify", stdin=b"")
    assert done.returncode == 0, done.stderr
    assert [json.loads(body)["id"] for _, _, body in web.got] == ["incident:team-a:1"] * 2


def test_incidents_that_follow_on_each_other_are_told_as_again(server: Server, web: Web) -> None:
    configured(server, {"name": "ops", "webhook": web.url})
    server.run("notify", stdin=incident_of("i:1", age=240))
    server.run("notify", stdin=incident_of("i:2"))
    first, second = (json.loads(body) for _, _, body in web.got)
    assert ("again" in first, second["again"]) == (False, 2)
    assert "cools off for" in second["text"] and " again, 2 times since " in second["text"]


def test_the_health_webhook_is_an_alert_of_every_kind(server: Server, web: Web) -> None:
    configured(server, health={"webhook": web.url})
    done = server.run("notify", stdin=verdict(server, "exhausted"))
    assert [d["target"] for d in deliveries(done.stdout)] == ["alert:health"]
    (server.folder / "fleetd.yaml").write_text(json.dumps({"health": {"enabled": False, "webhook": web.url}}))
    assert deliveries(server.run("notify", stdin=verdict(server, "exhausted", event="e2")).stdout) == []


def test_a_stored_stream_of_long_ago_alerts_nobody(server: Server, web: Web) -> None:
    configured(server, {"name": "ops", "webhook": web.url})
    done = server.run("notify", stdin=incident_of(age=700))
    assert (done.returncode, deliveries(done.stdout), web.got) == (0, [], [])


WRONG = {
    "neither": ({}, "alerts[0]: it needs either exec or webhook"),
    "both": ({"exec": "true", "webhook": "http://x"}, "alerts[0]: it needs either exec or webhook"),
    "a shape of a command": ({"exec": "true", "shape": "slack"}, "alerts[0].shape"),
    "no address": ({"webhook": "ftp://ada:s3cret@x"}, "alerts[0].webhook"),
    "an unknown kind": ({"exec": "true", "on": ["incidents"]}, "did you mean incident?"),
}


@pytest.mark.parametrize(("alert", "says"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_names_its_place(server: Server, alert: dict[str, Any], says: str) -> None:
    configured(server, alert)
    done = server.run("notify", stdin=b"")
    assert (done.returncode, says in done.stderr.decode()) == (78, True), done.stderr
    assert b"s3cret" not in done.stderr


def test_two_alerts_of_one_name_are_a_mistake(server: Server) -> None:
    configured(server, {"exec": "true"}, {"exec": "false"})
    assert b"alerts[1].name: another alert is called alert" in server.run("notify", stdin=b"").stderr
