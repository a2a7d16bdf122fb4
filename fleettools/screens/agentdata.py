"""The mappings that an agent file holds (fleettools(7) lists their keys)."""

from typing import Literal

import msgspec

from fleettools.records import Cause

Frame = Literal["rules", "box", "half", "bars", "line"]
# What an agent does differently from the rest:
#   bareReplies  a reply carries no mark, so that any paragraph may be the model's words
#   failsAsReply a failure carries the mark of a reply: colour and words tell them apart
#   signsBelow   while it has a composer, it tells of a next try only beside a sign of work; else a reply says so
Capability = Literal["bareReplies", "failsAsReply", "signsBelow"]

# Item kinds: what the agent draws, and what that means for the turn.
#   error   drawn only for failures        own     the agent's own message, below a prompt or a tool
#   reply   the model's words              tool    a tool and its output
#   notice  a remark that ends nothing     retry   the agent tries again by itself
#   busy    a sign of work                 stop    a person stopped the turn
#   done    a turn has ended well          end     a turn has ended, well or not
#   local   a command of a person's that the model never sees
#   chrome  no content
ITEM_KINDS = (
    *("local", "stop", "retry", "busy", "done", "end", "chrome"),
    *("error", "own", "tool", "notice", "reply"),
)


class Data(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A mapping of an agent file; keys that it does not have are errors."""


class Prompt(Data):
    """Where a person's prompt stands: `head` begins it, `more` goes on; group 1 is its text.

    With `above`, some line directly above must match that too; with `skip`, blank lines may follow the head.
    One whose text matches `unless` is none. `limit`: how many lines it has at most.
    """

    head: str
    starts: list[str] = []  # what a line with a head begins with, where that can be said: it makes prompts fast to find
    more: str = r"^  (\S.*)"
    above: str | None = None
    unless: str | None = None
    skip: bool = False
    limit: int = 400


class ComposerLook(Data):
    """Where a person types: its frames, the glyph before the text, what stands in it when it is empty."""

    frames: list[Frame] = []
    glyph: str = ">"
    line: str | None = None
    placeholders: list[str] = []
    last: bool = False  # nothing but blank lines, and those that match `below`, may follow
    below: str | None = None
    unless: str | None = None  # a line below that matches shows that it is none


class Hooks(Data):
    """How the agent tells others of its turns: in which file of its own, below which folder, and of which events.

    `settings`: hooks in a JSON file; `notify`: a line of a TOML file; `plugin`: a file of its own, whose text is in
    `plugin`; `shown`: hooks in a JSON or TOML file that a person writes, as `file` ends.
    """

    form: Literal["settings", "notify", "plugin", "shown"]
    file: str
    user: str
    variable: str | None = None  # of the environment: names the folder instead of `user`
    project: str | None = None
    events: list[str] = []
    plugin: str | None = None


class AccountSource(Data):
    """Where the account that the agent spends can be told from: all of the variables that are set, or a JSON file.

    `file` may begin with `~` or `${VARIABLE:-path}`; `at` are the keys that lead to what names the account in it.
    """

    env: list[str] = []
    file: str | None = None
    at: list[str] = []


class Log(Data):
    """The agent's logs of its sessions: below the folder `user`, or that of the environment `variable`, by day."""

    files: str  # a glob; the folders of its `*` are looked at from the newest
    user: str
    variable: str | None = None


Situation = Literal[
    "idle", "working", "streaming", "reply", "tool", "question", "failure", "retrying", "stopped", "overlay", "cleared",
]  # fmt: skip


class Seen(Data):
    """Which version of the real program was captured, on which day, in which situations; the samples bear it out."""

    version: str
    date: str
    situations: list[Situation]


class Wordings(Data):
    """Phrases by cause. Of two that match, exhaustion wins, then words over a bare number, then what stands first."""

    exhausted: dict[Cause, list[str]] = {}
    errors: dict[Cause, list[str]] = {}
    harmless: list[str] = []  # taken out of an item's words before they are judged
    retrying: list[str] = []
    # A limit that names one of `momentary` and none of `lasting` is over in a minute: no exhaustion.
    momentary: list[str] = []
    lasting: list[str] = []
