"""What holds for every lesson of the catalogue: its page shows every scenario, its links and its story say what is."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from app.kit import share, story
from app.kit.player import scene
from app.kit.words import Where
from engine import kept
from engine.spec import Spec
from lessons.families.growing import evidence
from tests.lessons import stagings
from tests.lessons.pages import ENTRIES, Job, module, page

SCENARIOS = {slug: {scenario.id: scenario.spec for scenario in module(slug, "spec").SCENARIOS} for slug in ENTRIES}
TOLD_WHOLE = ("nuts", "tuning", "diagnostics")  # their stories lead through every scenario
STEPS = {slug: story.read(ENTRIES[slug].path.with_name("story.md")) for slug in ENTRIES}
STAGED = [pytest.param(slug, i, id=f"{slug}-{i + 1}") for slug in ENTRIES for i in stagings.staged(STEPS[slug])]
PAGES = [pytest.param(slug, name, id=f"{slug}-{name}") for slug in ENTRIES for name in SCENARIOS[slug]]


@pytest.mark.parametrize("slug,scenario", PAGES)
def test_the_page_shows_every_scenario(slug, scenario):
    app = page(slug, scenario=scenario)
    assert not app.exception and not app.error
    assert not [warning.value for warning in app.warning if "could not be followed" in warning.value]
    assert app.title[0].value == ENTRIES[slug].title
    assert app.session_state[f"visit/{slug}"].spec == SCENARIOS[slug][scenario]


ROUGH = kept.Store(100_000_000)  # that no other test takes what is in it for exact


@pytest.fixture
def rough_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidences by few particles in few moves: for what is in a picture, whatever its numbers are."""
    monkeypatch.setattr(kept, "store", ROUGH)
    monkeypatch.setattr(evidence, "_deep_enough", lambda network, spec: spec.replace(particles=16, islands=4, moves=1))


def brief(slug: str) -> Spec:
    """The first scenario of a lesson; of a run that grows for seconds its first part is made as all of it is."""
    spec = module(slug, "page").LESSON.scenarios[0].spec
    if not {"sweeps", "burn"} <= spec.declarations().keys():
        return spec
    return spec.replace(sweeps=150, burn=20, **({"highest": 6} if "highest" in spec.declarations() else {}))


@pytest.mark.usefixtures("rough_evidence")
@pytest.mark.parametrize("slug", ENTRIES)
def test_the_same_settings_give_the_same_picture(slug):
    """Byte for byte: nothing in it is left to chance or to a clock."""
    lesson, spec = module(slug, "page").LESSON, brief(slug)

    def picture() -> bytes:
        kept.store.forget()
        return lesson.grow(spec, Job()) if lesson.grow is not None else lesson.scene(spec, None)

    assert picture() == picture()


@pytest.mark.usefixtures("rough_evidence")
@pytest.mark.parametrize("slug", [slug for slug in ENTRIES if module(slug, "page").LESSON.grow is not None])
def test_the_whole_run_has_the_marks_of_its_beginnings(slug):
    """So what a story directs may be looked for in a beginning."""
    lesson, spec = module(slug, "page").LESSON, brief(slug)
    job = Job()
    whole = lesson.grow(spec, job)
    for blob in (lesson.scene(spec, None), *job.blobs):
        assert marks(blob) <= marks(whole)


@pytest.mark.parametrize("slug", ["monte-carlo", "diagnostics", "regression", "variational"])
def test_a_picture_of_what_is_there_first_goes_ahead_of_one_that_takes_long(slug):
    """Of the same run, with all of its steps, and only where the whole is not there yet."""
    lesson = module(slug, "page").LESSON
    spec, job, again = lesson.scenarios[0].spec.replace(seed=4711), Job(), Job()
    whole = lesson.grow(spec, job)
    first, last = scene.header(job.blobs[0]), scene.header(whole)
    assert whole == lesson.scene(spec, None) and len(job.blobs) == 1 and job.blobs[0] != whole
    assert (first["run"], first["steps"]) == (last["run"], last["steps"])
    assert lesson.grow(spec, again) == whole and not again.blobs
    job.cancelled = True
    assert lesson.grow(spec, job) is None


def marks(blob: bytes) -> set[str]:
    """The marks of a picture by panel and role."""
    return {f"{panel['id']}.{layer['role']}" for panel in scene.header(blob)["panels"] for layer in panel["layers"]}


@pytest.mark.parametrize("slug,scenario", PAGES)
def test_a_link_holds_the_scenario(slug, scenario):
    spec = SCENARIOS[slug][scenario]
    spec.check()  # of those that are `authored` nobody else has done it
    query = {key: [value] for key, value in share.write(spec, None).items()}
    assert share.read(type(spec), query, {}, ()).spec == spec


def test_an_address_of_a_step_alone_opens_that_step():
    """Also where its settings are those of another scenario, or of none."""
    app = page("landing", story="2")
    assert app.session_state["visit/landing"].scenario == STEPS["landing"][1].scenario == "sandwich"


