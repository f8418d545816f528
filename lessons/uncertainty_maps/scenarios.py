"""The named settings."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.uncertainty_maps.spec import MapsSpec

SCENARIOS = (
    Scenario(
        "turning",
        "a 5, turned",
        MapsSpec(),
        "A test image is turned once around. Nobody told the networks what a 5 lying on its side is. **Press ▶** and "
        "watch them contradict each other. Upside down a 5 is nearly a 5 again: read what they say there.",
    ),
    Scenario(
        "between",
        "between 4 and 9",
        MapsSpec(image=1, other=9, across="morph", second="noise"),
        "The ink of a 4 moves until it is a 9. On the way there is a picture that is neither, and the total should "
        "have its top there. The maps add noise: further up, nothing is left to read.",
    ),
    Scenario(
        "shifted",
        "shifted and noisy",
        MapsSpec(image=4, across="shift", second="noise", method="lbbnn"),
        "To the eye a shifted 1 is a 1. These networks read pixels: to them it is another picture with every step to "
        "the right.",
    ),
    Scenario(
        "six",
        "a 6 becomes a 9",
        MapsSpec(image=18),
        "At half a turn the total is as low as at the start. Look at the map of P(6): the label has lost all its "
        "probability.",
        failure=True,
        why="A 6 upside down is a 9, and the networks are right to be sure: that is what the pixels show. Uncertainty "
        "is about the pixels and the digits that were learnt from. No score, however good, can tell that somebody "
        "turned the page over.",
    ),
    Scenario(
        "quarter",
        "sure on its side",
        MapsSpec(method="dropout"),
        "The same 5, turned, by MC dropout. Stop at 90°, then switch to the dense Gaussian. The table below the stage "
        "says how many of 40 test images are read wrong there, and how surely.",
        failure=True,
        why="MC dropout thins one fitted network. What that network says of a digit on its side is an accident of its "
        "fit, and nearly all its thinned copies share it: they agree, and the epistemic part stays small though the "
        "answer is wrong. A small epistemic part says that these networks agree, not that they know.",
    ),
)
