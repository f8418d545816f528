"""What holds for every lesson of the catalogue: its page shows every scenario, its links and its story say what is."""

from __future__ import annotations

import pytest

from app.kit import share, story
from engine import kept
from tests.lessons.pages import ENTRIES, Job, module, page

SCENARIOS = {slug: {scenario.id: scenario.spec for scenario in module(slug, "spec").SCENARIOS} for slug in ENTRIES}
TOLD_WHOLE = ("nuts", "tuning", "diagnostics")  # their stories lead through every scenario
PAGES = [pytest.param(slug, name, id=f"{slug}-{name}") for slug in ENTRIES for name in SCENARIOS[slug]]


@pytest.mark.parametrize("slug,scenario", PAGES)
def test_the_page_shows_every_scenario(slug, scenario):
    app = page(slug, scenario=scenario)
    assert not app.exception and not app.error
    assert not [warning.value for warning in app.warning if "could not be followed" in warning.value]
    assert app.title[0].value == ENTRIES[slug].title
    assert app.session_state[f"visit/{slug}"].spec == SCENARIOS[slug][scenario]


@pytest.mark.parametrize("slug", ENTRIES)
def test_the_same_settings_give_the_same_picture(slug):
    """Byte for byte: nothing in it is left to chance or to a clock."""
    lesson = module(slug, "page").LESSON

    def picture() -> bytes:
        kept.store.forget()
        spec = lesson.scenarios[0].spec
        return lesson.grow(spec, Job()) if lesson.grow is not None else lesson.scene(spec, None)

    assert picture() == picture()


@pytest.mark.parametrize("slug,scenario", PAGES)
def test_a_link_holds_the_scenario(slug, scenario):
    spec = SCENARIOS[slug][scenario]
    query = {key: [value] for key, value in share.write(spec, None).items()}
    assert share.read(type(spec), query, {}, ()).spec == spec


@pytest.mark.parametrize("slug", ENTRIES)
def test_the_start_page_names_scenarios_that_exist(slug):
    assert {scenario for scenario, _ in ENTRIES[slug].scenarios} <= set(SCENARIOS[slug])


@pytest.mark.parametrize("slug", ENTRIES)
def test_the_story_names_what_exists(slug):
    questions = module(slug, "questions").QUESTIONS
    steps = story.read(ENTRIES[slug].path.with_name("story.md"))
    told = {step.scenario for step in steps} - {None}
    assert told == set(SCENARIOS[slug]) if slug in TOLD_WHOLE else told <= set(SCENARIOS[slug])
    assert {step.question for step in steps} - {None} == {question.id for question in questions}
    assert {question.scenario for question in questions} - {None} <= set(SCENARIOS[slug])
