"""The records that run through the pipe: the only place that names a field.

A record is one JSON object on a line, `type` first, keys in camelCase. Times are RFC 3339 UTC with milliseconds
in a record, and whole milliseconds since the epoch (`..._ms`) in code, so that 60.000 s and 60.001 s differ.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import msgspec

from fleettools.errors import BadInput

VERSION = 1
MAX_LINE = 16 * 1024 * 1024

Outcome = Literal[
    "completed", "failed", "backend_error", "exhausted", "working", "retrying", "blocked", "idle", "stale"
]
ENDINGS = frozenset({"completed", "failed", "backend_error", "exhausted"})
Cause = Literal[
    "overload", "server", "network", "auth", "rate_limit", "concurrency", "model",
    "context", "request", "quota", "credits", "unknown",
]  # fmt: skip
Coverage = Literal["configured", "bundled", "unseen", "legacy"]
Path = Literal["block", "raw", "fast"]
# Rules of a verdict that others go by: no more than the baseline, a screen without a turn, and words no list knows.
BASELINE, CLEARED, PLACE = "baseline", "cleared", "place"
Role = Literal["member", "lead"]
Source = Literal["screen", "hook", "log"]
State = Literal["starting", "idle", "busy", "blocked", "done", "failed", "backend_error", "released"]
DeliveryOutcome = Literal["submitted", "queued", "stuck", "refused", "unknown"]

_TIME = r"(?a)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)\Z"
_PANE_ID = r"^%[0-9]{1,9}\Z"
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}\Z"
Time = Annotated[str, msgspec.Meta(pattern=_TIME)]
PaneId = Annotated[str, msgspec.Meta(pattern=_PANE_ID)]
# No number of a record is so large that what is reckoned with it leaves the calendar.
Span = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]  # seconds, in either direction
Length = Annotated[float, msgspec.Meta(ge=0, le=1e9)]  # seconds
Whole = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31)]
Millis = Annotated[int, msgspec.Meta(ge=-(10**14), le=10**15)]  # since the epoch
Percent = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Name = Annotated[str, msgspec.Meta(pattern=_NAME)]  # profile names, credential ids
_NEWER = "Expected `int` <= 1 - at `$.v`"
_IN_WORDS = {
    _TIME: "a time such as 2026-01-31T12:00:00.000Z",
    _PANE_ID: "a pane id such as %12",
    _NAME: "a name: letters, digits and . _ @ + -, at most 64",
}


@lru_cache(256)  # the records of one look share their times
def to_ms(ts: str) -> int:
    """Milliseconds since the epoch of an RFC 3339 time; raises BadInput when it is none, or ages away."""
    try:
        moment = datetime.fromisoformat(ts)
    except ValueError as error:
        raise BadInput(f"{ts} is no time ({error})", f"write {_IN_WORDS[_TIME]}") from None
    # So far from both ends of the calendar that the spans added to it stay within.
    if moment.tzinfo is None or not 1000 < moment.year < 9000:
        raise BadInput(f"{ts} is no time that can be used", f"write {_IN_WORDS[_TIME]}")
    # Integer arithmetic: timestamp() is a float, and a float's last digit may fall on the wrong side of a window.
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def to_ts(ms: int) -> str:
    """The RFC 3339 form, in UTC with milliseconds, of milliseconds since the epoch."""
    return f"{datetime.fromtimestamp(ms // 1000, UTC).isoformat()[:19]}.{ms % 1000:03d}Z"


class Record(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel", tag_field="type", tag=str.lower):
    """What every record carries. `boot` (boot id) and `up` (seconds since boot): only on records made on this host.

    What a type is for stands on it: `printed`, fleetd writes it to its standard output; `said_again`, it is committed
    in the store before it is written, and written again, the same bytes, until fleetd has printed it; `told`,
    fleet-notify reads it.
    """

    printed: ClassVar[bool] = False
    said_again: ClassVar[bool] = False
    told: ClassVar[bool] = False

    # A factory, because omit_defaults would leave a plain default out and `v` is always written.
    v: Annotated[int, msgspec.Meta(ge=1, le=VERSION)] = msgspec.field(default_factory=lambda: VERSION)
    ts: Time
    boot: str | None = None
    up: Length | None = None


class Turn(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """The member's last ticket on a pane: its turn `id`, `seconds` since delivery, `baseline` text at delivery."""

    id: str
    seconds: Span | None = None
    baseline: str | None = None


