"""fleetd.yaml: every mistake is named by its place with its mend, all of them at once."""

from pathlib import Path

import pytest

from fleettools import config
from fleettools.adapters import configfile
from fleettools.errors import BadConfig, Exit


def mistakes(tmp_path: Path, text: str) -> list[str]:
    """What is said about a file, without the file's name."""
    path = tmp_path / "fleetd.yaml"
    path.write_bytes(text.encode())
    with pytest.raises(BadConfig) as caught:
        configfile.load(str(path))
    assert caught.value.exit is Exit.BAD_CONFIG
    assert all(error.mend for error in (caught.value, *caught.value.also))
    return [str(error).removeprefix(f"{path}") for error in (caught.value, *caught.value.also)]


MISTAKES = [
    ("an unknown key", "outage: {treshold: 2}", "outage.treshold: unknown key; did you mean threshold?"),
    ("a key in snake case", "profiles: {a: {credential_id: b}}", "did you mean credentialId?"),
    ("an unknown section", "profile: {}", "profile: unknown key; did you mean profiles?"),
    ("a word near nothing", "zzz: 1", "zzz: unknown key; there are profiles, "),
    ("a duplicate key", "minTurnSeconds: 1\nminTurnSeconds: 2", "minTurnSeconds: named twice, in lines 1 and 2"),
    ("a duplicate profile", "profiles:\n  a: {}\n  a: {}", "profiles.a: named twice, in lines 2 and 3"),
    ("an anchor", "profiles: {a: &x {agent: claude}}", "profiles.a: an anchor (&x)"),
    ("an alias", "profiles: {a: {}, b: *x}", "profiles.b: an alias (*x)"),
    ("a merge key", "profiles: {a: {<<: {agent: claude}}}", "profiles.a: a merge key (<<)"),
    ("a tag", "profiles: {a: {command: !!str 7}}", "profiles.a.command: a tag (tag:yaml.org,2002:str)"),
    ("several documents", "minTurnSeconds: 1\n---\nminTurnSeconds: 2", "several documents in one file"),
    ("on for text", "panes: [{session: on}]", "panes[0].session: on is true or false in YAML 1.1"),
    ("yes for true", "health: {enabled: yes}", "quote it, 'yes', or write true"),
    ("a leading zero", "outage: {threshold: 012}", "outage.threshold: 012 is octal"),
    ("base 60", "panes: [{lead: 22:22}]", "panes[0].lead: 22:22 is a number to the base of 60"),
    ("a pane like base 60", "panes: [{lead: 0:1.0}]", "panes[0].lead: 0:1.0 is a number to the base of 60"),
    ("an underscored number", "quarantineCooldownSeconds: 1_800", "quarantineCooldownSeconds: 1_800 is a number in"),
    ("a date", "panes: [{title: 2026-01-31}]", "panes[0].title: 2026-01-31 is a date"),
    ("infinity", "minTurnSeconds: .inf", "minTurnSeconds: .inf is no text"),
    ("a key that is a number", "profiles: {7: {}}", "profiles: the key 7 is no text; quote it"),
    (
        "a number for text",
        "profiles: {a: {env: {PORT: 80}}}",
        "profiles.a.env.PORT: expected text, got a whole number; quote it",
    ),
    ("text for a number", "outage: {threshold: two}", "outage.threshold: expected a whole number"),
    ("truth for a number", "outage: {threshold: true}", "outage.threshold: expected a whole number"),
    ("a fraction for a count", "outage: {threshold: 1.5}", "outage.threshold: expected a whole number"),
    ("a list for a mapping", "profiles: [a]", "profiles: expected a mapping, got a list"),
    ("a text for the whole", "hello", "expected a mapping, got 'hello'"),
    ("a threshold of none", "outage: {threshold: 0}", "outage.threshold: expected a whole number >= 1, got 0"),
    ("no window", "outage: {windowSeconds: 0}", "outage.windowSeconds: expected a number > 0, got 0"),
    ("a cause nobody knows", "outage: {ignoreCauses: [contxt]}", "outage.ignoreCauses[0]: 'contxt' is not known here"),
    ("a policy nobody knows", "placement: {policy: leastloaded}", "did you mean least-loaded?"),
    ("reminders out of order", "notify: {reminders: [300, 60]}", "notify.reminders: each has to come later"),
    ("a profile's name", "profiles: {'a b': {}}", "profiles.a b: 'a b' does not fit; use 1 to 64 letters"),
    ("a credential's name", "profiles: {a: {credentialId: ../x}}", "profiles.a.credentialId: '../x' does not fit"),
    (
        "a prompt with control characters",
        'resume: {prompt: "a\\eb"}',
        "does not fit; write a text without control characters",
    ),
    ("a blank prompt", "resume: {prompt: '  '}", "resume.prompt: '  ' does not fit"),
    ("a variable's name", "profiles: {a: {env: {'1 X': z}}}", "profiles.a.env.1 X: '1 X' does not fit"),
    ("a store nobody has", "state: mysql://x", "state: mysql: is no store"),
    (
        "a webhook of another kind",
        "health: {webhook: 'ftp://x'}",
        "health.webhook: this value does not fit; use an http",
    ),
    ("a bad pattern", "profiles: {codex-b: {errorPattern: '(a|b'}}", "profiles.codex-b.errorPattern: missing ) at 4"),
    ("endless groups", "profiles: {a: {errorPattern: '" + "(?:" * 3000 + ")" * 3000 + "'}}", "longer than 10000"),
    ("many groups", "profiles: {a: {errorPattern: '" + "(" * 51 + ")" * 51 + "'}}", "groups more than 50 deep at 50"),
    ("an endless repetition", "profiles: {a: {errorPattern: 'a{999999999}'}}", "of more than 1000 times at 1"),
    ("repetitions of repetitions", "profiles: {a: {errorPattern: '(?:a{200}b){0,99}'}}", "more than 1000 times at 11"),
    ("a bad pattern in a list", "profiles: {a: {errorPattern: [x, '[']}}", "profiles.a.errorPattern[1]: unterminated"),
    (
        "a bad pattern that adds",
        "profiles: {a: {exhaustedPattern: {extend: ['*']}}}",
        "profiles.a.exhaustedPattern.extend[0]: nothing to repeat at 0",
    ),
    (
        "extend without a list",
        "profiles: {a: {errorPattern: {extend: '('}}}",
        "profiles.a.errorPattern.extend: expected",
    ),
    (
        "extend beside a pattern",
        "profiles: {a: {errorPattern: {extend: [x], pattern: z}}}",
        "profiles.a.errorPattern.extend: does not go with pattern",
    ),
    ("extend without a value", "profiles: {a: {errorPattern: {}}}", "profiles.a.errorPattern.extend: missing"),
    ("no YAML", "profiles: {a: [}", ", line 1, column 16: "),
    ("a control character", "profiles: {a: '\x07'}", ", line 1: control characters are not allowed (#x07)"),
    ("nesting without end", "profiles: " + "[" * 100 + "]" * 100, "nested more than 16 deep"),
    ("a file without end", "#" * (1 << 20) + "\n", "larger than 1 MiB"),
]


