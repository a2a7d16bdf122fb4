"""New windows and panes of tmux: begun as asked, or not there at all."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleettools.adapters.tmux import Tmux
from fleettools.errors import NoPane, Unavailable


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    """A server of the test's own with one pane, %0."""
    socket = str(tmp_path / "s")
    run = ["tmux", "-S", socket, "-f", "/dev/null"]
    subprocess.run([*run, "new-session", "-d", "-s", "main", "sleep 1000"], cwd=tmp_path, check=True, timeout=20)
    try:
        yield Tmux(socket)
    finally:
        subprocess.run([*run, "kill-server"], capture_output=True, check=False, timeout=20)


def test_a_window_has_its_name_and_its_pane_the_options(tmux: Tmux) -> None:
    row = tmux.new_window(
        "sleep 1000", name="ada", session="main", options={"@fleet_profile": "a;", "@fleet_name": "b"}
    )
    assert (row.window, row.session, row.profile_option, row.name_option) == ("ada", "main", "a;", "b")


def test_a_split_is_in_the_window_of_the_pane(tmux: Tmux) -> None:
    row = tmux.split_window("%0", "sleep 1000", options={"@fleet_lead": "%0"})
    assert (row.window_index, row.panes, row.lead_option) == (tmux.pane("%0").window_index, 2, "%0")


def test_options_of_a_pane_that_has_ended_are_no_pane(tmux: Tmux) -> None:
    for attempt in (lambda: tmux.set_options("%9", {"@a": "b"}), lambda: tmux.unset_options("%9", ["@a"])):
        with pytest.raises(NoPane, match="no pane %9"):
            attempt()


def test_a_pane_that_cannot_get_its_options_is_closed(tmux: Tmux) -> None:
    with pytest.raises(Unavailable):
        tmux.new_window("sleep 1000", options={"no-such-option": "x"})
    assert [row.id for row in tmux.panes()] == ["%0"]


def test_a_session_that_is_not_there_is_an_error(tmux: Tmux) -> None:
    with pytest.raises(Unavailable, match="can't find session: mai"):
        tmux.new_window("sleep 1000", session="mai")


def test_a_server_that_cannot_be_started_is_an_error() -> None:
    with pytest.raises(Unavailable, match="no server can be started there"):
        Tmux("/nowhere/at/all").new_window("sleep 1000")
