"""The configuration, `fleetd.yaml`: its keys with types and defaults; what these cannot say is in configcheck.py."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args

import msgspec

from fleettools import records

Name = Annotated[
    records.Name,
    msgspec.Meta(description="use 1 to 64 letters, digits or . _ @ + -, a letter or digit first"),
]
# May hold a password: no message quotes it.
Private = Annotated[str, msgspec.Meta(extra={"private": True})]
Webhook = Annotated[
    Private, msgspec.Meta(pattern=r"^https?://[^\s/?#]+[^\s]*\Z", description="use an http:// or https:// address")
]
Variable = Annotated[
    str,
    msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z", description="use letters, digits and _, no digit first"),
]
Text = Annotated[str, msgspec.Meta(min_length=1)]
AlertKind = Literal["incident", "quarantine", "unmapped", "ended", "nearly", "failed"]
Count = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=366 * 86_400)]


HEALTH = "health"  # the name of the alert that is `health.webhook`


class Section(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A mapping of the file; keys that it does not have are errors."""


class Sought(Section):
    """One pattern; `anywhere`: also where what it finds may be the model's words."""

    pattern: Text
    anywhere: bool = False


class Extend(Section):
    """Patterns that add to the bundled ones of their kind, or one pattern by itself with how it counts."""

    extend: list[str | Sought] | None = None
    pattern: Text | None = None
    anywhere: bool = False


Pattern = str | list[str | Sought] | Extend | None


class Drawn(Section):
    """How an agent that no file describes draws its screen: regular expressions, each over one line without colours."""

    prompt: Text
    busy: Text | None = None
    error: Text | None = None
    composer: Text | None = None


class Profile(Section):
    """How one kind of member is run, and the credential that it spends."""

    agent: Name | None = None
    command: Text | None = None
    credential_id: Name | None = None
    max_members: Count | None = None
    priority: int = 0
    cwd: Text | None = None
    env: dict[Variable, Private] = {}
    runs: list[Text] = []
    look: Drawn | None = None
    error_pattern: Pattern = None
    exhausted_pattern: Pattern = None

    @property
    def has_patterns(self) -> bool:
        """Whether the operator says how this profile's failures look; blank patterns count as absent."""
        return bool(self.look) or any(
            stated(value) is not None for value in (self.error_pattern, self.exhausted_pattern)
        )


class CredentialLimits(Section):
    """What holds for all profiles of one credential together."""

    max_members: Count | None = None


class PaneRule(Section):
    """Makes a member of every pane that matches all the globs given; `lead` is a pane (`session:window.pane`, `%7`)."""

    session: str | None = None
    window: str | None = None
    title: str | None = None
    command: str | None = None
    profile: Name | None = None
    agent: Name | None = None
    runs: list[Text] = []
    lead: Text | None = None
    name: Text | None = None


class OutageRules(Section):
    """When backend errors on one credential are an incident, and for how long it cools off."""

    threshold: Annotated[int, msgspec.Meta(ge=1)] = 2
    window_seconds: Seconds = 60
    cool_off_seconds: Seconds = 60
    growth: Annotated[float, msgspec.Meta(ge=1, le=100)] = 1
    max_cool_off_seconds: Seconds = 900
    count_retries_from: Count = 5
    ignore_causes: list[records.Cause] = msgspec.field(default_factory=lambda: ["context", "request"])


class Placement(Section):
    """Which profile --auto prefers, and how many percent of each window of a plan the gate leaves free."""

    policy: Literal["priority", "least-loaded"] = "priority"
    leave_free: Annotated[float, msgspec.Meta(ge=0, lt=100)] = 0


class Notify(Section):
    """How often a notice is tried, and after how many seconds an uncollected ticket is said again."""

    attempts: Annotated[int, msgspec.Meta(ge=1)] = 5
    reminders: list[Seconds] = msgspec.field(default_factory=lambda: [60.0, 300.0, 900.0])


Prompt = Annotated[
    str,
    msgspec.Meta(
        min_length=1, max_length=4000, pattern=r"^(?=\s*\S)[^\x00-\x08\x0b-\x1f\x7f-\x9f]*\Z",
        description="write a text without control characters other than newline and tab",
    ),
]  # fmt: skip


class Resume(Section):
    """How members that failed are prompted again when their credential is free.

    `prompt`: what is typed; `ticket` is the failed ticket's own prompt. `apart`: seconds between two of them.
    """

    after: Literal["free"] = "free"
    prompt: Prompt = "continue"
    most: Annotated[int, msgspec.Meta(ge=1, le=100)] = 3
    apart: Annotated[float, msgspec.Meta(ge=1, le=3600)] = 5


