"""What a server serves beside Streamlit: our routes and middleware."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.middleware import Middleware

from app.kit import assets, cluster, push, seams, startup, visit
from app.server import headers, health, logs, metrics
from engine import settings

SWITCH = 0.001  # s after which a thread that computes leaves Python to one that waits: what is sent passes several such waits


def parts(packages: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of `st.App`, for pages of these packages, by slug. Ends the process with status 1, and a line each, if
    settings are wrong.
    """
    if wrong := settings.problems():
        _refuse([f"{line}." for line in wrong] + ["All settings: python -m engine.settings"])
    if (address := settings.value("DASK")) and (wrong := cluster.check(address)):
        _refuse([*wrong, "The server does not start; without POSTERIOR_LAB_DASK it does its work itself."])
    sys.setswitchinterval(SWITCH)
    logs.install()
    seams.keep_to_the_page()
    seams.page_of_its_own()
    seams.one_lock_a_session()
    seams.one_news_a_message()
    seams.what_was_not_taken_up_goes_on()
    seams.an_answer_is_no_part_of_a_run()
    seams.picture_first(visit.make_room)
    seams.run_again_when_back()
    page = Middleware(assets.Base, slugs=frozenset(packages), asked=lambda slug: startup.expect(packages[slug]))
    return {
        "routes": [push.route(), *health.routes(), metrics.route()],
        "middleware": [Middleware(headers.Secure), Middleware(assets.Preload), page],
    }


def _refuse(lines: list[str]) -> NoReturn:
    print(*lines, sep="\n", file=sys.stderr, flush=True)
    raise SystemExit(1)
