"""With FLEET_TEST_REQUIRE=1 (as in .ci/run) a test that would skip, for a program that is missing, fails instead.

Property tests try the same examples every time; FLEET_TEST_EXAMPLES=5000 has them try so many new ones.
"""

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
if number := os.environ.get("FLEET_TEST_EXAMPLES"):
    settings.register_profile("new", max_examples=int(number), deadline=None)
settings.load_profile("new" if number else "same")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("FLEET_TEST_REQUIRE") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
    return report
