"""What an agent's session log says: its turns, their failures, and the used shares of its limits."""

from collections.abc import Mapping
from typing import Any

from fleettools.policy.signals import payloads
from fleettools.policy.signals.payloads import CauseOf, Nothing, Said

_MINUTES = {300: "five_hour", 10_080: "seven_day", 43_200: "thirty_day"}


def read(row: Any, session: str | None, cause_of: CauseOf) -> list[Said]:
    """What one line of the log says, [] for most; `session` is the id of the log."""
    if not isinstance(row, Mapping) or row.get("type") != "event_msg":
        return []
    about = row.get("payload")
    if not isinstance(about, Mapping):
        return []
    turn = about.get("turn_id")
    prompt = turn[:200] if isinstance(turn, str) else None
    match about.get("type"):
        case "task_started":
            return [Said("begin", session, prompt)]
        case "task_complete":
            error = about.get("error")
            return [_failure(session, prompt, error, cause_of)] if error else [Said("end", session, prompt)]
        case "error" | "stream_error":
            return []  # it may try again; the end of the task says whether it failed
        case "token_count":
            found = limits(about.get("rate_limits"), session)
            return [found] if isinstance(found, Said) else []
    return []


def _failure(session: str | None, prompt: str | None, error: Any, cause_of: CauseOf) -> Said:
    """A failure as a log has it, a text or an object with a word, a status or both."""
    word, text, code = "", "", None
    if isinstance(error, Mapping):
        text = str(error.get("message") or "")
        info = error.get("codex_error_info") or error.get("error_info") or error.get("code")
        if isinstance(info, Mapping) and info:
            word, inner = next(iter(info.items()))
            status = inner.get("http_status_code") if isinstance(inner, Mapping) else None
            code = status if isinstance(status, int) else None
        else:
            word = str(info or "")
    else:
        text = str(error)
    return payloads.failure(session, prompt, word, code, text, cause_of)


def limits(about: Any, session: str | None) -> Said | Nothing:
    """The used shares of the primary and secondary window; their lengths name them."""
    found = []
    for name in ("primary", "secondary"):
        window = about.get(name) if isinstance(about, Mapping) else None
        if isinstance(window, Mapping):
            minutes = window.get("window_minutes")
            title = _MINUTES.get(minutes, f"{minutes}_minutes") if isinstance(minutes, int) else name
            if one := payloads.usage(title, window, "used_percent"):
                found.append(one)
    return Said("usage", session, usage=tuple(found)) if found else Nothing("no limits are known yet")
