"""When a limit resets: every form that agents write, read at noon UTC on a Monday in New York."""

import pytest

from fleettools import records
from fleettools.screens import resets

AT = records.to_ms("2026-11-30T12:00:00.000Z")

READ = [
    ("You've hit your session limit · resets in 3d 4h", "2026-12-03T16:00"),
    ("You've hit your limit · resets 12am", "2026-12-01T05:00"),
    ("You've hit your limit · resets 12pm", "2026-11-30T17:00"),
    ("You've hit your limit · resets 12:30pm (Asia/Kolkata)", "2026-12-01T07:00"),
    ("You've hit your limit · resets 5am (Asia/Calcutta)", "2026-11-30T23:30"),
    ("You've hit your limit · resets 3pm (America/Argentina/Buenos_Aires)", "2026-11-30T18:00"),
    ("You've hit your limit · resets 3pm (America/Port-au-Prince)", "2026-11-30T20:00"),
    ("You've hit your limit · resets 3pm (Etc/GMT+5)", "2026-11-30T20:00"),
    ("You've hit your limit · resets 3pm (UTC)", "2026-11-30T15:00"),
    ("You've hit your limit ∙ resets 3pm (UTC)", "2026-11-30T15:00"),
    ("You've hit your weekly limit · resets Thu 9:00am", "2026-12-03T14:00"),
    ("You've hit your weekly limit · resets Mon 12:00am", "2026-12-07T05:00"),
    ("You've hit your weekly limit · resets Mon 9:00am", "2026-11-30T14:00"),
    ("You've hit your weekly limit · resets Dec 6, 1pm", "2026-12-06T18:00"),
    ("You've hit your weekly limit · resets Dec 6 at 1pm (Europe/Berlin)", "2026-12-06T12:00"),
    ("You've hit your weekly limit · resets Dec 6, 2026 at 1pm", "2026-12-06T18:00"),
    ("You've hit your weekly limit · resets Dec 6", "2026-12-06T05:00"),
    ("Weekly limit reached ∙ resets Dec 25, 1pm", None),
    ("Your limit will reset at 9am (America/Chicago).", "2026-11-30T15:00"),
    ("Your limit will reset at 9 am (America/Chicago).", "2026-11-30T15:00"),
    ("Claude AI usage limit reached|1764590400", None),
    ("Claude AI usage limit reached|1780142400", None),
    ("Claude AI usage limit reached|1796050800", "2026-11-30T15:00"),
    ("Claude AI usage limit reached|1796050800000", "2026-11-30T15:00"),
    ("Usage limit reached · continuing automatically at 3:45pm", "2026-11-30T20:45"),
    ("or try again at Dec 1st, 2026 2:53 AM.", "2026-12-01T07:53"),
    ("or try again at Dec 2nd, 2026 12:30 PM.", "2026-12-02T17:30"),
    ("or try again at Dec 3rd, 2026 12:05 AM.", "2026-12-03T05:05"),
    ("Try again at 9:01 PM.", "2026-12-01T02:01"),
    ("try again in 5 days 22 hours 11 minutes.", "2026-12-06T10:11"),
    ("try again in 1 day 1 hour.", "2026-12-01T13:00"),
    ("try again in 3 hours 4 minutes", "2026-11-30T15:04"),
    ("try again in 57 minutes.", "2026-11-30T12:57"),
    ("try again in less than a minute.", None),
    ("try again in 60 seconds.", "2026-11-30T12:01:00"),
    ("try again in 59 seconds.", None),
    ("Your quota will reset after 21h39m57s.", "2026-12-01T09:39:57"),
    ("Your quota will reset after 59m2s.", "2026-11-30T12:59:02"),
    ("Your quota will reset after 2s.", None),
    ("Access resets at 2:55 PM PST.", "2026-11-30T22:55"),
    ("Access resets at 9:10 AM GMT+1.", "2026-12-01T08:10"),
    ("Access resets at 9:10 AM GMT+5:30.", "2026-12-01T03:40"),
    ("Access resets at 9:10 PM GMT-3.", "2026-12-01T00:10"),
    ("Access resets at 9:10 AM UTC.", "2026-12-01T09:10"),
    ("Resets in 141h28m14s.", "2026-12-06T09:28:14"),
    ("resets at 2026-12-01T00:00:00Z", "2026-12-01T00:00"),
    ("resets at 2026-13-01T00:00:00Z", None),
    ("You will regain access on 2026-12-01 at 00:00 UTC.", "2026-12-01T00:00"),
    ("quotaResetTimeStamp: 2026-11-30T18:20:11Z resets", "2026-11-30T18:20:11"),
    ("Please wait for your limit to reset on December 4, 2026 at 2:00 AM or switch", "2026-12-04T07:00"),
    ("Please wait for your limit to reset in 3 hours or switch", "2026-11-30T15:00"),
    ("Please try again in 58 hours. Please review", "2026-12-02T22:00"),
    ("5-hour usage limit reached. Resets in 2 hours 11 minutes.", "2026-11-30T14:11"),
    ("Free usage exceeded [retrying in 9h 12m attempt #1]", "2026-11-30T21:12"),
    ("Weekly usage limit reached. Resets in 3 days.", "2026-12-03T12:00"),
    ("Monthly usage limit reached. Resets in 12 days.", "2026-12-12T12:00"),
    ("Monthly usage limit reached. It will reset in 10 days 19 hours.", "2026-12-11T07:00"),
    ("Monthly usage limit reached. It will reset in 33 days.", None),
    ("Usage limit reached. resets on Dec 29, 2026 at 9am", "2026-12-29T14:00"),
    ("Usage limit reached. resets on Jan 12, 2027 at 9am", None),
    ("Monthly limit reached, resets Dec 29", "2026-12-29T05:00"),
    ('{"error":{"code":"model_cooldown","reset_seconds":495669,"reset_time":"137h41m9s"}}', "2026-12-06T05:41:09"),
    ('{"type":"usage_limit_reached","plan_type":"plus","resets_in_seconds":9000}', "2026-11-30T14:30"),
    ('{"type":"usage_limit_reached","resets_at":1796050800,"resets_in_seconds":10800}', "2026-11-30T15:00"),
    ('{\\"resets_in_seconds\\": \\"9000\\"}', "2026-11-30T14:30"),
    ("429 Too Many Requests, retry-after: 7200", "2026-11-30T14:00"),
    ("429 Too Many Requests (Retry-After: 30)", None),
    ('{"retry_after_ms": 7200000}', "2026-11-30T14:00"),
    ('{"quotaResetDelay": "108h48m29s"}', "2026-12-05T00:48:29"),
    ('{"anthropic-ratelimit-requests-reset": "2026-11-30T13:00:00Z"}', "2026-11-30T13:00"),
    # Its window does not reach so far: it has just passed.
    ("You've hit your session limit · resets 7am", None),
    ("5-hour limit reached ∙ resets 6:59am", None),
    ("Daily limit reached, resets 6:30am", "2026-12-01T11:30"),
    ("You've hit your weekly limit · resets Nov 30, 6am", None),
    ("You've hit your weekly limit · resets Nov 24, 6am", None),
    # The window is the one named nearest before the time.
    ("weekly limit is fine; session limit reached, resets 6am", None),
    ("session limit is fine; weekly limit reached, resets 6am", "2026-12-01T11:00"),
    ("limits will reset when your monthly cycle ends on 12/5/2026", None),
    ("resets tomorrow at 9am", "2026-12-01T14:00"),
    ("available again at 4:10 PM", "2026-11-30T21:10"),
    ("Try again at 14:05", "2026-11-30T19:05"),
    # What no clock shows is no time of day.
    ("resets 14:60", None),
    ("resets 24:00", None),
    ("resets 13pm", None),
    ("resets 14:05", "2026-11-30T19:05"),
    ("resets 16:21 on 3 Dec", "2026-12-03T21:21"),
    ("limit: 40000, current: 50000, please try again after 1 seconds", None),
    ("Please try again in 6.034s.", None),
    ("Please try again in 7m12s.", "2026-11-30T12:07:12"),
    ("retry after 3600 seconds", "2026-11-30T13:00"),
    ('"retryDelay":"34s"', None),
    ('"retryDelay":"34074.824224295s" please retry in 9h27m54.824224295s.', "2026-11-30T21:27:54"),
    ("Please retry in 34.07s.", None),
    ("Your usage resets every 5 hours", None),
    ("The quota resets daily at midnight Pacific Time", None),
]


