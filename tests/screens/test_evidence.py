"""What makes the last thing on a screen the agent's own failure, whatever its words, and what speaks against it."""

import json

import drawing
import msgspec
import pytest

from fleettools import records
from fleettools.adapters import agentfiles
from fleettools.screens.agentdata import Wordings
from fleettools.screens.judge import judge
from fleettools.screens.look import Look
from fleettools.screens.patterns import Rules

RED, YELLOW, GREY = "38;5;211", "38;5;220", "38;5;246"


def look_of(agent: str) -> Look:
    look = agentfiles.load(agent)
    assert look is not None
    return look


def verdict(agent: str, text: str, look: Look | None = None) -> records.Verdict:
    pane = records.Pane(ts="2026-11-30T02:00:00.000Z", text=text, tz="UTC", agent=agent)
    return judge(pane, look or look_of(agent), Rules())


def inked(line: str, code: str) -> str:
    return f"\x1b[{code}m{line}\x1b[39m"


def claude(*lines: str) -> str:
    """Claude's screen with these lines below the last prompt, and enough colours to tell one from another."""
    return inked("a banner", "38;5;174") + "\n" + drawing._on("claude", list(lines))


# Failures that no list of ours was written for, in six languages: agent, what it says, outcome, cause.
INVENTED = (
    ("claude", "The relay has no tokens left to give until tomorrow.", "backend_error", "unknown"),
    ("codex", "HTTP 503: the mill stands still", "backend_error", "server"),
    ("gemini", "529 too many boats in the harbour", "backend_error", "overload"),
    ("opencode", '{"error":{"message":"ask the keeper","code":401}}', "backend_error", "auth"),
    ("copilot", "status 402: put a coin in", "exhausted", "credits"),
    ("claude", "Ihr Kontingent für diesen Monat ist aufgebraucht.", "exhausted", "quota"),
    ("codex", "Anmeldung abgelaufen, bitte neu anmelden", "backend_error", "auth"),
    ("gemini", "Der Dienst ist zurzeit überlastet", "backend_error", "overload"),
    ("kimi", "Verbindung zum Gegenüber verloren", "backend_error", "network"),
    ("qwen", "Interner Serverfehler, Vorgang abgebrochen", "backend_error", "server"),
    ("claude", "Quota épuisé pour votre équipe.", "exhausted", "quota"),
    ("codex", "Authentification refusée par la passerelle", "backend_error", "auth"),
    ("gemini", "Le service est surchargé, revenez plus tard", "backend_error", "overload"),
    ("opencode", "Délai d'attente dépassé, connexion perdue", "backend_error", "network"),
    ("copilot", "Erreur interne du serveur", "backend_error", "server"),
    ("claude", "Se ha agotado la cuota de su equipo.", "exhausted", "quota"),
    ("codex", "Credenciales no válidas", "backend_error", "auth"),
    ("gemini", "El servicio está sobrecargado", "backend_error", "overload"),
    ("kimi", "No se pudo conectar con la pasarela", "backend_error", "network"),
    ("qwen", "Demasiadas solicitudes en poco tiempo", "backend_error", "rate_limit"),
    ("claude", "今月の利用枠を使い切りました。", "exhausted", "quota"),
    ("codex", "認証に失敗しました", "backend_error", "auth"),
    ("gemini", "サーバーが混み合っています", "backend_error", "overload"),
    ("opencode", "接続が切れました", "backend_error", "network"),
    ("copilot", "残高不足のため実行できません", "exhausted", "credits"),
    ("claude", "本月额度已经全部用掉了。", "exhausted", "quota"),
    ("codex", "身份验证失败", "backend_error", "auth"),
    ("gemini", "服务过载，请稍后再试", "backend_error", "overload"),
    ("kimi", "网络连接中断", "backend_error", "network"),
    ("qwen", "服务器内部错误", "backend_error", "server"),
)


