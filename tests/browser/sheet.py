"""Contact sheets: every step of a lesson as its reader finds it, to be looked at.

    python -m tests.browser.sheet [SLUG …] [--size 360x740] [--dark] [--url http://127.0.0.1:8501] [--to FOLDER]

Walks through the story (all lessons, if none is named). Each step is a picture of the window once its play has come to
rest; where it asks, one before the lock and one after. The folder gets the pictures and one sheet a lesson,
`SLUG.png`, with what each step waited for. Without --url it starts a server of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Page, TimeoutError, sync_playwright

from app import catalogue
from tests.browser import chrome
from tests.browser.conftest import READY, player
from tests.server import ROOT, Server

SLUGS = [entry.slug for entry in catalogue.LESSONS]
PLAYS = 25_000  # ms in which a step comes to rest
COLUMNS, WIDTH = 3, 640  # of a sheet; px of a picture on it
SHEET = """<body style="margin:8px;font:14px sans-serif;background:#888"><div style="display:grid;gap:8px;grid-template-columns:{columns}">
{pictures}</div></body>"""
PICTURE = '<figure style="margin:0"><figcaption>{caption}</figcaption><img src="{source}" style="width:100%"></figure>'


@contextlib.contextmanager
def opened(url: str | None) -> Iterator[tuple[Browser, str]]:
    """A browser, and the address of the app: `url`, or that of a server that lives as long."""
    with contextlib.ExitStack() as stack:
        if url is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            server = Server(ROOT / "app" / "main.py", Path(folder) / "log.txt")
            stack.callback(server.stop)
            url = server.url
        driver = stack.enter_context(sync_playwright())
        yield driver.chromium.launch(executable_path=chrome.find(), args=["--no-sandbox", "--disable-gpu"]), url.rstrip("/")


def rest(page: Page) -> str:
    """Wait until no script runs and the stage has come to rest; what was odd about it."""
    stage = player(page).element_handle()
    page.wait_for_selector(READY, timeout=60_000)
    begin = time.monotonic()
    try:
        page.wait_for_function("node => node.dataset.playing === 'true'", arg=stage, timeout=2_500)
    except TimeoutError:
        return "does not play"
    try:
        page.wait_for_function("node => node.dataset.playing !== 'true'", arg=stage, timeout=PLAYS)
    except TimeoutError:
        return "still plays"
    return f"played {time.monotonic() - begin:.0f} s"


def locked(page: Page) -> bool:
    """Lock the first answer, if the step asks."""
    options = page.get_by_role("radiogroup", name="Your prediction")
    if not options.is_visible():
        return False
    options.get_by_role("radio").first.check(force=True)
    page.get_by_role("button", name="Lock my prediction and run").click()
    page.wait_for_selector("[data-testid='player'][data-cue$='/answered']", timeout=60_000)
    return True


def walk(page: Page, url: str, slug: str, folder: Path) -> list[tuple[str, Path]]:
    """Pictures of all steps, each with its caption."""
    folder.mkdir(parents=True, exist_ok=True)
    page.goto(f"{url}/{slug}")
    page.wait_for_selector("[data-testid='player'][data-cue]", timeout=240_000)
    pictures: list[tuple[str, Path]] = []
    forward = page.get_by_role("button", name="Next ▶")

    def take(caption: str, name: str) -> None:
        page.wait_for_timeout(700)  # the signs
        path = folder / f"{name}.png"
        page.screenshot(path=path)
        pictures.append((caption, path))

    step = 1
    while True:
        take(f"{slug} {step}: {rest(page)}", f"{step:02d}")
        if locked(page):
            take(f"{slug} {step}, locked: {rest(page)}", f"{step:02d}b")
        if not forward.is_enabled():
            return pictures
        before = player(page).get_attribute("data-cue")
        forward.click()
        page.wait_for_function("([node, cue]) => node.dataset.cue !== cue", arg=[player(page).element_handle(), before], timeout=60_000)
        step += 1


def sheet(page: Page, pictures: Sequence[tuple[str, Path]], to: Path) -> None:
    """One picture of them all."""
    figures = "\n".join(PICTURE.format(caption=html.escape(caption), source=path.resolve().as_uri()) for caption, path in pictures)
    source = to.with_suffix(".html")
    source.write_text(SHEET.format(columns=f"repeat({COLUMNS}, {WIDTH}px)", pictures=figures), encoding="utf-8")
    page.goto(source.resolve().as_uri())
    page.screenshot(path=to, full_page=True)


def main() -> None:
    """Walk through the lessons that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("slugs", nargs="*", metavar="SLUG", default=SLUGS)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--url")
    parser.add_argument("--to", type=Path, default=Path(tempfile.gettempdir()) / "posterior-lab-sheets")
    wanted = parser.parse_args()
    if unknown := set(wanted.slugs) - set(SLUGS):
        parser.error(f"no lesson {', '.join(sorted(unknown))}; there are {', '.join(SLUGS)}")
    wanted.to.mkdir(parents=True, exist_ok=True)
    width, height = map(int, wanted.size.split("x"))
    with opened(wanted.url) as (browser, url):
        for slug in wanted.slugs:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if wanted.dark else "light")
            pictures = walk(page, url, slug, wanted.to / slug)
            page.set_viewport_size({"width": COLUMNS * (WIDTH + 8) + 8, "height": 720})
            sheet(page, pictures, wanted.to / f"{slug}.png")
            page.close()
            print(wanted.to / f"{slug}.png", flush=True)


if __name__ == "__main__":
    main()
