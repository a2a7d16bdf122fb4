"""With FLEET_TEST_REQUIRE=1 (as in .ci/run) a test that would skip, for a program that is missing, fails instead."""

import os
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("FLEET_TEST_REQUIRE") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
    return report
