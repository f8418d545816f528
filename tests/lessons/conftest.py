"""Pages run without a browser; they start checks and panels as jobs: none outlives its module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.kit import jobs
from tests.quick import quick_pages

without_a_browser = pytest.fixture(scope="session", autouse=True)(quick_pages)


@pytest.fixture(scope="module", autouse=True)
def no_job_outlives_its_test() -> Iterator[None]:
    """Stop what the pages started."""
    yield
    jobs.pool().stop_all()
