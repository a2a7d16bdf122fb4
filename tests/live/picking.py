"""Which strings of a release can end a turn, announce a limit or a retry, or ask a question: by words and shape.

Few and right before complete: a list that nobody reads tells nobody. A string that stands by code that handles such
things needs fewer words than one that stands anywhere.
"""

import re
from collections.abc import Iterable

LIMIT, FAILURE, RETRY, QUESTION = "limit", "failure", "retry", "question"

_MEANS = r"(?:usage|credits?|quota|budget|balance|allocation|tokens?|requests?|funds)"
_CAP = r"(?:limits?|quota|cap|budget)"
_IS = r"(?:(?:is|are|was|were|has been|have been) )?"
_WHAT = r"(?:request|stream|connection|response|turn|generation|compaction)"
_WHO = r"(?:service|model|server|API|provider|gateway)"
_KEY = r"(?:API key|token|login|session|credentials?|authentication|account)"
_WORDS = {  # the first that is found decides
    QUESTION: (
        r"^(?:do you (?:want|trust|wish)|would you like|allow |approve |trust |run this)[^.]*\?$",
        r"^(?:permission required|waiting for (?:your )?(?:permission|approval))",
        r"needs your (?:permission|approval)",
    ),
    RETRY: (
        r"\b(?:retrying|reconnecting|trying again) (?:in|after|attempt|request|once|shortly|automatically|with|\{)",
        r"^(?:· )?(?:retrying|reconnecting)\b",
        r"\b(?:will retry|retry(?:ing)? \{\}/|attempt \{\}(?:/| of )\{\}|waiting for network)",
    ),
    LIMIT: (
        rf"\byou(?:['’]ve| have) (?:hit|reached|used|exceeded|exhausted|run out)\b.*\b(?:{_CAP}|{_MEANS})\b",
        r"\byou(?:['’]ve| have) (?:hit|reached|exceeded) (?:your|the) (?:\w+ )?\{\}",
        rf"\byou(?:['’]re| are) (?:now )?(?:out of|over|using)\b.*\b(?:{_CAP}|{_MEANS})\b",
        rf"\b{_CAP}(?: for [\w {{}}]+)? {_IS}(?:hit|reached|exceeded|exhausted|set to)",
        rf"\b{_MEANS} {_IS}(?:exceeded|exhausted|depleted|used up|too low|ran out)",
        rf"\b(?:out of|insufficient|not enough|exceeded (?:your|the)(?: \w+)?|requires?|needs?) (?:\w+ )?{_MEANS}\b",
        r"\b(?:too many requests|rate[- ]limit(?:ed)?\b|payment (?:is )?required|usage is paused|limit resets)",
        rf"\byour .*\b(?:{_CAP}|credits?|balance)\b.*\b(?:reached|exceeded|too low|disabled|reset)",
    ),
    FAILURE: (
        r"\bAPI error\b|\boverloaded\b|\bhigh (?:demand|load)\b|\bat capacity\b|\bcomputer was asleep\b",
        rf"\b{_WHO}(?: is)?(?: temporarily| currently)? (?:error|un(?:available|reachable))|\bunavailable for your",
        rf"\b{_WHAT}(?: was| has been)? (?:timed out|failed|aborted|refused|rejected|blocked|disconnected|ended|closed|"
        r"reset|interrupted|stalled|terminated|lost|dropped)",
        r"\b(?:unable|failed|could not|couldn['’]t|cannot|can['’]t) (?:to )?(?:connect to|reach|authenticate|refresh)",
        r"\b(?:invalid|expired|revoked|missing|incorrect|no) (?:\w+ )?(?:API key|auth\w*|login|credentials?)\b",
        rf"\b{_KEY}\b.{{0,30}}(?:expired|invalid|revoked|rejected|disabled|suspended|not accepted|failed|on hold)",
        r"\bnot logged in\b|(?:run|use|type) /login\b|\b(?:log|sign) ?in again\b|\bunauthorized\b",
        r"\b(?:prompt|input|context|conversation|request|image|pdf|response) (?:is |was )?too (?:long|large)\b",
        r"\bcontext (?:window|length|limit)\b|\bout of room\b|\boutput token (?:limit|maximum)|maximum output",
        r"\bsafeguards?\b|\bcontent[ _](?:filter|policy)|\busage policy\b|\bflagged\b|\brefused (?:to|the request)",
        r"\b(?:empty|no|malformed|incomplete|invalid) (?:response|stream)\b|\bretr(?:y|ies) (?:limit|exhausted|failed)",
        r"\bafter (?:\{\} )?(?:\w+ )?(?:attempts|retries)\b|\bnetwork error\b|\bconnection error\b",
        r"\bissue with the selected model\b|\bmodel .* (?:not (?:found|exist|available|supported)|may not exist)",
    ),
}
_ANYWHERE = re.compile(  # says so plainly that it need not stand by anything
    r"^you(?:['’]ve| have) (?:hit|reached|exceeded|run out of) (?:your|the)\b|^you['’]re out of\b|\bat capacity\b|"
    r"^API error:|^(?:\w+ )?unable to connect to API|\blimit reached\b|^request (?:timed out|rejected|too large)|"
    r"^(?:credit balance|prompt) (?:is )?too \w+|^do you want to (?:proceed|allow|make|create|run|use)\b.*\?$|"
    r"^(?:claude )?needs your permission|^would you like to|^connection (?:lost|closed) (?:while|mid)|^not logged in|"
    r"experiencing high|\bsafeguards flagged\b|\bserver is (?:over|temp)|\busage credits required\b",
    re.IGNORECASE,
)
_KINDS = [(kind, re.compile("|".join(words), re.IGNORECASE)) for kind, words in _WORDS.items()]
_ADVICE = re.compile(  # speaks of what something does, is set to or was told, not of what has happened
    r"^(?:show|list|set|get|whether|the (?:maximum|number|time|name)|number of|if |when |enable|disable|configure|"
    r"option|specif|use (?!/login)|usage:|create|add|return|check|note|example|e\.g|default|maximum|minimum|max |min |"
    r"how |why |what |skip|ignor|unexpected (?!status)|expected|assert|warning: |debug|"
    r"error (?:parsing|reading|writing|loading)|failed to (?!connect|authenticate|refresh|reach)|to |must |should |"
    r"this (?:tool|command|option|flag|setting)|override|timeout|tip:|learn|see |docs|you (?:can|must|should)|"
    r"a |an (?!image)|for |with |in |retry \{\}|hook|mcp|\{\} is (?:un|still)|workflow|bridge|oauth (?:error|flow))",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(  # speaks of another thing than the turn and its model
    r"\b(?:OAuth (?!session|token (?:has|revoked|expired))|MCP|ACP|SOCKS\d?|SSE|SSH|TLS|RPC|CONNECT|HTTP/\d|websocket|"
    r"prox(?:y|ies)|keepalive|extension|IDE|plugin|feedback|telemetry|clipboard|chrome|device|metadata|exchange|scopes?|"
    r"skills?|cron|voice|artifacts?|marketplace|socket|git|github|sandbox|board|handshake|analytics|callback|cache|"
    r"upload|download\w*|storage|hooks?|bridge|remote control|cloud (?:session|reply|stream|title|conversation)|"
    r"discover\w*|endpoint|certificate|sub-?agents?|classifier|reviewed?|memory limit|file size|trace|shortcuts|"
    r"tunnel|relay|rendezvous|setting|percentage|window id|symbolic|depth|exporter|parameter|array|image generation|"
    r"policy (?:enforcer|generator|generation)|body|header|buffer|database|worker|browser|tab|webview|server: |"
    r"google cloud|gcloud|aws|gcp|azure|noise|is disabled|authorization (?:url|code)|authority|scans?|bytes?|cpu|"
    r"reports?|stdin|environment variable|credentials (?:because|due)|or null|omitted when|space limit|shadow|"
    r"local time|resets available|limits are|closed (?:normally|by client)|crypto|pull stream|watch limit|agent list|"
    r"reminders|"
    r"overridden|thread model|account credential|selected credentials|managed login|viewing|parsing|fields?)\b",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[<>=;|\\]|\(\)|::|=>|__|\w\.\w+\(|\b\w+_\w+\b|\b[a-z]+[A-Z]\w+|^\W*$|\*\*|^#|^\[|https?://\S+\.(?:md|json)"
)
_START = re.compile(  # a Rust error begins with a small letter, and so do many other strings
    r"(?:stream disconnected|exceeded retry limit|unexpected status|turn aborted|timeout waiting|idle timeout|"
    r"request timed out|connection failed|\{\}[: ]|[A-Z]|· |[(✗✕⚠■] ?[A-Z])"
)


def kind_of(text: str, near: bool = True) -> str | None:
    """What a string of a release announces; None when it announces nothing of the kind.

    `near` is whether it stands by code that handles such things.
    """
    text = " ".join(text.split())
    if not 12 <= len(text) <= 240 or len(text.split()) < 3 or not _START.match(text):
        return None
    if _CODE.search(text) or _ADVICE.match(text):
        return None
    if not _ANYWHERE.search(text) and (not near or _ELSEWHERE.search(text)):
        return None
    return next((kind for kind, words in _KINDS if words.search(text)), None)


def picked(strings: Iterable[tuple[str, bool]]) -> dict[str, str]:
    """The strings that announce something, blanks made one, with their kinds; the flags are those of `kind_of`.

    The beginning of another that ends with a value is left out: it is the same string in pieces.
    """
    kinds = {" ".join(text.split()): kind for text, near in strings if (kind := kind_of(text, near))}
    pieces = {text.removesuffix("{}").rstrip(end) for text in kinds if text.endswith("{}") for end in (" ", ": ")}
    return {text: kind for text, kind in sorted(kinds.items()) if text not in pieces}
