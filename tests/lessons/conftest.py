"""Pages start checks and panels as jobs: none outlives its module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.kit import jobs


@pytest.fixture(scope="module", autouse=True)
def no_job_outlives_its_test() -> Iterator[None]:
    """Stop what the pages started."""
    yield
    jobs.pool().stop_all()