def failed(agent: str, message: str) -> str:
    """The agent's screen after it failed with a message: in its colour where only that tells."""
    if agent == "claude":
        return claude(inked(f"⏺ {message}", YELLOW))
    return drawing.failure(agent, message)


@pytest.mark.parametrize(("agent", "said", "outcome", "cause"), INVENTED, ids=[row[1] for row in INVENTED])
def test_a_failure_that_nobody_listed_is_one_by_place_or_colour(
    agent: str, said: str, outcome: str, cause: str
) -> None:
    found = verdict(agent, failed(agent, said))
    assert (found.outcome, found.cause) == (outcome, cause)


@pytest.mark.parametrize(("agent", "said"), [row[:2] for row in INVENTED], ids=[row[1] for row in INVENTED])
def test_the_same_words_in_a_reply_are_none(agent: str, said: str) -> None:
    for form in ("{}", "It says: {}", "1. {}\n2. nothing else"):
        assert verdict(agent, drawing.reply(agent, form.format(said))).outcome == "completed"


# What agents remark on in the places of failures; each is drawn alone below the prompt, and below a reply.
REMARKS = (
    ("claude", "  ⎿  UserPromptSubmit hook succeeded: 3 files formatted", GREY),
    ("claude", "  ⎿  PostToolUse:Edit hook error: lint failed with status 1", YELLOW),
    ("claude", "  ⎿  You've used 92% of your session limit · resets 7pm (Europe/Berlin)", YELLOW),
    ("claude", "  ⎿  Now using usage credits · Your session limit resets 3pm (Europe/Berlin)", GREY),
    ("claude", "  ⎿  Approaching weekly limit · resets Mon 9am (Europe/Berlin)", YELLOW),
    ("claude", "  ⎿  MCP server docs failed to connect: request timed out", RED),
    ("claude", "  ⎿  Tip: name a file with @ to have it read", GREY),
    ("claude", "✻ Update available: 2.1.400 · run the installer", YELLOW),
    ("claude", "✻ Plugin tidy updated itself", YELLOW),
    ("claude", "※ recap: the limits of two routes are off by one", GREY),
    ("codex", "⚠ Heads up, you have less than 25% of your weekly limit left.", "33"),
    ("codex", "⚠ MCP client for `docs` failed to start: request timed out", "33"),
    ("codex", "⚠ Skipped 2 skills whose files cannot be read", "33"),
    ("codex", "⚠ The key `web` is deprecated; write `search`", "33"),
    ("codex", "⚠ Model metadata not found; defaulting to fallback metadata", "33"),
    ("codex", "⚠ Falling back from sockets to plain requests: stream disconnected", "33"),
    ("codex", "ℹ Update available: 0.171.0 -> 0.172.0", "36"),
    ("gemini", "ℹ Gemini CLI update available! 0.60.0 → 0.61.0", "33"),
    ("gemini", "⚠ Two extensions bring the same command: /lint", "33"),
    ("gemini", "ℹ You have used 80% of today's requests", "33"),
    ("gemini", "ℹ MCP tools of `docs` are there now", "36"),
    ("qwen", "ℹ Extensions changed on disk", "36"),
    ("qwen", "⚠ Telemetry cannot be sent: connection refused", "33"),
    ("qwen", "ℹ Hook `tidy` took 3 s", "36"),
    ("copilot", " ● Tip: /resume", "34"),
    ("copilot", " ! A new version is there: 1.0.103", "33"),
    (
        "copilot",
        " ! You have exceeded your premium requests; we have automatically switched you to another model",
        "33",
    ),
    ("copilot", " ⚠ MCP server `docs` did not answer: timed out", "33"),
    ("codex", "⚠ 3 hooks wait for your trust", "33"),
    ("gemini", "⚠ The configuration names a theme that is not there", "33"),
)


