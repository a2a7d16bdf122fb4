"""What one payload of an agent's own says: which word it is, of which turn, and why that failed.

A payload tells by its own fields what it is: a hook's (`hook_event_name`), a notification's (`type`), a plugin's event
(`event`), or a status line's (`rate_limits`). Its fields may be missing or of any type.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, get_args

from fleettools import records
from fleettools.errors import BadInput
from fleettools.records import Cause
from fleettools.screens.resets import HORIZON_MS, LONG_WAIT

CauseOf = Callable[[str], str]

LONGEST = 2_000  # characters of a message that are kept
_WIDEST = 200  # of an id

# The words in which agents' own interfaces name a failure, and what each means for its credential.
ERRORS: dict[str, Cause] = {
    **dict.fromkeys(("authentication_failed", "authentication_error", "auth_error", "permission_error"), "auth"),
    **dict.fromkeys(("oauth_org_not_allowed", "account_on_hold", "verification_required", "login_required"), "auth"),
    **dict.fromkeys(("cloud_credential_error", "providerautherror", "unauthorized"), "auth"),
    "apiproviderquotaexhaustederror": "quota",
    "apiproviderratelimiterror": "rate_limit",
    "apiprovideroverloadederror": "overload",
    **dict.fromkeys(("apiconnectionerror", "apitimeouterror", "apiconnectiontimeouterror"), "network"),
    **dict.fromkeys(("apicontextoverflowerror", "apirequesttoolargeerror"), "context"),
    **dict.fromkeys(("billing_error", "insufficient_credits"), "credits"),
    **dict.fromkeys(("insufficient_quota", "quota_exceeded", "usage_limit_reached", "usage_limit_exceeded"), "quota"),
    **dict.fromkeys(("rate_limit", "rate_limit_error", "rate_limit_exceeded"), "rate_limit"),
    **dict.fromkeys(("overloaded", "overloaded_error", "server_overloaded"), "overload"),
    **dict.fromkeys(("server_error", "api_error", "internal_server_error"), "server"),
    **dict.fromkeys(("connection_error", "timeout_error", "response_stream_disconnected"), "network"),
    **dict.fromkeys(("http_connection_failed", "response_stream_connection_failed"), "network"),
    **dict.fromkeys(("model_not_found", "not_found_error", "model_not_available"), "model"),
    **dict.fromkeys(("context_window_exceeded", "contextoverflowerror", "overflow", "compaction.failed"), "context"),
    **dict.fromkeys(("invalid_request", "invalid_request_error", "bad_request", "max_output_tokens"), "request"),
    **dict.fromkeys(("messageoutputlengtherror", "content_policy", "request_too_large", "loop_detected"), "request"),
}
STATUS: dict[int, Cause] = {
    **{400: "request", 401: "auth", 402: "credits", 403: "auth", 404: "model", 408: "network", 413: "context"},
    **{422: "request", 429: "rate_limit", 500: "server", 502: "server", 503: "server", 504: "server", 529: "overload"},
}
# An interface's word is coarse where the message beside it says more: these words of a message go before it.
FINER: dict[Cause, frozenset[str]] = {
    "rate_limit": frozenset({"quota", "credits", "concurrency", "overload"}),
    "server": frozenset({"overload", "network"}),
    "request": frozenset({"context", "model"}),
    "auth": frozenset({"credits", "quota"}),
    "credits": frozenset({"auth", "quota"}),
    "unknown": frozenset(get_args(Cause)) - {"unknown"},
}
# Where hooks of different agents put that word, and what they say beside it.
_WORDS = ("error", "error_type", "errorType")
_MESSAGES = ("error_details", "error_message", "errorMessage", "last_assistant_message")
_CODE = re.compile(r"([45][0-9]{2})\b")  # a message that begins with its status
_BEGINS = frozenset({"userpromptsubmit", "beforeagent"})
_ENDS = frozenset({"stop", "afteragent"})
_FAILS = frozenset({"stopfailure"})
_ASKS = frozenset({"permissionrequest"})
# Kinds of a notification that wait for an answer; others only tell that nothing goes on.
_QUESTIONS = ("permission", "elicitation", "question")  # within their names, whatever the case
_ITSELF = (None, "", "main")  # how the pane's own agent names itself where agents have ids
_STOPPED = frozenset({"messageabortederror", "aborted", "cancelled", "interrupted"})


class Said(NamedTuple):
    """One word of an agent's own. `prompt`: its id of the turn's prompt; `resets_ms`: since the epoch."""

    said: str
    session: str | None = None
    prompt: str | None = None
    cause: Cause | None = None
    text: str | None = None
    resets_ms: int | None = None
    usage: tuple[records.Usage, ...] = ()


class Nothing(NamedTuple):
    """A payload that says nothing of the pane's own turn, and why."""

    reason: str


