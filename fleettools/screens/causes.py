"""What a failure means: its cause from the status code, then the body, then words, in any language."""

import re
from typing import NamedTuple

from fleettools.screens.look import Look
from fleettools.screens.phrases import Rule, said

REMEMBERED = 500
_CODE = r"(4(?:0\d|1[0-8]|2[1-689]|31|51|99)|5(?:0\d|1[01]|2\d|30|98|99))(?![\w%/-]|[.,]\d)"
_ANY_CODE = re.compile(r"[45][0-9][0-9]")
_HEAD_CODE = re.compile(rf"^\W{{0,4}}{_CODE}")
_NAMED_CODE = re.compile(
    rf"(?i)(?:\b(?:error|status|code|http(?:/[\d.]+)?|failed|exception)\b[ :=(#\[-]{{0,4}}|[:(\[\]] ?){_CODE}"
)
BODY = re.compile(r"""\{\s*\\?["']?(?:error|type|message|code|status|detail|errors|reason)\\?["']?\s*:""")
REQUEST_ID = re.compile(r"(?i)\b(?:request[ -]?id|x-request-id|trace[ -]?id)\W{1,4}[\w:-]{6,}|\breq_[\w-]{6,}")

_WAITS = re.compile(r"(?i)\b(?:wait|try again|retry|per min)")

# What a status code means by itself: what words say below counts first for those of `WEAK`.
CODES = {401: "auth", 402: "credits", 403: "auth", 407: "request", 408: "network", 413: "context"}
CODES |= {422: "request", 429: "rate_limit", 499: "network", 529: "overload"}
WEAK = frozenset({400, 403, 404, 429})


class Finding(NamedTuple):
    """Evidence of a failure: its kind and cause, the rule that saw it, the deciding line, all its words."""

    kind: str
    cause: str
    pattern: str
    line: str
    text: str


def status_of(text: str) -> int | None:
    """The status code of HTTP that a failure names, None without one."""
    if not _ANY_CODE.search(text):
        return None  # most texts: asked first, since the patterns below cost more
    match = _HEAD_CODE.search(text) or _NAMED_CODE.search(text)
    return int(match[1]) if match else None


def has_body(text: str) -> bool:
    """Whether a failure carries what a server answered: a JSON body or the id of a request."""
    return ("{" in text and BODY.search(text) is not None) or has_request_id(text)


def has_request_id(text: str) -> bool:
    """Whether a text names the id of a request."""
    return ("req" in text or "Req" in text or "race" in text) and REQUEST_ID.search(text) is not None


def meant(code: int) -> str:
    """The cause that a status code names by itself."""
    return CODES.get(code) or ("server" if code >= 500 else "request")


def rule_of(look: Look, text: str, bundled: tuple[bool, bool]) -> Rule | None:
    """The first wording that a text holds; of `bundled`, those of exhaustion count, and those of errors."""
    key = (text, *bundled)
    if key not in look.found:
        if len(look.found) > REMEMBERED:
            look.found.clear()
        look.found[key] = _rule(look, _judged(look, text), bundled)
    return look.found[key]


def _judged(look: Look, text: str) -> str:
    words = said(text)
    for phrase in look.innocent:
        words = words.replace(phrase, "")
    return words


def _rule(look: Look, words: str, bundled: tuple[bool, bool]) -> Rule | None:
    for first, rule in look.firsts:
        if first not in words or not bundled[rule.kind != "exhausted"] or not rule.within(words):
            continue
        if rule.cause != "quota" or not look.is_momentary(words):
            return rule
    return None


def cause_of(look: Look, text: str) -> tuple[str, str]:
    """The cause that a text names, `unknown` when nothing in it does, and the rule."""
    rule = rule_of(look, text, (True, True))
    if rule and rule.kind == "exhausted":
        return rule.cause, f"{look.name}: {rule.phrase}"
    return _error(look, text, rule) or ("unknown", f"{look.name}: retrying")


def _error(look: Look, text: str, rule: Rule | None) -> tuple[str, str] | None:
    """The cause of an error that is no exhaustion: a code that leaves no doubt, then words, then any code."""
    code = status_of(text)
    if code is not None and code not in WEAK and not (code >= 500 and rule and rule.cause in ("overload", "model")):
        return meant(code), f"{look.name}: {code}"
    if rule is not None and not (code and _outweighs(code, rule, text)):
        return rule.cause, f"{look.name}: {rule.phrase}"
    return (meant(code), f"{look.name}: {code}") if code is not None else None


def _outweighs(code: int, rule: Rule, text: str) -> bool:
    """Whether a code of the 4xx says more than words: it is no fault of the server's, and 429 no length of a turn."""
    if code < 500 and rule.cause == "server":
        return True
    return code == 429 and rule.cause == "context" and _WAITS.search(text) is not None


def decide(look: Look, text: str, bundled: tuple[bool, bool]) -> tuple[str, str, str]:
    """Kind, cause and rule of a failure's words; `bundled`: whether those of exhaustion, and of errors, count."""
    rule = rule_of(look, text, bundled)
    if rule is not None and rule.kind == "exhausted":
        return "exhausted", rule.cause, f"{look.name}: {rule.phrase}"
    found = _error(look, text, rule) if bundled[1] else None
    if found is not None:
        cause, pattern = found
        return ("exhausted" if cause == "credits" else "backend_error"), cause, pattern
    if has_body(text):
        return "backend_error", "unknown", f"{look.name}: what a server answered"
    return "backend_error", "unknown", "place"


def line_of(look: Look, lines: list[str], text: str, bundled: tuple[bool, bool]) -> str:
    """The first physical line that says as much as the whole, else the first line."""
    rule = rule_of(look, text, bundled)
    if rule is None or len(lines) == 1:
        return lines[0]
    for line in lines:
        words = said(line)
        if rule.within(words) or any(other.within(words) for other in look.by_cause[rule.kind, rule.cause]):
            return line
    return lines[0]
