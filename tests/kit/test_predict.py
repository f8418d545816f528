"""Questions: what is hidden until the answer is locked."""

from __future__ import annotations

import dataclasses
import threading
import time

import pytest

from app.kit import jobs, predict, story
from app.kit.frame import _follow_scenario
from app.kit.predict import Question
from app.kit.stage import _event
from app.kit.visit import Visit
from engine import ticket, turns
from tests.kit.demo.lesson import DEMO, WalkSpec
from tests.kit.test_frame import opened, texts, visited


def ended(question: Question, spec: WalkSpec) -> jobs.Job:
    """The job of an answer that is there."""
    job = waiting()
    job._end(jobs.DONE, predict._answered(question, spec, job))
    return job


def waiting() -> jobs.Job:
    """One whose answer is being worked out."""
    return jobs.Job("answer", turns.Claim(turns.Turns(1), turns.AFTER, "reader"), lambda session: True)


def lock(question: Question, guess: int, here: Visit, specs: dict[str, WalkSpec], job: jobs.Job) -> None:
    """Guess, and lock it."""
    predict.choose(question, here, guess)
    predict._lock(question, here, specs, job)


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
    predict._lock(question, here, {}, ended(question, here.spec))
    assert here.spec == WalkSpec() and not here.answers, "nothing was chosen"
    lock(question, 1, here, {}, ended(question, here.spec))
    answer = here.answers["secret"]
    assert answer.right == 0 and answer.answering.result[1].endswith("off."), "judged as it was asked"
    assert here.spec.broken == "on" and here.scenario == "long" and here.touched


def test_a_locked_answer_that_runs_another_scenario_leaves_the_story_where_it_is():
    steps = [story.Step("asked", "", "walk", "far"), story.Step("told", "", "long")]
    question = Question("far", "How far?", ["near", "far"], 1, "Far.", scenario="long")
    here = Visit(WalkSpec(), "walk")
    _follow_scenario(here, steps)
    lock(question, 1, here, {"long": WalkSpec(steps=400)}, ended(question, here.spec))
    _follow_scenario(here, steps)
    assert here.scenario == "long" and here.step == 0, "the explanation stands in this step"


def test_a_question_about_the_run_on_stage_is_answered_by_that_run():
    """Also with random numbers of the reader's own."""
    question = Question("near", "How far?", ["even", "odd"], lambda spec: spec.seed % 2, "Far.", scenario="long")
    own = DEMO.specs()["long"].replace(seed=701)
    here = Visit(own, "long")
    asked = predict._asked_about(question, here, DEMO.specs())
    lock(question, 1, here, DEMO.specs(), ended(question, asked))
    assert here.spec == own and here.answers["near"].right == 1
    assert predict._asked_about(question, Visit(WalkSpec(steps=77), None), DEMO.specs()) == DEMO.specs()["long"]


@pytest.mark.parametrize(("option", "there"), [(1, True), (2, False), (-1, False), ("1", False), (None, False)])
def test_an_option_chosen_on_the_stage_must_be_one(option: object, there: bool):
    """The event comes from the browser: it may be forged."""
    here = Visit(WalkSpec())
    predict.choose(Question("near", "How far?", ["even", "odd"], 0, "Far."), here, option)
    assert here.guesses == ({"near": option} if there else {})


def test_an_option_chosen_on_the_stage_stays_chosen_when_the_browser_says_once_more_which_one_it_was_before():
    """A timer's run, or any press, may bring what the list showed before it hears of the new choice."""
    at = opened()
    at.button(key="demo/step+1").click().run()
    at.radio(key="demo/predict/far/choice").set_value(1).run()
    _event(DEMO, visited(at), {"kind": "choice", "option": 0})
    at.run()
    assert at.radio(key="demo/predict/far/choice").value == 0
    at.radio(key="demo/predict/far/choice").set_value(1)
    at.button(key="demo/step+1").click().run()
    at.button(key="demo/step-1").click().run()
    assert at.radio(key="demo/predict/far/choice").value == 0
    at.query_params["drift"] = "0.3"
    at.run()
    assert visited(at).spec.drift == 0.3
    assert at.radio(key="demo/predict/far/choice").value == 0, "also when a link of the same page is opened"


