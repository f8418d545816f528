"""Speed of the page as its users feel it, in headless chromium on this machine.

    python -m benchmarks.page [--scenarios] [SLUG …]

Prints: server start to the first lesson painted; of every lesson (`--scenarios`: every scenario) the time from Enter in
the seed's box to the first frames of the new run, beside a bare Streamlit page with one box and one canvas
(`benchmarks/bare.py`); bytes to the browser per run; frames per second of the player with 20,000 draws; ten users at
once (see tests/load). The kernel cache should be filled (`python -m engine.warm`).
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from app import catalogue
from tests.browser import chrome
from tests.fuzz import lesson_of
from tests.server import ROOT, Server

STARTS = 7
MOVES, MOVES_EACH = 20, 6  # new seeds: of each lesson, of each scenario where all are measured
PAUSE = 700  # ms that a reader looks at a picture
WARM_UP = 40.0  # s after the first picture in which a server loads its kernels and what charts need
STARTED = ("metropolis", "hmc", "xor")  # lessons at which a visitor may arrive first
GOAL = 1.5  # bare pages, of the median
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
        page.wait_for_function("() => window.__firstPainted")
        return page.evaluate("window.__firstPainted") / 1000.0 - begin
    finally:
        page.close()
        server.stop()


def seed_to_picture(page: Page, box: Locator, moves: int) -> Iterator[float]:
    """Milliseconds from Enter in the seed's box to the first frames of the new run."""
    for move in range(moves):
        page.wait_for_selector(READY)
        page.wait_for_timeout(PAUSE)
        page.locator(PLAYER).evaluate(WATCH)
        box.fill(str(7001 + 13 * move))
        box.press("Enter")
        page.wait_for_function("() => window.__painted !== null", timeout=10_000)
        yield page.evaluate("window.__painted - window.__pressed")


def measured(browser: Browser, url: str, moves: int) -> tuple[list[float], int] | None:
    """Milliseconds of each new seed at a link, and the most bytes to the browser from one picture to the next; None
    where a seed makes no new picture.
    """
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    times: list[float] = []
    arrived: list[int] = []
    try:
        sizes = received_bytes(page)
        open_page(page, url)
        page.wait_for_selector(READY)
        page.wait_for_timeout(3000)
        box = page.get_by_role("spinbutton", name="Seed", exact=True)
        if not box.count():
            return None
        for milliseconds in seed_to_picture(page, box, moves + 2):
            times.append(milliseconds)
            arrived.append(sum(sizes))
        return times[2:], max(after - before for before, after in pairwise(arrived))  # the first may load something
    except PlaywrightTimeout:
        if times:
            raise
        return None
    finally:
        page.close()


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


def beside_the_bare_page(browser: Browser, folder: Path, links: list[str], moves: int) -> None:
    """The table of new seeds, and how many links are within the goal."""
    bare = Server(ROOT / "benchmarks" / "bare.py", folder / "bare.txt")
    app = Server(ROOT / "app" / "main.py", folder / "log.txt")
    try:
        warm = browser.new_page()
        open_page(warm, f"{app.url}/hmc")
        time.sleep(WARM_UP)
        warm.close()
        alone, _ = measured(browser, bare.url, MOVES) or ([], 0)
        unit = statistics.median(alone)
        print(f"\na bare page: p50 {unit:.0f} ms, worst of {len(alone)} {max(alone):.0f} ms")
        ratios, worst = [], []
        for link in links:
            found = measured(browser, app.url + link, moves)
            if found is None:
                print(f"{link:44s} a seed makes no new picture", flush=True)
                continue
            times, size = found
            ratios.append(statistics.median(times) / unit)
            worst.append(max(times) / unit)
            print(
                f"{link:44s} p50 {ratios[-1] * unit:4.0f} ms = {ratios[-1]:.1f} bare pages, worst of {moves} "
                f"{worst[-1]:.1f}, {size / 1000:.0f} kB a run at most",
                flush=True,
            )
        within = sum(ratio <= GOAL for ratio in ratios)
        print(
            f"{len(ratios)} links: median {statistics.median(ratios):.1f} bare pages, largest {max(ratios):.1f}, worst "
            f"single one {max(worst):.1f}; {within} within {GOAL}"
        )
    finally:
        bare.stop()
        app.stop()


def main(arguments: Sequence[str]) -> None:
    named = [argument for argument in arguments if not argument.startswith("-")]
    entries = [entry for entry in catalogue.LESSONS if not named or entry.slug in named]
    every = "--scenarios" in arguments
    links = [f"/{e.slug}?scenario={s.id}" for e in entries for s in lesson_of(e.slug).scenarios[: None if every else 1]]
    print(
        f"Python {sys.version.split()[0]}, streamlit {version('streamlit')}, numba {version('numba')}, "
        f"playwright {version('playwright')}, {os.cpu_count()} cores"
    )
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        quiet = ["--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chrome.find(), args=[*sandbox, *quiet])
        print(f"chromium {browser.version}, headless, software rendering\n")
        if not named:
            for slug in STARTED:
                first, *starts = (first_paint(browser, slug, Path(folder)) for _ in range(1 + STARTS))
                print(
                    f"{slug:12s} server start to picture: {statistics.median(starts):.2f} s "
                    f"({min(starts):.2f} to {max(starts):.2f}; before that, perhaps with cold files, {first:.2f})"
                )
        beside_the_bare_page(browser, Path(folder), links, MOVES_EACH if every else MOVES)
        browser.close()
    if named:
        return
    for line in from_tests("tests/browser/test_player.py", "-k", "fifty_frames"):
        print("player, 20,000 draws:", line)
    for line in from_tests("tests/load", "-k", "ten_users"):
        print("load:", line)


if __name__ == "__main__":
    main(sys.argv[1:])
