"""The stage follows the story: it plays on arrival, rests, and holds back what is asked until the answer is locked."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from app import catalogue
from app.kit import story
from tests.browser import mentions
from tests.browser.conftest import PATIENT, Lab, answer, player
from tests.server import app_script, served

LESSONS = [entry.slug for entry in catalogue.LESSONS]
SHARE = 10  # of the lessons that are walked through in `make test`, others each day
DAY = datetime.date.today().toordinal()
TODAY = DAY % SHARE
# `make test-long` takes them all, and answers their questions
WALKED = [
    *(pytest.param(slug, False, id=slug) for slug in LESSONS[TODAY::SHARE]),
    *(pytest.param(slug, True, id=f"{slug}, answered", marks=pytest.mark.long) for slug in LESSONS),
]
# Where on the page words, button and stage end, of a stage with several panels the first one, which has 180 px at least.
PARTS = """
root => {
  const ends = (node, most = Infinity) => {
    const { top, height } = node.getBoundingClientRect();
    return top + Math.min(height, most) + document.querySelector("[data-testid=stMain]").scrollTop;
  };
  const several = root.dataset.panels.split(" ").length > 1;
  return {
    words: ends(document.querySelector(".st-key-told")),
    Next: ends([...document.querySelectorAll(".st-key-steps button")].at(-1)),
    stage: ends(root.querySelector(".stage canvas"), several ? 180 : Infinity),
  };
}
"""
MOVED = 6_000  # ms in which a play has begun, on a busy machine
# Keys that lead back through a play from where it rests.
BEFORE_REST = {"phases": ["Shift+ArrowLeft"] * 40, "swell": [*["ArrowLeft"] * 3, "Home", *["Shift+ArrowRight"] * 12]}
REST = 20_000  # ms: twelve seconds of play, on a busy machine
# What a player shows in the seconds after its cue: "t/s" at each change.
WATCH = """
node => {
  node.seen = [];
  const note = () => node.seen.push(`${node.dataset.t}/${node.dataset.s}`);
  new MutationObserver(note).observe(node, { attributes: true, attributeFilter: ["data-t", "data-s"] });
}
"""


def lock(page: Page) -> None:
    """Choose the first option and lock it."""
    page.get_by_role("radiogroup", name="Your prediction").get_by_role("radio").first.check(force=True)
    button = page.get_by_role("button", name="Lock my prediction and run")
    expect(button).to_be_enabled()
    button.click()


def moved(page: Page) -> bool:
    """Whether the stage shows more than one place after `WATCH`, once what its play needs is there."""
    expect(player(page)).not_to_have_attribute("data-waiting", "", timeout=PATIENT)
    try:
        page.wait_for_function("node => new Set(node.seen).size > 1", arg=player(page).element_handle(), timeout=MOVED)
    except TimeoutError:
        return False
    return True


LATE_ANSWER = """
import time
from pathlib import Path
from app.kit import predict
answered = predict._answered
def late(*given):
    while not Path({may_come!r}).exists():
        time.sleep(0.1)
    return answered(*given)
