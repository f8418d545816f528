"""Questions: what is hidden until the answer is locked."""

from __future__ import annotations

from app.kit import predict
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
