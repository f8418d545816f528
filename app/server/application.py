"""What a server serves beside Streamlit: our routes and middleware."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from starlette.middleware import Middleware

from app.kit import assets, push, seams
from app.server import headers, health, logs, metrics
from engine import settings


def parts(slugs: Iterable[str]) -> dict[str, Any]:
    """Arguments of `st.App`, for lessons of these slugs. Ends the process with status 1, and a line each, if settings are wrong."""
    if wrong := settings.problems():
        print(*(f"{line}." for line in wrong), "All settings: python -m engine.settings", sep="\n", file=sys.stderr, flush=True)
        raise SystemExit(1)
    logs.install()
    seams.keep_to_the_page()
    return {
        "routes": [push.route(), *health.routes(), metrics.route()],
        "middleware": [Middleware(headers.Secure), Middleware(assets.Preload), Middleware(assets.Base, slugs=frozenset(slugs))],
    }
