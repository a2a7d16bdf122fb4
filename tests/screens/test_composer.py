"""What stands in an agent's composer, and where a token is."""

import drawing
import pytest

from fleettools.adapters import agentfiles
from fleettools.screens.typed import composer, holds

COMPOSERS = [
    ("claude", "completed--claude-x-limit-then-ok-sgr.txt", "empty", ""),
    ("claude", "stale--cc-id-prompt-not-submitted.txt", "draft", "please continue with the crates route"),
    ("claude", "blocked--cc-bl-after-old-stall.txt", "absent", ""),
    ("codex", "completed--codex-ok-sgr.txt", "empty", ""),
    ("codex", "blocked--cx-bl-exec-approval.txt", "absent", ""),
    ("codex", "exhausted--cx-ex-old-5-days.txt", "empty", ""),
    ("gemini", "completed--gemini-ok.txt", "empty", ""),
    ("gemini", "blocked--gm-bl-edit-after-old-error.txt", "absent", ""),
    ("opencode", "completed--opencode-ok.txt", "empty", ""),
    ("aider", "backend_error--ai-be-gave-up.txt", "empty", ""),
    ("aider", "retrying--ai-wk-retry-4s.txt", "absent", ""),
    ("amp", "exhausted--am-ex-out-of-credits.txt", "empty", ""),
    ("copilot", "completed--cp-ok-after-402.txt", "empty", ""),
    ("crush", "exhausted--cr-ex-credit.txt", "empty", ""),
    ("cursor", "working--cu-wk-after-exhausted.txt", "empty", ""),
    ("goose", "completed--go-ok-log.txt", "empty", ""),
    ("kimi", "completed--ki-ok-job-log.txt", "empty", ""),
    ("qwen", "backend_error--qw-be-zh-no-stream-activity.txt", "empty", ""),
]


@pytest.mark.parametrize(("agent", "file", "state", "text"), COMPOSERS, ids=[f"{row[0]} {row[1]}" for row in COMPOSERS])
def test_what_stands_in_the_composer(agent: str, file: str, state: str, text: str) -> None:
    look = agentfiles.load(agent)
    assert look is not None
    assert composer((drawing.SAMPLES / agent / file).read_text(), look) == (state, text)


RULE, UPPER, LOWER = "─" * 40, "▄" * 40, "▀" * 40
# Rule: where a text would be taken for a shell command or a note, the composer is never empty.
MODES = {
    "claude shell": ("claude", [RULE, "! ", RULE, "  ! for shell mode"]),
    "claude memory": ("claude", [RULE, "# ", RULE, "  # to memorize"]),
    "claude 1.x shell": ("claude", ["╭────────╮", "│ !      │", "╰────────╯", "  ! for bash mode"]),
    "gemini shell": (
        *("gemini", [RULE, "  shell mode enabled (esc to disable)", UPPER, " !   Type your shell command", LOWER]),
    ),
    "qwen shell": ("qwen", [RULE, "!   Type your message or @path/to/file", RULE]),
    "opencode shell": ("opencode", ["  ┃", "  ┃", "  ┃  Shell", "  ╹▀▀▀▀▀▀▀▀▀▀▀▀", "   ~/work   esc exit shell mode"]),
    "kimi shell": ("kimi", [RULE, "$ ", RULE]),
    "codex shell": ("codex", ["!", "", "  gpt-5 default · ~/work                    Shell mode"]),
}


@pytest.mark.parametrize(("agent", "lines"), MODES.values(), ids=MODES.keys())
def test_a_composer_for_something_else_than_prompts_is_never_empty(agent: str, lines: list[str]) -> None:
    look = agentfiles.load(agent)
    assert look is not None
    assert composer("\n".join(lines), look).state == "draft"


# Rule: what stands faint in the composer is proposed by the agent; what a person typed before it is a draft.
PROPOSALS = {
    "a proposal with the cursor on it": ("claude", ["\x1b[39m❯ \x1b[7mr\x1b[0;2mun the tests\x1b[0m"], "empty"),
    "a proposal of two lines": ("claude", ["❯ \x1b[7mr\x1b[0;2mun the tests,", "  then commit\x1b[0m"], "empty"),
    "what is typed with a proposal for the rest": ("claude", ["❯ r\x1b[7mu\x1b[0;2mn the tests\x1b[0m"], "draft"),
    "a draft with the cursor on its first letter": ("claude", ["❯ \x1b[7mr\x1b[0mun the tests"], "draft"),
    "a draft in a colour with a 2 in it": ("claude", ["❯ \x1b[38;5;2mrun \x1b[38;2;2;2;2mthe tests\x1b[0m"], "draft"),
    "a draft after faint text has ended": ("claude", ["❯ \x1b[2m\x1b[22mrun the tests"], "draft"),
    "faint words of codex": ("codex", ["\x1b[1m›\x1b[0m \x1b[2mWrite tests for @filename\x1b[0m"], "empty"),
    "a shell's faint hint": ("claude", ["! \x1b[7mr\x1b[0;2mun a command\x1b[0m"], "draft"),
}


@pytest.mark.parametrize(("agent", "lines", "state"), PROPOSALS.values(), ids=PROPOSALS.keys())
def test_a_proposed_prompt_is_no_draft(agent: str, lines: list[str], state: str) -> None:
    look = agentfiles.load(agent)
    assert look is not None
    frame = [f"\x1b[2m{RULE}\x1b[0m", *lines, f"\x1b[38;5;244m{RULE}\x1b[39m", "  ? for shortcuts"]
    assert composer("\n".join(lines if agent == "codex" else frame), look).state == state


@pytest.mark.parametrize("agent", ["gemini", "qwen"])
@pytest.mark.parametrize("hint", ["Press 'i' for INSERT mode.", "Press 'Esc' for NORMAL mode."])
def test_the_hint_of_a_composer_with_vim_keys_is_no_draft(agent: str, hint: str) -> None:
    look = agentfiles.load(agent)
    assert look is not None
    assert composer("\n".join([RULE, UPPER, f" >   {hint}", LOWER, "  [NORMAL]  ~/work"]), look).state == "empty"


def test_a_token_is_found_in_the_composer_or_above_it() -> None:
    look = agentfiles.load("claude")
    assert look is not None
    text = (drawing.SAMPLES / "claude" / "stale--cc-id-prompt-not-submitted.txt").read_text()
    assert holds(text, look, "with the crates route") == "composer"
    assert holds(text, look, "also for /v1/crates") == "above"
    assert holds(text.replace("also for /v1/crates", "also for\n  /v1/crates"), look, "also for /v1/crates") == "above"
    assert holds(text, look, "ft:000000") == "none"
