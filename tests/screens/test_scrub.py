"""Secrets on a screen never leave it; ordinary words, hashes and UUIDs do."""

import time

import pytest

from fleettools.adapters import agentfiles
from fleettools.records import Pane, encode
from fleettools.screens.judge import explained, weigh
from fleettools.screens.patterns import Rules
from fleettools.screens.scrub import scrubbed

HEX = "9f86d081884c7d659a2feaa0c55ad015"
LOT = "Ab3dEf6hIj9kLm2nOp5qRs8t"  # no real key holds it
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"

# What stands before the secret, the secret, and what stands behind it. Whole keys are never written here, so that no
# scanner takes this file for a leak.
SECRETS = [
    ("Invalid key ", "sk-" + "ant-api03-abcdefghijkl", " given"),
    ("Incorrect API key provided: ", "sk-" + "proj-" + LOT, "."),
    ("the log shows key ", "sk-" + "ant-abcdefghijkl", "."),
    ("", "sk-" + "abcdefghijklmnopq", " is wrong"),
    ("Incorrect API key provided: ", HEX, ". You can find"),
    ("API key ", "AIza" + "SyA0123456789abcdefghij", " not valid"),
    ("token ", "ya29." + "a0AfB_byC" + LOT, ""),
    ("", "GOCSPX-" + LOT, ""),
    ("", "1//0" + "gAb" + LOT, ""),
    ("remote: ", "ghp_" + "0123456789abcdef", " denied"),
    ("", "github_pat_" + "11ABCDEFG0" + LOT, ""),
    ("", "glpat-" + LOT, ""),
    ("", "glrt-" + "t1_" + LOT, ""),
    ("", "xoxb-" + "123456789012-" + LOT, ""),
    ("", "xapp-" + "1-A0123-" + LOT, ""),
    ("post to https://hooks.slack.com/services/", "T01234567/B01234567/" + LOT, " failed"),
    ("post to https://discord.com/api/webhooks/1234567890/", LOT + LOT, " failed"),
    ("", "hf_" + LOT, ""),
    ("", "gsk_" + LOT, ""),
    ("", "xai-" + LOT, ""),
    ("", "nvapi-" + LOT, ""),
    ("", "r8_" + LOT, ""),
    ("//registry/:_authToken=", "npm_" + LOT + "0123456789ab", ""),
    ("", "npm_" + LOT + "0123456789ab", ""),
    ("", "pypi-" + "AgEIcHlwaS5vcmc" + LOT, ""),
    ("", "dckr_pat_" + LOT, ""),
    ("", "sk_live_" + LOT, ""),
    ("", "whsec_" + LOT, ""),
    ("", "SG." + LOT + "." + LOT, ""),
    ("", "dop_v1_" + HEX + HEX, ""),
    ("", "shpat_" + HEX, ""),
    ("", "hvs." + LOT, ""),
    ("", "ATATT3" + LOT, ""),
    ("", "lin_api_" + LOT, ""),
    ("", "sntrys_" + LOT, ""),
    ("", "dapi" + HEX, ""),
    ("bot ", "123456789:AA" + LOT + LOT, ""),
    ("", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + LOT, ""),
    ("", "AKIA" + "IOSFODNN7EXAMPLE", ""),
    ("temporary ", "ASIA" + "Y34FZKBOKMUTVV7A", " has expired"),
    ("session ", "IQoJb3JpZ2luX2Vj" + LOT, ""),
    ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY", ""),
    ("signed with ", "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY", ""),
    ('"SecretAccessKey": "', "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY", '"'),
    ("Authorization: Basic ", "dXNlcjpodW50ZXIy", ""),
    ("> authorization: bearer ", LOT.lower(), ""),
    ("'Authorization': 'Bearer ", LOT, "'"),
    ("Authorization: token ", HEX, ""),
    ("proxy-authorization: Basic ", "Zm9vOmJhcg==", ""),
    ("sent Bearer ", "abcdefghijklmnop", " and"),
    ("x-api-key: ", HEX, ""),
    ("Cookie: ", "session=" + LOT, ""),
    ('{"apiKey": "', "correct horse", '"}'),
    ('{"apiKey":"', "abcd-efgh", '"}'),
    ('{\\"api_key\\": \\"', LOT, '\\"}'),
    ("api_key=", "0123456789abcdef", ""),
    ("OPENAI_API_KEY=", "whatever", ""),
    ("export ANTHROPIC_AUTH_TOKEN=", LOT, ""),
    ("password=", "hunter2", ""),
    ("password = '", "correct horse", "'"),
    ("DB_PASSWORD=", "tiger", " make"),
    ("password: ", "hunter2!x", ""),
    ("PGPASSWORD=", "letmein", " psql"),
    ("client_secret: ", LOT, ""),
    ("AccountKey=", LOT + LOT + "==", ";EndpointSuffix"),
    ("postgresql://fleet:", "s3cret", "@db.example/fleet"),
    ("postgresql://fleet:", "s3c@ret", "@db.example/fleet"),
    ("postgresql://fleet:", "s3c/ret", "@db.example/fleet"),
    ("redis://:", "s3cret", "@cache:6379/0"),
    ("https://", LOT, "@github.com/a/b.git"),
    ("https://x-access-token:", LOT, "@github.com/a/b.git"),
    ("GET https://api.example/v1?token=", "abcdefgh", " 401"),
    ("GET https://api.example/v1?a=b&access_token=", LOT, "&c=d"),
    ("wss://live.example/?key=", "abcd1234", ""),
    ("https://b.s3/x?X-Amz-Signature=", HEX, ""),
    ("curl -u admin:", "hunter2", " https://x"),
    ("login --password ", "hunter2", " --quiet"),
    ("deploy --api-key=", LOT, ""),
]


