"""The stills of the start page: each lesson's own stage, photographed.

    python -m tests.browser.stills [SLUG …] [--url http://127.0.0.1:8501]

Opens the last step of a story that plays, waits until it rests, and keeps the picture as `app/static/stills/SLUG.webp`.
Run it when a lesson's stage has changed.
"""

from __future__ import annotations

import argparse
import io

from PIL import Image
from playwright.sync_api import Page

from app import catalogue
from app.kit import story
from tests.browser.conftest import player
from tests.browser.sheet import opened, rest

FOLDER = catalogue.ROOT / "app" / "static" / "stills"
SIZE = (480, 270)  # px, twice what a card shows on a small screen
QUALITY = 80
PAPER = "white"
SHOWN: dict[str, int] = {}  # step, where the last one is not the best


def taken(page: Page, url: str, entry: catalogue.Entry) -> Image.Image:
    """The stage at rest."""
    step = SHOWN.get(entry.slug, len(story.read(entry.path.with_name("story.md"))))
    page.goto(f"{url}/{entry.slug}?story={step}")
    page.wait_for_selector("[data-testid='player'][data-cue]", timeout=90_000)
    rest(page)
    page.wait_for_timeout(1_000)
    return Image.open(io.BytesIO(player(page).locator(".stage canvas").first.screenshot()))


def fitted(picture: Image.Image) -> Image.Image:
    """In a frame of `SIZE`, whole."""
    picture.thumbnail(SIZE, Image.Resampling.LANCZOS)
    frame = Image.new("RGB", SIZE, PAPER)
    frame.paste(picture, ((SIZE[0] - picture.width) // 2, (SIZE[1] - picture.height) // 2))
    return frame


def main() -> None:
    """Photograph the lessons that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("slugs", nargs="*", metavar="SLUG")
    parser.add_argument("--url")
    wanted = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    with opened(wanted.url) as (browser, url):
        page = browser.new_page(viewport={"width": 1280, "height": 720}, color_scheme="light", device_scale_factor=1)
        for entry in catalogue.LESSONS:
            if not wanted.slugs or entry.slug in wanted.slugs:
                fitted(taken(page, url, entry)).save(FOLDER / f"{entry.slug}.webp", quality=QUALITY, method=6)
                print(entry.slug, (FOLDER / f"{entry.slug}.webp").stat().st_size, flush=True)


if __name__ == "__main__":
    main()
