"""The frame in a browser: what AppTest cannot see (address bar, history, layout, timers)."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from app.kit import theme
from tests.browser.conftest import FOLLOW, PATIENT, STREAM, Gate, Lab, hold
from tests.pace import slower
from tests.server import Server


def player(page: Page):
    """The player's host element."""
    return page.locator(".st-key-demo-player")


def slider_value(page: Page, key: str) -> str:
    """What the slider's thumb says."""
    return page.locator(f".st-key-demo-{key}-slider input[type=range], .st-key-demo-{key}-slider [role=slider]").first.evaluate(
        "e => e.getAttribute('aria-valuetext') || e.value || e.getAttribute('aria-valuenow')"
    )


def set_box(page: Page, key: str, value: str) -> None:
    """Type a number into a box and leave it."""
    box = page.locator(f".st-key-demo-{key}-box input")
    box.fill(value)
    box.press("Enter")


def test_the_first_picture_needs_no_press(demo: Lab):
    page = demo.open("/demo")
    expect(player(page).locator("canvas").first).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=10_000)
    assert slider_value(page, "step_size") == "1"
    assert demo.query() == {}, "a bare address stays bare until something changes"


def test_a_change_is_in_the_address_and_back_undoes_it(demo: Lab):
    page = demo.open("/demo")
    set_box(page, "drift", "0.25")
    page.wait_for_url(re.compile("drift=0.25"))
    demo.settled()
    assert demo.query()["v"] == "1" and demo.query()["seed"] == "1"
    set_box(page, "drift", "0.5")
    page.wait_for_url(re.compile("drift=0.5"))
    page.wait_for_timeout(2200)  # after this an older address is the reader's wish, not an echo
    page.go_back()
    page.wait_for_url(re.compile("drift=0.25"))
    expect(page.locator(".st-key-demo-drift-box input")).to_have_value("0.25")
    page.go_forward()
    expect(page.locator(".st-key-demo-drift-box input")).to_have_value("0.5")


def test_a_link_opens_what_it_says_and_survives_a_reload(demo: Lab):
    page = demo.open("/demo?v=1&step_size=0.123&drift=-0.4&steps=77&kind=reflected&seed=12")
    assert slider_value(page, "step_size") == "0.123"
    expect(page.locator(".st-key-demo-steps-box input")).to_have_value("77")
    page.reload()
    demo.settled()
    expect(page.locator(".st-key-demo-steps-box input")).to_have_value("77")


def test_a_bad_link_says_so(demo: Lab):
    page = demo.open("/demo?steps=99999&drift=abc&colour=red")
    message = page.get_by_role("alert").first
    for words in ("steps", "outside 10 to 2,000", "drift", "colour"):
        expect(message).to_contain_text(words)
    expect(player(page).locator("canvas").first).to_be_visible()


def test_scenarios_steps_and_prediction(demo: Lab):
    page = demo.open("/demo")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Step 2 of 3")).to_be_visible()
    page.wait_for_url(re.compile("scenario=long"))
    expect(page.locator(".st-key-demo-step_size-box input")).to_have_value("4")
    lock = page.get_by_role("button", name="Lock my prediction")
    expect(lock).to_be_disabled()
    page.get_by_text("like √t").click()
    lock.click()
    expect(page.get_by_text("You were right")).to_be_visible()
    page.get_by_test_id("stPills").or_(page.locator(".st-key-demo-scenario")).get_by_text("drift twice").click()
    expect(page.get_by_text("Why it goes wrong.")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("✗")).first).to_be_visible(timeout=10_000)


def test_a_refused_formula_stays_with_its_reason(demo: Lab):
    page = demo.open("/demo")
    box = page.get_by_label("Formula", exact=True)
    box.fill("y^2")
    box.press("Enter")
    expect(page.get_by_text("is neither x nor x*x")).to_be_visible()
    expect(box).to_have_value("y^2")
    box.fill("x*x")
    box.press("Enter")
    expect(page.get_by_text("is neither x nor x*x")).to_be_hidden()
    assert demo.query()["formula"] == "x*x"