@pytest.mark.parametrize(("text", "moment"), READ, ids=[text for text, _ in READ])
def test_a_reset_is_the_next_such_moment_or_unknown(text: str, moment: str | None) -> None:
    found = resets.read(text, AT, "America/New_York")
    assert (records.to_ts(found)[: len(moment)] if found and moment else found) == moment


BERLIN = "Europe/Berlin"
PASSED = [
    # A session lasts five hours: what comes later than that, and ten minutes, is over.
    ("session limit · resets 11am", "2026-07-10T09:00:05Z", None, True),
    ("session limit · resets 11am", "2026-07-10T08:59:55Z", "2026-07-10T09:00:00Z", False),
    ("session limit · resets 11am", "2026-07-10T03:50:00Z", "2026-07-10T09:00:00Z", False),
    ("session limit · resets 11am", "2026-07-10T03:49:59.999Z", None, True),
    ("daily limit, resets 11am", "2026-07-10T09:00:05Z", "2026-07-11T09:00:00Z", False),
    ("usage limit · resets 2am", "2026-07-10T21:00:00Z", "2026-07-11T00:00:00Z", False),
    ("weekly limit · resets Jul 10, 11am", "2026-07-10T09:00:05Z", None, True),
    ("weekly limit · resets Jul 10, 11am", "2026-07-06T09:00:05Z", "2026-07-10T09:00:00Z", False),
    ("weekly limit · resets Jul 10, 11am", "2026-07-10T09:00:00Z", None, True),
    # A limit that names no window may last eight days.
    ("limit · resets Jul 18, 11am", "2026-07-10T08:50:00Z", "2026-07-18T09:00:00Z", False),
    ("limit · resets Jul 18, 11am", "2026-07-10T08:49:59Z", None, False),
    # A date that is neither near nor just over says nothing.
    ("weekly limit · resets Jul 10, 11am", "2026-06-20T09:00:00Z", None, False),
    ("weekly limit · resets Jul 10, 11am", "2026-07-20T09:00:00Z", None, False),
    ("session limit · resets in 9 hours", "2026-07-10T09:00:00Z", "2026-07-10T18:00:00Z", False),
    ("session limit · resets tomorrow at 11am", "2026-07-10T09:00:05Z", "2026-07-11T09:00:00Z", False),
    # The night on which the clock shows half past two twice, and the one on which it never does.
    ("session limit · resets 2:30am", "2026-10-25T00:10:00Z", "2026-10-25T00:30:00Z", False),
    ("session limit · resets 2:30am", "2026-10-25T00:40:00Z", "2026-10-25T01:30:00Z", False),
    ("session limit · resets 2:30am", "2026-10-25T01:40:00Z", None, True),
    ("session limit · resets 3:30am", "2026-03-29T00:40:00Z", "2026-03-29T01:30:00Z", False),
    # The turn of a year.
    ("weekly limit · resets Jan 2, 11am", "2026-12-30T09:00:00Z", "2027-01-02T10:00:00Z", False),
    ("weekly limit · resets Dec 30, 11am", "2027-01-02T09:00:00Z", None, True),
    ("limit · resets Feb 30", "2026-02-27T09:00:00Z", None, False),
]


