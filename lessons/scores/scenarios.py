"""The named settings."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.scores.spec import ScoresSpec

SCENARIOS = (
    Scenario(
        "find",
        "does it find the errors?",
        ScoresSpec(),
        "A hundred networks have read 450 test digits, and each digit has a score of uncertainty. **Press play**: the "
        "threshold rises from the surest digit to the least sure. A good score lets nearly all right ones pass (γ) "
        "before the first wrong ones (α).",
    ),
    Scenario(
        "ga",
        "two scores, one order",
        ScoresSpec(score="ga", against="inconsistency"),
        "The third score of Steyn (2018), the Gaussian approximation, against the second. Diamonds: as printed there. "
        "Look at the two curves of the same images.",
    ),
    Scenario(
        "unanimous",
        "when all agree",
        ScoresSpec(method="ensemble", score="inconsistency", against="total"),
        "Inconsistency counts votes. Members of an ensemble were all trained to the same end: look how many of the "
        "errors stand at 0, where all the easy digits are.",
        failure=True,
        why="Where all networks vote for the same wrong digit, votes hold no warning; probabilities still may. Those "
        "images tie with hundreds of right ones, so no threshold can tell them apart: the slanted piece of the curve.",
    ),
    Scenario(
        "lucky-ties",
        "lucky ties",
        ScoresSpec(method="ensemble", score="inconsistency", variant="ties"),
        "The same votes, but the curve is drawn image by image, and where scores are equal the right ones happen to "
        "come first. The area grows. Read the sign *kernel*.",
        failure=True,
        why="Equal scores say nothing about the order. A sort has to put one first, and if it is the right ones, "
        "because the list was sorted by that before, the curve climbs along a staircase that no threshold can reach. "
        "Ties count half: a straight slanted piece.",
    ),
    Scenario(
        "thresholds",
        "precision and recall",
        ScoresSpec(view="thresholds"),
        "Berezowski (2021) answers only where the probability of the answer reaches a threshold. **Drag the cursor**: "
        "it is the threshold. Fewer answers, fewer mistakes; the confusion matrix empties.",
    ),
    Scenario(
        "calibration",
        "are the probabilities right?",
        ScoresSpec(view="calibration", method="nuts"),
        "Of all digits read with confidence 0.7, are 70 % right? **Drag the cursor** to use more bins: the error grows "
        "by itself, even for forecasters that are calibrated by construction (grey).",
    ),
    Scenario(
        "true-class",
        "binned by the answer",
        ScoresSpec(view="calibration", method="nuts", variant="true_class"),
        "The same, but the probability that is binned is that of the *true* digit. It looks like a bad miscalibration.",
        failure=True,
        why="The forecaster does not know the true digit, so no forecast was made with that probability. Above one "
        "half it is the highest one and its digit is read, so all are right; far below, none is. Even a perfect "
        "forecaster fails this diagram: the check behind the sign *kernel* draws labels from the forecast itself.",
    ),
    Scenario(
        "abstain",
        "the abstain game",
        ScoresSpec(view="abstain", score="confidence"),
        "A wrong answer costs 1, none costs 0.2. Choose on the first half of the digits **how many you answer**, then "
        "let the other half judge.",
    ),
)
