"""When a limit resets, read from the words of a screen: the next such moment, or unknown rather than invented."""

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from typing import NamedTuple

_DAY_MS = 86_400_000
HORIZON_MS = 32 * _DAY_MS  # for what is stated: a span, a date with its year
_GRACE_MS = 600_000  # past the window that a limit names
_UNNAMED_MS = 8 * _DAY_MS
_WINDOWS = (
    (re.compile(r"(?i)\b(?:session|5[- ]?h(?:ours?|rs?)?|five[- ]hour)\b"), 5 * 3_600_000),
    (re.compile(r"(?i)\b(?:daily|24[- ]?h(?:ours?|rs?)?|per day)\b"), _DAY_MS),
    (re.compile(r"(?i)\b(?:weekly|7[- ]?days?|seven[- ]day|per week)\b"), 7 * _DAY_MS),
    (re.compile(r"(?i)\bmonthly\b"), 31 * _DAY_MS),
)
LONG_WAIT = 15 * 60  # seconds; who has to wait longer has used something up, whatever the line calls it
_LEAST = 60  # seconds; a shorter delay is that of a retry

_UNITS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
_SPAN = r"\d+(?:\.\d+)?\s*(?:days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|m|seconds?|secs?|sec|s)\b"
_JOINED = r"\d+(?:\.\d+)?(?:d|h|m|s)(?=\d)"  # the parts of 21h39m57s but the last
_DURATION = rf"((?:(?:{_SPAN}|{_JOINED})(?:\s*,?\s*(?:and\s+)?)?)+)"
_AFTER = re.compile(
    r"(?i)(?:try(?:ing)?\s+again|retry(?:ing)?|resets?|reset\s+is|available(?:\s+again)?|renews?|refreshe?s?|wait|back)"
    rf"\s*:?\s*(?:in|after|for)?\s*(?:about|~)?\s*{_DURATION}"
)
_HINTS = ("reset", "again", "until", "renew", "refresh", "availab", "automatic", "access", "retry", "wait", "reached|")
_NUMBER = re.compile(r"[0-9]")
_SOON = re.compile(rf"(?i)\bresets?\s+(?:in|after)\s+{_DURATION}")
_ONE = re.compile(r"(?i)\b(?:an?|one) (hour|minute|day)\b")
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([dhms])", re.I)
_LONG = re.compile(r"\d{10}")
_EPOCH = re.compile(
    r"(?:limit reached\s*\|\s*|(?i:resets?[_-]?at|reset[_-]?time(?:stamp)?|ratelimit[a-z-]{0,20}-reset)"
    r"\\?[\"']?\s*[:=]\s*\\?[\"']?)(\d{10}|\d{13})\b"
)
# A field of a JSON body or a header: a number of seconds, of milliseconds where its name says so, or a span.
_FIELD = re.compile(
    r"(?i)(?<![a-z])(?:resets?[_-]?in(?:[_-]?(?:seconds|secs|s))?|resets?[_-]?(?:after[_-]?)?(?:seconds|secs)|resets?[_-]?after"
    r"|retry[_-]?(?:after|delay|in)(?:[_-]?(?:seconds|secs|(?P<ms>ms)))?|quota[_-]?reset[_-]?delay|reset[_-]?time"
    r"|ratelimit[a-z-]{0,20}-reset-after)\\?[\"']?\s*[:=]\s*\\?[\"']?(?P<number>\d{1,9}(?:\.\d+)?)(?P<span>[dhms\d.]*)"
)
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ]| at )(\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|UTC|[+-]\d\d:?\d\d)?")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_LEAD = r"(?i)\b(?:resets?|reset\s+time|again|renews?|refreshes|available|until|automatically|back|returns?)\b[:\s]*"
_LEAD += r"(?:on\s+|at\s+|is\s+)*"
_ZONE = re.compile(
    r"\s*\(?\s*([A-Z][A-Za-z_]+/\s?[A-Z][A-Za-z_/+\d-]+|(?:UTC|GMT)\s?[+-]\d{1,2}(?::?\d\d)?|Z|[A-Z]{3,4})\b\s*\)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT)\s?([+-])(\d{1,2}):?(\d\d)?")
