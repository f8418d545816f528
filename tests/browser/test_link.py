"""A link holds the step, the frame and the speed: whoever opens it sees just that picture."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENT, Lab, player

PLACE = ("data-t", "data-s", "data-speed", "data-playing", "data-panels", "data-run")


def place(page: Page) -> list[str | None]:
    """Where the player stands, of which run."""
    return [player(page).get_attribute(name) for name in PLACE]


def painted(page: Page) -> str:
    """The picture."""
    page.wait_for_timeout(300)
    return player(page).locator(".stage canvas").first.evaluate("node => node.toDataURL()")


def shared(page: Page) -> str:
    """The link of the fold *Share*."""
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link", exact=True)
    expect(link).to_contain_text("http")
    return link.inner_text()


def test_a_shared_link_opens_on_just_that_picture(reader: Lab):
    page = reader.open("/hmc?scenario=just-right&story=3&seed=5")
    stage = player(page)
    expect(stage).to_have_attribute("data-playing", "true", timeout=PATIENT)
    for key in ("Home", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "+"):
        stage.press(key)
    expect(stage).to_have_attribute("data-s", "2")
    before, picture = place(page), painted(page)
    expect(page).to_have_url(re.compile(r"frame=4\.3&speed=2$"))
    link = shared(page)
    assert link.endswith("&frame=4.3&speed=2")
    page.goto(link)
    expect(page.get_by_text("Step 3 of")).to_be_visible(timeout=PATIENT)
    expect(stage).to_have_attribute("data-s", "2", timeout=PATIENT)
    assert place(page) == before
    assert painted(page) == picture
    page.get_by_role("button", name="Next ▶").click()
    expect(page.get_by_text("Step 4 of")).to_be_visible()
    expect(page).not_to_have_url(re.compile("frame"))
    expect(stage).to_have_attribute("data-cue", re.compile("^hmc/3/"))


def test_a_picture_of_one_s_own_settings_comes_back_at_its_step(reader: Lab):
    page = reader.open("/metropolis?scenario=king&story=3")
    stage = player(page)
    expect(stage).to_have_attribute("data-panels", "ring shares", timeout=PATIENT)
    page.get_by_role("textbox", name="People on each island").fill("5, 1, 5, 1")
    page.get_by_role("textbox", name="People on each island").press("Enter")
    page.wait_for_url(re.compile("populations=5.*story=3|story=3.*populations=5"))
    reader.settled()
    stage.press("Home")
    stage.press("ArrowRight")
    before = place(page)
    page.goto(shared(page))
    expect(page.get_by_text("Step 3 of")).to_be_visible(timeout=PATIENT)
    expect(stage).to_have_attribute("data-t", "1")
    assert place(page) == before


def test_a_link_shows_nothing_beyond_what_is_asked(reader: Lab):
    page = reader.open("/metropolis?scenario=king&story=2")
    stage = player(page)
    expect(stage.get_by_text("Your prediction first")).to_be_visible(timeout=PATIENT)
    held = place(page)
    assert shared(page).endswith(f"&frame={int(held[0] or 0) + 1}.1")
    for frame in ("2000", "2000.3", f"{int(held[0] or 0) + 1}"):
        page.goto(f"{reader.url}/metropolis?scenario=king&story=2&frame={frame}")
        expect(stage.get_by_text("Your prediction first")).to_be_visible(timeout=PATIENT)
        assert place(page) == held


def test_a_frame_that_the_run_has_not_is_said_so(reader: Lab):
    page = reader.open("/metropolis?scenario=king&story=3&frame=99999&speed=3&slow=x")
    message = page.get_by_role("alert").first
    for words in ("99999 is beyond this run of", "“3” is not one of 0.25, 0.5, 1", "“x” is neither 0 nor 1"):
        expect(message).to_contain_text(words)
    steps = int(player(page).get_attribute("data-steps") or 0)
    expect(player(page)).to_have_attribute("data-t", str(steps - 1))