def read(payload: Any, cause_of: CauseOf, now_ms: int) -> Said | Nothing:
    """What a payload says; `cause_of` names the cause that a message's words tell, `unknown` when they tell none.

    Raises BadInput for what is no payload of an agent at all.
    """
    if not isinstance(payload, Mapping):
        raise BadInput("no payload of an agent", "hand over the JSON object that the agent gives its hook")
    if hook := _text(payload, "hook_event_name") or _text(payload, "hookEventName"):
        return _hook(hook.lower().replace("_", ""), payload, cause_of)
    if isinstance(payload.get("event"), Mapping):
        return _event(payload["event"], _id(payload, "prompt"), cause_of, now_ms)
    if isinstance(payload.get("rate_limits"), Mapping) or "context_window" in payload:
        return limits(payload)
    if kind := _text(payload, "type"):
        return _notification(kind, payload)
    raise BadInput("no payload that is known", "hand over the JSON object that the agent gives its hook")


def _hook(hook: str, payload: Mapping[str, Any], cause_of: CauseOf) -> Said | Nothing:
    """What the payload of a named hook says; first match wins."""
    if payload.get("agent_id") not in _ITSELF:
        return Nothing("of an agent in the background")
    session, prompt = _id(payload, "session_id"), _id(payload, "prompt_id")
    if hook in _BEGINS:
        return Said("begin", session, prompt)
    if hook in _ENDS:
        waits = payload.get("background_tasks")
        return Nothing("paused: work in the background goes on") if waits else Said("end", session, prompt)
    if hook in _FAILS:
        word = next((word for name in _WORDS if (word := _text(payload, name))), "unknown")
        text = " ".join(part for name in _MESSAGES if (part := _text(payload, name)))
        code = _CODE.match(text)
        return failure(session, prompt, word, int(code[1]) if code else None, text, cause_of)
    if hook in _ASKS or (hook == "notification" and _asks(payload)):
        return Said("blocked", session, prompt, text=_text(payload, "message"))
    return Nothing(f"{hook[:40]} says nothing of the turn")


def _asks(payload: Mapping[str, Any]) -> bool:
    kind = _text(payload, "notification_type").lower()
    words = kind or _text(payload, "message").lower()
    return any(word in words for word in _QUESTIONS)


def _notification(kind: str, payload: Mapping[str, Any]) -> Said | Nothing:
    session, turn = _id(payload, "thread-id"), _id(payload, "turn-id")
    if kind == "agent-turn-complete":
        return Said("end", session, turn)
    if kind == "approval-requested":
        return Said("blocked", session, turn)
    return Nothing(f"{kind[:40]} says nothing of the turn")


def _event(event: Mapping[str, Any], prompt: str | None, cause_of: CauseOf, now_ms: int) -> Said | Nothing:
    """An event of a plugin: `type`, and its `properties`."""
    kind, about = _text(event, "type"), _mapping(event, "properties")
    session = _id(about, "sessionID")
    status = _mapping(about, "status")
    if kind == "session.status":
        return _status(_text(status, "type"), status, Said("begin", session, prompt), cause_of, now_ms)
    if kind == "session.idle":
        return Said("end", session, prompt)
    if kind in ("permission.asked", "permission.updated", "question.asked"):
        return Said("blocked", session, prompt)
    if kind != "session.error":
        return Nothing(f"{kind[:40]} says nothing of the turn's end")
    error = _mapping(about, "error")
    name, data = _text(error, "name"), _mapping(error, "data")
    if name.lower() in _STOPPED:
        return Nothing("a person stopped the turn")
    code = data.get("statusCode")
    status_code = code if isinstance(code, int) else None
    found = failure(session, prompt, name, status_code, _text(data, "message"), cause_of)
    if found.cause == cause_named(name, status_code):  # the message told no more; the answer itself may
        body = failure(session, prompt, name, status_code, _text(data, "responseBody"), cause_of)
        found = found._replace(cause=body.cause)
    wait = _mapping(data, "responseHeaders").get("retry-after")
    return found._replace(resets_ms=_after(wait, now_ms) if found.cause in ("quota", "credits") else None)


