"""The named settings."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.uncertainty_maps.letters import O
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
        "stands where most of 40 test images are read wrong, and surely.",
        failure=True,
        why="MC dropout thins one fitted network. What that network says of a digit on its side is an accident of its "
        "fit, and nearly all its thinned copies share it: they agree, and the epistemic part stays small though the "
        "answer is wrong. A small epistemic part says that these networks agree, not that they know.",
    ),
    Scenario(
        "letters",
        "letters, no digits",
        MapsSpec(part="domain"),
        "Test digits beside variations of ten letters: A E F H K M N R W X. The histograms fill with one of each a "
        "step. **Draw a letter of your own on the pad** and a hundred variations of it take their place.",
    ),
    Scenario(
        "inverted",
        "sure of a negative",
        MapsSpec(part="domain", outside="inverted", method="dropout"),
        "Every test image with ink for paper. Nothing like it was ever learnt from.",
        failure=True,
        why="An inverted image lies far from all that was learnt from, and there a single fitted network is driven to "
        "large outputs in whatever direction its weights happen to point: it answers, and surely. Its thinned copies "
        "go the same way. NUTS and the dense Gaussian keep many weights that explain the digits alike and differ far "
        "away from them, so they contradict each other there. The table below has all five.",
    ),
    Scenario(
        "round",
        "a letter that is a digit",
        MapsSpec(part="domain", drawing=O),
        "The letter O, a hundred variations. Out of domain, says the label.",
        failure=True,
        why="An O is drawn as a 0 is, so many of its variations are read as a 0, and surely. What is left of the AUROC "
        "above one half comes from the pen of this pad, not from anything that makes an O. Being out of domain is a "
        "matter of where an image comes from, which pixels need not show: an AUROC means as much as the two sets of "
        "images that it compares.",
    ),
)