@pytest.mark.parametrize(("text", "at", "moment", "passed"), PASSED)
def test_a_time_beyond_the_window_of_its_limit_has_just_passed(
    text: str, at: str, moment: str | None, passed: bool
) -> None:
    at_ms = records.to_ms(at)
    assert resets.read(text, at_ms, BERLIN) == (moment and records.to_ms(moment))
    assert resets.passed(text, at_ms, BERLIN) is passed


def test_a_time_of_day_without_any_zone_is_unknown() -> None:
    assert resets.read("resets 3pm", AT, None) is None


@pytest.mark.parametrize(
    ("text", "brief", "seconds"),
    [
        ("Your quota will reset after 30s.", True, 30),
        ("Your quota will reset after 30s.", False, None),
        ("Please retry in 30s.", True, None),
    ],
)
def test_a_reset_in_seconds_counts_only_where_it_is_asked_for_and_a_delay_never(
    text: str, brief: bool, seconds: int | None
) -> None:
    assert resets.read(text, AT, None, brief) == (None if seconds is None else AT + 1000 * seconds)


FOUR = records.to_ms("2026-01-31T16:00:00.000Z")


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
    assert resets.rolled(text, FOUR, None) is rolled
    if rolled:
        moment = resets.read(text, FOUR, None)
        assert moment is not None and FOUR < moment < FOUR + 86_400_000
