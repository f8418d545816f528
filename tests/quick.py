"""Pages run without a browser, sooner: a browser's head start is nobody's, and packages are searched once."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest
from streamlit.components.v2 import manifest_scanner

from app.kit import predict, seams, stage


def quick_pages() -> Iterator[None]:
    """The body of a fixture: while it lasts, no run of a page waits for a browser to draw, and Streamlit does not read
    the manifests of all installed packages for each run of an `AppTest`. A locked prediction waits for its answer:
    there is no timer that would look for it. Every reader is there: the mock that stands for the server while an
    `AppTest` runs answers the first two jobs that ask at once with an error.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predict, "PATIENCE", 120.0)
        patch.setattr(seams, "connected", lambda session: True)
        patch.setattr(stage, "FIRST_HEAD_START", 0.0)
        patch.setattr(stage, "HEAD_START", 0.0)
        search = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", search)
        yield