@pytest.mark.parametrize("slug", ENTRIES)
def test_the_start_page_names_scenarios_that_exist(slug):
    assert {scenario for scenario, _ in ENTRIES[slug].scenarios} <= set(SCENARIOS[slug])


@pytest.mark.parametrize("slug", ENTRIES)
def test_the_story_names_what_exists(slug):
    questions = module(slug, "questions").QUESTIONS
    steps = STEPS[slug]
    told = {step.scenario for step in steps} - {None}
    assert told == set(SCENARIOS[slug]) if slug in TOLD_WHOLE else told <= set(SCENARIOS[slug])
    assert {step.question for step in steps} - {None} == {question.id for question in questions}
    assert {question.scenario for question in questions} - {None} <= set(SCENARIOS[slug])


@pytest.mark.parametrize("slug", ENTRIES)
def test_a_story_is_told_in_parts_that_one_can_take_in(slug):
    parts = [[step.title for step in steps] for _, steps in itertools.groupby(STEPS[slug], key=lambda step: step.part)]
    assert max(map(len, parts)) <= 9
    assert len(parts) == len({step.part for step in STEPS[slug]}), "two parts of one name"


@pytest.mark.usefixtures("rough_evidence")
@pytest.mark.parametrize("slug,step", STAGED)
def test_what_the_story_directs_is_on_the_stage(slug, step):
    assert stagings.faults(module(slug, "page").LESSON, STEPS[slug][step]) == []


RIGHT = """
## Neighbours {scenario=king question=king}
```stage
panels = ["ring"]
until = 'ratio of first "accepted" = 1'
play = {pace = "phases"}
answer = {panels = ["ring", "shares"]}
keep = {marks = ["ring.proposal"], words = "before", at = "9"}
takeaway = "He compares."
```
[A neighbour](#at=ring.proposal), and [the ratio](#at=card.ratio).
"""


@pytest.mark.parametrize(("panels", "places", "said"), [(["ring"], 4, ""), (["rings"], 4, "on stage"), (["distance"], 4, "outside")])
def test_options_that_are_places_lie_on_the_stage(panels, places, said):
    lesson = module("metropolis", "page").LESSON
    (step,) = story.parse(RIGHT.replace('["ring"]', '["ring", "distance"]', 1))
    where = Where(tuple(panels), ((1e9, 0.0),) * places if said == "outside" else ((0.0, 0.0),) * places)
    asked = [dataclasses.replace(question, where=where) if question.id == "king" else question for question in lesson.predict]
    found = stagings.faults(dataclasses.replace(lesson, predict=asked), step)
    assert any(said in fault for fault in found) if said else found == []


def test_a_right_staging_has_no_faults():
    (step,) = story.parse(RIGHT)
    assert stagings.faults(module("metropolis", "page").LESSON, step) == []


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("panels", "show = {draws = 7}\npanels", "draws"),
        ("panels", "show = {colour = 1}\npanels", "colour"),
        ('"ring", "shares"', '"ring", "share"', "no panel 'share'"),
        ("ring.proposal", "ring.proposed", "ring.proposed"),
        ("ring.proposal", "trace.posterior", "not on stage"),
        ('{panels = ["ring", "shares"]', '{panels = ["shares"]', "'ring.proposal' is named, and its panel is not on stage"),
        ("card.ratio", "card.r", "card.r"),
        ("{pace", '{to = "40", pace', "never gets to '40'"),
        ('"accepted" = 1', '"accepted" = 2', "no transition"),
        ('["ring.proposal"]', '["ring.proposed"]', "can be kept"),
        ('["ring.proposal"]', '["shares.posterior"]', "kept, and its panel"),
        ('"9"', '"99999"', "99999"),
        ("question=king", "", "no question"),
        ("scenario=king", "", "without a scenario"),
        ("He compares.", "He compares. " * 20, "takeaway"),
    ],
)
def test_a_staging_that_names_what_is_not_there_is_found(right, wrong, said):
    assert right in RIGHT
    (step,) = story.parse(RIGHT.replace(right, wrong, 1))
    assert any(said in fault for fault in stagings.faults(module("metropolis", "page").LESSON, step))


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("panels", "panel", "panel"),
        ("{pace", '{until = "40", pace', "until"),
        ('"phases"', '"slow"', "slow"),
        ('pace = "phases"', "seconds = 60", "12 s"),
        ("takeaway", "take away", "Neighbours"),
        ("[A neighbour]", "```stage\n```\n[A neighbour]", "2 blocks"),
    ],
)
def test_a_staging_that_cannot_be_read_names_its_heading(right, wrong, said):
    with pytest.raises(story.StoryError, match="Neighbours.*" + said if said != "Neighbours" else said):
        story.parse(RIGHT.replace(right, wrong, 1))
