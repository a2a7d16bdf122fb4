"""How a model backend fails: what it answers in each family's own words, and what a judge has to make of it.

The truth of a failure (`outcome`, `causes`) follows from what the backend did, never from what an agent drew of it.
"""

from typing import Any, NamedTuple

FAMILIES = ("anthropic", "openai", "gemini")


class Said(NamedTuple):
    """A refusal in the words of one family: the status, the error's own name, its message, and headers."""

    status: int
    name: str
    message: str
    headers: tuple[tuple[str, str], ...] = ()
    more: tuple[tuple[str, Any], ...] = ()  # further fields of the error object


class Failure(NamedTuple):
    """One way to fail. `how` is what is done to the connection; `said` holds the words, where there are any."""

    outcome: str
    causes: tuple[str, ...]
    how: str = "status"  # status html refused before middle hang stream refusal once
    said: dict[str, Said] = {}

    def words(self, family: str) -> Said:
        """What is said in a family's protocol."""
        return self.said[family]


def _said(anthropic: Said, openai: Said, gemini: Said) -> dict[str, Said]:
    return {"anthropic": anthropic, "openai": openai, "gemini": gemini}


_SERVER = _said(
    Said(500, "api_error", "Internal server error"),
    Said(500, "server_error", "The server had an error while processing your request."),
    Said(500, "INTERNAL", "An internal error has occurred."),
)
_OVERLOADED = _said(
    Said(529, "overloaded_error", "Overloaded"),
    Said(529, "overloaded_error", "Overloaded"),
    Said(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
)
_RETRY_SOON = (("retry-after", "2"),)
_PER_MINUTE = "Quota exceeded for quota metric 'Generate Content API requests per minute' and limit 'per minute'."
_A_DAY = "You exceeded your current quota, please check your plan and billing details. Limit: 100 requests per day."
_USED_UP = (
    ("anthropic-ratelimit-unified-status", "rejected"),
    ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
    ("anthropic-ratelimit-unified-reset", "{in_two_hours}"),
)


def _violation(quota: str, delay: str) -> tuple[tuple[str, Any], ...]:
    google = "type.googleapis.com/google.rpc."
    metric = "generativelanguage.googleapis.com/generate_content_requests"
    details = [
        {"@type": f"{google}QuotaFailure", "violations": [{"quotaMetric": metric, "quotaId": quota}]},
        {"@type": f"{google}RetryInfo", "retryDelay": delay},
    ]
    return (("details", details),)


_CAPACITY = "No capacity available for model gemini-2.5-pro on the server"
_NO_CAPACITY = [{
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "MODEL_CAPACITY_EXHAUSTED",
    "domain": "cloudcode-pa.googleapis.com",
}]  # fmt: skip

FAILURES: dict[str, Failure] = {
    "500": Failure("backend_error", ("server",), said=_SERVER),
    "503": Failure("backend_error", ("server", "overload"), said=_said(
        Said(503, "api_error", "Service unavailable"),
        Said(503, "service_unavailable", "Service Unavailable"),
        Said(503, "UNAVAILABLE", "The service is currently unavailable."),
    )),
    "529": Failure("backend_error", ("overload",), said=_OVERLOADED),
    "429-minute": Failure("backend_error", ("rate_limit",), said=_said(
        Said(429, "rate_limit_error", "This request would exceed your rate limit of 50 requests per minute.",
             _RETRY_SOON),
        Said(429, "rate_limit_exceeded", "Rate limit reached for gpt-5 on requests per min (RPM): Limit 3, Used 3."
             " Please try again in 2s.", _RETRY_SOON),
        Said(429, "RESOURCE_EXHAUSTED", _PER_MINUTE, (), _violation("GenerateRequestsPerMinutePerProject", "2s")),
    )),
    "429-plan": Failure("exhausted", ("quota", "credits"), said=_said(
        Said(429, "rate_limit_error", "This request would exceed your account's usage limit.", _USED_UP),
        Said(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
        Said(429, "RESOURCE_EXHAUSTED", _A_DAY, (), _violation("GenerateRequestsPerDayPerProjectPerModel", "7200s")),
    )),
    "429-capacity": Failure("backend_error", ("overload", "rate_limit"), said=_said(
        Said(429, "overloaded_error", "The model is at capacity just now. Please try again later."),
        Said(429, "engine_overloaded_error", "The engine is currently overloaded, please try again later"),
        Said(429, "RESOURCE_EXHAUSTED", _CAPACITY, (), (("details", _NO_CAPACITY),)),
    )),
    "401": Failure("backend_error", ("auth",), said=_said(
        Said(401, "authentication_error", "invalid x-api-key"),
        Said(401, "invalid_api_key", "Incorrect API key provided."),
        Said(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."),
    )),
    "402": Failure("exhausted", ("credits", "quota"), said=_said(
        Said(402, "billing_error", "Payment required: your account has run out of credits."),
        Said(402, "insufficient_credits", "Insufficient credits. Add more to go on."),
        Said(402, "FAILED_PRECONDITION", "Payment required: your account has run out of credits."),
    )),
    "403": Failure("backend_error", ("auth",), said=_said(
        Said(403, "permission_error", "Your API key does not have permission to use the specified resource."),
        Said(403, "insufficient_permissions", "You have insufficient permissions for this operation. Missing scopes:"
             " model.request."),
        Said(403, "PERMISSION_DENIED", "The caller does not have permission."),
    )),
    "too-long": Failure("backend_error", ("context", "request"), said=_said(
        Said(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        Said(400, "context_length_exceeded", "This model's maximum context length is 200000 tokens. However, your"
             " messages resulted in 210000 tokens."),
        Said(400, "INVALID_ARGUMENT", "The input token count (1210000) exceeds the maximum number of tokens allowed"
             " (1048575)."),
    )),
    "safeguards": Failure("backend_error", ("request",), how="refusal", said=_said(
        Said(200, "refusal", ""),
        Said(400, "content_policy_violation", "Your request was flagged as potentially violating our usage policy."),
        Said(200, "PROHIBITED_CONTENT", ""),
    )),
    "credits": Failure("exhausted", ("credits", "quota"), said=_said(
        Said(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to"
             " Plans & Billing to upgrade or purchase credits."),
        Said(429, "billing_hard_limit_reached", "Your account has run out of credits. Please recharge to go on."),
        Said(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted. Please go to AI Studio to manage your"
             " project and billing."),
    )),
    "proxy": Failure("backend_error", ("server", "network"), how="html"),
    "refused": Failure("backend_error", ("network",), how="refused"),
    "cut-before": Failure("backend_error", ("network",), how="before"),
    "cut-middle": Failure("backend_error", ("network",), how="middle"),
    "hang": Failure("working", (), how="hang"),
    "in-stream": Failure("backend_error", ("overload", "server"), how="stream", said=_OVERLOADED),
    "recovers": Failure("completed", (), how="once", said=_SERVER),
}  # fmt: skip

PAGE = """\
<html>
<head><title>502 Bad Gateway</title></head>
<body>
<center><h1>502 Bad Gateway</h1></center>
<hr><center>nginx/1.24.0</center>
</body>
</html>
"""


def body(said: Said, family: str) -> dict[str, Any]:
    """The error document of a refusal, as that family's API writes it."""
    if family == "anthropic":
        error = {"type": said.name, "message": said.message, **dict(said.more)}
        return {"type": "error", "error": error, "request_id": "req_011live"}
    if family == "gemini":
        return {"error": {"code": said.status, "message": said.message, "status": said.name, **dict(said.more)}}
    return {"error": {"message": said.message, "type": said.name, "param": None, "code": said.name, **dict(said.more)}}


def quotation(name: str) -> str:
    """A failure as somebody would write it into a report, a log file or a prompt."""
    failure = FAILURES[name]
    if "anthropic" not in failure.said:
        return "API Error: Connection error. Error: fetch failed (ECONNREFUSED)"
    said = failure.words("anthropic")
    return f'API Error: {said.status} {{"type":"error","error":{{"type":"{said.name}","message":"{said.message}"}}}}'
