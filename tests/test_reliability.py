"""The short versions of what docs/reliability.md tells: real kills, and looks from cron by a clock of their own."""

import os
import sys

import pytest
from sandbox import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import cron
import kills


@pytest.mark.timeout(900)
def test_whatever_is_killed_each_incident_is_said_and_each_lead_is_told_once() -> None:
    found = kills.kills(20, 2, os.environ.get("FLEET_TEST_SEED", "7"))
    assert len(found) == 20
    assert not [one for one in found if one.lost or one.incidents != 1 or one.told > 1]
    # Only who kills fleetd itself can make it print a thing again, between the flush and its mark.
    assert not [one for one in found if one.kind in ("stage", "term") and one.printed != 1]
    assert not [one for one in found if one.unknown and one.told > 1]


@pytest.mark.timeout(300)
def test_a_quiet_fleet_makes_no_mail_over_a_restart_of_tmux_and_a_midnight() -> None:
    assert cron.looks(6) == [b""] * 6
