"""The run taken home from the page, and pictures and films of the stage, each opened by something else."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import nbformat
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from app.kit.charts import SAVED_SIZE
from tests.browser.conftest import PATIENT, Lab, player

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


def colours(picture: Image.Image) -> dict[str, int]:
    """How many pixels show the map, the path, and letters: greys between the page and ink, violet, ink."""
    red, green, blue = (np.asarray(picture.convert("RGB"))[:, :, i].astype(int) for i in range(3))
    grey = (abs(red - green) < 12) & (abs(green - blue) < 12)
    return {
        "map": int((grey & (red > 195) & (red < 250)).sum()),
        "path": int((blue - green > 80).sum()),
        "ink": int((red + green + blue < 200).sum()),
    }


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
    large.load()  # what is said of a PNG may stand behind its pixels
    told = root.findtext(f"{SVG}title")
    assert large.text["Title"] == told and page.url in large.text["Description"], "those who do not see it, and where it is from"
    stage.press("Home")
    stage.get_by_role("button", name="Take a moving picture (PNG)").click()
    expect(stage).to_have_attribute("data-t", re.compile(r"[1-9]\d"))
    moving = Image.open(saved(page, stage, "Stop the film and download it"))
    seen = {moving.seek(i) or moving.convert("RGB").tobytes() for i in range(moving.n_frames)}
    assert moving.is_animated and len(seen) == moving.n_frames >= 3 and moving.text["Title"] == told, "each frame shows something else"
    stage.press("Home")
    stage.get_by_role("button", name="Take a film (WebM)").click()
    expect(stage).to_have_attribute("data-t", re.compile(r"[1-9]\d"))  # the tenth step at least, however busy the machine
    film = saved(page, stage, "Stop the film and download it").read_bytes()
    played = page.evaluate(PLAYED, base64.b64encode(film).decode())
    assert played["frames"] >= 3 and played["width"] > 300 and min(played["corner"]) > 240, "on the page's own background"
    expect(stage.get_by_role("button", name="Take a film (WebM)")).to_be_visible()


DRAWN = {  # program: the ending of what it opens, and how it draws that as pictures
    "rsvg-convert": ("SVG", ["rsvg-convert", "--zoom=2", "{file}", "-o", "{out}.png"]),
    "inkscape": ("SVG", ["inkscape", "{file}", "--export-type=png", "--export-dpi=192", "--export-filename={out}.png"]),
    "pdftoppm": ("PDF", ["pdftoppm", "-png", "-r", "192", "-singlefile", "{file}", "{out}"]),
}


@pytest.mark.parametrize("program", DRAWN)
def test_other_programs_draw_what_the_stage_shows(lab: Lab, program: str, tmp_path: Path):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed: the drawing is not opened by it")
    page = lab.open("/hmc")
    stage = player(page)
    stage.press("Home")
    if stage.locator("details.data").get_attribute("open") is None:
        stage.locator("summary").click()
    ending, command = DRAWN[program]
    file, out = tmp_path / f"stage.{ending.lower()}", tmp_path / "seen"
    file.write_bytes(saved(page, stage, f"Drawing ({ending})").read_bytes())
    assert file.stat().st_size <= 2e6
    here = Image.open(saved(page, stage, "Download picture (PNG)"))
    subprocess.run([part.format(file=file, out=out) for part in command], check=True, capture_output=True, timeout=60)
    there = Image.open(out.with_suffix(".png")).convert("RGB").resize(here.size)
    ours, theirs = colours(here), colours(there)
    assert all(0.5 * ours[name] < theirs[name] < 2.0 * ours[name] for name in ours), f"{ours} here, {theirs} there"
    if program == "pdftoppm":
        off = np.abs(np.asarray(there, dtype=int) - np.asarray(here.convert("RGB"), dtype=int)).max(axis=2)
        assert (off > 100).mean() < 0.02, "the same picture, but for the edges of lines"
        text = subprocess.run(["pdftotext", file, "-"], check=True, capture_output=True, text=True).stdout
        assert {"Position", "x₁", "−2", "present state"} <= {line.strip() for line in text.splitlines()}, "text is text"


def test_the_camera_of_a_chart_saves_what_is_chosen(lab: Lab):
    page = lab.open("/conjugate")
    camera = page.locator(".js-plotly-plot .modebar-btn").first

    def kept() -> Path:
        camera.wait_for(state="attached", timeout=PATIENT)
        with page.expect_download(timeout=PATIENT) as download:
            camera.dispatch_event("click")
        assert download.value.suggested_filename.startswith("posterior-lab-as-the-prior")
        return Path(download.value.path())

    words = "".join(text for node in ET.parse(kept()).getroot().iter(f"{SVG}text") for text in node.itertext())
    assert "prior taken how seriously" in words, "text is text"
    page.get_by_role("button", name="Take home").click()
    page.get_by_text("PNG, four times as large").click()
    expect(camera).to_have_attribute("data-title", re.compile("PNG"), timeout=PATIENT)
    assert Image.open(kept()).size == (4 * SAVED_SIZE["width"], 4 * SAVED_SIZE["height"])
