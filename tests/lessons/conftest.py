"""Pages run without a browser; they start checks and panels as jobs: none outlives its module. The tests of a lesson run
in one process, where they share the runs that are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app import catalogue
from app.kit import jobs
from tests.quick import quick_pages

SLUGS = frozenset(entry.slug for entry in catalogue.PAGES)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name the lesson of each test: for `--dist loadgroup`."""
    for item in items:
        given = getattr(item, "callspec", None)
        own = item.path.stem.removeprefix("test_").replace("_", "-")
        slug = own if given is None or "slug" not in given.params else given.params["slug"]
        if slug in SLUGS:
            item.add_marker(pytest.mark.xdist_group(slug))


without_a_browser = pytest.fixture(scope="session", autouse=True)(quick_pages)


@pytest.fixture(scope="module", autouse=True)
def no_job_outlives_its_test() -> Iterator[None]:
    """Stop what the pages started."""
    yield
    jobs.pool().stop_all()