def test_signs_list_their_checks_and_try_other_seeds(demo: Lab):
    page = demo.open("/demo")
    page.get_by_role("button", name=re.compile("numbers ✓")).click()
    expect(page.get_by_text("✓ mean step. the mean step was compared with the drift")).to_be_visible()
    page.get_by_role("button", name="Check other seeds").click()
    expect(page.get_by_text(re.compile(r"^Seed \d+"))).to_have_count(3, timeout=10_000)


def test_a_mistake_planted_there_and_then_turns_the_sign_red(demo: Lab):
    page = demo.open("/demo")
    page.get_by_role("button", name=re.compile("kernel ✓")).click()
    expect(page.get_by_text("✓ sum of steps.")).to_be_visible()
    page.get_by_role("button", name="Plant it").click()
    expect(page.get_by_text(re.compile("✗ sum of steps."))).to_be_visible(timeout=10_000)
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible()  # of the page itself


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_worst_of_the_three_signs(demo: Lab, scheme: Literal["light", "dark"]):
    page = demo.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 740})
    demo.open("/demo?drift=0.5&broken=on&steps=2000")
    signs = page.locator(".st-key-signs").get_by_role("button")
    expect(signs.and_(page.get_by_role("button", name=re.compile("kernel ✗")))).to_be_visible(timeout=10_000)
    expect(page.get_by_role("button", name=re.compile("this run"))).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 720})
    expect(page.get_by_role("button", name=re.compile("this run"))).to_be_visible()


def test_share_gives_the_link(demo: Lab):
    page = demo.open("/demo?scenario=long")
    page.get_by_role("button", name="Share").click()
    link = page.get_by_text(re.compile(r"^http://127.0.0.1:\d+/demo\?scenario=long&v=1&step_size=4&")).first
    expect(link).to_be_visible()
    page.goto(link.inner_text())
    demo.settled()
    expect(page.locator(".st-key-demo-step_size-box input")).to_have_value("4")


LONG_RUN = """
import time
from types import SimpleNamespace
from tests.kit.demo import lesson
lesson.time = SimpleNamespace(sleep=lambda seconds: time.sleep(10 * seconds))
"""


@pytest.mark.parametrize("altered_demo", [LONG_RUN], indirect=True, ids=["long"])
def test_a_long_run_grows_and_stops(altered_demo: Lab):
    """It would take 80 s: on a busy machine a press may need some of them."""
    page = altered_demo.open("/demo?steps=2000")
    page.get_by_role("button", name="Run slowly").click()
    expect(page.locator(".st-key-live").get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_text(re.compile(r"s left"))).to_be_visible()
    page.locator(".st-key-live").get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile("Stopped after"))).to_be_visible()
    expect(player(page).locator("canvas").first).to_be_visible()


LONG_SCRIPT = """
import time
from app.kit import frame
story = frame._story
frame._story = lambda *given: (time.sleep(4), story(*given))
"""


@pytest.mark.parametrize("altered_demo", [LONG_SCRIPT], indirect=True)
def test_nobody_is_offered_to_stop_a_page_half_way(altered_demo: Lab):
    """Streamlit would, of any script of half a second."""
    page = altered_demo.page
    page.goto(f"{altered_demo.url}/demo")
    running = page.get_by_test_id("stStatusWidget")
    expect(running.get_by_role("img")).to_be_visible(timeout=PATIENT)
    expect(page.locator(".st-key-style style")).to_be_attached()
    assert running.is_visible() and not running.locator("button").is_visible()


def test_moving_between_pages_keeps_a_visit(demo: Lab):
    page = demo.open("/demo")
    set_box(page, "steps", "123")
    page.wait_for_url(re.compile("steps=123"))
    page.get_by_role("link", name="Start").first.click()
    expect(page.get_by_role("heading", name="Posterior Lab")).to_be_visible()
    page.get_by_role("link", name="A random walk").last.click()
    expect(page.locator(".st-key-demo-steps-box input")).to_have_value("123")
    page.wait_for_url(re.compile("steps=123"))


def test_start_page_links_to_scenarios(demo: Lab):
    page = demo.open("/")
    page.get_by_role("link", name="long steps").click()
    expect(page.locator(".st-key-demo-step_size-box input")).to_have_value("4")


