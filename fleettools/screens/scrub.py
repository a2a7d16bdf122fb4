"""A text without the secrets in it: keys, tokens, passwords and private keys.

A secret is known by how its maker writes it (`ghp_...`), by the name before it (`password=...`), or by its place (in
a URL, a header, an option). Names that prose uses, too (`token: ...`), count only before what looks drawn by lot, so
that ordinary words survive; hashes and UUIDs do unless they stand behind such a name.
"""

import math
import re
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise

SECRET = "[secret]"
_SHORT = 1000  # characters of a text that is worth remembering

# The words (lower case) of which a text that holds it has one, its pattern, and what is put in its place.
_Form = tuple[tuple[str, ...], str, Callable[[re.Match[str]], str]]

# Made so that they are known at sight: how they begin, and how they go on.
_MADE = (
    ("sk-ant- sk-proj- sk-or- sk-svcacct- sk-admin- sk-lf- pk-lf-", r"[A-Za-z0-9_-]{8,}"),
    # These may begin a word, too, so a digit has to follow, or more letters than a word has.
    ("sk- pk- rk- ak- csk- xai- pplx- tvly- fc- key-", r"(?=[A-Za-z_-]{0,40}[0-9]|[A-Za-z]{16})[A-Za-z0-9_-]{8,}"),
    ("sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ pk_live_ pk_test_", r"[A-Za-z0-9]{10,}"),
    ("ghp_ gho_ ghu_ ghs_ ghr_ hf_ gsk_", r"[A-Za-z0-9]{10,}"),
    ("github_pat_", r"[A-Za-z0-9_]{10,}"),
    ("glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-", r"[A-Za-z0-9_.-]{10,}"),
    ("xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- xwfp-", r"[A-Za-z0-9.-]{10,}"),
    ("AKIA ASIA ABIA ACCA AGPA AIDA AIPA ANPA ANVA AROA A3T", r"[A-Z0-9]{12,}"),
    ("IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz", r"[A-Za-z0-9+/=_%-]{16,}"),
    ("eyJ ops_eyJ", r"[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}"),
    ("AIza", r"[A-Za-z0-9_-]{20,}"),
    ("ya29. GOCSPX- 1//0 figd_ lin_api_ ntn_ ATATT3 sntrys_ sntryu_", r"[A-Za-z0-9_+/=-]{16,}"),
    ("npm_ r8_ api_org_ fw_ jina_ nfp_ rnd_ pnu_ rdme_ LTAI cmVmd AKCp", r"[A-Za-z0-9]{16,}"),
    ("nvapi- pypi- dckr_pat_ dckr_oat_ lsv2_pt_ lsv2_sk_ sgp_ fio-u- HRKU- PMAK-", r"[A-Za-z0-9_=-]{16,}"),
    ("hvs. hvb. dp.pt. dp.st. dp.ct. dp.sa. dt0c01. tfp_ pscale_pw_ pscale_tkn_", r"[A-Za-z0-9_.=-]{20,}"),
    ("rubygems_ dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ sbp_ pul- dapi", r"[A-Fa-f0-9]{20,}"),
    ("whsec_", r"[A-Za-z0-9+/=]{16,}"),
    ("SG.", r"[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("xkeysib-", r"[a-f0-9]{20,}-[A-Za-z0-9]+"),
    ("sq0atp- sq0csp- sq0idp- FLWSECK- FLWSECK_", r"[A-Za-z0-9_-]{12,}"),
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{20,}"),
    ("NRAK- NRII- NRJS- EZAK EZTK", r"[A-Za-z0-9]{16,}"),
    ("v1.0-", r"[a-f0-9]{24}-[a-f0-9]{60,}"),
)
_BOT = r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}"
_AWS = r"(?<![A-Za-z0-9+/=._-])[A-Za-z0-9+][A-Za-z0-9+/]{39}(?![A-Za-z0-9+/=._-])"