@pytest.mark.parametrize(("text", "says"), [pytest.param(*case[1:], id=case[0]) for case in MISTAKES])
def test_a_mistake_names_its_place_and_its_mend(tmp_path: Path, text: str, says: str) -> None:
    said = mistakes(tmp_path, text)
    assert len(said) == 1
    assert said[0].removeprefix(": ").startswith(says) or says in said[0]


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    said = mistakes(tmp_path, "profiles: {a: {agnt: x, maxMembers: many}}\noutage: {threshold: 0}\n")
    assert [line.split(": ")[1] for line in said] == ["profiles.a.agnt", "profiles.a.maxMembers", "outage.threshold"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b"a: \xff", "not UTF-8 (byte 3)", id="another encoding"),
        pytest.param(None, "No such file or directory", id="no file"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_mistake(tmp_path: Path, data: bytes | None, says: str) -> None:
    path = tmp_path / "other.yaml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(BadConfig) as caught:
        configfile.load(str(path))
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


def loaded(tmp_path: Path, text: str) -> config.Config:
    path = tmp_path / "fleetd.yaml"
    path.write_text(text)
    return configfile.load(str(path))


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "profiles:\noutage:\nhealth: {webhook: null}\n"])
def test_an_empty_file_and_empty_keys_mean_the_defaults(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, text) == config.Config()