def test_hidden_controls_and_projector_view(demo: Lab):
    page = demo.open("/demo?hide=drift,seed&present=1")
    expect(page.get_by_role("button", name="Leave")).to_be_visible()
    page.get_by_text("Settings", exact=True).first.click()
    expect(page.locator(".st-key-demo-steps-box")).to_be_visible()
    expect(page.locator(".st-key-demo-drift-box")).to_have_count(0)
    expect(page.locator(".st-key-demo-seed-box")).to_have_count(0)


def test_a_clicker_leads_through_the_story_on_a_projector(demo: Lab):
    demo.page.set_viewport_size({"width": 1920, "height": 1080})
    page = demo.open("/demo")
    expect(page.get_by_test_id("player").locator("canvas").first).to_be_visible()
    expect(page.get_by_role("button", name="Present")).to_be_visible()  # the key presses it; it comes after the stage
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Leave")).to_be_visible()
    step = page.get_by_text(re.compile(r"^Step \d of \d$"))
    expect(step).to_have_text(re.compile("Step 1"))
    letters = page.get_by_text("Each step is drawn anew").evaluate("node => parseFloat(getComputedStyle(node).fontSize)")
    assert letters >= 24
    box = page.get_by_test_id("player").locator("canvas").first.bounding_box()
    assert box["width"] > 0.55 * 1920 and box["height"] > 0.4 * 1080
    assert page.locator(".toolbar").bounding_box()["y"] < 1080, "stage and controls fill the screen"
    page.keyboard.press("PageDown")  # what plays comes to its end first
    page.keyboard.press("PageDown")
    expect(step).to_have_text(re.compile("Step 2"))
    page.keyboard.press("PageUp")
    expect(step).to_have_text(re.compile("Step 1"))
    demo.settled()
    expect(page.get_by_test_id("player")).to_have_attribute("data-playing", "true")
    page.keyboard.press("Space")
    expect(page.get_by_test_id("player")).to_have_attribute("data-playing", "false")
    page.keyboard.press("b")
    assert page.evaluate("getComputedStyle(document.documentElement, '::after').backgroundColor") == "rgb(0, 0, 0)"
    page.keyboard.press("Escape")
    assert page.evaluate("getComputedStyle(document.documentElement, '::after').content") == "none"
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Present")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_sees_words_and_stage_first(demo: Lab, scheme: str):
    demo.page.set_viewport_size({"width": 360, "height": 740})
    demo.page.emulate_media(color_scheme=scheme)
    page = demo.open("/demo")
    expect(page.get_by_text("R-hat")).to_be_visible(timeout=10_000)
    parts = (".st-key-title", ".st-key-told", ".st-key-demo-player", ".st-key-chips", ".st-key-settings")
    tops = [page.locator(where).bounding_box()["y"] for where in parts]
    assert tops == sorted(tops)
    canvas = page.get_by_test_id("player").locator("canvas").first.bounding_box()
    assert canvas["y"] + canvas["height"] <= 740, "words and stage are seen at once"
    assert page.locator(".toolbar").bounding_box()["y"] >= canvas["y"] + canvas["height"], "the controls cover nothing of it"
    formula = page.locator(".st-key-below p:has(.katex)")
    expect(formula).to_be_visible()
    for wide in (page.get_by_role("table").filter(has_text="R-hat"), formula):
        assert wide.evaluate("element => element.scrollWidth > element.clientWidth"), "it scrolls by itself"
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 360


def test_an_unknown_page_is_named(demo: Lab):
    page = demo.open("/nowhere")
    expect(page.get_by_text("There is no page “nowhere”")).to_be_visible()
    expect(page.get_by_role("dialog")).to_contain_text("Page not found")
    # Streamlit looks for the server below an address that it does not know
    said = [problem for problem in demo.problems if not re.search("nowhere/_stcore|Failed to load resource", problem)]
    demo.problems.clear()
    assert len(said) == 1 and "does not seem to exist" in said[0]


