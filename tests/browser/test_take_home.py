"""The run taken home from the page, and pictures and films of the stage, each opened by something else."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import nbformat
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Lab, player

SVG = "{http://www.w3.org/2000/svg}"
PLAYED = """async (film) => {
  const video = Object.assign(document.createElement("video"), { muted: true, src: `data:video/webm;base64,${film}` });
  const seen = new Set();
  const look = (_, { mediaTime }) => { seen.add(mediaTime); video.requestVideoFrameCallback(look); };
  video.requestVideoFrameCallback(look);
  video.playbackRate = 0.25; // a busy machine leaves out frames
  await video.play();
  await new Promise((end) => { video.onended = end; });
  const canvas = Object.assign(document.createElement("canvas"), { width: video.videoWidth, height: video.videoHeight });
  const context = canvas.getContext("2d");
  context.drawImage(video, 0, 0);
  return { frames: seen.size, width: video.videoWidth, corner: [...context.getImageData(2, 2, 1, 1).data] };
}"""


def saved(page: Page, stage: Locator, name: str) -> Path:
    with page.expect_download() as download:
        stage.get_by_role("button", name=name).click()
    return Path(download.value.path())


def test_a_notebook_is_taken_home(lab: Lab):
    page = lab.open("/hmc?draws=60")
    page.get_by_role("button", name="Take home").click()
    page.get_by_role("combobox", name="File").click()
    page.get_by_text("Notebook that makes it again").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download (").click()
    notebook = nbformat.read(download.value.path(), as_version=4)
    nbformat.validate(notebook)
    assert "draws=60" in notebook.cells[2].source and page.url.split("?")[0] in notebook.cells[0].source
    expect(page.get_by_text("What the picture shows")).to_be_visible()


def test_drawings_pictures_and_films(lab: Lab):
    page = lab.open("/hmc")
    stage = player(page)
    stage.press("Home")
    stage.locator("summary").click()
    drawing = saved(page, stage, "Drawing (SVG)")
    root = ET.parse(drawing).getroot()
    words = [node.text for node in root.iter(f"{SVG}text")]
    assert drawing.stat().st_size <= 2e6 and "Position" in words and "x₁" in words, "text is text"
    assert all(node.get("font-family") for node in root.iter(f"{SVG}text"))
    assert root.find(f"{SVG}title") is not None and len(list(root.iter(f"{SVG}path"))) > 20
    small, large = (Image.open(saved(page, stage, name)) for name in ("Download picture (PNG)", "Twice as large (PNG)"))
    assert large.size == (2 * small.width, 2 * small.height)
    stage.get_by_role("button", name="Take a film (WebM)").click()
    expect(stage).to_have_attribute("data-t", re.compile(r"[1-9]\d"))  # the tenth step at least, however busy the machine
    film = saved(page, stage, "Stop the film and download it").read_bytes()
    played = page.evaluate(PLAYED, base64.b64encode(film).decode())
    assert played["frames"] >= 3 and played["width"] > 300 and min(played["corner"]) > 240, "on the page's own background"
    expect(stage.get_by_role("button", name="Take a film (WebM)")).to_be_visible()
