"""Secrets on a screen never leave it."""

import pytest

from fleettools.screens.scrub import scrubbed


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-abcdefghijkl",
        "Bearer abcdefghijklmnop",
        "AIzaSyA0123456789abcdefghij",
        "ghp_0123456789abcdef",
        "api_key=0123456789abcdef",
    ],
)
def test_secrets_are_replaced(secret: str) -> None:
    shown = scrubbed(f"error: {secret} is wrong")
    assert secret.split()[-1].split("=")[-1] not in shown and "[secret]" in shown
