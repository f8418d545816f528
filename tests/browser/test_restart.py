"""A server that is killed and started again: the short form of that trial of `make chaos`."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from tests import chaos
from tests.server import demo_script


def test_open_tabs_come_back_to_their_run_when_the_server_does(browser: Browser, tmp_path: Path):
    paths = ["/demo?drift=0.25&seed=3", "/demo?scenario=long"]
    print(chaos.restart(browser, demo_script(tmp_path), tmp_path, paths))
