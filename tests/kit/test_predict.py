"""Questions: what is hidden until the answer is locked."""

from __future__ import annotations

from app.kit import predict, story
from app.kit.frame import _follow_scenario
from app.kit.predict import Question
from app.kit.visit import Visit
from tests.kit.demo.lesson import WalkSpec


def test_a_question_opens_what_was_hidden_after_the_answer():
    question = Question(
        "secret",
        "Is it broken?",
        ["no", "yes"],
        lambda spec: int(spec.broken == "on"),
        lambda spec: f"Before the lid came off it was {spec.broken}.",
        reveal=lambda spec: spec.replace(broken="on"),
    )
    here = Visit(WalkSpec(), "long")
    predict._lock(question, None, here, {})
    assert here.spec == WalkSpec() and not here.answers, "nothing was chosen"
    predict._lock(question, 1, here, {})
    answer = here.answers["secret"]
    assert answer.right == 0 and answer.explanation.endswith("off."), "judged as it was asked"
    assert here.spec.broken == "on" and here.scenario == "long" and here.touched


def test_a_locked_answer_that_runs_another_scenario_leaves_the_story_where_it_is():
    steps = [story.Step("asked", "", "walk", "far"), story.Step("told", "", "long")]
    question = Question("far", "How far?", ["near", "far"], 1, "Far.", scenario="long")
    here = Visit(WalkSpec(), "walk")
    _follow_scenario(here, steps)
    predict._lock(question, 1, here, {"long": WalkSpec(steps=400)})
    _follow_scenario(here, steps)
    assert here.scenario == "long" and here.step == 0, "the explanation stands in this step"
