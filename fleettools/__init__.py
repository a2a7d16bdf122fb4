"""fleettools: see which coding agents in tmux failed because of their backend, and act on the credential.

For Python there are `judge`, `verdicts`, `correlate` and `Gate`, the records that they take and give, and the errors
that they raise; see fleettools(3). What a name stands for is loaded when it is first asked for.
"""

__version__ = "0.1.0"

__all__ = [
    "Alert",
    "BadConfig",
    "BadInput",
    "CannotWrite",
    "Credential",
    "Decision",
    "Delivery",
    "Ended",
    "FleetError",
    "Gate",
    "Incident",
    "LeadPane",
    "Member",
    "Nearly",
    "News",
    "Notice",
    "NoticeItem",
    "Pane",
    "Quarantine",
    "Record",
    "Resume",
    "Signal",
    "Spawn",
    "Ticket",
    "Tmux",
    "Turn",
    "Unavailable",
    "Unmapped",
    "Usage",
    "UsageError",
    "Verdict",
    "Worker",
    "correlate",
    "judge",
    "verdicts",
]

TYPE_CHECKING = False  # as in typing, which a bare import need not load
if TYPE_CHECKING:
    from fleettools.api import Gate, News, correlate, judge, verdicts
    from fleettools.errors import BadConfig, BadInput, CannotWrite, FleetError, Unavailable, UsageError
    from fleettools.records import (
        Alert,
        Credential,
        Decision,
        Delivery,
        Ended,
        Incident,
        LeadPane,
        Member,
        Nearly,
        Notice,
        NoticeItem,
        Pane,
        Quarantine,
        Record,
        Resume,
        Signal,
        Spawn,
        Ticket,
        Tmux,
        Turn,
        Unmapped,
        Usage,
        Verdict,
        Worker,
    )
else:

    def __getattr__(name):
        if name in __all__:
            from fleettools import api, errors, records

            for home in (api, records, errors):
                if hasattr(home, name):
                    return globals().setdefault(name, getattr(home, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})