_SURE = r"api[-_ ]?keys?|(?:access|secret|private|account|shared|signing|encryption|master)[-_ ]?key(?:[-_ ]id)?"
_SURE += r"|secret[-_ ]access[-_ ]key|(?:client|app|shared)[-_ ]?secret|secret|passw(?:or)?d|passphrase|passwd|pwd"
_PROSE = r"token|auth|authorization|credentials?|cookie|signature|sig|bearer"
_END = r"(?:[_-](?!count\b|limit\b|type\b|name\b|file\b|path\b|usage\b|budget\b)[A-Za-z0-9_]{1,24})?"
_VALUE = r"[^\s\"'`,;&<>(){}\[\]│]"
_NAMED = (
    rf"(?i)(?:(?P<sure>{_SURE})|(?P<prose>{_PROSE})){_END}(?P<json>\\?[\"'`])?(?:[ ]\w{{1,12}}){{0,2}}"
    rf"\s{{0,3}}(?P<sign>:=|=>|={{1,3}}|:)\s{{0,3}}(?P<quote>\\?[\"'`])?(?P<value>(?(quote)[^\"'`\\\n]|{_VALUE}){{4,}}(?<![.:!?]))"
)
_HEADER = (
    r"(?i)(?P<before>\b(?:(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(?:(?:basic|bearer|token|apikey|digest|negotiate)\s{1,3})?|(?:basic|bearer)\s{1,3}))(?P<value>[A-Za-z0-9._~+/=-]{6,})"
)
_COOKIE = r"(?i)(?P<before>\b(?:set-)?cookie\s?:\s?)(?P<value>[^\s=;]{1,60}=[^\n\"']{4,})"
_QUERY = (
    r"(?i)(?P<before>[?&#;](?:[a-z-]*(?:key|token|secret|password|passwd|pwd|sig|signature|auth)|code"
    rf"|x-amz-[a-z-]+)=)(?P<value>{_VALUE}{{4,}})"
)
_OPTION = (
    r"(?i)(?P<before>(?<!\S)--?(?:[a-z]{1,12}-){0,2}(?:password|passphrase|secret|token|api-?key|access-key)"
    r"[= ]\s{0,3}[\"']?)"
    rf"(?P<value>{_VALUE}{{4,}})"
)
_CURL = r"(?P<before>\bcurl\b[^\n|;]{0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,60}:)(?P<value>[^\s\"']{3,})"
_URL = (
    r"(?P<before>\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@\"']{0,80}:)(?P<value>[^\s\"'<>]{1,200})@(?=[A-Za-z0-9\[/?])"
)
_URL_TOKEN = r"(?P<before>\b[a-z][a-z0-9+.-]{1,20}://)(?P<value>[A-Za-z0-9_.-]{16,200})(?=(?::x-oauth-basic)?@)"
_HOOK = r"(?P<before>https://hooks\.slack(?:-gov)?\.com/[a-z]+/|/api/webhooks/[0-9]+/)(?P<value>[A-Za-z0-9_/-]{16,})"

_PORT = re.compile(r"[0-9]{1,5}(?:[/?#]|$)")
_PLACEHOLDER = re.compile(r"(?:[$%<*/~.{\[]|\*|x{4,}|true$|false$|null$|none$|undefined$|process\.|os\.)", re.I)
_NUMBER = re.compile(r"[0-9.,:%]+[a-z]{0,3}")


def scrubbed(text: str) -> str:
    """The text with every secret in it replaced."""
    return _remembered(text) if len(text) <= _SHORT else _scrubbed(text)


def _scrubbed(text: str) -> str:
    lower = text.lower()
    if "private key" in lower:
        text = _without_keys(text)
    for signs, pattern, put in _FORMS:
        for sign in signs:  # asked of every line; a generator costs twice as much
            if sign in lower:
                text = _pattern(pattern).sub(put, text)
                break
    return _pattern(_AWS).sub(_aws, text) if len(text) >= 40 else text