def test_a_profile_without_keys_is_a_profile(tmp_path: Path) -> None:
    assert loaded(tmp_path, "profiles:\n  claude-a:\n").profiles == {"claude-a": config.Profile()}


def test_patterns_may_use_what_only_regex_knows(tmp_path: Path) -> None:
    patterns = [r"(?<=a+)b", r"\p{Greek}", r"(?i)quota (?:used|exceeded)", "[[a]", ""]
    written = "".join(f"      - '{pattern}'\n" for pattern in patterns)
    made = loaded(tmp_path, f"profiles:\n  a:\n    errorPattern:\n{written}")
    stated = config.stated(made.profiles["a"].error_pattern)
    assert stated is not None and [each.pattern for each in stated] == patterns[:-1]


@pytest.mark.parametrize(
    ("value", "states"),
    [
        pytest.param("", None, id="an empty one is none"),
        pytest.param("  ", None, id="a blank one is none"),
        pytest.param("none", [], id="none says that there are none"),
        pytest.param("x", ["x"], id="one"),
        pytest.param(["x", "", "y"], ["x", "y"], id="a list without its blanks"),
        pytest.param([], None, id="an empty list is none"),
        pytest.param(config.Extend(extend=["x"]), ["x"], id="those that add"),
        pytest.param(config.Extend(pattern="x", anywhere=True), ["x"], id="one with how it counts"),
        pytest.param([config.Sought(pattern="x", anywhere=True), "y"], ["x", "y"], id="one such in a list"),
    ],
)
def test_what_a_pattern_key_states(value: config.Pattern, states: list[str] | None) -> None:
    stated = config.stated(value)
    assert (None if stated is None else [each.pattern for each in stated]) == states


def test_a_configuration_written_for_the_stages_reads_the_same(tmp_path: Path) -> None:
    text = (
        "profiles: {a: {errorPattern: \"^■\\t\\x7f\\u200b😀\\U000e0001\", env: {A: 'b'}}}\npanes: [{session: 'w*'}]\n"
    )
    made = loaded(tmp_path, text)
    again = tmp_path / "again.json"
    again.write_bytes(config.written(made))
    assert configfile.load(str(again)) == made
    assert config.from_plain(config.plain(made)) == made


def test_home_is_expanded_and_agent_files_stand_beside_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    made = loaded(tmp_path, "profiles: {a: {cwd: ~/work}}\nagents: own")
    assert made.profiles["a"].cwd == "/home/me/work"
    assert made.agents == str(tmp_path / "own")
    assert loaded(tmp_path, "agents: ~/own").agents == "/home/me/own"


@pytest.mark.parametrize(
    ("profile", "credential"),
    [
        pytest.param("shared", "team-a", id="a profile with a credentialId"),
        pytest.param("own", "own", id="a profile without one spends its name"),
        pytest.param("ghost", None, id="a profile that nobody configured"),
        pytest.param(None, None, id="no profile"),
    ],
)
def test_the_effective_credential(profile: str | None, credential: str | None) -> None:
    made = config.Config(profiles={"shared": config.Profile(credential_id="team-a"), "own": config.Profile()})
    assert made.credential_of(profile) == credential


def test_without_any_profile_a_name_is_its_own_credential() -> None:
    assert config.Config().credential_of("claude-a") == "claude-a"


def test_the_file_is_looked_for_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-c, $FLEET_CONFIG, ./fleetd.yaml, $XDG_CONFIG_HOME/fleettools/fleetd.yaml, none."""
    (tmp_path / "home/fleettools").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("FLEET_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    assert configfile.located(None) is None
    (tmp_path / "home/fleettools/fleetd.yaml").touch()
    assert configfile.located(None) == str(tmp_path / "home/fleettools/fleetd.yaml")
    (tmp_path / "here/fleetd.yaml").touch()
    assert configfile.located(None) == "fleetd.yaml"
    monkeypatch.setenv("FLEET_CONFIG", "named.yaml")
    assert configfile.located(None) == "named.yaml"
    assert configfile.located("given.yaml") == "given.yaml"