def test_an_answer_that_is_not_there_yet_is_waited_for_and_then_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(predict, "PATIENCE", 0.01)
    specs = {"long": WalkSpec(steps=400)}
    question = Question("far", "How far?", ["near", "far"], 1, "Far.", scenario="long")
    here, job = Visit(WalkSpec(), "walk"), waiting()
    lock(question, 0, here, specs, job)
    assert here.answers["far"].choice == 0 and not here.answered("far") and here.scenario == "walk"
    predict._settle(question, here, specs, job)
    assert not here.answered("far")
    job.publish(1)
    predict._settle(question, here, specs, job)
    assert here.answered("far") and here.scenario == "long", "before what explains it is there"
    here.load(specs["long"].replace(seed=7), "long")
    predict._settle(question, here, specs, job)
    assert here.spec.seed == 7, "shown once"


def test_an_answer_that_cannot_be_worked_out_is_said_and_one_that_was_turned_away_is_tried_again():
    question = Question("far", "How far?", ["near", "far"], 1, "Far.")
    here, job = Visit(WalkSpec(), "walk"), waiting()
    job._end(jobs.TURNED_AWAY)
    lock(question, 0, here, {}, job)
    assert not here.answered("far")
    job = waiting()
    job._end(jobs.FAILED, error=ValueError("no"))
    predict._settle(question, here, {}, job)
    assert here.answers["far"].right == -1 and here.answers["far"].answering is job


def test_the_page_goes_on_while_an_answer_is_worked_out(monkeypatch: pytest.MonkeyPatch):
    may_end = threading.Event()

    def slow(spec: WalkSpec) -> int:
        ticket.report(3, 12)
        may_end.wait(30)
        return 1

    monkeypatch.setattr(predict, "PATIENCE", 0.01)
    question = Question("far", "How far?", ["near", "far"], slow, "Far.", scenario="short")
    monkeypatch.setattr("tests.kit.demo.lesson.DEMO", dataclasses.replace(DEMO, predict=[question]))
    at = opened()
    at.button(key="demo/step+1").click().run()
    at.radio(key="demo/predict/far/choice").set_value(1).run()
    begin = time.monotonic()
    at.button(key="demo/predict/far/lock").click().run()
    assert time.monotonic() - begin < 10, "it does not wait for the answer"
    assert "You said: far. The run is being worked out" in texts(at) and not visited(at).answered("far")
    at.run()
    assert at.get("progress")[0].proto.text.startswith("3 of 12 · "), "how far it is"
    may_end.set()
    end = time.monotonic() + 20
    while "You were right" not in texts(at) and time.monotonic() < end:
        at.run()
    assert "You were right" in texts(at)


@pytest.mark.parametrize("broken", [False, True])
def test_the_right_option_is_told_before_what_explains_it(monkeypatch: pytest.MonkeyPatch, broken: bool):
    may_end = threading.Event()

    def slow(spec: WalkSpec) -> str:
        may_end.wait(30)
        return str(1 / (not broken)) + " is why."

    name = f"slow-{broken}"  # a kept answer is not worked out again
    question = Question(name, "How far?", ["near", "far"], 1, slow, scenario="short")
    monkeypatch.setattr("tests.kit.demo.lesson.DEMO", dataclasses.replace(DEMO, predict=[question]))
    at = opened()
    for _ in DEMO.steps()[1:]:  # questions that no step names come last
        at.button(key="demo/step+1").click().run()
    at.radio(key=f"demo/predict/{name}/choice").set_value(1).run()
    at.button(key=f"demo/predict/{name}/lock").click().run()
    at.run()
    assert "You were right" in texts(at) and "What explains it is being worked out" in texts(at)
    asked_for = visited(at).answers[name].answering
    at.button(key="demo/step-1").click().run()
    asked_for.stop()  # as when nobody looks at it for long
    may_end.set()
    assert asked_for.wait(20) and asked_for.state == jobs.STOPPED
    at.button(key="demo/step+1").click().run()
    assert "You were right" in texts(at)
    wanted, end = "could not be evaluated" if broken else "1.0 is why.", time.monotonic() + 20
    while wanted not in texts(at) and time.monotonic() < end:
        at.run()
    assert wanted in texts(at) and "being worked out" not in texts(at)


def test_a_locked_prediction_is_worked_out_before_the_run_goes_on_and_before_checks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(predict, "PATIENCE", 0.01)
    question = Question("far", "How far?", ["near", "far"], 1, "Far.")
    here, job = Visit(WalkSpec(), "walk"), waiting()
    lock(question, 1, here, {}, job)
    assert job.claim.rank == turns.GIVEN
    ahead = jobs.Job("answer", turns.Claim(turns.Turns(1), turns.FIRST, "reader"), lambda session: True)
    ahead.hurry(turns.GIVEN)
    assert ahead.claim.rank == turns.FIRST, "never later than it was"
