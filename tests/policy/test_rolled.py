"""A time of day that had passed when nobody can say when it was drawn (design section 4)."""

from datetime import UTC, datetime

import pytest

from fleettools.screens import resets

AT = int(datetime(2026, 1, 31, 16, 0, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "rolled"),
    [
        # Past on the day of the look: tomorrow's, or already over.
        ("resets 3pm (UTC)", True),
        ("resets 2am (UTC)", True),
        # Half past five in Tokyo is one o'clock there already.
        ("resets 12:30am (Asia/Tokyo)", True),
        ("resets 3:30am (Asia/Tokyo)", False),
        # Still ahead on the day of the look.
        ("resets 5pm (UTC)", False),
        # A day says which one is meant.
        ("resets Feb 1 at 3pm (UTC)", False),
        ("resets Sun 3pm (UTC)", False),
        ("resets 2026-02-01 15:00 UTC", False),
        # A span has no time of day.
        ("try again in 3 hours 4 minutes", False),
        ("no reset at all", False),
    ],
)
def test_a_time_of_day_that_has_passed_is_known_as_such(text: str, rolled: bool) -> None:
    assert resets.rolled(text, AT, None) is rolled
    if rolled:
        moment = resets.read(text, AT, None)
        assert moment is not None and AT < moment < AT + 86_400_000
