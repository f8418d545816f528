"""Speed of the page as its users feel it, in headless chromium on this machine.

    python -m benchmarks.page

Prints: server start to the first lesson painted; a control moved to the new picture (p50, p95); bytes to the browser
per run; frames per
second of the player with 20,000 draws; ten users at once (see tests/load). The kernel cache should be filled (`python
-m engine.warm`).
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from tests.browser import chrome
from tests.server import ROOT, Server

STARTS = 7
MOVES = 20  # of a control, for each lesson
WARM_UP = 40.0  # s after the first picture in which a server loads its kernels and what charts need
# Of each lesson: a scenario, the control to move, and where it starts; every move is to a value not seen before.
LESSONS = {
    "metropolis": ("plane", "scale", 1.1),
    "hmc": ("just-right", "step_size", 0.2),
    "xor": ("learn", "prior_sd", 2.0),
}
PLAYER = "[data-testid='player'][data-run]"
READY = "[data-testid='stApp'][data-test-script-state='notRunning']"

# In the page: note when Enter was pressed, and when the picture of another run is there, drawn (two frames after the
# new blob arrived).
WATCH = """player => {
  window.__pressed = window.__painted = null;
  addEventListener("keydown", event => { window.__pressed = event.timeStamp; }, {capture: true, once: true});
  const before = player.dataset.run;
  const observer = new MutationObserver(() => {
    if (player.dataset.run === before) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => { window.__painted = performance.now(); }));
  });
  observer.observe(player, {attributes: true, attributeFilter: ["data-run"]});
}"""

# In a new page: note by the clock on the wall when the first picture has been drawn.
WATCH_FIRST = """
  const find = root => root.querySelector("[data-testid='player'][data-run]")
    ?? [...root.querySelectorAll("*")].map(e => e.shadowRoot && find(e.shadowRoot)).find(Boolean);
  const look = () => find(document)
    ? requestAnimationFrame(() => { window.__firstPainted = Date.now(); })
    : requestAnimationFrame(look);
  requestAnimationFrame(look);
"""


def open_page(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_selector(PLAYER, timeout=60_000)


def first_paint(browser: Browser, slug: str, folder: Path) -> float:
    """Seconds from the server's start to the lesson's picture, for a browser that is already open."""
    page = browser.new_page()
    page.add_init_script(WATCH_FIRST)
    begin = time.time()
    server = Server(ROOT / "app" / "main.py", folder / "log.txt")
    try:
        open_page(page, f"{server.url}/{slug}")
        page.wait_for_function("window.__firstPainted")
        return page.evaluate("window.__firstPainted") / 1000.0 - begin
    finally:
        page.close()
        server.stop()


def control_to_picture(page: Page, box: Locator, start: float, moves: int) -> Iterator[float]:
    """Milliseconds from Enter in a number box to the new picture. (A slider adds Streamlit's own wait of 0.2 s.)"""
    for move in range(moves):
        page.wait_for_selector(READY)
        page.wait_for_timeout(1000)
        page.get_by_text("checking").wait_for(state="hidden", timeout=60_000)  # without jobs of the last picture
        page.wait_for_timeout(1000)
        page.locator(PLAYER).evaluate(WATCH)
        box.fill(f"{start * (1 + 0.03 * (move + 1)):.4f}")
        box.press("Enter")
        page.wait_for_function("window.__painted !== null", timeout=20_000)
        yield page.evaluate("window.__painted - window.__pressed")


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, round(share * (len(values) - 1)))]


def received_bytes(page: Page) -> list[int]:
    sizes: list[int] = []
    page.on("websocket", lambda socket_: socket_.on("framereceived", lambda frame: sizes.append(len(frame))))
    return sizes


def from_tests(*arguments: str) -> Iterator[str]:
    """The lines in which tests say what they measured."""
    command = [sys.executable, "-m", "pytest", "-q", "-s", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if re.search(r"frames a second|users|polls|runs", line):
            yield line.strip(". ")
    yield "its test passes" if done.returncode == 0 else "its test FAILS"


def main() -> None:
    print(
        f"Python {sys.version.split()[0]}, streamlit {version('streamlit')}, numba {version('numba')}, "
        f"playwright {version('playwright')}, {os.cpu_count()} cores"
    )
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        quiet = ["--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chrome.find(), args=[*sandbox, *quiet])
        print(f"chromium {browser.version}, headless, software rendering\n")
        for slug in LESSONS:
            first, *starts = (first_paint(browser, slug, Path(folder)) for _ in range(1 + STARTS))
            print(
                f"{slug:12s} server start to picture: {statistics.median(starts):.2f} s "
                f"({min(starts):.2f} to {max(starts):.2f}; before that, perhaps with cold files, {first:.2f})"
            )
        server = Server(ROOT / "app" / "main.py", Path(folder) / "log.txt")
        try:
            page = browser.new_page()
            open_page(page, f"{server.url}/hmc")
            time.sleep(WARM_UP)
            page.close()
            for slug, (scenario, control, start) in LESSONS.items():
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                sizes = received_bytes(page)
                open_page(page, f"{server.url}/{slug}?scenario={scenario}")
                page.wait_for_timeout(6000)
                box = page.locator(f"[class*='{control}']").get_by_test_id("stNumberInputField")
                times, arrived = [], []
                for milliseconds in control_to_picture(page, box, start, MOVES):
                    times.append(milliseconds)
                    arrived.append(sum(sizes))
                a_run = max(after - before for before, after in pairwise(arrived))  # from one picture to the next
                print(
                    f"{slug:12s} control to picture: p50 {percentile(times, 0.5):.0f} ms, "
                    f"p95 {percentile(times, 0.95):.0f} ms, {a_run / 1000:.0f} kB a run at most"
                )
                page.close()
        finally:
            server.stop()
        browser.close()
    for line in from_tests("tests/browser/test_player.py", "-k", "fifty_frames"):
        print("player, 20,000 draws:", line)
    for line in from_tests("tests/load", "-k", "ten_users"):
        print("load:", line)


if __name__ == "__main__":
    main()