_WHEN = re.compile(
    _LEAD
    + r"(tomorrow,?\s+(?:at\s+)?)?"
    + rf"(?:({'|'.join(_DAYS)})[a-z]*\.?,?\s+(?:at\s+)?)?"
    + rf"(?:{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}})\b)?,?\s*(?:at\s+)?)?"
    + r"(?:(\d{1,2})(?::(\d\d))?(?::\d\d)?\s*(?:([ap])\.?m\b\.?)?)?"
)
_ON = re.compile(rf"(?i)\s*\bon\s+(?:(\d{{1,2}})\s+{_MONTH}|{_MONTH}\s+(\d{{1,2}}))")
_ABBREVIATED = {
    **dict.fromkeys(("UTC", "GMT", "Z"), "UTC"),
    **dict.fromkeys(("PST", "PDT", "PT"), "America/Los_Angeles"),
    **dict.fromkeys(("MST", "MDT"), "America/Denver"),
    **dict.fromkeys(("CST", "CDT"), "America/Chicago"),
    **dict.fromkeys(("EST", "EDT", "ET"), "America/New_York"),
    **dict.fromkeys(("CET", "CEST"), "Europe/Berlin"),
    "BST": "Europe/London",
    "JST": "Asia/Tokyo",
    "KST": "Asia/Seoul",
}


def read(text: str, at_ms: int, tz: str | None, brief: bool = False) -> int | None:
    """Milliseconds since the epoch of the reset that the text names; None if it names none, or one that has passed.

    A time of day counts in the zone named beside it, else in `tz` (an IANA name), and is the next such moment, but no
    further from `at_ms` than the limit's window lasts (8 days when the text names none): what would be has passed.
    Spans and dates with their year count as stated, up to 32 days. With `brief`, a reset in seconds counts too; a
    delay before the next try never does.
    """
    if not _hints(text):
        return None
    text = _ONE.sub(r"1 \1", _flat(text))
    for reader in (_epoch, _iso, _moment, _field, _duration):
        moment = reader(text, at_ms, tz)
        if moment is not None:
            return moment if at_ms < moment <= at_ms + HORIZON_MS else None
        if reader is _moment and passed(text, at_ms, tz):
            return None
    soon = _SOON.search(text) if brief else None
    return at_ms + round(_seconds(soon[1]) * 1000) if soon else None


def passed(text: str, at_ms: int, tz: str | None) -> bool:
    """Whether the text names a moment that has just passed: its next one is beyond the window of the limit."""
    if not _hints(text):
        return False
    text = _flat(text)
    if _epoch(text, at_ms, tz) is not None or _iso(text, at_ms, tz) is not None:
        return False
    found = _found(text, at_ms, tz)
    return found is not None and found.passed


def rolled(text: str, at_ms: int, tz: str | None) -> bool:
    """Whether what `read` gives is a time of day alone that had passed on the day of `at_ms`, and so is tomorrow's.

    Unless the text was drawn at `at_ms`, it may mean the moment that is over.
    """
    text = _flat(text)
    if _epoch(text, at_ms, tz) is not None or _iso(text, at_ms, tz) is not None:
        return False
    found = _found(text, at_ms, tz)
    return found is not None and found.rolled and not found.passed


@lru_cache(500)  # an outage says the same many times
def wait_seconds(text: str) -> float:
    """The longest wait that the text names after words like `retrying in`, in seconds; 0 without one."""
    if not _hints(text):
        return 0
    return max((_seconds(match[1]) for match in _AFTER.finditer(" ".join(text.split()))), default=0.0)


@lru_cache(500)  # an outage says the same many times
def _hints(text: str) -> bool:
    text = text.lower().replace(" |", "|")
    for hint in _HINTS:
        at = text.find(hint)
        while at >= 0:
            if _NUMBER.search(text, at, at + 60) or _ONE.search(text):
                return True
            at = text.find(hint, at + 1)
    return False


def _flat(text: str) -> str:
    return " ".join(text.replace("\xa0", " ").replace("\u202f", " ").split())


def _seconds(duration: str) -> float:
    return sum(float(number) * _UNITS[unit.lower()] for number, unit in _PART.findall(duration))


def _epoch(text: str, _at_ms: int, _tz: str | None) -> int | None:
    match = _EPOCH.search(text) if _LONG.search(text) else None  # few texts hold so long a number
    return int(match[1].ljust(13, "0")) if match else None


def _iso(text: str, _at_ms: int, tz: str | None) -> int | None:
    """A full date and time, in its own zone or else in the pane's."""
    match = _ISO.search(text)
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(f"{match[1]}T{match[2]}")
        if match[3]:
            mark = "+00:00" if match[3] in ("Z", "UTC") else match[3]
            return _ms(datetime.fromisoformat(f"{match[1]}T{match[2]}{mark}"))
    except ValueError:
        return None
    zone = _zone(tz)
    return _ms(moment.replace(tzinfo=zone)) if zone else None


def _duration(text: str, at_ms: int, _tz: str | None) -> int | None:
    seconds = wait_seconds(text)
    return at_ms + round(seconds * 1000) if seconds >= _LEAST else None


