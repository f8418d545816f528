"""What the story wants of the stage: when it plays, when it holds back, when an explanation waits."""

from __future__ import annotations

import dataclasses
import json

import pytest

from app.kit import direction
from app.kit.direction import Cue
from app.kit.guess import Drawn
from app.kit.push import Channel
from app.kit.visit import Answer, Visit
from tests.kit.demo.lesson import DEMO, WalkSpec

ASKS = next(i for i, step in enumerate(DEMO.steps()) if step.question)
QUESTION = next(question for question in DEMO.predict if question.id == DEMO.steps()[ASKS].question)
LOCKED = Answer(0, right=0)


def at(step: int, scenario: str | None, **answers: Answer) -> Visit:
    """A reader at a step of the demo's story."""
    return Visit(DEMO.specs().get(scenario or "", WalkSpec()), scenario, step=step, answers=answers)


def asking(**changes: object):
    """The demo with its question changed."""
    question = dataclasses.replace(QUESTION, **changes)
    return dataclasses.replace(DEMO, predict=[question])


def test_a_step_plays_and_another_one_is_another_cue():
    first, second = (direction.cue(DEMO, at(step, "walk"), b"") for step in (0, 2))
    assert first is not None and second is not None and first.id != second.id
    assert not first.hold and not first.reveal


def test_the_reader_s_own_settings_get_no_cue():
    assert direction.cue(DEMO, at(0, None), b"") is None


@pytest.mark.parametrize("own", [None, "long"])
def test_a_question_about_the_run_on_stage_holds_it_back_until_the_answer_is_locked(own: str | None):
    lesson = asking(scenario=own, reveal=None)
    before = direction.cue(lesson, at(ASKS, "long"), b"")
    chosen = direction.cue(lesson, at(ASKS, "long", **{QUESTION.id: Answer(1)}), b"")
    after = direction.cue(lesson, at(ASKS, "long", **{QUESTION.id: LOCKED}), b"")
    assert before is not None and chosen is not None and after is not None
    assert before.hold and chosen.hold and not before.reveal
    assert chosen.locked and not before.locked and not after.locked
    assert not after.hold and after.reveal and after.id != before.id


@pytest.mark.parametrize("other", [{"scenario": "walk"}, {"reveal": lambda spec: spec}])
def test_a_question_about_what_is_not_on_stage_lets_it_play(other: dict):
    lesson = asking(**{"scenario": None, "reveal": None, **other})
    assert not direction.held(lesson, at(ASKS, "long"))


def test_the_cue_travels_with_the_picture_and_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("app.kit.push._served", True)
    channel, picture = Channel(), b"a picture"
    cue = Cue("demo/1/long", hold=True).encode()
    data = channel.data(picture, cue)
    length = int.from_bytes(data[-4:], "little")
    assert data[: len(picture)] == picture and data[len(picture) : -24] == cue and length == len(cue)
    assert {"id": "demo/1/long", "hold": True, "reveal": False}.items() <= json.loads(data[-24 - length : -24]).items()


DRAWN = Drawn("level", "walk", 0.5, along="y")


def test_what_is_drawn_is_told_and_the_right_one_only_after_the_lock():
    lesson = asking(options=(), draw=DRAWN, scenario="long", reveal=None)
    waits = at(ASKS, "long")
    waits.guesses[QUESTION.id] = (2.0,)
    before = direction.cue(lesson, waits, b"")
    after = direction.cue(lesson, at(ASKS, "long", **{QUESTION.id: Answer((2.0,), right=(3.0,))}), b"")
    assert before is not None and before.hold and before.drawing is not None
    assert before.drawing.drawn == (2.0,) and before.drawing.right is None and not before.drawing.locked
    assert after is not None and after.drawing is not None and after.drawing.right == (3.0,) and after.drawing.locked


def test_another_round_hides_another_run_behind_the_same_question():
    lesson = asking(again=({"drift": 0.5}, {}), scenario="long", reveal=None)
    here = at(ASKS, "long", **{QUESTION.id: LOCKED})
    first = here.spec
    again = direction.another(lesson, here)
    assert again is not None
    again()
    assert here.spec == first.replace(drift=0.5, seed=first.seed + 1) and direction.held(lesson, here)
    assert not direction.left(lesson, here), "these are the settings of the step now"
    here.answers[QUESTION.id] = LOCKED
    again()
    assert here.spec == first.replace(seed=first.seed + 2) and not here.answers and direction.held(lesson, here)
    assert direction.another(asking(again=()), here) is None
