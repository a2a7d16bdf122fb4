"""What one payload of an agent's own says, in the shapes that the agents of today write."""

import pytest

from fleettools import records
from fleettools.errors import BadInput
from fleettools.policy.signals.payloads import FINER, Nothing, Said, cause_named, read

NOW = records.to_ms("2026-11-30T12:00:00.000Z")
WORDS = {"plan used up": "quota", "no money left": "credits", "too many at once": "concurrency", "no room": "overload"}


def cause_of(text: str) -> str:
    return next((cause for words, cause in WORDS.items() if words in text), "unknown")


def hook(name: str, **more: object) -> dict[str, object]:
    return {"hook_event_name": name, "session_id": "s1", "prompt_id": "p1", **more}


def event(kind: str, **properties: object) -> dict[str, object]:
    return {"event": {"type": kind, "properties": {"sessionID": "s1", **properties}}}


def api_error(code: int, **more: object) -> dict[str, object]:
    return event("session.error", error={"name": "APIError", "data": {"statusCode": code, **more}})


SAID = {
    # Rule: a hook's name says what it is, whatever the agent.
    "a prompt goes in": (hook("UserPromptSubmit", prompt="hello"), Said("begin", "s1", "p1")),
    "a turn ends": (hook("Stop", background_tasks=[]), Said("end", "s1", "p1")),
    "the names of another family": ({"hook_event_name": "AfterAgent", "session_id": "s1"}, Said("end", "s1")),
    "a permission is asked for": (hook("PermissionRequest"), Said("blocked", "s1", "p1", text="")),
    "a permission that the main agent asks for": (
        *(hook("PermissionRequest", agent_id="main"), Said("blocked", "s1", "p1", text="")),
    ),
    "a notification that asks": (
        *(hook("Notification", notification_type="permission_prompt", message="may I?"),),
        *(Said("blocked", "s1", "p1", text="may I?"),),
    ),
    "a notification of another family": (
        *(hook("Notification", notification_type="ToolPermission"), Said("blocked", "s1", "p1", text="")),
    ),
    # Rule: the words beside a coarse word may say more, and never less.
    "a limit by the minute": (
        *(hook("StopFailure", error="rate_limit", last_assistant_message="slow down"),),
        *(Said("failure", "s1", "p1", "rate_limit", "slow down"),),
    ),
    "a plan's limit": (
        *(hook("StopFailure", error="rate_limit", last_assistant_message="plan used up"),),
        *(Said("failure", "s1", "p1", "quota", "plan used up"),),
    ),
    "a server without room": (
        *(hook("StopFailure", error="server_error", error_details="no room"),),
        *(Said("failure", "s1", "p1", "overload", "no room"),),
    ),
    "words that fit no failed login": (
        *(hook("StopFailure", error="authentication_failed", error_details="no room"),),
        *(Said("failure", "s1", "p1", "auth", "no room"),),
    ),
    "a word that nobody knows": (
        *(hook("StopFailure", error="gremlins", error_details="too many at once"),),
        *(Said("failure", "s1", "p1", "concurrency", "too many at once"),),
    ),
    "names of another writer": (
        *({"hook_event_name": "StopFailure", "errorType": "provider.overloaded", "errorMessage": "x"},),
        *(Said("failure", None, None, "overload", "x"),),
    ),
    "a class of errors that tells by the status in its message": (
        *({"hook_event_name": "StopFailure", "error_type": "APIStatusError", "error_message": "401 no key"},),
        *(Said("failure", None, None, "auth", "401 no key"),),
    ),
    "a class of errors that has a name": (
        *({"hook_event_name": "StopFailure", "error_type": "APIProviderOverloadedError", "error_message": "529 x"},),
        *(Said("failure", None, None, "overload", "529 x"),),
    ),
    # Rule: a notification by argument says ends and questions, never failures.
    "a notified end": (*({"type": "agent-turn-complete", "thread-id": "t", "turn-id": "u"}, Said("end", "t", "u")),),
    "a notified question": ({"type": "approval-requested", "thread-id": "t"}, Said("blocked", "t")),
    # Rule: an event brings a status code, and headers that say when.
    "an event of a busy session": (event("session.status", status={"type": "busy"}), Said("begin", "s1")),
    "an event of an idle session": (event("session.idle"), Said("end", "s1")),
    "an event of a question": (event("permission.asked"), Said("blocked", "s1")),
    "a failed call": (api_error(529), Said("failure", "s1", None, "overload")),
    "a used-up plan with its reset": (
        api_error(429, message="plan used up", responseHeaders={"retry-after": "3600"}),
        Said("failure", "s1", None, "quota", "plan used up", NOW + 3_600_000),
    ),
    "a delay that is no reset": (
        *(api_error(429, responseHeaders={"retry-after": "7"}), Said("failure", "s1", None, "rate_limit")),
    ),
    "a reset as a date": (
        api_error(402, responseHeaders={"retry-after": "Mon, 30 Nov 2026 13:00:00 GMT"}),
        Said("failure", "s1", None, "credits", None, NOW + 3_600_000),
    ),
    "the answer's own body, where the message says little": (
        *(api_error(429, message="Too Many Requests", responseBody='{"error": "plan used up"}'),),
        *(Said("failure", "s1", None, "quota", "Too Many Requests"),),
    ),
    "a reset that no plan has": (
        *(api_error(402, responseHeaders={"retry-after": "9999999"}), Said("failure", "s1", None, "credits")),
    ),
    "a plugin's prompt": ({**event("session.idle"), "prompt": "m1"}, Said("end", "s1", "m1")),
    "a try that is hours away": (
        event("session.status", status={"type": "retry", "message": "plan used up", "next": NOW + 10_800_000}),
        Said("failure", "s1", None, "quota", "plan used up", NOW + 10_800_000),
    ),
    # Rule: used shares are percents of named windows.
    "a status line": (
        {
            "session_id": "s1",
            "rate_limits": {
                "seven_day": {"used_percentage": 12.5, "resets_at": NOW // 1000 + 60},
                "five_hour": {"used_percentage": 101},
                "other": {"used_percentage": "much"},
            },
        },
        Said(
            "usage",
            "s1",
            usage=(records.Usage(window="seven_day", used_percent=12.5, resets_at="2026-11-30T12:01:00.000Z"),),
        ),
    ),
}


@pytest.mark.parametrize(("payload", "said"), SAID.values(), ids=SAID.keys())
def test_what_a_payload_says(payload: dict[str, object], said: Said) -> None:
    found = read(payload, cause_of, NOW)
    assert isinstance(found, Said)
    assert found._replace(text=found.text or None) == said._replace(text=said.text or None)


NOTHING = {
    "an agent in the background": hook("StopFailure", error="server_error", agent_id="a7"),
    "a turn that goes on in the background": hook("Stop", background_tasks=[{"id": 1}]),
    "a subagent's end": hook("SubagentStop"),
    "a hint that nobody has typed for long": hook("Notification", notification_type="idle_prompt"),
    "a login that went well": hook("Notification", notification_type="auth_success"),
    "a turn that a person stopped": event("session.error", error={"name": "MessageAbortedError", "data": {}}),
    "a try of the agent's own": event("session.status", status={"type": "retry", "attempt": 3}),
    "a try in a moment": event("session.status", status={"type": "retry", "next": NOW + 4000}),
    "a try in another age": event("session.status", status={"type": "retry", "next": NOW * 9}),
    "a try at no time": event("session.status", status={"type": "retry", "next": "soon"}),
    "a status line before the first reply": {"session_id": "s", "rate_limits": {}},
    "a notification of another kind": {"type": "agent-started"},
}


@pytest.mark.parametrize("payload", NOTHING.values(), ids=NOTHING.keys())
def test_what_says_nothing_of_the_turn(payload: dict[str, object]) -> None:
    assert isinstance(read(payload, cause_of, NOW), Nothing)


@pytest.mark.parametrize("payload", [None, 3, "x", [], {}, {"type": 3}, {"event": []}, {"hook_event_name": []}])
def test_what_is_no_payload_is_bad_input(payload: object) -> None:
    with pytest.raises(BadInput):
        read(payload, cause_of, NOW)


@pytest.mark.parametrize("junk", [None, 3, "x" * 10_000, [], {}, [{}], {"a": {"b": []}}, True, 1e308])
@pytest.mark.parametrize("base", [*SAID.values()], ids=SAID.keys())
def test_fields_of_any_type_crash_nothing(base: tuple[dict[str, object], Said], junk: object) -> None:
    payload = base[0]
    for key in payload:
        try:
            read({**payload, key: junk}, cause_of, NOW)
        except BadInput:
            continue


@pytest.mark.parametrize(
    ("word", "code", "cause"),
    [
        ("APIError", 503, "server"),
        ("APIError", 599, "server"),
        ("APIError", None, "unknown"),
        ("server_error", 529, "overload"),
        ("authentication_failed", 500, "auth"),
        ("http_connection_failed", 401, "auth"),
        ("http_connection_failed", None, "network"),
        ("response_too_many_failed_attempts", 429, "rate_limit"),
        ("provider.rate_limit", None, "rate_limit"),
        ("compaction.failed", None, "context"),
        ("", 402, "credits"),
        ("", 418, "unknown"),
    ],
)
def test_an_interfaces_word_goes_before_a_status(word: str, code: int | None, cause: str) -> None:
    assert cause_named(word, code) == cause


def test_no_word_is_made_coarser() -> None:
    assert "unknown" not in set().union(*FINER.values())