def test_a_link_in_the_projector_view_on_a_dark_screen(demo: Lab):
    demo.page.emulate_media(color_scheme="dark")
    page = demo.open("/demo?present=1")
    expect(page.get_by_text("R-hat")).to_be_visible()
    drawn = page.locator(".js-plotly-plot").first.evaluate("e => e.data.map(trace => trace.line && trace.line.color)")
    assert drawn[0].startswith(theme.DARK["chain-0"])


def test_a_slider_on_its_way_marks_the_picture_it_leaves(demo: Lab):
    """Until the new one is there; not, if it comes back."""
    page = demo.open("/demo")
    stage = page.get_by_test_id("player")
    expect(stage).to_have_attribute("data-run", re.compile("."))
    run = stage.get_attribute("data-run") or ""
    slider = page.locator(".st-key-settings input[type=range]").first
    slider.scroll_into_view_if_needed()
    begun, y = hold(slider)
    for way, marked in ((40, True), (0, False), (60, True)):
        page.mouse.move(begun + way, y, steps=4)
        expect(stage.get_by_text("Before your change")).to_be_visible(visible=marked)
    page.mouse.up()
    expect(stage).not_to_have_attribute("data-run", run)
    expect(stage.get_by_text("Before your change")).to_be_hidden()


ANOTHER_SEED = "document.querySelector(\".st-key-settings [data-testid='stNumberInputStepUp']\").click()"


def test_a_slider_that_a_hand_holds_stays_where_it_is_when_the_page_runs_anew(demo: Lab):
    """Seconds after a scenario has filled it, as when its verdict arrives."""
    page = demo.open("/demo")
    page.locator(".st-key-demo-scenario").get_by_text("long steps").click()
    page.wait_for_url(re.compile("scenario=long"))
    slider = page.locator(".st-key-settings input[type=range]").first
    begun, y = hold(slider)
    page.mouse.move(begun - 40, y, steps=4)
    value = slider.input_value()
    stage = page.get_by_test_id("player")
    run = stage.get_attribute("data-run") or ""
    page.evaluate(ANOTHER_SEED)
    expect(stage).not_to_have_attribute("data-run", run)
    page.wait_for_timeout(2000)  # what comes after the picture
    demo.settled()
    assert slider.input_value() == value
    page.mouse.up()
    page.wait_for_url(re.compile("step_size="))


LEAVE = f"""path => {{
  history.pushState({{}}, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
  {ANOTHER_SEED};
}}"""


def test_a_press_on_a_page_that_is_left_does_not_go_back_to_it(lab: Lab):
    page = lab.open("/conjugate?alpha=6&beta=6")
    expect(page.locator(".st-key-settings").get_by_test_id("stNumberInputStepUp").first).to_be_attached(timeout=PATIENT)
    page.evaluate(LEAVE, "/hmc?step_size=0.25")
    expect(page.get_by_role("heading", name="HMC trajectories", exact=True)).to_be_visible(timeout=PATIENT)
    lab.settled()
    page.wait_for_timeout(1000)
    expect(page.get_by_role("heading", name="HMC trajectories", exact=True)).to_be_visible()
    assert lab.query()["step_size"] == "0.25"


def test_what_a_page_that_is_left_wrote_late_is_not_taken_for_a_link(page: Page, server: Server):
    """Its address came after the next page's own, and the next run began that page anew without its settings."""
    gates: list[Gate] = []
    page.route_web_socket(STREAM, lambda route: gates.append(Gate(route)))
    lab = Lab(page, server.url)
    lab.open("/conjugate?alpha=6&beta=6")
    seed = page.locator(".st-key-settings").get_by_test_id("stNumberInputStepUp").first
    expect(seed).to_be_attached(timeout=PATIENT)
    gates[-1].shut = True
    page.evaluate(ANOTHER_SEED)
    page.wait_for_timeout(1000 * slower())  # for the run to write it: a browser that has not heard it cannot tell
    page.evaluate(FOLLOW, "/hmc?step_size=0.25")
    gates[-1].open()
    page.wait_for_url(re.compile("alpha=6"))
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)
    page.wait_for_url(re.compile("step_size=0.25"), timeout=PATIENT)
    assert "alpha" not in lab.query() and not lab.problems
