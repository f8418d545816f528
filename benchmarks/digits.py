"""Digits: how fast a stroke is read, and how well each posterior reads, by the page's own path.

    python -m benchmarks.digits                       a stroke: seconds in the server and to the picture in the browser,
                                                      alone and with ten readers who ask for a new run every 1 to 4 s;
                                                      on the bundled digits, and on MNIST where POSTERIOR_LAB_DATA is
    python -m benchmarks.digits --accuracy [METHOD]   test accuracy: MNIST by dense and lbbnn, 500 OptDigits by nuts
                                                      (POSTERIOR_LAB_DATA; MNIST takes minutes a method)

A stroke is read by 100 networks. Timed in the server: centring, 100 predictions, both maps, the scene. Timed in the
browser: from the pad's message to the picture drawn, two frames after the new readouts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from playwright.sync_api import Page

GOALS = {"dense": 0.98, "lbbnn": 0.975, "nuts": 0.92}
STROKES = 40
READERS = 10
# In the page: milliseconds from the pad's last message to each new set of readouts, drawn.
WATCH = """() => {
  const roots = [...document.querySelectorAll("*")].map((node) => node.shadowRoot).filter(Boolean);
  const find = (what) => roots.map((root) => root.querySelector(what)).find(Boolean);
  const [card, pad] = [find("[data-testid='player'] .readouts"), find(".pad")];
  window.__found = [];
  let asked = 0;
  new MutationObserver(() => {
    const sent = Number(pad.dataset.sent);
    if (sent === asked) return;
    asked = sent;
    requestAnimationFrame(() => requestAnimationFrame(() => {
      window.__found.push(performance.timeOrigin + performance.now() - sent);
    }));
  }).observe(card.parentElement, {subtree: true, childList: true, characterData: true});
}"""


def spread(name: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    print(f"{name}: median {1e3 * statistics.median(ordered):.0f} ms, p95 {1e3 * p95:.0f} ms", flush=True)


def in_the_server() -> None:
    """The bundled digits, and networks of MNIST's size."""
    from datasets import pad
    from engine.networks.stack import Networks
    from lessons.digits import analysis, scenes
    from lessons.digits.spec import LETTER, SCENARIOS, THREE

    spec = SCENARIOS[0].spec
    networks = analysis.trained(spec)
    assert networks is not None
    seconds = []
    for stroke in range(STROKES):
        drawing = (THREE + LETTER)[: 2 + stroke % 16]
        begin = time.perf_counter()
        scenes.picture(spec.replace(drawing=drawing), networks)
        seconds.append(time.perf_counter() - begin)
    spread("stroke to scene, bundled digits", seconds)
    rng = np.random.default_rng(1)
    layers = tuple(rng.standard_normal((100, a + 1, b), dtype=np.float32) * 0.05 for a, b in ((784, 200), (200, 200), (200, 10)))
    large, seconds = Networks(layers, "relu"), []
    for stroke in range(STROKES):
        begin = time.perf_counter()
        image = pad.drawn((THREE + LETTER)[: 2 + stroke % 16], 28)
        large.predict(image[None])
        large.sensitivity(image)
        seconds.append(time.perf_counter() - begin)
    spread("stroke to probabilities and maps, 100 networks 784-200-200-10", seconds)


def in_the_browser(data: str) -> None:
    """A long stroke on the page, alone and among `READERS`."""
    from playwright.sync_api import sync_playwright

    from tests.browser import chrome
    from tests.load import classroom
    from tests.server import ROOT, Server

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play, ThreadPoolExecutor(1) as beside:
        server = Server(ROOT / "app" / "main.py", Path(folder) / "log.txt")
        browser = play.chromium.launch(executable_path=chrome.find(), args=["--no-sandbox", "--disable-gpu"])
        try:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(f"{server.url}/digits?scenario=plain&data={data}")
            page.get_by_text("100 networks:").first.wait_for(timeout=60_000)
            page.wait_for_timeout(20_000)  # warm-up and panels
            page.evaluate(WATCH)
            stroke(page)
            others = beside.submit(asyncio.run, classroom.movers(server.url, READERS, 30.0))
            page.wait_for_timeout(12_000)  # they have arrived
            stroke(page, among=READERS)
            others.result()
        finally:
            browser.close()
            server.stop()


def stroke(page: Page, among: int = 0) -> None:
    """Draw one on the empty pad, and say how soon it was read."""
    page.get_by_role("button", name="Clear", exact=True).click()
    page.wait_for_timeout(1000)
    page.evaluate("window.__found = []")
    box = page.get_by_test_id("pad").bounding_box()
    assert box is not None
    turns = np.linspace(0.0, 6.0 * np.pi, 240)
    where = np.column_stack([0.5 + 0.3 * np.sin(turns), 0.5 + 0.4 * np.cos(0.8 * turns)])
    places = np.array([box["x"], box["y"]]) + where * [box["width"], box["height"]]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places:
        page.mouse.move(*place)
        page.wait_for_timeout(25)
    page.mouse.up()
    page.wait_for_timeout(2000)
    found = [ms / 1e3 for ms in page.evaluate("window.__found")]
    spread(f"stroke to picture in the browser among {among} readers ({len(found)} looks at one long stroke)", found)


def accuracy(methods: list[str]) -> None:
    """Train as the page does, and test."""
    from datasets import local
    from datasets.files import optdigits
    from engine import scores
    from lessons.digits import analysis
    from lessons.digits.spec import DigitsSpec
    from lessons.families.digit_posteriors.shared import posterior

    named = os.environ.get("POSTERIOR_LAB_DATA")
    if not named:
        raise SystemExit("POSTERIOR_LAB_DATA names no folder: MNIST and OptDigits are not bundled")
    for method in methods:
        if method == "nuts":
            data = optdigits((Path(named) / "optdigits.csv").read_bytes())
            name, spec = "OptDigits, 500 images", analysis.recipe(DigitsSpec(), "nuts")
        else:
            data = local.images("mnist")
            name, spec = "MNIST", analysis.recipe(DigitsSpec(data="mnist"), method)
        begin = time.perf_counter()
        networks = posterior(name, data, spec).finish()
        seconds = time.perf_counter() - begin
        assert networks is not None
        mean = networks.predict(data.x_test).mean(axis=0, dtype=np.float64)
        found = scores.top_accuracy(mean, data.y_test)
        goal = GOALS.get(method)
        verdict = "" if goal is None else f" (goal {goal}: {'reached' if found >= goal else 'MISSED'})"
        print(
            f"{method}, {name}: {found:.4f} of {len(data.y_test):,} test images right{verdict}, calibration error "
            f"{scores.calibration_error(mean, data.y_test):.3f}, trained in {seconds:.0f} s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accuracy", nargs="*", metavar="METHOD", help="nuts, dense, lbbnn, dropout, ensemble")
    options = parser.parse_args()
    if options.accuracy is not None:
        accuracy(options.accuracy or ["nuts", "lbbnn", "dense"])
    else:
        in_the_server()
        for data in ("digits", "mnist") if os.environ.get("POSTERIOR_LAB_DATA") else ("digits",):
            print(f"\n{data}")
            in_the_browser(data)


if __name__ == "__main__":
    main()
