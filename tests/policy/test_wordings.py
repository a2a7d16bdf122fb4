"""Wordings that no list knows: what makes another one."""

import pytest

from fleettools.policy.members.wordings import wording_key


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("Gave up", "  gave   UP ", True, id="white space and case"),
        pytest.param("Gave up after 12 s", "Gave up after 13 s", True, id="numbers"),
        pytest.param("failed (req_011CUabc)", "failed (req_99Zx)", True, id="ids of requests"),
        pytest.param("failed 0123456789abcdef", "failed fedcba9876543210", True, id="hashes"),
        pytest.param("Gave up", "Gave in", False, id="other words"),
        pytest.param("a decade", "a facade", False, id="words of hexadecimal letters"),
    ],
)
def test_two_lines_are_one_wording(one: str, other: str, same: bool) -> None:
    assert (wording_key("claude", one) == wording_key("claude", other)) is same


def test_each_agent_has_its_own() -> None:
    assert wording_key("claude", "x") != wording_key("codex", "x") != wording_key(None, "x")
