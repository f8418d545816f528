"""What a server serves beside Streamlit: our routes and middleware."""

from __future__ import annotations

import sys
from typing import Any

from starlette.middleware import Middleware

from app import catalogue
from app.kit import assets, push, seams
from app.server import headers, health, logs, metrics
from engine import settings


def parts() -> dict[str, Any]:
    """Arguments of `st.App`. Ends the process with status 1, and a line each, if settings are wrong."""
    if wrong := settings.problems():
        print(*(f"{line}." for line in wrong), "All settings: python -m engine.settings", sep="\n", file=sys.stderr, flush=True)
        raise SystemExit(1)
    logs.install()
    seams.keep_to_the_page()
    slugs = frozenset(entry.slug for entry in catalogue.LESSONS)
    return {
        "routes": [push.route(), *health.routes(), metrics.route()],
        "middleware": [Middleware(headers.Secure), Middleware(assets.Preload), Middleware(assets.Base, slugs=slugs)],
    }