class Journal(Section):
    """For how many days fleetd keeps what happened; 0 for no journal."""

    days: Count = 30


class Health(Section):
    """What the health check is told to do; the webhook is an alert of every kind, `health`."""

    enabled: bool = True
    webhook: Webhook | None = None


class AlertRule(Section):
    """Tells people, by a command or a web service, of the kinds of news in `on`."""

    name: Name = "alert"
    exec: Annotated[Private, msgspec.Meta(min_length=1)] | None = None
    webhook: Webhook | None = None
    shape: Literal["json", "slack", "ntfy"] = "json"
    on: list[AlertKind] = msgspec.field(default_factory=lambda: ["incident", "quarantine", "unmapped", "ended"])


class Config(Section):
    """The whole file. Without one, every default holds and a profile's name is its credential."""

    profiles: dict[Name, Profile] = {}
    credentials: dict[Name, CredentialLimits] = {}
    panes: list[PaneRule] = []
    outage: OutageRules = msgspec.field(default_factory=OutageRules)
    quarantine_cooldown_seconds: Seconds = 1800
    min_turn_seconds: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 2
    placement: Placement = msgspec.field(default_factory=Placement)
    notify: Notify = msgspec.field(default_factory=Notify)
    agents: str | None = None
    discover: Literal["auto", "off"] = "auto"
    state: Private | None = None
    resume: Resume | None = None
    journal: Journal = msgspec.field(default_factory=Journal)
    alerts: list[AlertRule] = []
    health: Health = msgspec.field(default_factory=Health)

    def credential_of(self, profile: str | None) -> str | None:
        """The effective credential of a profile: its credentialId, else its name; None when nobody configured it.

        With no profiles configured at all, every valid profile name is its own credential.
        """
        if profile is None:
            return None
        if not self.profiles:
            return profile
        found = self.profiles.get(profile)
        return None if found is None else found.credential_id or profile

    def runs_of(self, profile: str | None, seat: Iterable[str] = ()) -> tuple[str, ...]:
        """The names of programs that a person says are the agent: of the profile, and of the pane (`seat`)."""
        found = self.profiles.get(profile or "")
        return (*seat, *(found.runs if found else ()))

    @property
    def channels(self) -> list[AlertRule]:
        """Every alert, that of `health` among them."""
        if not (self.health.enabled and self.health.webhook):
            return self.alerts
        return [*self.alerts, AlertRule(name=HEALTH, webhook=self.health.webhook, on=list(get_args(AlertKind)))]


def stated(value: Pattern) -> list[Sought] | None:
    """The patterns that a key states, without blank ones; None when it states none at all.

    `none` states that there are none: an empty list. Those of `extend` are given without the bundled ones.
    """
    if isinstance(value, str) and value.strip() == "none":
        return []
    sought = [Sought(pattern=each) if isinstance(each, str) else each for each in listed(value)]
    return [each for each in sought if each.pattern.strip()] or None


def adds(value: Pattern) -> bool:
    """Whether the patterns of a key add to the bundled ones."""
    return isinstance(value, Extend) and value.extend is not None


def listed(value: Pattern) -> list[str | Sought]:
    """The patterns of a key as they stand there, blank ones too."""
    if not isinstance(value, Extend):
        return [value] if isinstance(value, str) else value or []
    if value.pattern is not None:
        return [Sought(pattern=value.pattern, anywhere=value.anywhere)]
    return value.extend or []


def plain(config: Config) -> dict[str, Any]:
    """The configuration as the mappings that a file would hold, keys without a value left out."""
    made: dict[str, Any] = msgspec.to_builtins(config)
    return _without_nulls(made)


def _without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    kept = {key: item for key, item in value.items() if item is not None}
    return {key: _without_nulls(item) if isinstance(item, dict) else item for key, item in kept.items()}


def from_plain(data: dict[str, Any]) -> Config:
    """The configuration that `plain` described."""
    return msgspec.convert(data, Config)


def written(config: Config) -> bytes:
    """The configuration as a file that `load` reads: JSON, with what YAML forbids written as YAML escapes it."""
    text = msgspec.json.encode(config).decode()
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text).encode()


def foreign_store(url: str) -> str:
    """What names an engine that there is not (`mysql:`), "" for a store; a path may hold a colon behind its first /."""
    scheme, colon, rest = url.partition(":")
    if not colon or "/" in scheme or scheme == "sqlite":
        return ""
    if scheme == "memory":
        return url if rest else ""
    return "" if scheme in ("postgresql", "postgres") and rest.startswith("//") else f"{scheme}:"
