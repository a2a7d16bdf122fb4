"""What `fleetd init` proposes: the ways to alert a person, the table, and a file that reads back as it is meant."""

from pathlib import Path

import pytest

from fleettools.adapters import configfile
from fleettools.policy import proposal
from fleettools.policy.proposal import Channel, Proposed

FOUND = [
    Proposed("%1", "work:0.0", "claude", "1f9a03", "claude-1f9a03", "claude-1f9a03"),
    Proposed("%2", "work:0.1", "claude", "1f9a03", "claude-1f9a03", "claude-1f9a03"),
    Proposed("%10", "work:1.0", "codex", None, "codex", "codex", lead="%0", marked=True),
]


def test_the_table_has_a_line_for_each_pane_in_columns() -> None:
    lines = list(proposal.table(FOUND))
    assert lines[0].split() == list(proposal.HEADINGS)
    assert [line.split()[0] for line in lines[1:]] == ["%1", "%2", "%10"]
    assert len({line.index("claude-1f9a03") for line in lines[1:3]}) == 1
    assert "codex (marked)" in lines[3]
    assert " ? " in lines[3]


CHANNELS = [
    (["notify-send"], True, ["desktop"]),
    (["notify-send"], False, []),
    (["mail", "apprise"], False, ["apprise", "mail"]),
    ([], True, []),
]


@pytest.mark.parametrize(("programs", "graphical", "names"), CHANNELS)
def test_only_channels_that_can_work_here_are_offered(programs: list[str], graphical: bool, names: list[str]) -> None:
    assert [one.name for one in proposal.channels(programs, graphical)] == names


DESK = Channel("desktop", exec="notify-send x")
SAID = [
    ("desktop", DESK),
    ("https://ntfy.example.org/mine", Channel("ntfy", webhook="https://ntfy.example.org/mine", shape="ntfy")),
    ("https://hooks.slack.com/x/y", Channel("slack", webhook="https://hooks.slack.com/x/y", shape="slack")),
    ("https://example.org/ntfy.", Channel("json", webhook="https://example.org/ntfy.", shape="json")),
    ("ntfy=http://127.0.0.1:8080/t", Channel("ntfy", webhook="http://127.0.0.1:8080/t", shape="ntfy")),
    ("exec: beep", Channel("mine", exec="beep")),
    ("exec:", None),
    ("nobody", None),
    ("ftp://example.org", None),
    ("https://a b", None),
]


@pytest.mark.parametrize(("said", "meant"), SAID)
def test_a_channel_is_a_name_an_address_or_a_command(said: str, meant: Channel | None) -> None:
    assert proposal.channel(said, [DESK]) == meant


def test_a_file_without_marks_looks_for_members_and_names_what_was_found(tmp_path: Path) -> None:
    text = proposal.written(FOUND, [], marks=False)
    (tmp_path / "fleetd.yaml").write_text(text)
    read = configfile.load(str(tmp_path / "fleetd.yaml"))
    assert (read.discover, read.profiles, read.panes) == ("auto", {}, [])
    assert "#   claude-1f9a03: {agent: claude, command: claude, credentialId: claude-1f9a03}" in text


def test_a_file_with_marks_names_each_profile_once(tmp_path: Path) -> None:
    (tmp_path / "fleetd.yaml").write_text(proposal.written(FOUND, [], marks=True))
    read = configfile.load(str(tmp_path / "fleetd.yaml"))
    assert {name: profile.credential_id for name, profile in read.profiles.items()} == {
        "claude-1f9a03": "claude-1f9a03", "codex": "codex"
    }  # fmt: skip


def test_a_profile_is_started_by_the_agents_own_command(tmp_path: Path) -> None:
    one = Proposed("%1", "w:0.0", "cursor", None, "cursor", "cursor", command="cursor-agent")
    (tmp_path / "fleetd.yaml").write_text(proposal.written([one], [], marks=True))
    profile = configfile.load(str(tmp_path / "fleetd.yaml")).profiles["cursor"]
    assert (profile.agent, profile.command) == ("cursor", "cursor-agent")


def test_with_nobody_there_marks_give_an_example_that_reads(tmp_path: Path) -> None:
    (tmp_path / "fleetd.yaml").write_text(proposal.written([], [], marks=True))
    assert configfile.load(str(tmp_path / "fleetd.yaml")).profiles.keys() == {"claude-a"}


def test_profiles_of_one_account_share_a_credential_and_one_profile_of_two_is_said(tmp_path: Path) -> None:
    found = [
        Proposed("%1", "w:0.0", "claude", "~/.claude.json", "api", "claude-1f9a03", marked=True),
        Proposed("%2", "w:0.1", "claude", "~/.claude.json", "docs", "claude-1f9a03", marked=True),
    ]
    (tmp_path / "fleetd.yaml").write_text(proposal.written(found, [], marks=True))
    profiles = configfile.load(str(tmp_path / "fleetd.yaml")).profiles
    assert {name: one.credential_id for name, one in profiles.items()} == {
        "api": "claude-1f9a03",
        "docs": "claude-1f9a03",
    }
    assert list(proposal.mixed(found)) == []
    other = Proposed("%3", "w:0.2", "claude", "$ANTHROPIC_API_KEY", "docs", "claude-77ab01", marked=True)
    (said,) = proposal.mixed([*found, other])
    assert said.startswith("profile docs: its panes spend claude-1f9a03, claude-77ab01; give each")


MENDS = [
    ("a known way that is missing here", "mail", "it needs mail;"),
    ("a desktop that is missing here", "desktop", "it needs notify-send or terminal-notifier in a graphical session;"),
    ("an address without its scheme", "ntfy.sh/mine", "an address begins with its scheme: https://ntfy.sh/mine"),
    ("an address with a port", "10.0.0.1:80/x", "an address begins with its scheme: https://10.0.0.1:80/x"),
    ("nothing known", "pigeon", "give apprise, an https:// address or exec:COMMAND"),
    ("a scheme that is none", "htps://ntfy.sh/x", "give apprise, an https:// address or exec:COMMAND"),
]


@pytest.mark.parametrize(("said", "begins"), [row[1:] for row in MENDS], ids=[row[0] for row in MENDS])
def test_what_is_no_channel_comes_with_what_to_write(said: str, begins: str) -> None:
    assert proposal.mend(said, [Channel("apprise", exec="apprise")]).startswith(begins)


@pytest.mark.parametrize("alerts", [[], [DESK]])
def test_no_line_of_the_file_is_wider_than_a_small_terminal(alerts: list[Channel]) -> None:
    for marks in (True, False):
        lines = proposal.written(FOUND, alerts, marks).splitlines()
        assert max(map(len, lines)) <= 82


UNIT = """\
# A user's service: copy it to ~/.config/systemd/user/, then more.
# `loginctl enable-linger` keeps it up.
[Service]
ExecStart=%h/.local/bin/fleetd run
Environment=PATH=%h/.local/bin:/usr/bin
"""


def test_the_unit_starts_the_very_program_on_the_very_path() -> None:
    made = proposal.unit(UNIT, "/opt/100%/fleetd", "/a:/b\\1")
    assert "ExecStart=/opt/100%%/fleetd run\n" in made
    assert 'Environment="PATH=/a:/b\\1"\n' in made
    assert made.startswith("# `loginctl")


def test_the_unit_is_given_the_options_that_fleetd_needs() -> None:
    made = proposal.unit(UNIT, "/opt/my tools/fleetd", "/a", ["-c", "'/etc/my 1%.yaml'"])
    assert "ExecStart='/opt/my tools/fleetd' -c '/etc/my 1%%.yaml' run\n" in made