@pytest.mark.parametrize(("before", "secret", "behind"), SECRETS, ids=[b + s[:6] for b, s, _ in SECRETS])
def test_a_secret_is_replaced_and_what_stands_around_it_stays(before: str, secret: str, behind: str) -> None:
    shown = scrubbed(before + secret + behind)
    assert secret not in shown and "[secret]" in shown
    assert shown.endswith(behind)
    assert scrubbed(shown) == shown


@pytest.mark.parametrize("kind", ["", "RSA ", "OPENSSH ", "EC ", "ENCRYPTED "])
def test_a_private_key_is_replaced_whole_and_also_where_one_end_is_off_the_screen(kind: str) -> None:
    begin, end = f"-----BEGIN {kind}PRIVATE KEY-----", f"-----END {kind}PRIVATE KEY-----"
    block = f"{begin}\n{BODY}\n{BODY}\n{end}"
    assert scrubbed(f"before\n{block}\nafter") == "before\n[secret]\nafter"
    assert scrubbed(f"before\n{begin}\n{BODY}\n{BODY}") == "before\n[secret]"
    assert scrubbed(f"│ {BODY} │\n  {BODY}\n{end}\nafter") == "[secret]\nafter"
    assert scrubbed(f'key "{begin}\\n{BODY}\\n{end}" read') == 'key "[secret]" read'


@pytest.mark.parametrize(("before", "secret", "behind"), SECRETS, ids=[b + s[:6] for b, s, _ in SECRETS])
@pytest.mark.parametrize(
    "screen", ["❯ hello\n\n● Yes.\n\n● API Error: 401 {}\n", "❯ hi\n\n● Bash(x)\n  ⎿  {}\n\n● Done: {}\n"]
)
def test_no_verdict_and_no_explanation_holds_one(screen: str, before: str, secret: str, behind: str) -> None:
    pane = Pane(ts="2026-01-31T12:00:00.000Z", agent="claude", text=screen.replace("{}", before + secret + behind))
    for look in (agentfiles.load("claude"), None):
        judgement = weigh(pane, look, Rules(), explain=True)
        assert secret not in encode(judgement.verdict).decode() + "\n".join(explained(judgement))


ORDINARY = [
    "API Error: 401 Invalid API key · Please run /login",
    "API key: invalid",
    "invalid x-api-key",
    '{"type":"error","error":{"type":"authentication_error","message":"OAuth token has expired."}}',
    "Your OAuth token has expired; password: incorrect",
    "token: expired, auth: required, credentials: missing",
    "Bearer authentication failed; basic authentication is off",
    "Authorization: denied",
    "max_tokens=200000, input_tokens: 12345, token_count=99999999",
    "token budget: 200000",
    "the secret: patience",
    "password=$DB_PASSWORD",
    "api_key: ${{ secrets.API_KEY }}",
    "PASSWORD=<your password>",
    "sk-learn-contrib and pk-based-lookup",
    "npm_config_registry and npm_package_version",
    "hf_transfer, gsk_, glpat, ghp_",
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "integrity sha512-" + "Ab3dEf6hIj9kLm2nOp5q" * 4 + "==",
    "md5 9f86d081884c7d659a2feaa0c55ad015",
    "request_id: req_011CSHoEeqs5C35K2UUqR7Fy",
    "session 123e4567-e89b-12d3-a456-426614174000",
    "https://example.com:8080/a@b and https://registry.example:443/@scope/pkg",
    "http://localhost:11434/api/chat",
    "git@github.com:owner/repo.git",
    "mailto:someone@example.com",
    "src/components/Button2/ButtonGroupInner11.tsx",
    "/usr/lib/python3/site-packages/Fleet2/abcde1",
    "key=value and code=200, keys: a, b",
    "monkey: banana1234567, keyboard: qwerty12345",
    "Retrying in 5s · attempt 3/10 (429 rate_limit)",
    "resets 3pm (Europe/Berlin)",
    "-----BEGIN CERTIFICATE-----",
    "PWD=/home/a/b1",
    "curl -u 1000:1000",
    "2026-01-31T12:00:00.000Z",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_words_hashes_and_uuids_survive(text: str) -> None:
    assert scrubbed(text) == text


@pytest.mark.parametrize(
    "word", ["sk-", "eyJ", "-eyJ-", "://a:", "key=", "token: ", "A1b2", "glpat-", "curl -u ", "x" * 9]
)
def test_a_word_repeated_without_end_takes_time_in_proportion(word: str) -> None:
    def seconds(text: str) -> float:
        start = time.process_time()
        scrubbed(text)
        return time.process_time() - start

    small = min(seconds(word * 4_000) for _ in range(3))
    assert seconds(word * 32_000) < 8 * 4 * max(small, 0.002)