@lru_cache(500)  # an outage says the same many times
def _remembered(text: str) -> str:
    return _scrubbed(text)


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _kept(is_secret: Callable[[str], bool]) -> Callable[[re.Match[str]], str]:
    """Replaces the value of a match, where it is one; what stands around it stays."""

    def put(match: re.Match[str]) -> str:
        if not is_secret(match["value"]):
            return match[0]
        start, end = match.start("value") - match.start(), match.end("value") - match.start()
        return match[0][:start] + SECRET + match[0][end:]

    return put


def _made(begins: str, rest: str) -> _Form:
    words = begins.split()
    # Not behind such a character: so each run of them is read once.
    pattern = rf"(?<![A-Za-z0-9_-])(?:{'|'.join(map(re.escape, words))}){rest}"
    return tuple(word.lower() for word in words), pattern, _whole


def _whole(_: re.Match[str]) -> str:
    return SECRET


def _named(match: re.Match[str]) -> str:
    value, assigned = match["value"], match["quote"] or match["sign"] != ":"
    is_secret = _in_place(value) if match["sure"] and assigned else _by_lot(value)
    return _kept(lambda _: is_secret)(match)


def _by_lot(value: str) -> bool:
    """Whether nobody would write such a word: eight characters or more, with digits among letters, or cases mixed."""
    if len(value) < 8 or _PLACEHOLDER.match(value) or _NUMBER.fullmatch(value):
        return False
    if any(map(str.isdigit, value)):
        return sum(map(str.isalpha, value)) > 1 or len(value) >= 16
    return len(value) >= 12 and sum(a.islower() and b.isupper() for a, b in pairwise(value)) > 1


def _in_header(value: str) -> bool:
    return _by_lot(value) or (len(value) >= 16 and value.isalpha()) or value.endswith("=")


def _in_place(value: str) -> bool:
    return not _PLACEHOLDER.match(value)


def _of_a_user(value: str) -> bool:
    return not _NUMBER.fullmatch(value) and _in_place(value)  # docker takes -u 1000:1000


def _in_url(value: str) -> bool:
    return not _PORT.match(value) and value != SECRET


def _aws(match: re.Match[str]) -> str:
    value = match[0]
    kinds = (any(map(str.isupper, value)), any(map(str.islower, value)), any(map(str.isdigit, value)))
    shares = [value.count(c) / len(value) for c in set(value)]
    return SECRET if all(kinds) and -sum(p * math.log2(p) for p in shares) > 4.2 else value


def _without_keys(text: str) -> str:
    """Without private keys, also where the screen shows only their beginning or their end."""
    made: list[str] = []
    inside = False
    for line in text.split("\n"):
        ends = "PRIVATE KEY" in line and "-----END" in line
        if inside:
            inside = not ends
        elif "-----BEGIN" in line and "PRIVATE KEY" in line:
            begin = line.index("-----BEGIN")
            end = line.find("-----END", begin)
            tail = line[end:].partition("KEY")[2].lstrip("-") if end >= 0 else ""
            made.append(f"{line[:begin]}{SECRET}{tail}")
            inside = end < 0
        elif ends:
            while made and _LINE_OF_KEY.fullmatch(made[-1]):
                made.pop()
            made.append(SECRET)
        else:
            made.append(line)
    return "\n".join(made)


_LINE_OF_KEY = re.compile(r"[ │|>]*[A-Za-z0-9+/=]{16,80}[ │|]*")
_FORMS: tuple[_Form, ...] = (
    *map(_made, *zip(*_MADE, strict=True)),
    ((":aa",), _BOT, _whole),
    (("://",), _URL, _kept(_in_url)),
    (("://",), _URL_TOKEN, _kept(_by_lot)),
    (("hooks.", "webhooks"), _HOOK, _kept(_in_place)),
    (("cookie",), _COOKIE, _kept(_in_place)),
    (("authorization", "basic ", "bearer "), _HEADER, _kept(_in_header)),
    (("=",), _QUERY, _kept(_in_place)),
    (("password", "passphrase", "secret", "token", "key"), _OPTION, _kept(_in_place)),
    (("curl",), _CURL, _kept(_of_a_user)),
    (("key", "secret", "pass", "pwd", "token", "auth", "credential", "cookie", "sig", "bearer"), _NAMED, _named),
)