def _field(text: str, at_ms: int, _tz: str | None) -> int | None:
    """The longest wait that a field of a JSON body or a header states."""
    waits = []
    for match in _FIELD.finditer(text):
        span = match["number"] + match["span"]
        seconds = _seconds(span) if match["span"] else float(match["number"])
        waits.append(seconds / 1000 if match["ms"] else seconds)
    longest = max(waits, default=0.0)
    return at_ms + round(longest * 1000) if longest >= _LEAST else None


def _moment(text: str, at_ms: int, tz: str | None) -> int | None:
    found = _found(text, at_ms, tz)
    return None if found is None or found.passed else found.ms


class _Moment(NamedTuple):
    """A moment that a text names; `rolled`: a time of day that had passed on its day; `passed`: it is over."""

    ms: int
    rolled: bool
    passed: bool


def _window_ms(text: str, end: int) -> int:
    """How long the window lasts that the text names: the last one before `end`, else the first one behind it."""
    found = [(match.start(), length) for word, length in _WINDOWS for match in word.finditer(text)]
    before = [(at, length) for at, length in found if at < end]
    return max(before)[1] if before else min(found)[1] if found else _UNNAMED_MS


@lru_cache(16)  # asked three times of the same text
def _found(text: str, at_ms: int, tz: str | None) -> _Moment | None:
    """The first moment that the text names."""
    for match in _WHEN.finditer(text):
        found = _read_moment(text, match, at_ms, tz)
        if found is not None:
            return found
    return None


def _read_moment(text: str, match: re.Match[str], at_ms: int, tz: str | None) -> _Moment | None:
    """A clock time with or without a day, rolled forward to the next such moment in its zone."""
    tomorrow, weekday, month, day, year, hour, minute, half = match.groups()
    clock = _clock(hour, minute, half)
    if clock is None and (month is None or hour is not None):
        return None
    rest = text[match.end() :]
    if month is None and (on := _ON.match(rest)):
        day, month = on[1] or on[4], on[2] or on[3]
        rest = rest[on.end() :]
    named = _ZONE.match(rest)
    zone = _zone(_ABBREVIATED.get(named[1], named[1].replace(" ", "")) if named else tz)
    if zone is None:
        return None
    today = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone).date()
    if month:
        named_day = (month, int(day or 0), int(year) if year else None)
        return _on_date(named_day, today.year, clock or (0, 0), zone, at_ms, _window_ms(text, match.end()))
    for ahead in (1,) if tomorrow else range(9):
        on_day = today + timedelta(days=ahead)
        if weekday and weekday.lower() != _DAYS[on_day.weekday()]:
            continue
        moment = next((ms for ms in _moments(on_day, clock or (0, 0), zone) if ms > at_ms), None)
        if moment is not None:
            over = moment > at_ms + _window_ms(text, match.end()) + _GRACE_MS and not tomorrow
            return _Moment(moment, ahead > 0 and not weekday, over)
    return None


def _on_date(
    named: tuple[str, int, int | None], now: int, clock: tuple[int, int], zone: tzinfo, at_ms: int, window_ms: int
) -> _Moment | None:
    """The moment on a date: as stated with its year; without one the next, or the last if that lies within a window."""
    month, day, year = named
    near = []
    for candidate in (year,) if year else (now - 1, now, now + 1):
        try:
            near += _moments(date(candidate, _MONTHS.index(month.lower()) + 1, day), clock, zone)
        except ValueError:  # the 30th of February
            continue
    ahead = [ms for ms in near if ms > at_ms]
    if year or not near:
        return _Moment(ahead[0], False, False) if ahead else None
    if ahead and ahead[0] <= at_ms + window_ms + _GRACE_MS:
        return _Moment(ahead[0], False, False)
    over = any(at_ms - window_ms <= ms <= at_ms for ms in near)
    return _Moment(at_ms, False, True) if over else None


def _moments(day: date, clock: tuple[int, int], zone: tzinfo) -> list[int]:
    """The moment of a clock's time on a day: both, in order, where the clock shows it twice in autumn."""
    moment = datetime(day.year, day.month, day.day, *clock, tzinfo=zone)
    return sorted({_ms(moment), _ms(moment.replace(fold=1))})


def _clock(hour: str | None, minute: str | None, half: str | None) -> tuple[int, int] | None:
    """Hour and minute; None for a bare number, which may be anything."""
    if hour is None or (minute is None and half is None):
        return None
    hours, minutes = int(hour), int(minute or 0)
    if half:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if half.lower() == "p" else 0)
    return (hours, minutes) if hours < 24 and minutes < 60 else None


@cache
def _zone(name: str | None) -> tzinfo | None:
    if name and (offset := _OFFSET.fullmatch(name)):
        ahead = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return timezone(ahead if offset[1] == "+" else -ahead) if ahead < timedelta(hours=15) else None
    # Loaded late: it costs as much as all patterns here, and few screens name a time of day.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name) if name else None
    except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return None


def _ms(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