@pytest.mark.parametrize(("agent", "line", "code"), REMARKS, ids=[row[1].strip() for row in REMARKS])
@pytest.mark.parametrize("emptied", [False, True], ids=["with its wordings", "without any wording"])
def test_a_remark_is_no_failure_and_ends_no_turn(agent: str, line: str, code: str, emptied: bool) -> None:
    look = without_wordings(look_of(agent)) if emptied else look_of(agent)
    for ink in (True, False):
        shown = inked(line, code) if ink else line
        below = inked("a banner", "38;5;174") + "\n" if ink else ""
        alone = verdict(agent, below + drawing._on(agent, [shown]), look)
        assert alone.outcome == "working", alone.reason
        first = drawing.STYLES[agent].reply[0]
        after = verdict(agent, below + drawing._on(agent, [f"{first}All done.", "", shown]), look)
        assert after.outcome == "completed", after.reason


def without_wordings(look: Look) -> Look:
    """The look without anything that names a failure's, a retry's or a limit's words."""
    return msgspec.structs.replace(
        look, starts=[], reply_coloured=[], exhausted={}, errors={}, harmless=[], retrying=[], momentary=[],
        lasting=[], limit_dialogs=[], confirm=[], backends=Wordings(),
    )  # fmt: skip


def test_without_any_wording_nine_screens_of_ten_are_right_and_none_is_a_false_alarm() -> None:
    """Exhausted and backend_error count as one, since only words tell them apart."""
    looks = {agent: without_wordings(look_of(agent)) for agent in agentfiles.names()}
    cases = [json.loads(line) for line in (drawing.SAMPLES / "index.jsonl").read_text().splitlines()]
    right, alarms, count = 0, [], 0
    for case in cases:
        if case["file"].startswith("ambiguous") or not case.get("outcome"):
            continue
        path = drawing.SAMPLES / case["file"]
        before = path.with_suffix("").with_suffix(".baseline.txt")
        baseline = before.read_text() if before.exists() else None
        turn = records.Turn(id="t", seconds=case.get("turnSeconds"), baseline=baseline)
        pane = records.Pane(
            ts="2026-11-30T02:00:00.000Z", text=path.read_text(), tz="UTC", agent=case["agent"], turn=turn
        )
        outcome = judge(pane, looks[case["agent"]], Rules()).outcome
        wanted = {case["outcome"], *(case.get("alsoRight") or [])}
        wanted |= {"exhausted", "backend_error"} if wanted & {"exhausted", "backend_error"} else set()
        count += 1
        right += outcome in wanted
        if outcome in ("exhausted", "backend_error") and not wanted & {
            "exhausted",
            "backend_error",
            "retrying",
            "failed",
        }:
            alarms.append(case["file"])
    assert not alarms
    assert right / count >= 0.9


# Rule: a failure known by place or colour alone has the pattern `place`, and is not proved at once; a code names it.
def test_place_alone_is_said_to_be_that_and_is_not_proved() -> None:
    alone = verdict("codex", drawing.failure("codex", "the mill stands still"))
    assert (alone.outcome, alone.cause, alone.pattern, alone.proved) == ("backend_error", "unknown", "place", False)
    coded = verdict("codex", drawing.failure("codex", "HTTP 503: the mill stands still"))
    assert (coded.cause, coded.pattern, coded.proved) == ("server", "codex: 503", None)
    body = verdict("codex", drawing.failure("codex", '{"error":{"message":"the mill stands still"}}'))
    assert (body.cause, body.pattern, body.proved) == ("unknown", "codex: what a server answered", None)


# Rule: completed is earned: by a reply, a tool call that ended, or the agent's own mark; not by what is left over.
EARNED = {
    "nothing below the prompt": ([], "working"),
    "a reply": (["⏺ Done."], "completed"),
    "a tool call that ended": (["⏺ Bash(ls)", "  ⎿  a b"], "completed"),
    "the mark of an end": (["✻ Worked for 3s"], "idle"),
    "a remark": (["  ⎿  Read the notes"], "working"),
    "a remark below a reply": (["⏺ Done.", "", "  ⎿  Read the notes"], "completed"),
    "what nobody knows": (["      a page that covers the turn"], "stale"),
}


