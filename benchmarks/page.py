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
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
LESSONS = ("metropolis", "hmc", "xor")
PLAYER = "[data-testid='player'][data-run]"
READY = "[data-testid='stApp'][data-test-script-state='notRunning']"

# In the page: note when the picture of another run is there, drawn (two frames after the new blob arrived).
WATCH = """() => {
  const player = document.querySelector("[data-testid='player']");
  window.__painted = null;
  const before = player.dataset.run;
  const observer = new MutationObserver(() => {
    if (player.dataset.run === before) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => { window.__painted = performance.now(); }));
  });
  observer.observe(player, {attributes: true, attributeFilter: ["data-run"]});
}"""


def serve(port: int) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app/main.py",
        "--server.port",
        str(port),
        "--server.address",
        "127.0.0.1",
    ]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str) -> None:
    while True:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.02)


def open_page(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_selector(PLAYER, timeout=60_000)


def first_paint(browser: Any, slug: str) -> tuple[float, float]:
    """Seconds from the server's start to a healthy answer, and to the lesson's picture, for a browser that is already
    open.
    """
    port = free_port()
    page = browser.new_page()
    begin = time.perf_counter()
    process = serve(port)
    try:
        wait_for(f"http://127.0.0.1:{port}")
        healthy = time.perf_counter() - begin
        open_page(page, f"http://127.0.0.1:{port}/{slug}")
        return healthy, time.perf_counter() - begin
    finally:
        page.close()
        process.terminate()
        process.wait()


def control_to_picture(page: Page, moves: int) -> Iterator[float]:
    """Milliseconds from a key on the first slider to the new picture."""
    slider = page.get_by_role("slider").first
    for move in range(moves):
        page.wait_for_selector(READY)
        page.wait_for_timeout(1500)  # the jobs of the last picture are done, as when someone looks before the next move
        page.evaluate(WATCH)
        slider.focus()
        begin = page.evaluate("performance.now()")
        page.keyboard.press("ArrowRight" if move % 4 < 2 else "ArrowLeft")
        page.wait_for_function("window.__painted !== null", timeout=20_000)
        yield page.evaluate("window.__painted") - begin


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, round(share * (len(values) - 1)))]


def received_bytes(page: Page) -> list[int]:
    sizes: list[int] = []
    page.on("websocket", lambda socket_: socket_.on("framereceived", lambda frame: sizes.append(len(frame))))
    return sizes


def frames_per_second(page: Page, url: str) -> float:
    """Median frames a second while the player plays 20,000 draws, fast enough to reach the end in some seconds."""
    open_page(page, url)
    page.wait_for_timeout(3000)
    page.locator(PLAYER).focus()
    for _ in range(7):
        page.keyboard.press("+")
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    readings = []
    for _ in range(12):
        page.wait_for_timeout(500)
        readings.append(float(page.locator(PLAYER).get_attribute("data-fps") or 0))
    return statistics.median(readings[2:])


def main() -> None:
    chrome = os.environ.get("CHROME", "/usr/bin/chromium")
    print(
        f"Python {sys.version.split()[0]}, streamlit {version('streamlit')}, numba {version('numba')}, "
        f"playwright {version('playwright')}, {os.cpu_count()} cores"
    )
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(
            executable_path=chrome, args=[*sandbox, "--disable-gpu", "--disable-background-networking"]
        )
        print(f"chromium {browser.version}, headless, software rendering\n")
        for slug in LESSONS:
            starts = [first_paint(browser, slug) for _ in range(3)]
            print(
                f"{slug:12s} server start: healthy {statistics.median(s[0] for s in starts):.2f} s, "
                f"picture {statistics.median(s[1] for s in starts):.2f} s"
            )
        port = free_port()
        process = serve(port)
        url = f"http://127.0.0.1:{port}"
        try:
            wait_for(url)
            for slug in LESSONS:
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                sizes = received_bytes(page)
                open_page(page, f"{url}/{slug}")
                page.wait_for_timeout(4000)
                arrived = len(sizes)
                times = list(control_to_picture(page, 24))
                scene_bytes = max(sizes[arrived:], default=0)
                print(
                    f"{slug:12s} control to picture: p50 {percentile(times, 0.5):.0f} ms, "
                    f"p95 {percentile(times, 0.95):.0f} ms, "
                    f"largest message {scene_bytes / 1000:.0f} kB"
                )
                page.close()
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            rate = frames_per_second(page, f"{url}/metropolis?scenario=walk&draws=20000")
            print(f"player, 20,000 draws: {rate:.0f} frames/s")
        finally:
            process.terminate()
            process.wait()
        browser.close()
    load = subprocess.run(
        [sys.executable, "-m", "tests.load", "--users", "10"], cwd=ROOT, capture_output=True, text=True
    )
    print(re.sub(r"^", "load: ", (load.stdout or load.stderr).strip(), flags=re.MULTILINE))


if __name__ == "__main__":
    main()
