"""Fixtures for tests that run commands as real processes."""

from collections.abc import Iterator
from pathlib import Path

import desk as desks
import pytest


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[desks.Desk]:
    """A tmux server, store and clock of the test's own."""
    yield from desks.opened(tmp_path)