predict._answered = late
"""


def test_the_stage_says_what_it_waits_for(page: Page, tmp_path: Path):
    may_come = tmp_path / "may come"
    for server in served(app_script(tmp_path, LATE_ANSWER.format(may_come=str(may_come))), tmp_path / "log.txt"):
        lab = Lab(page, server.url)
        lab.open("/metropolis?scenario=king&story=2")
        stage = player(page)
        expect(stage.get_by_text("Your prediction first")).to_be_visible(timeout=PATIENT)
        lock(page)
        expect(stage.get_by_text("Your prediction is locked")).to_be_visible(timeout=PATIENT)
        expect(stage.get_by_text("Your prediction first")).to_be_hidden()
        may_come.touch()
        expect(stage).to_have_attribute("data-cue", re.compile("/answered$"), timeout=PATIENT)
        expect(stage.get_by_text("Your prediction is locked")).to_be_hidden()
        assert not lab.problems, "\n".join(lab.problems)


def test_next_plays_the_step_and_rests(reader: Lab):
    page = reader.open("/metropolis?scenario=king&story=3")
    stage = player(page)
    expect(stage).to_have_attribute("data-playing", "true", timeout=PATIENT)
    expect(stage).to_have_attribute("data-t", re.compile(r"\d{2,}"))
    expect(stage).to_have_attribute("data-playing", "false", timeout=REST)
    expect(stage).to_have_attribute("data-t", str(int(stage.get_attribute("data-steps") or 0) - 1))


def test_nothing_beyond_the_beginning_is_shown_before_the_lock(reader: Lab):
    """Neither keys nor the player's own table and downloads, nor figures below; then the stage plays, and only then the
    page explains."""
    page = reader.open("/metropolis?scenario=king&story=2")
    stage = player(page)
    expect(stage).to_have_attribute("data-cue", "metropolis/1/king", timeout=PATIENT)
    expect(stage.get_by_text("Your prediction first")).to_be_visible()
    begun = stage.get_attribute("data-t"), stage.get_attribute("data-s")
    assert begun[1] == "0", "it waits before the coin has decided"
    for key in ("End", "ArrowRight", "Shift+ArrowRight", "Space"):
        stage.press(key)
        page.wait_for_timeout(100)
        assert (stage.get_attribute("data-t"), stage.get_attribute("data-s")) == begun
    expect(stage.get_by_text("Table and downloads")).to_be_hidden()
    expect(page.get_by_text("Figures and tables come when your prediction is locked")).to_be_visible()
    lock(page)
    expect(stage).to_have_attribute("data-playing", "true", timeout=PATIENT)
    expect(page.get_by_text("The stage plays what comes of it")).to_be_visible()
    expect(page.get_by_role("button", name="Ask me again")).to_be_hidden()
    stage.press("End")
    expect(page.get_by_role("button", name="Ask me again")).to_be_visible()
    expect(stage.get_by_text("Table and downloads")).to_be_visible()


@pytest.mark.parametrize("slug,answers", WALKED)
def test_every_step_moves_or_asks_and_shows_what_its_words_name(lab: Lab, slug: str, answers: bool):
    """Each step that brings a picture of its own plays it, or holds it back for its question; where it rests, and once
    the question is answered, all that its words name is in the window and lights up.
    """
    page = lab.open(f"/{slug}")
    stage = player(page)
    expect(stage).to_have_attribute("data-cue", re.compile(slug), timeout=PATIENT)
    steps = story.read(next(entry.path for entry in catalogue.LESSONS if entry.slug == slug).with_name("story.md"))
    found: list[str] = []
    for number, step in enumerate(steps, 1):
        if number > 1:
            before = stage.get_attribute("data-cue")
            stage.evaluate(WATCH)
            page.get_by_role("button", name="Next ▶").click()
            expect(page.get_by_text(story.place(steps, number - 1), exact=True)).to_be_visible(timeout=PATIENT)
            lab.settled()
            expect(stage).not_to_have_attribute("data-cue", before or "", timeout=PATIENT)
        held = stage.get_by_text("Your prediction first").is_visible()
        if number > 1 and not held and int(stage.get_attribute("data-steps") or 1) > 1 and not moved(page):
            found.append(f"step {number} does not move")
        found += [f"step {number}: {fault}" for fault in missed(lab, held, step.staging.play)]
        if page.get_by_role("button", name="Back to step").count():
            found.append(f"step {number} is not as it was told: a control has changed it")
        if answers and step.question is not None:
            answer(page)
            plays = step.staging.answer or step.staging.play
            found += [f"step {number}, answered: {fault}" for fault in missed(lab, False, plays)]
    assert not found, "\n".join(found)


def missed(lab: Lab, held: bool, play: story.Play) -> list[str]:
    """What a step names and does not show where its play rests. Marks that the play takes away again are looked for
    before that.
    """
    expect(player(lab.page)).not_to_have_attribute("data-cue", re.compile("/waiting$"), timeout=PATIENT)
    lab.page.emulate_media(reduced_motion="reduce")  # the play rests at once
    expect(player(lab.page)).to_have_attribute("data-playing", "false")
    found = mentions.missed(lab.page, held)
    for key in BEFORE_REST[play.pace]:
        if not any(fault.startswith(mentions.DARK) for fault in found):
            break
        player(lab.page).press(key)
        now = mentions.missed(lab.page, held)
        found = [fault for fault in found if fault in now or not fault.startswith(mentions.DARK)]
    lab.page.emulate_media(reduced_motion="no-preference")
    return found


def test_lines_of_the_card_that_the_words_name_are_in_view_below_panels_that_cannot_shrink(lab: Lab):
    page = lab.open("/dimensions?story=6&scenario=no-end-points")
    expect(player(page)).to_have_attribute("data-cue", re.compile("dimensions/5"), timeout=PATIENT)
    answer(page)
    assert missed(lab, False, story.Play()) == []


@pytest.mark.parametrize(
    "slug", [pytest.param(slug, marks=() if i == DAY % len(LESSONS) else pytest.mark.long) for i, slug in enumerate(LESSONS)]
)
def test_a_phone_shows_words_next_and_stage_at_once(lab: Lab, slug: str):
    """In each step, and of several panels the first one whole."""
    lab.page.set_viewport_size({"width": 360, "height": 740})
    lab.page.emulate_media(reduced_motion="reduce")
    page = lab.open(f"/{slug}")
    stage = player(page)
    steps = story.read(next(entry.path for entry in catalogue.LESSONS if entry.slug == slug).with_name("story.md"))
    low = []
    for step in range(1, len(steps) + 1):
        expect(page.get_by_text(story.place(steps, step - 1), exact=True)).to_be_visible(timeout=PATIENT)
        lab.settled()
        expect(stage).to_have_attribute("data-cue", re.compile(f"^{slug}/{step - 1}/"), timeout=PATIENT)
        page.wait_for_timeout(300)  # the stage takes its place under the words
        for part, bottom in stage.evaluate(PARTS).items():
            if bottom > 740:
                low.append(f"step {step}: {part} ends at {bottom:.0f} px")
        forward = page.get_by_role("button", name="Next ▶")
        if step < len(steps):
            forward.click()
    assert not low, "\n".join(low)


def test_other_random_numbers_and_the_way_back_hold_as_the_step_did(reader: Lab):
    """A new run under the same cue waits for the answer like the first."""
    page = reader.open("/metropolis?scenario=king&story=2")
    stage = player(page)
    expect(stage.get_by_text("Your prediction first")).to_be_visible(timeout=PATIENT)
    for press in ("New seed", "slider", "Back to step 2"):
        run = stage.get_attribute("data-run") or ""
        if press == "slider":
            page.get_by_role("textbox", name="People on each island").fill("5, 1, 5, 1")
            page.get_by_role("textbox", name="People on each island").press("Enter")
            expect(stage.get_by_text("Your prediction first")).to_be_hidden()
        else:
            page.get_by_role("button", name=press).click()
        expect(stage).not_to_have_attribute("data-run", run)
    expect(stage.get_by_text("Your prediction first")).to_be_visible()
    begun = stage.get_attribute("data-t")
    stage.press("End")
    page.wait_for_timeout(200)
    assert stage.get_attribute("data-t") == begun


def test_own_settings_keep_the_panels_of_the_step(reader: Lab):
    """A picture that grew under the hand that changes it would be in its way."""
    page = reader.open("/metropolis?scenario=king&story=3")
    stage = player(page)
    expect(stage).to_have_attribute("data-panels", "ring shares", timeout=PATIENT)
    page.get_by_role("textbox", name="People on each island").fill("5, 1, 5, 1")
    page.get_by_role("textbox", name="People on each island").press("Enter")
    page.wait_for_url(re.compile("populations=5"))
    reader.settled()
    expect(stage).to_have_attribute("data-panels", "ring shares")


def test_a_step_shows_its_panels_and_lights_what_its_words_name(reader: Lab):
    page = reader.open("/metropolis?scenario=king&story=3")
    stage = player(page)
    expect(stage).to_have_attribute("data-panels", "ring shares", timeout=PATIENT)
    expect(stage).to_have_attribute("data-playing", "false", timeout=REST)
    picture = stage.locator("canvas").first.evaluate_handle("node => node")

    def painted() -> str:
        page.wait_for_timeout(150)
        return picture.evaluate("node => node.toDataURL()")

    plain = painted()
    page.get_by_role("link", name="Bars").hover()
    expect(stage).to_have_attribute("data-lit", "shares.posterior")
    lit = painted()
    page.get_by_role("link", name="The rings").focus()
    expect(stage).to_have_attribute("data-lit", "shares.highlight")
    assert len({plain, lit, painted()}) == 3
    address = page.url
    page.get_by_role("link", name="Bars").click()
    assert page.url == address, "words light, they lead nowhere"
    page.get_by_role("button", name="All panels").click()
    expect(stage).to_have_attribute("data-panels", "ring shares distance trace")


def test_a_step_in_phases_ends_where_its_words_say(reader: Lab):
    """On the day on which the king first moves; the takeaway comes when it has been seen."""
    page = reader.open("/metropolis?scenario=king&story=1")
    stage = player(page)
    takeaway = page.get_by_text("He compares two numbers")
    expect(stage).to_have_attribute("data-playing", "true", timeout=PATIENT)
    expect(page.locator(".st-key-takeaway")).to_have_css("opacity", "0")
    expect(stage).to_have_attribute("data-playing", "false", timeout=REST)
    expect(stage.get_by_text("so accept and move")).to_be_visible()
    expect(takeaway).to_be_visible()
    expect(page.locator(".st-key-takeaway")).to_have_css("opacity", "1")


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1280, 720), (1920, 1080)])
def test_on_a_projector_the_controls_are_one_row_and_all_is_in_view(lab: Lab, width: int, height: int):
    lab.page.set_viewport_size({"width": width, "height": height})
    page = lab.open("/metropolis?scenario=king&story=1&present=1")
    stage = player(page)
    expect(stage).to_have_attribute("data-cue", re.compile("metropolis"), timeout=PATIENT)
    play, bar = stage.locator(".play").bounding_box(), stage.locator(".toolbar").bounding_box()
    assert play is not None and bar is not None
    assert bar["height"] < 1.5 * play["height"]
    assert bar["y"] + bar["height"] <= height and bar["x"] + bar["width"] <= width
    assert stage.locator(".toolbar").evaluate("bar => bar.scrollWidth <= bar.clientWidth"), "nothing is cut off"
    step = page.get_by_text("Step 1 of 9").bounding_box()
    assert step is not None and step["height"] < play["height"]


def test_a_step_that_needs_the_inside_of_a_late_transition_fetches_it(reader: Lab):
    page = reader.open("/hmc?scenario=just-right&story=3")
    stage = player(page)
    expect(stage).to_have_attribute("data-playing", "true", timeout=PATIENT)
    expect(stage).not_to_have_attribute("data-t", "0")
    expect(stage.get_by_role("list", name="Arithmetic of this step")).to_contain_text(re.compile(r"step \d+"))
    expect(stage).to_have_attribute("data-playing", "false", timeout=REST)


BUSY = """
import time
from pathlib import Path
from app.kit import stage
settled = stage.settle
def late(flushed):
    settled(flushed)
    while not Path({may_go!r}).exists():
        time.sleep(0.1)
