"""Which strings announce the end of a turn, a limit, a retry or a question, and which of their likes do not."""

import pytest
from live import picking

KINDS = {
    "You've hit your {}{}{}": "limit",
    "You’ve hit your usage limit. To get more access now, send a request to your admin{}": "limit",
    "Credit balance is too low": "limit",
    "Your org is out of usage · contact your admin": "limit",
    "{}: Connection lost mid-response. The response above may be incomplete.": "failure",
    "API Error: Request was aborted.": "failure",
    "Selected model is at capacity. Please try a different model.": "failure",
    "stream disconnected before completion: {}": "failure",
    "exceeded retry limit, last status: {}{}": "failure",
    "Prompt is too long": "failure",
    "Reconnecting... {}/{} or so": "retry",
    "· retrying, waiting up to {} · attempt {}/{}": "retry",
    "Attempt {} failed with status {}. Retrying with backoff...": "retry",
    "Would you like to run the following command?": "question",
    "Do you want to proceed?": "question",
}
NOTHING = [
    "Show the usage limit in the footer",
    "The maximum number of retries after a failed request",
    "rate_limit_exceeded",
    "if (status === 429) return",
    "OAuth token exchange failed: {}",
    "Failed to parse the settings file",
    "MCP server connection failed",
    "overloaded",
    "**Rate limits** are reached when",
    "See https://example.com/limits.md when the rate limit is reached",
    "Percentage of context window used (omitted when unknown)",
    "x" * 300,
]


@pytest.mark.parametrize(("text", "kind"), KINDS.items())
def test_what_a_string_announces(text: str, kind: str) -> None:
    assert picking.kind_of(text) == kind


@pytest.mark.parametrize("text", NOTHING)
def test_a_string_that_announces_nothing(text: str) -> None:
    assert picking.kind_of(text) is None


def test_far_from_what_handles_failures_a_string_has_to_say_so_plainly() -> None:
    assert picking.kind_of("No response from the API after {}", near=False) is None
    assert picking.kind_of("You're out of usage credits{}{}", near=False) == "limit"


def test_blanks_are_made_one_and_a_string_in_pieces_counts_once() -> None:
    found = picking.picked(
        [("Request  failed\n  with it:", True), ("Request failed with it: {}", True), ("Prompt is too long", False)]
    )
    assert found == {"Prompt is too long": "failure", "Request failed with it: {}": "failure"}