def _status(kind: str, status: Mapping[str, Any], begun: Said, cause_of: CauseOf, now_ms: int) -> Said | Nothing:
    """What a session is at: work, or waiting for its next try; who waits for hours has used something up."""
    if kind == "busy":
        return begun
    after = status.get("next")
    if kind != "retry" or isinstance(after, bool) or not isinstance(after, int | float):
        return Nothing(f"{kind[:40] or 'no status'} says nothing of the turn")
    if not LONG_WAIT * 1000 <= after - now_ms <= HORIZON_MS:
        return Nothing("it tries again by itself")
    text = _text(status, "message")
    cause = cause_of(text)
    cause = cause if cause in ("quota", "credits") else "quota"
    return Said("failure", begun.session, begun.prompt, cause, text[:LONGEST] or None, round(after))  # type: ignore[arg-type]


def failure(session: str | None, prompt: str | None, word: str, code: int | None, text: str, cause_of: CauseOf) -> Said:
    """A failed turn: its cause by `word` and `code`, or the finer one that its text tells; the text is cut short."""
    cause = cause_named(word, code)
    if text and (finer := FINER.get(cause)):
        told = cause_of(text)
        cause = told if told in finer else cause  # type: ignore[assignment]
    return Said("failure", session, prompt, cause, text[:LONGEST] or None)


def cause_named(word: str, code: int | None = None) -> Cause:
    """The cause that an interface's own word for a failure names, or else its HTTP status."""
    key = word.strip().lower()
    named = ERRORS.get(key) or ERRORS.get(key.rpartition(".")[2])
    if code is not None and named in (None, "server", "network"):
        return STATUS.get(code) or ("server" if 500 <= code < 600 else named or "unknown")
    return named or "unknown"


def limits(payload: Mapping[str, Any]) -> Said | Nothing:
    """The used shares in a status line's `rate_limits`: percent and reset of each window."""
    found = []
    for window, about in sorted(_mapping(payload, "rate_limits").items()):
        if isinstance(about, Mapping) and (one := usage(str(window), about, "used_percentage")):
            found.append(one)
    if not found:
        return Nothing("no limits are known yet")
    return Said("usage", _id(payload, "session_id"), usage=tuple(found))


def usage(window: str, about: Mapping[str, Any], percent: str) -> records.Usage | None:
    """One window's used share; None when it is no number from 0 to 100."""
    used = about.get(percent)
    if isinstance(used, bool) or not isinstance(used, int | float) or not 0 <= used <= 100:
        return None
    resets = _moment(about.get("resets_at"))
    return records.Usage(
        window=window[:40], used_percent=float(used), resets_at=None if resets is None else records.to_ts(resets)
    )


def _moment(value: Any) -> int | None:
    """Milliseconds of seconds since the epoch, or of an RFC 3339 time."""
    if isinstance(value, str):
        try:
            return records.to_ms(value)
        except BadInput:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 10**9 < value < 10**11:
        return None
    return round(value * 1000)


def _after(value: Any, now_ms: int) -> int | None:
    """The moment that a retry-after header names: seconds, or an HTTP date."""
    text = str(value or "").strip()
    if text.isascii() and text.isdigit() and len(text) < 8:
        ahead = int(text) * 1000
        return now_ms + ahead if ahead <= HORIZON_MS else None
    try:
        moment = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    except ValueError:
        return None
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    then = (since.days * 86_400 + since.seconds) * 1000
    return then if now_ms < then <= now_ms + HORIZON_MS else None


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _id(value: Mapping[str, Any], key: str) -> str | None:
    return _text(value, key)[:_WIDEST] or None
