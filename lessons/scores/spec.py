"""What decides the picture of this lesson: the posterior that reads the digits, the score, the view, the mistake."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.spec import Spec, choice, integer, number, seed_field
from lessons.families.digit_posteriors.spec import DATA, METHODS
from lessons.families.digit_posteriors.spec import WORDS as FAMILY

WORDS = Words(__file__, FAMILY)

VIEWS = ("errors", "thresholds", "calibration", "abstain")
SCORES = ("sd", "inconsistency", "ga", "total", "epistemic", "confidence")
MISTAKES = ("ties", "true_class")


@dataclass(frozen=True, kw_only=True)
class ScoresSpec(Spec):
    """One look at the page."""

    view: str = choice("errors", VIEWS, "the question that the picture asks")
    method: str = choice("dense", METHODS, "how the networks were found")
    data: str = choice("digits", tuple(DATA), "what the networks learn from: the bundled digits, or MNIST")
    learnt: int = integer(
        1347, 50, 1347, "bundled digits that the networks learn from, 450 others are tested; of MNIST always all 60,000", log=True
    )
    networks: int = integer(100, 2, 100, "networks R that are asked", log=True)
    score: str = choice("sd", SCORES, "the score of uncertainty")
    against: str = choice("none", ("none", *SCORES), "a second score to compare with")
    abstain_cost: float = number(0.2, 0.01, 0.9, "price of an image left unanswered; an error costs 1", log=True)
    answered: int = integer(80, 0, 100, "of the images of the first half, the share that you answer", unit="%")
    judged: str = choice("no", ("no", "yes"), "whether the other half of the test digits is shown")
    split: int = integer(1, 0, 9999, "random numbers that part the test digits into two halves")
    variant: str = choice("exact", ("exact", *MISTAKES), "the right way, or one that is wrong on purpose")
    seed: int = seed_field()


SCENARIOS = WORDS.scenarios(
    {
        "find": ScoresSpec(),
        "ga": ScoresSpec(score="ga", against="inconsistency"),
        "unanimous": ScoresSpec(method="ensemble", score="inconsistency", against="total"),
        "lucky-ties": ScoresSpec(method="ensemble", score="inconsistency", variant="ties"),
        "thresholds": ScoresSpec(view="thresholds"),
        "calibration": ScoresSpec(view="calibration", method="nuts"),
        "true-class": ScoresSpec(view="calibration", method="nuts", variant="true_class"),
        "abstain": ScoresSpec(view="abstain", score="confidence"),
    }
)