def test_remarks_alone_tell_nothing_of_a_turn_whose_prompt_has_scrolled_away() -> None:
    composer = drawing._on("claude", []).rstrip("\n").split("\n")[-4:]
    remark, reply = "  ⎿  Kept the model as it was", "⏺ All done."
    assert verdict("claude", "\n".join([remark, "", *composer])).outcome == "stale"
    assert verdict("claude", "\n".join([reply, "", remark, "", *composer])).outcome == "completed"


@pytest.mark.parametrize(("lines", "outcome"), EARNED.values(), ids=EARNED.keys())
def test_completed_is_earned(lines: list[str], outcome: str) -> None:
    assert verdict("claude", drawing._on("claude", lines)).outcome == outcome


# Rule: what a model may say, in the places of failures, of agents whose replies carry no mark or that of a failure.
SAID = (
    ("pi", " I hit an error 429 earlier, waited a minute, and then the push went through."),
    ("pi", " Error 500."),
    ("amp", "  Error 500."),
    ("pi", " The server printed this before it died:\n\n Error: connect ECONNREFUSED 127.0.0.1:5432"),
    ("claude", '⏺ {"status":429,"error":{"code":"rate_limit_exceeded","message":"slow down"}}'),
    ("cline", " * Retrying in 5 seconds is too long for this test, so I set it to 0.1."),
    ("amp", "  Retrying in 5 seconds is too long for this test, so I set it to 0.1."),
)


@pytest.mark.parametrize(("agent", "said"), SAID, ids=[row[1].strip() for row in SAID])
def test_a_reply_that_looks_like_a_failure_is_a_reply(agent: str, said: str) -> None:
    assert verdict(agent, drawing._on(agent, said.split("\n"))).outcome == "completed"


def test_an_item_with_the_glyph_of_a_reply_is_no_end_of_the_reply_above_it() -> None:
    lines = [" * I look at it first.", "", " * Error: 503 Service Unavailable"]
    assert verdict("cline", drawing._on("cline", lines)).outcome == "backend_error"
    within = [" * The last line is this.", "", "   Error: 503 Service Unavailable"]
    assert verdict("cline", drawing._on("cline", within)).outcome == "completed"


def test_what_follows_a_code_is_a_message_and_no_talk_about_it() -> None:
    message = "⏺ API Error: 400 The response was filtered due to the rules of the gateway."
    assert verdict("claude", drawing._on("claude", [message])).outcome == "backend_error"
    mending = "⏺ Your apiKeyHelper script is failing · Fix the script"
    assert verdict("claude", drawing._on("claude", [mending])).outcome == "backend_error"
    talk = "⏺ API Error: 400 was what the log ended with."
    assert verdict("claude", drawing._on("claude", [talk])).outcome == "completed"


def test_a_reply_of_pi_that_ends_with_an_error_is_one_where_failures_would_be_red() -> None:
    lines = [" The log ends with an error:", "", " API Error: 529", "", " Error: 429 Too Many Requests"]
    rule = inked("x", "2")
    assert verdict("pi", f"{rule}\n{drawing._on('pi', lines)}").outcome == "completed"
    failed = [" I look at it.", "", inked(" Error: 429 Too Many Requests", "38;5;1")]
    assert verdict("pi", drawing._on("pi", failed)).outcome == "backend_error"


@pytest.mark.parametrize("shown", ["Say hello please.", "Pane is dead (status 1, Tue Dec 1 01:03:45 2026)"])
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "qwen", "kimi", "copilot", "opencode"])
def test_a_screen_on_which_nothing_is_the_agents_tells_of_no_turn(agent: str, shown: str) -> None:
    assert verdict(agent, f"{shown}\n\n\n").outcome == "stale"
