"""The named settings of the lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from datasets.xor import NOISY_VARIANCE
from lessons.occam.spec import OccamSpec

THESIS = OccamSpec()
SCALED = OccamSpec(prior_sd=3.0, scaling="width")
FIRST_POINTS = (
    (-0.7, -0.5, 0), (-0.5, -0.7, 0), (0.5, 0.6, 0), (0.7, 0.5, 0),
    (-0.6, 0.6, 1), (-0.5, 0.4, 1), (0.5, -0.5, 1), (0.7, -0.6, 1), (0.0, 0.0, 1),
)  # fmt: skip

SCENARIOS = [
    Scenario(
        "thesis",
        "Sd 1 for every weight",
        THESIS,
        "XOR with the prior of Berezowski (2021): every weight N(0, 1), temper a = 0.5, k uniform on 1 to 16. Two "
        "units can separate the clouds. **Press “Run on”.**",
    ),
    Scenario(
        "scaled",
        "Outputs held fixed",
        SCALED,
        "The same data. Weights out of hidden units now have prior sd σ/√k, with σ = 3: the sum of k units has the "
        "same spread for every k. The razor cuts.",
    ),
    Scenario(
        "edge",
        "The edge as an answer",
        THESIS.replace(highest=8),
        "The first setting with k up to 8 only. The most probable k is …",
        failure=True,
        why="The most probable k is the largest one allowed, whatever that is. p(k | D) still rises at the edge, so "
        "its mode says where *you* stopped, and nothing about the problem.",
    ),
    Scenario(
        "prior-on-k",
        "A prior on k",
        THESIS.replace(prior="poisson", mean=1.0),
        "Poisson prior on k, mean 1: proportional to 1/k!. A hump appears, near 5. It is the data's rise times the "
        "prior's fall, and you have chosen the fall.",
    ),
    Scenario(
        "wide",
        "A wide prior",
        THESIS.replace(prior_sd=10.0),
        "σ = 10 for every weight: outputs are large at any k. From four units on the price of fitting depends little "
        "on k, and p(k | D) rises only slowly.",
    ),
    Scenario(
        "noisy",
        "Noisy clouds",
        SCALED.replace(variance=NOISY_VARIANCE),
        "Scaled prior, clouds of variance 0.1 that run into each other. Compare with *Outputs held fixed*.",
    ),
    Scenario(
        "few",
        "Few data",
        THESIS.replace(corner=3),
        "Three points a cloud. Hardly anything is learnt about k: the posterior is close to the prior.",
    ),
    Scenario(
        "own-points",
        "Your own points",
        SCALED.replace(data="points", points=FIRST_POINTS, temper=2.0),
        "**Click** into the map to add a point of the chosen class, **drag** to move one, double-click or *Delete* to "
        "remove it. By keyboard: the list of points in the settings.",
    ),
]