class Seat(Record, kw_only=True):
    """Who sits in a pane: the fields that a `pane` and its `verdict` share.

    `server` is `host:socket path:server pid`, `target` a pane id, `pid` the pane's process, `lead` a pane id there.
    """

    server: str | None = None
    target: PaneId | None = None
    pid: Whole | None = None
    dead: bool | None = None
    gone: bool | None = None
    name: str | None = None
    profile: str | None = None
    agent: str | None = None
    lead: PaneId | None = None
    role: Role | None = None


_NONE = object()
WHO = ("server", "target", "pid", "name", "profile", "agent", "lead")


def who(cls: type[msgspec.Struct], source: object) -> dict[str, Any]:
    """Which member `source` is: those of WHO that it and a `cls` have, as keyword arguments for that."""
    found = ((name, getattr(source, name, _NONE)) for name in _who(cls))
    return {name: value for name, value in found if value is not _NONE}


@cache
def _who(cls: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(name for name in WHO if name in cls.__struct_fields__)


class Pane(Seat, kw_only=True, tag="pane"):
    """One look at one pane. `activity`: when its window last changed; `tz`: IANA zone of its host.

    `changed`: the look on which a follower first saw this text; `unmarked`: the pane lives, and is no member any more.
    """

    ts: Time | None = None  # type: ignore[assignment]  # a pane written by hand has none; classify then asks the clock
    text: str | None = None
    cols: Whole | None = None
    rows: Whole | None = None
    activity: Time | None = None
    changed: Time | None = None
    tz: str | None = None
    title: str | None = None
    unmarked: bool | None = None
    turn: Turn | None = None


class Verdict(Seat, kw_only=True, tag="verdict"):
    """What became of the turn on a screen; `resolved`, `ticket`, `began` and `credential_id` come from fleet-resolve.

    `rolled`: `resetsAt` is tomorrow's for a time of day that had passed, and nothing says when it was drawn.
    `block`: a hash of what the turn drew; `proved` is false for an end that is only inferred, until a second look.
    """

    told: ClassVar[bool] = True

    outcome: Outcome
    reason: str | None = None
    line: str | None = None
    pattern: str | None = None
    coverage: Coverage | None = None
    path: Path | None = None
    cause: Cause | None = None
    attempt: Whole | None = None
    resets_at: Time | None = None
    rolled: bool | None = None
    screen: str | None = None
    event: str | None = None
    at: Time | None = None
    undated: bool | None = None
    source: Source | None = None
    block: str | None = None
    proved: bool | None = None
    stopped: bool | None = None
    passed: bool | None = None
    unmarked: bool | None = None
    resolved: bool | None = None
    ticket: str | None = None
    began: Time | None = None
    credential_id: str | None = None


class VerdictHead(msgspec.Struct, kw_only=True, tag_field="type", tag="verdict"):
    """So much of a verdict as tells whether a filter has to read the rest of it."""

    v: Annotated[int, msgspec.Meta(ge=1, le=VERSION)] = VERSION
    ts: Time
    outcome: Outcome
    event: str | None = None
    server: str | None = None
    target: str | None = None


class Heading(msgspec.Struct, kw_only=True, rename="camel"):
    """So much of any record of ours as fleetd has to know; the fields are those of the verdict."""

    type: str
    ts: Time
    server: str | None = None
    target: str | None = None
    gone: bool | None = None
    unmarked: bool | None = None
    profile: str | None = None
    lead: str | None = None
    role: Role | None = None
    outcome: str | None = None
    event: str | None = None
    resolved: bool | None = None


class Tmux(Record, kw_only=True, tag="tmux"):
    """A tmux server came, went, or does not answer. Only `down` releases members."""

    printed: ClassVar[bool] = True

    server: str
    state: Literal["up", "down", "unreachable"]
    reason: str | None = None


class Worker(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """A pane that an incident or quarantine names."""

    server: str
    target: PaneId
    name: str | None = None


class LeadPane(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel", frozen=True):
    """A lead's pane."""

    server: str
    target: PaneId


class Outage(Record, kw_only=True):
    """What an incident and a quarantine share. `evidence`: the event ids that counted; `again`: the probe failed."""

    printed: ClassVar[bool] = True
    said_again: ClassVar[bool] = True
    told: ClassVar[bool] = True

    id: str
    credential_id: Name
    # Factories, so that an empty list is written too.
    targets: list[Worker] = msgspec.field(default_factory=lambda: [])
    profiles: list[str] = msgspec.field(default_factory=lambda: [])
    leads: list[LeadPane] = msgspec.field(default_factory=lambda: [])
    evidence: list[str] = msgspec.field(default_factory=lambda: [])
    again: bool | None = None


class Incident(Outage, kw_only=True, tag="incident"):
    """A credential's backend failed often enough within the window; it cools off from `ts` on."""

    window_seconds: Length
    cooling_off_for_seconds: Length


class Quarantine(Outage, kw_only=True, tag="quarantine"):
    """A credential's quota is used up until `until`."""

    quarantined_for_seconds: Length
    until: Time
    source: Literal["cooldown", "resetsAt", "usage"]


class Ended(Record, kw_only=True, tag="ended"):
    """An incident or quarantine is over: its `id`, how many `seconds` it lasted, and what ended it."""

    printed: ClassVar[bool] = True
    said_again: ClassVar[bool] = True
    told: ClassVar[bool] = True

    id: str
    kind: Literal["incident", "quarantine"]
    credential_id: Name
    seconds: Span
    why: Literal["time", "released", "worked"]


class Nearly(Record, kw_only=True, tag="nearly"):
    """A credential has used up most of what one `window` of its plan allows; said once a window."""

    printed: ClassVar[bool] = True
    told: ClassVar[bool] = True

    id: str
    credential_id: Name
    window: str
    used_percent: Percent
    resets_at: Time | None = None


class Unmapped(Record, kw_only=True, tag="unmapped"):
    """Evidence whose profile nobody configured: it counts for no credential, and is said."""

    printed: ClassVar[bool] = True
    told: ClassVar[bool] = True

    id: str
    event: str
    server: str | None = None
    target: PaneId | None = None
    profile: str | None = None
    reason: str
    lead: PaneId | None = None


class Usage(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """How much of one window of a plan (`5h`, `weekly`) is used up."""

    window: str
    used_percent: Percent
    resets_at: Time | None = None


class Signal(Record, kw_only=True, tag="signal"):
    """What an agent itself says of its turn or its limits. `prompt`: the agent's own id of the turn's prompt."""

    id: str
    source: Literal["hook", "log", "statusline"]
    said: Literal["begin", "end", "failure", "blocked", "usage"]
    agent: str | None = None
    server: str | None = None
    target: PaneId | None = None
    session: str | None = None
    prompt: str | None = None
    cause: Cause | None = None
    text: str | None = None
    resets_at: Time | None = None
    usage: list[Usage] | None = None


class Resume(Record, kw_only=True, tag="resume"):
    """A failed member was prompted again, or why it was not; `probe`: the one that tries the credential first."""

    printed: ClassVar[bool] = True

    id: str
    credential_id: Name
    server: str
    target: PaneId
    ticket: str | None = None
    outcome: str
    reason: str
    probe: bool | None = None


class Spawn(Record, kw_only=True, tag="spawn"):
    """A request to the gate: `profile`, or `auto` with `policy` and `candidates`."""

    ts: Time | None = None  # type: ignore[assignment]  # written by hand more often than not
    profile: str | None = None
    auto: bool | None = None
    policy: Literal["priority", "least-loaded"] | None = None
    candidates: list[str] | None = None
    lead: PaneId | None = None


class Decision(Record, kw_only=True, tag="decision"):
    """The gate's answer, true where it allows. The seconds are what remains, rounded up, each only while active."""

    allowed: bool
    profile: str | None = None
    credential_id: str | None = None
    reason: str
    lead: PaneId | None = None
    cooling_off_for_seconds: Whole | None = None
    quarantined_for_seconds: Whole | None = None

    def __bool__(self) -> bool:
        return self.allowed


class Ticket(Record, kw_only=True, tag="ticket"):
    """One piece of work handed to a member. `by` says what settled it; `send`: it never went in."""

    id: str
    state: Literal["open", "settled"]
    server: str | None = None
    target: PaneId | None = None
    name: str | None = None
    profile: str | None = None
    lead: PaneId | None = None
    event: str | None = None
    outcome: str | None = None
    reason: str | None = None
    by: Literal["reply", "verdict", "gone", "release", "send"] | None = None
    reply: str | None = None
    again: str | None = None
    opened_at: Time | None = None
    settled_at: Time | None = None
    collected: bool | None = None


class Member(Record, kw_only=True, tag="member"):
    """A member's place in the roster after a command changed it, with the reason; who is unknown may lack a pane."""

    server: str | None = None
    target: PaneId | None = None
    pid: Whole | None = None
    name: str | None = None
    profile: str | None = None
    credential_id: str | None = None
    agent: str | None = None
    lead: PaneId | None = None
    state: State | None = None
    reason: str | None = None
    changed: bool | None = None


class Credential(Record, kw_only=True, tag="credential"):
    """A credential after fleet-release lifted its cool-off or quarantine; `changed` is false when there was none."""

    credential_id: str
    changed: bool
    reason: str


class Delivery(Record, kw_only=True, tag="delivery"):
    """What became of one attempt to tell a lead, or people by an alert. Only `submitted` is success.

    Of an alert, `server` is the host and `target` `alert:NAME`.
    """

    printed: ClassVar[bool] = True

    id: str
    server: str
    target: str
    outcome: DeliveryOutcome
    reason: str
    attempt: Whole | None = None


NewsKind = Literal["incident", "quarantine", "unmapped", "ticket", "blocked", "ended", "nearly", "failed"]


class NoticeItem(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True, rename="camel"):
    """What one item of a notice is about, in words that may be typed; `id` is its own in the outbox.

    `until_ms`: when it stops being true, None for what stays true until it changes; `resets_ms`: when a window of a
    plan begins anew; `seconds`: how long what has ended lasted, and `why` it ended; `member`: the pane that asks.
    """

    id: str = ""
    kind: NewsKind
    credential: str | None = None
    profiles: list[str] = []
    workers: list[str] = []
    ticket: str | None = None
    outcome: str | None = None
    cause: str | None = None
    member: str | None = None
    until_ms: Millis | None = None
    again: bool = False
    seconds: Length | None = None
    why: str | None = None
    window: str | None = None
    used_percent: Percent | None = None
    resets_ms: Millis | None = None


class Notice(Record, kw_only=True, tag="notice"):
    """What is told to a lead: waiting in the outbox (`--pending`), as it would be typed now (`--dry-run`), or now.

    `id` is that of an outbox item, `ids` those that one text tells, `items` what they are about; `now` says whether it
    would be typed now. `token` stands in the text. Of an alert, `server` is the host and `target` `alert:NAME`.
    """

    server: str
    target: str
    reason: str | None = None
    id: str | None = None
    ids: list[str] | None = None
    kind: str | None = None
    state: str | None = None
    attempts: Whole | None = None
    now: bool | None = None
    token: str | None = None
    text: str | None = None
    items: list[NoticeItem] | None = None


class Alert(Record, kw_only=True, tag="alert"):
    """What people are told by `alerts:`, one for each event; the same `id` may come twice, after a crash.

    `over`: it has ended meanwhile; `again`: it is the so many-th of its kind within ten minutes of the one before,
    the first one `since`. `record` is what it tells of.
    """

    id: str
    name: str
    host: str
    kind: NewsKind
    text: str
    over: bool | None = None
    again: Whole | None = None
    since: Time | None = None
    record: dict[str, Any] | None = None


R = TypeVar("R", bound=msgspec.Struct)


def _types(cls: type[Record]) -> Iterator[tuple[str, type[Record]]]:
    for below in cls.__subclasses__():
        # What only gathers shared fields has types below it, and no line of its own.
        if not below.__subclasses__():
            yield str(below.__struct_config__.tag), below
        yield from _types(below)


TYPES: dict[str, type[Record]] = dict(_types(Record))
PRINTED = frozenset(kind for kind, cls in TYPES.items() if cls.printed)
SAID_AGAIN = frozenset(kind for kind, cls in TYPES.items() if cls.said_again)
TOLD = {kind: cls for kind, cls in TYPES.items() if cls.told}


class _Head(msgspec.Struct):
    type: str
    v: int = VERSION


_head = msgspec.json.Decoder(_Head)


def kind(line: bytes) -> str:
    """The `type` of a line, "" for a blank one; raises BadInput for a line that no filter can pass on.

    Checks the whole line: msgspec alone skips invalid UTF-8 in fields that it does not read.
    """
    try:
        if not line.isascii():
            line.decode()
        return _head.decode(line).type
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 (byte {error.start})", "expected one JSON object in UTF-8") from None
    except RecursionError:
        raise BadInput("nested too deeply", "expected one flat JSON object") from None
    except msgspec.ValidationError as error:
        raise BadInput(f"not a record ({error})", "expected one JSON object with a text `type`") from None
    except msgspec.DecodeError as error:
        if not line.strip():
            return ""
        raise BadInput(f"not JSON ({error})", "expected one JSON object on the line") from None


@cache
def _decoder(cls: type[R]) -> msgspec.json.Decoder[R]:
    return msgspec.json.Decoder(cls)


def decode(line: bytes, cls: type[R]) -> R:
    """The record on a line whose `kind` is that of `cls`; raises BadInput naming the field that does not fit."""
    try:
        record: R = _decoder(cls).decode(line)
        return record
    except RecursionError:
        raise BadInput("nested too deeply", "expected one flat JSON object") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        name, what = cls.__struct_config__.tag or "known", str(error)
        if what == _NEWER:
            raise BadInput(f"a {name} record whose v is higher than 1", "update fleettools to read it") from None
        for pattern, words in _IN_WORDS.items():
            what = what.replace(f"`str` matching regex {pattern!r}", words)
        raise BadInput(f"not a {name} record ({what})", f"see fleet-records(5) for the fields of {name}") from None


@cache
def _exact_decoder(cls: type[R]) -> msgspec.json.Decoder[R]:
    tag = cls.__struct_config__.tag
    exact = msgspec.defstruct(cls.__name__, [], bases=(cls,), kw_only=True, tag=tag, forbid_unknown_fields=True)
    return msgspec.json.Decoder(exact)


def decode_exact(line: bytes, cls: type[R]) -> R | None:
    """The record on a line that has no field which `cls` does not know, else None: then `decode` says what is wrong."""
    try:
        record: R = _exact_decoder(cls).decode(line)
        return record
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


_encoder = msgspec.json.Encoder()


def encode(record: Record) -> bytes:
    """The record as one line, newline included."""
    return _encoder.encode(record) + b"\n"


def patched(line: bytes, /, **changes: object) -> bytes:
    """The line, `type` first, with fields (snake_case) set or removed (None); all others, unknown ones too, survive."""
    given = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    fields = {"type": given["type"], **given}
    for name, value in changes.items():
        key = camel(name)
        fields.pop(key, None)
        if value is not None:
            fields[key] = msgspec.Raw(_encoder.encode(value))
    return _encoder.encode(fields) + b"\n"


@cache
def fields(cls: type[Record]) -> frozenset[str]:
    """The JSON names of a record's fields, `type` included."""
    return frozenset(f.encode_name for f in msgspec.structs.fields(cls)) | {"type"}


def replaced(line: bytes, source: type[Record], record: Record) -> bytes:
    """`record` as a line, with the fields of `line` that `source` does not know: they survive the change of type."""
    known = fields(source)
    extra = {k: v for k, v in msgspec.json.decode(line, type=dict[str, msgspec.Raw]).items() if k not in known}
    if not extra:
        return encode(record)
    made = msgspec.json.decode(_encoder.encode(record), type=dict[str, msgspec.Raw])
    return _encoder.encode(made | {k: v for k, v in extra.items() if k not in made}) + b"\n"


@cache
def camel(name: str) -> str:
    """`credential_id` as it stands in a record: `credentialId`."""
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)
