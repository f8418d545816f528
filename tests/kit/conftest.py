"""Pages of the kit's tests run without a browser."""

from __future__ import annotations

import pytest

from tests.quick import quick_pages

without_a_browser = pytest.fixture(scope="session", autouse=True)(quick_pages)
