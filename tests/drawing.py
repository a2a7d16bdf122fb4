"""Draws what an agent would: its own failure, or a reply that quotes one, in place of a sample's last block."""

import textwrap
from pathlib import Path
from typing import NamedTuple

from fleettools.adapters import agentfiles
from fleettools.screens.blocks import Screen

SAMPLES = Path(__file__).parent.parent / "samples" / "screens"


class Style(NamedTuple):
    """A sample to draw on, and how replies and failures look: first line's start, later lines' start, what follows."""

    sample: str
    reply: tuple[str, str, tuple[str, ...]]
    failure: tuple[str, str, tuple[str, ...]]
    before: tuple[str, ...] = ()  # stands above a failure
    gap: tuple[str, ...] = ("",)  # blank rows below the prompt


ADVICE = ("", "Please retry if you think this is a transient or recoverable error.")
RULE = "────────────────────────"
STYLES = {
    "claude": Style(
        "backend_error--cc-be-econnreset.txt",
        ("⏺ ", "  ", ("", "✻ Worked for 12s")),
        ("⏺ ", "  ", ("", "✻ Brewed for 9s")),
    ),
    "codex": Style(
        "backend_error--cx-be-at-capacity.txt", ("• ", "  ", ("", "─ Worked for 12s ─────────")), ("■ ", "", ())
    ),
    "gemini": Style("backend_error--gm-be-api-key.txt", ("✦ ", "  ", ()), ("✕ [API Error: ", "  ", ())),
    "qwen": Style("exhausted--qw-ex-free-allocated.txt", ("✦ ", "  ", ()), ("✕ [API Error: ", "  ", ())),
    "opencode": Style(
        "exhausted--oc-ex-usage-limit.txt",
        ("     ", "     ", ("", "     ▣  Build · gpt-5 · 7.2s")),
        ("  ┃  ", "  ┃  ", ("  ┃",)),
        ("  ┃",),
    ),
    "aider": Style(
        "completed--ai-ok-after-rate-limit.txt",
        ("", "", ("", "Tokens: 4.6k sent, 205 received. Cost: $0.02 message.", RULE, "src/lexer.rs")),
        ("litellm.APIError: ", "", (RULE, "src/lexer.rs")),
    ),
    "agy": Style("completed--reply.txt", ("  ", "  ", ()), ("⚠ ", "  ", ())),
    "pi": Style("completed--pi-reply.txt", (" ", " ", ()), (" Error: ", " ", ()), gap=("", "")),
    "copilot": Style("backend_error--cp-be-retried-5.txt", (" ● ", "   ", ()), (" ✗ ", "   ", ())),
    "cursor": Style("backend_error--cu-be-unavailable.txt", ("  ", "  ", ()), ("  Error: ", "  ", ())),
    "goose": Style("backend_error--go-be-server.txt", ("", "", ()), ("Ran into this error: ", "", ADVICE)),
    "amp": Style("exhausted--am-ex-out-of-credits.txt", ("  ", "  ", ()), ("  Error: ", "  ", ())),
    "kimi": Style("backend_error--ki-be-network.txt", ("• ", "  ", ()), ("LLM provider error: ", "", ())),
    "crush": Style(
        "exhausted--cr-ex-credit.txt",
        ("    ", "    ", ("", "    ◇ Claude Sonnet 4.5 via Anthropic 6s ───────")),
        ("    ", "    ", ()),
        ("    ERROR Provider Error", ""),
    ),
    "cline": Style("retrying--cl-wk-attempt-2.txt", ("", "", ()), ("", "", ()), ("### [ERROR] API Request Failed", "")),
}
CLINE_REPLY = ("### Cline responds", "")


def _wrapped(text: str, width: int, first: str, later: str) -> list[str]:
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += textwrap.wrap(paragraph, max(width - len(later), 20), break_on_hyphens=False) or [""]
    return [f"{later if row else first}{line}".rstrip() for row, line in enumerate(lines)]


def _on(agent: str, block: list[str]) -> str:
    look = agentfiles.load(agent)
    assert look is not None
    text = (SAMPLES / agent / STYLES[agent].sample).read_text()
    screen = Screen(text, look)
    end = screen.end
    return "\n".join([*screen.lines[: screen.start], *STYLES[agent].gap, *block, "", *screen.lines[end:], ""])


def failure(agent: str, message: str, width: int = 80) -> str:
    """A screen whose last turn ended with the agent's own failure."""
    style = STYLES[agent]
    first, later, after = style.failure
    closed = "]" if first.endswith("[API Error: ") else ""
    return _on(agent, [*style.before, *_wrapped(message + closed, width, first, later), *after])


def reply(agent: str, text: str, width: int = 80) -> str:
    """A screen whose last turn ended with a reply."""
    first, later, after = STYLES[agent].reply
    above = CLINE_REPLY if agent == "cline" else ()
    return _on(agent, [*above, *_wrapped(text, width, first, later), *after])


RETRIES = {  # what stands there while it tries again; the text that says so in place of {}
    "claude": ("  ⎿  {}", "", "✢ Forging… (12s · esc to interrupt)"),
    "codex": ("• {} (19s • esc to interrupt)",),
    "gemini": (" ⠼ {} (esc to cancel, 19s)",),
    "qwen": ("✕ [API Error: 503 Service unavailable]", "↻ {}", "", "⠦ Weaving… (19s · esc to cancel)"),
    "kimi": ("  🌑 {}",),
    "cline": (
        "### [ERROR] API Request Failed", "", "529 Overloaded", "", "API INFO: {}", "",
        "⠸ Cline is thinking... (esc to interrupt)",
    ),
}  # fmt: skip
TAIL = ("✢ Forging… {}",)  # of Claude's spinner


def retry(agent: str, text: str) -> str:
    """A screen on which the agent says that it tries again, while it is busy."""
    lines = TAIL if text.startswith("· ") else RETRIES.get(agent)
    return _on(agent, [line.replace("{}", text) for line in lines]) if lines else failure(agent, text)


ASKED = {
    "claude": (RULE * 3, " {}", "", " ❯ 1. Yes", "   2. No (esc)", "", " Enter to select · Esc to cancel"),
    "codex": ("  {}", "", "› 1. Yes, proceed (y)", "  2. No (esc)", "", "  Press enter to confirm or esc to cancel"),
    "kimi": (f" {RULE * 3}", "   ▶ {}", "", "   ▶ 1. Approve once", "     2. Reject", "", "   ↑/↓ select · ↵ confirm"),
    "opencode": ("  ┃", "  ┃  △ {}", "  ┃", "  ┃   Allow once   Allow always   Reject"),
}
BOXED = ("╭" + RULE, "│ ? {}", "│", "│ ● 1. Yes, allow once", "│   2. No (esc)", "╰" + RULE)


def question(agent: str, text: str) -> str:
    """A screen whose last lines ask, in place of the composer."""
    look = agentfiles.load(agent)
    assert look is not None
    shown = (SAMPLES / agent / STYLES[agent].sample).read_text()
    above = Screen(shown, look)
    return "\n".join(
        [*above.lines[: above.start], "", *(line.replace("{}", text) for line in ASKED.get(agent, BOXED)), ""]
    )
