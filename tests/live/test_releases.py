"""Which release of an agent is installed, which Node runs it, and what is said when there is none."""

import os
from pathlib import Path

import pytest
from live import releases
from live.releases import Missing, Offer

NPM = """#!/bin/sh
echo "$@" >>"$NPM_CALLS"
case "$1 $2" in
'view @openai/codex@latest') echo '{"version": "3.0.0", "engines": {"node": ">=16"}}' ;;
'view @google/gemini-cli@latest') echo '{"version": "9.1.0", "engines": {"node": ">=99"}}' ;;
'view @google/gemini-cli@*') echo '[{"version": "8.9.0", "engines": {"node": ">=18"}},
  {"version": "8.10.0", "engines": {"node": ">=18"}}, {"version": "8.11.0-rc.1", "engines": {"node": ">=18"}},
  {"version": "9.1.0", "engines": {"node": ">=99"}}]' ;;
'view cline@latest') echo '"4.0.0"' ;;
install*)
  while [ "$1" != --prefix ]; do shift; done; cd "$2" || exit 1
  case $3 in node-*) echo 'npm error code ETARGET
npm error notarget No matching version found' >&2; exit 1 ;; esac
  name=${3%@*}; mkdir -p node_modules/.bin "node_modules/$name"
  echo '{"engines": {"node": ">=16"}}' >"node_modules/$name/package.json"
  for a in codex gemini cline; do echo >node_modules/.bin/$a; done ;;
esac
"""


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An npm and a Node 20 of our own, first in PATH; the file that lists npm's calls."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("npm", NPM), ("node", "#!/bin/sh\necho v20.20.2\n")):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    calls = tmp_path / "calls"
    calls.write_text("")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("NPM_CALLS", str(calls))
    return calls


@pytest.mark.parametrize(
    ("engines", "lowest"),
    [
        ({"node": ">=22.19.0"}, (22, 19, 0)),
        ({"node": ">=20"}, (20, 0, 0)),
        ({"node": "^20.19.0 || >=22.12.0"}, (20, 19, 0)),
        ({"node": ">=18 <23"}, (18, 0, 0)),
        ({"npm": ">=8"}, ()),
        (None, ()),
        ("*", ()),
    ],
    ids=str,
)
def test_the_lowest_node_of_a_package(engines: object, lowest: tuple[int, ...]) -> None:
    assert releases.node_asked(engines) == lowest


@pytest.mark.parametrize(
    ("value", "version"), [("2.1.290", "2.1.290"), ("0.0.179-g7618fb", "0.0.179-g7618fb"), ("", None), ("1", None)]
)
def test_the_environment_pins_a_version(value: str, version: str | None) -> None:
    assert releases.pinned("claude", {"CLAUDE": value}) == version


def test_a_pin_that_is_no_version_is_refused_with_what_it_should_be() -> None:
    with pytest.raises(Missing, match=r"CLAUDE=newest is no version; .*CLAUDE=1\.2\.3"):
        releases.pinned("claude", {"CLAUDE": "newest"})


def test_versions_are_compared_by_number_and_a_draft_of_one_is_none() -> None:
    offers = [Offer("2.9.0", (18,)), Offer("2.10.0", (20,)), Offer("2.11.0-rc.1", (18,)), Offer("3.0.0", (24,))]
    assert releases.newest_for(offers, (20, 1, 0)) == offers[1]
    assert releases.newest_for(offers, (16, 0, 0)) is None


def test_the_newest_is_installed_once_and_a_pinned_one_that_is_there_asks_no_registry(
    npm: Path, tmp_path: Path
) -> None:
    first = releases.install("codex", cache=tmp_path / "cache")
    assert (first.version, first.note) == ("3.0.0", "")
    assert first.executable.exists()
    assert first.path[0] == str(first.executable.parent)
    assert (Path(first.path[1]) / "node").exists()
    again = releases.install("codex", cache=tmp_path / "cache")
    assert again == first
    assert [call.split()[0] for call in npm.read_text().splitlines()] == ["view", "install", "view"]
    npm.write_text("")
    assert releases.install("codex", "3.0.0", cache=tmp_path / "cache") == first
    assert npm.read_text() == ""


def test_a_newest_that_no_node_here_runs_gives_way_to_the_newest_that_one_does(npm: Path, tmp_path: Path) -> None:
    release = releases.install("gemini", cache=tmp_path / "cache")
    assert (release.version, release.note) == ("8.10.0", "the newest, 9.1.0, needs Node 99.0.0")


def test_a_package_without_engines_is_told_of_by_its_version_alone(npm: Path, tmp_path: Path) -> None:
    assert releases.install("cline", cache=tmp_path / "cache").version == "4.0.0"


def test_an_installation_that_failed_or_was_killed_is_done_anew(npm: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "codex" / "3.0.0"
    folder.mkdir(parents=True)
    (folder / "half").touch()
    releases.install("codex", "3.0.0", cache=tmp_path / "cache")
    assert not (folder / "half").exists()


def test_what_cannot_be_had_is_one_line_and_status_77(
    npm: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert releases.main(["codex", "goose"]) == releases.CANNOT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "releases.py: codex needs Node and npm, which are not installed",
        "releases.py: goose cannot be installed: no package registry has it",
    ]


def test_what_an_installer_complains_of_is_its_sentence() -> None:
    stderr = "npm error code ETARGET\nnpm error notarget No matching version found for x@9.\nnpm error notarget In most"
    assert releases.complaint(stderr) == "notarget No matching version found for x@9."
    assert releases.complaint("killed") == "killed"
    assert releases.complaint("") == ""


def test_every_agent_of_ours_can_be_installed_or_says_why_not() -> None:
    from fleettools.adapters import agentfiles

    assert {*releases.PACKAGES, *releases.NO_PACKAGE} == set(agentfiles.names())
