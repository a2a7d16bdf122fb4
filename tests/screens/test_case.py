"""What is known of one look: when a wait is so long that something is used up."""

import pytest

from fleettools.screens.case import is_long_wait


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("retrying in 14 minutes 59 seconds", False),
        ("retrying in 15 minutes", True),
        ("retrying in 2 s, then resets in 3 hours", True),
        ("it will be back", False),
    ],
)
def test_a_wait_of_fifteen_minutes_is_long(text: str, long: bool) -> None:
    assert is_long_wait(text) is long