stage.settle = late
"""


def test_an_inside_comes_that_was_asked_for_together_with_the_next_step(page: Page, tmp_path: Path):
    """A server that is busy hears both at once."""
    may_go = tmp_path / "may go"
    for server in served(app_script(tmp_path, BUSY.format(may_go=str(may_go))), tmp_path / "log.txt"):
        lab = Lab(page, server.url)
        page.emulate_media(reduced_motion="reduce")
        page.goto(f"{server.url}/spike-and-slab")
        stage = player(page)
        expect(stage).to_have_attribute("data-cue", re.compile("/0/eight"), timeout=PATIENT)
        expect(stage).to_have_attribute("data-waiting", "")
        page.wait_for_timeout(600)  # it is asked for after a rest
        page.get_by_role("button", name="Next ▶").click()
        may_go.touch()
        expect(stage).to_have_attribute("data-cue", re.compile("/1/eight"), timeout=PATIENT)
        expect(stage).not_to_have_attribute("data-waiting", "", timeout=5_000)
        assert not lab.problems, "\n".join(lab.problems)


def test_what_was_set_or_tried_leads_back_to_the_step(reader: Lab):
    page = reader.open("/metropolis?scenario=far&story=9")
    stage = player(page)
    expect(stage).to_have_attribute("data-cue", re.compile("far"), timeout=PATIENT)
    run = stage.get_attribute("data-run") or ""
    page.get_by_role("button", name="Keep the first draws").click()
    expect(stage).not_to_have_attribute("data-run", run)
    back = page.get_by_role("button", name="Back to step 9")
    back.click()
    expect(stage).to_have_attribute("data-run", run)
    expect(back).to_have_count(0)


def test_the_link_holds_the_step(reader: Lab):
    page = reader.open("/metropolis?scenario=king&story=2")
    expect(page.get_by_text("Step 2 of")).to_be_visible()
    page.get_by_role("button", name="Next ▶").click()
    expect(page.get_by_text("Step 3 of")).to_be_visible()
    expect(page).to_have_url(re.compile("story=3"))
    page.reload()
    expect(page.get_by_text("Step 3 of")).to_be_visible(timeout=PATIENT)


STEPS = [
    (entry.slug, i + 1)
    for entry in catalogue.LESSONS
    for i, step in enumerate(story.read(entry.path.with_name("story.md")))
    if step.staging != story.Staging() and step.question is None
]
REST_TODAY = DAY % len(STEPS)


@pytest.mark.parametrize(
    "slug,step", [pytest.param(*each, marks=() if i == REST_TODAY else pytest.mark.long) for i, each in enumerate(STEPS)]
)
def test_without_motion_a_step_shows_where_its_play_would_rest(lab: Lab, slug: str, step: int):
    """The same place, panels, card and words."""
    facts = []
    for motion in ("no-preference", "reduce"):
        lab.page.emulate_media(reduced_motion=motion)
        lab.page.goto(f"{lab.url}/{slug}?story={step}")
        lab.settled()
        stage = player(lab.page)
        expect(stage).to_have_attribute("data-cue", re.compile(slug), timeout=PATIENT)
        if motion == "reduce":  # a run that grows comes to where it rests with it
            expect(stage).to_have_attribute("data-t", facts[0]["t"], timeout=PATIENT)
        for _ in range(2):  # a play begins when what it waits for has come, and may wait for the inside of where it rests
            expect(stage).not_to_have_attribute("data-waiting", "", timeout=PATIENT)
            expect(stage).to_have_attribute("data-playing", "false", timeout=PATIENT)
        told = stage.evaluate("node => Object.fromEntries(['cue', 't', 's', 'panels'].map(name => [name, node.dataset[name]]))")
        card = stage.locator(".readouts").first.inner_text()
        words = lab.page.locator(".st-key-told")
        expect(words.get_by_role("button", name="Next")).to_be_visible()  # what is at rest at once may be seen before all is sent
        facts.append({**told, "card": card, "words": words.inner_text()})
    assert facts[0] == facts[1]


RESTS = """async (calm) => {
  const { Clock } = await import("/app/static/player/clock.js?v=test");
  const clock = new Clock(() => {});
  clock.calm = calm;
  const run = { run: "a", phases: [], parts: {}, window: null, autoplay: false, total: null, rate: 4 };
  clock.setScene({ ...run, steps: 30, start: 3 });
  clock.direct({ hold: false, begins: null, ends: null, until: null, seconds: 2, pace: "swell", frame: null, speed: 0, slow: false });
  for (let k = 0; k < 100; k++) clock.advance(0.1);
  return clock.t;
}"""


def test_a_play_without_an_end_rests_at_that_of_the_run_with_and_without_motion(lab: Lab):
    """Also where the run itself would begin in its middle."""
    page = lab.open("/")
    assert [page.evaluate(RESTS, calm) for calm in (False, True)] == [29, 29]


INSIDE = """() => import("/app/static/player/clock.js?v=test").then(({ Clock }) => {
  const phases = [{ id: "propose", count: 1 }, { id: "follow", count: "inner" }, { id: "decide", count: 1 }];
  const run = { run: "a", phases, parts: {}, autoplay: false, total: null, rate: 4, steps: 9, start: 0, window: null };
  const inside = { first: 5, offsets: [0, 10, 20, 30] };
  const cue = { hold: false, begins: null, ends: null, until: null, seconds: 2, pace: "swell", frame: null, speed: 0, slow: false };
  const told = {};
  for (const [name, direction] of [["holds", { hold: true, until: [6, null] }], ["plays", { ends: [6, null] }]]) {
    for (const [when, played] of [["before", 0], ["midway", 10], ["at rest", 60]]) {
      const clock = new Clock(() => {});
      clock.setScene(run);
      clock.direct({ ...cue, ...direction });
      for (let k = 0; k < 60; k++) {
        if (k === played) clock.setScene({ ...run, window: inside });
        clock.advance(0.1);
      }
      if (played === 60) clock.setScene({ ...run, window: inside });
      told[`${name}, ${when}`] = [clock.t, clock.place().phase, clock.settled, clock.playing];
    }
  }
  return told;
})"""


def test_a_play_to_the_end_of_a_transition_rests_there_whenever_its_inside_comes(lab: Lab):
    page = lab.open("/")
    for case, place in page.evaluate(INSIDE).items():
        assert place == [6, 2, True, False], case
