"""The cause of a failure: from the status code, then the body, then words."""

import pytest

from fleettools.adapters import agentfiles
from fleettools.screens.causes import decide, has_body, meant, status_of

CODES = {
    "API Error: 529 Overloaded": 529,
    "429 Rate limit exceeded": 429,
    "[API Error: 400 This model's context": 400,
    'Error: 401: {"message":"x"}': 401,
    "unexpected status 503 Service Unavailable": 503,
    "Execution failed: 499 499 status code (no body)": 499,
    "Error code: 429 - {'error': 1}": 429,
    "refused by the provider (HTTP 401).": 401,
    "[provider.overloaded] 529 Overloaded": 529,
    "HTTP/1.1 500 Internal": 500,
    "took 404 ms": None,
    "line 503 of the log": None,
    "port: 443": None,
    "in 500% of all": None,
    "tokens: 262144 (requested: 269030)": None,
    "status: 5031": None,
}


@pytest.mark.parametrize(("text", "code"), CODES.items(), ids=CODES.keys())
def test_the_status_code_in_a_failure(text: str, code: int | None) -> None:
    assert status_of(text) == code


@pytest.mark.parametrize(
    ("text", "body"),
    [('{"error":{"message":"x"}}', True), ("{'type': 'error'}", True), ("Request ID: req_011C", True),
     ("request-id: 9f8e7d6c", True), ("{a: 1}", False), ("an error of type 3", False)],
)  # fmt: skip
def test_what_a_server_answered(text: str, body: bool) -> None:
    assert has_body(text) is body


# Rule: a used-up quota in words counts first; then a code that leaves no doubt, then words, then any code.
MEANT = {
    "401 the gateway speaks": ("backend_error", "auth"),
    "402 the gateway speaks": ("exhausted", "credits"),
    "403 the gateway speaks": ("backend_error", "auth"),
    "404 the gateway speaks": ("backend_error", "request"),
    "413 the gateway speaks": ("backend_error", "context"),
    "418 the gateway speaks": ("backend_error", "request"),
    "429 the gateway speaks": ("backend_error", "rate_limit"),
    "429 insufficient_quota": ("exhausted", "quota"),
    "429 the engine is overloaded": ("backend_error", "overload"),
    "400 your credit balance is too low": ("exhausted", "credits"),
    "400 prompt is too long": ("backend_error", "context"),
    "500 the gateway speaks": ("backend_error", "server"),
    "503 the server is overloaded": ("backend_error", "overload"),
    "504 request timed out": ("backend_error", "server"),
    "529 the gateway speaks": ("backend_error", "overload"),
    "the gateway speaks": ("backend_error", "unknown"),
    "die Verbindung ist weg": ("backend_error", "network"),
    # A code of the 4xx says more than words for a fault of the server's; 429 with a wait is no turn that is too long.
    "403 api_error: not for this account": ("backend_error", "auth"),
    "400 api_error: the gateway does not take that": ("backend_error", "request"),
    "429 too many tokens, please wait before trying again": ("backend_error", "rate_limit"),
    "429 too many tokens in this turn": ("backend_error", "context"),
    "403 flagged by the moderation. No credits were charged.": ("backend_error", "request"),
}


@pytest.mark.parametrize(("text", "found"), MEANT.items(), ids=MEANT.keys())
def test_what_a_failure_means(text: str, found: tuple[str, str]) -> None:
    look = agentfiles.load("codex")
    assert look is not None
    assert decide(look, text, (True, True))[:2] == found


def test_every_code_has_a_cause() -> None:
    assert {meant(code) for code in (400, 422, 451)} == {"request"} and {meant(code) for code in (502, 520)} == {
        "server"
    }
