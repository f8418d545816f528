"""The stills of the start page: each lesson's own stage, photographed in both themes.

    python -m tests.browser.stills [SLUG …] [--url http://127.0.0.1:8501] [--to FOLDER]

Opens the last step of a story that shows a few panels and does not ask, sees where its play rests, and keeps it as
`app/static/stills/SLUG-light.webp` and `SLUG-dark.webp`. Run it when a lesson's stage has changed.
"""

from __future__ import annotations

import argparse
import base64
import io
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Page

from app import catalogue
from app.kit import story, theme
from app.stills import FOLDER, THEMES
from tests.browser.conftest import READY, SCREEN, player
from tests.browser.sheet import opened

SIZE = (480, 270)  # px, one and a half times what a card shows
MARGIN = 6  # px
LOOKS, BETWEEN = 40, 1_500  # at a stage until it rests, and ms between two
GROWN = """
node => !node.dataset.cue.endsWith("/waiting") && Number(node.dataset.steps) > Number(node.querySelector(".scrub input").max)
"""  # a run that is made while one looks has all its transitions, and the story its moments
JUDGED = "() => { const signs = document.querySelector('.st-key-signs'); return signs !== null && !signs.innerText.includes('⋯'); }"
LONGEST_RUN = 240_000  # ms, on a server that has never made it
QUALITY = 70
COARSE = (48, 27)  # px of the pictures that `distance` compares
ALIKE = 0.01  # of that distance: of two stills of one lesson
FEW = 3  # panels that can be read on a small picture
SHOWN = {"tuning": 1, "diagnostics": 1, "landing": 4}  # step, where that one is not the best
TALLEST = 0.75  # of its width; of a taller stage the upper rows are kept
GAP = 20  # px between two rows of panels, at least, and more than anywhere within one


def step(entry: catalogue.Entry) -> int:
    """The step that is photographed, counted from 1."""
    steps = list(enumerate(story.read(entry.path.with_name("story.md")), 1))
    shows = [number for number, each in steps if each.question is None and each.scenario]
    few = [number for number in shows if 0 < len(steps[number - 1][1].staging.play.panels) <= FEW]
    return SHOWN.get(entry.slug) or [1, *shows, *few][-1]


def taken(page: Page, url: str, entry: catalogue.Entry, paper: str) -> Image.Image:
    """The stage at rest, in a frame of `SIZE`."""
    page.goto(f"{url}/{entry.slug}?story={step(entry)}")
    page.wait_for_selector("[data-testid='player'][data-cue]", timeout=240_000)
    page.wait_for_selector(READY, timeout=60_000)
    picture = Image.open(io.BytesIO(base64.b64decode(at_rest(page)))).convert("RGBA")
    return fitted(Image.alpha_composite(Image.new("RGBA", picture.size, paper), picture).convert("RGB"), paper)


def at_rest(page: Page) -> str:
    """What the canvas shows once its run is whole and judged, and it changes no more, as base64: a font may come late, and
    with the last check what the picture is compared with.
    """
    canvas, before = player(page).locator(".stage canvas").first, ""
    page.wait_for_function(GROWN, arg=player(page).element_handle(), timeout=LONGEST_RUN)
    page.wait_for_function(JUDGED, timeout=LONGEST_RUN)
    for _ in range(LOOKS):
        page.wait_for_timeout(BETWEEN)
        now = str(canvas.evaluate("canvas => canvas.toDataURL().split(',')[1]"))
        if now == before:
            break
        before = now
    return before


def fitted(picture: Image.Image, paper: str) -> Image.Image:
    """Without empty margins, whole, in a frame of `SIZE`."""
    inked = ImageChops.difference(picture, Image.new("RGB", picture.size, paper)).getbbox()
    picture = upper(picture.crop(inked) if inked else picture, paper)
    width, height = SIZE
    times = min((width - 2 * MARGIN) / picture.width, (height - 2 * MARGIN) / picture.height)
    picture = picture.resize((round(times * picture.width), round(times * picture.height)), Image.Resampling.LANCZOS)
    frame = Image.new("RGB", SIZE, paper)
    frame.paste(picture, ((width - picture.width) // 2, (height - picture.height) // 2))
    return frame


def upper(picture: Image.Image, paper: str) -> Image.Image:
    """The upper rows of panels, as many as have about the shape of the frame."""
    if picture.height <= TALLEST * picture.width:
        return picture
    blank = np.all(np.asarray(picture) == Image.new("RGB", (1, 1), paper).getpixel((0, 0)), axis=(1, 2))
    gaps = [row for row in range(picture.height - GAP) if blank[row : row + GAP].all() and not blank[row - 1]]
    wanted = picture.width * SIZE[1] / SIZE[0]
    return picture.crop((0, 0, picture.width, min(gaps, key=lambda row: abs(row - wanted), default=picture.height)))


def distance(a: Image.Image, b: Image.Image) -> float:
    """How far two stills are apart, 0 (the same) to 1, seen from afar: another machine's letters are no difference."""
    far = [np.asarray(picture.convert("RGB").resize(COARSE, Image.Resampling.BOX), dtype=float) for picture in (a, b)]
    return float(np.mean(np.abs(far[0] - far[1])) / 255)


def photographer(browser: Browser, scheme: Literal["light", "dark"]) -> Page:
    """A page on which nothing moves: a play shows where it ends."""
    return browser.new_page(viewport=SCREEN, color_scheme=scheme, reduced_motion="reduce")


def main() -> None:
    """Photograph the lessons that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("slugs", nargs="*", metavar="SLUG")
    parser.add_argument("--url")
    parser.add_argument("--to", type=Path, default=FOLDER)
    wanted = parser.parse_args()
    wanted.to.mkdir(parents=True, exist_ok=True)
    with opened(wanted.url) as (browser, url):
        for scheme in THEMES:
            page = photographer(browser, scheme)
            for entry in catalogue.LESSONS:
                if not wanted.slugs or entry.slug in wanted.slugs:
                    path = wanted.to / f"{entry.slug}-{scheme}.webp"
                    paper = {"light": theme.LIGHT, "dark": theme.DARK}[scheme]["surface"]
                    taken(page, url, entry, paper).save(path, quality=QUALITY, method=6)
                    print(path, path.stat().st_size, flush=True)


if __name__ == "__main__":
    main()
