"""Before the lock a page tells nothing of what comes: two runs behind one beginning look the same until then."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from app import catalogue
from app.kit import direction, share, story
from app.kit.lesson import Lesson
from app.kit.visit import Visit
from tests.browser.conftest import PATIENT, Lab, answer, player
from tests.lessons.pages import module
from tests.server import app_script, served

SEEDS = 700_001, 800_001  # of the hidden run, over that of the step: numbers that mean nothing else on the page
INSTALL = "from tests.browser import pairs\npairs.install()"


def waits(slug: str) -> list[int]:
    """The steps of a lesson that wait for a prediction about the run on stage."""
    lesson: Lesson = module(slug, "page").LESSON
    found = []
    for i, step in enumerate(lesson.steps()):
        spec = direction.staged(lesson, step)
        question = next((question for question in lesson.predict if question.id == step.question), None)
        if spec is None or question is None or "seed" not in spec.declarations():
            continue
        if direction.asks_about_stage(lesson, Visit(spec, step.scenario), question):
            found.append(i)
    return found


# Each step that asks, by its lesson; which of them wait is known when their lesson is loaded.
ASKING = [
    (entry.slug, i)
    for entry in catalogue.LESSONS
    for i, step in enumerate(story.read(entry.path.with_name("story.md")))
    if step.question is not None
]
TODAY = datetime.date.today().toordinal() % len(ASKING)  # one of them in `make test`, another each day
ASKED = [pytest.param(slug, i, id=f"{slug}-{i + 1}", marks=() if n == TODAY else pytest.mark.long) for n, (slug, i) in enumerate(ASKING)]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Lab]:
    """A page on a server of pairs."""
    folder = tmp_path_factory.mktemp("pairs")
    for server in served(app_script(folder, INSTALL), folder / "log.txt"):
        page = browser.new_page(reduced_motion="reduce")
        yield Lab(page, server.url)
        page.close()


def opened(lab: Lab, slug: str, step: int, more: int) -> Page:
    """The step, before a run that begins as its own does and goes on as that of another seed."""
    lesson: Lesson = module(slug, "page").LESSON
    told = lesson.steps()[step]
    spec = direction.staged(lesson, told)
    assert spec is not None
    query = share.write(spec.replace(seed=spec.seed + more), told.scenario, step=step)
    lab.page.goto(f"{lab.url}/{slug}?{urlencode(query)}")
    lab.settled()
    expect(player(lab.page).get_by_text("Your prediction first")).to_be_visible(timeout=PATIENT)
    expect(lab.page.get_by_text("Preparing the kernels")).to_be_hidden(timeout=PATIENT)
    return lab.page


def seen(page: Page, seed: int) -> dict[str, str]:
    """All that a reader gets to see, hear, or take away; the seed itself aside."""
    stage = player(page)
    page.wait_for_timeout(500)
    whole = page.get_by_test_id("stMain")
    found = {
        "picture": stage.locator("canvas").first.evaluate("node => node.toDataURL()"),
        "said": whole.aria_snapshot(),
        "words": whole.inner_text(),
        "held back": stage.evaluate("node => [...node.querySelectorAll('details')].map(each => each.hidden).join()"),
    }
    return {name: text.replace(str(seed), "SEED") for name, text in found.items()}


@pytest.mark.parametrize("slug,step", ASKED)
def test_two_runs_behind_one_beginning_look_the_same_until_the_lock(pairs: Lab, slug: str, step: int):
    if step not in waits(slug):
        return  # its answer is another run than the one on stage
    lesson: Lesson = module(slug, "page").LESSON
    seed = direction.staged(lesson, lesson.steps()[step]).seed
    looks, ends = [], []
    for more in SEEDS:
        page = opened(pairs, slug, step, more)
        looks.append(seen(page, seed + more))
        answer(page)
        player(page).press("End")
        ends.append(seen(page, seed + more))
    assert looks[0] == looks[1]
    assert ends[0]["picture"] != ends[1]["picture"]
