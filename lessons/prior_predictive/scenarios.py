"""The named settings of the lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.prior_predictive.spec import PriorSpec

STANDARD = PriorSpec()
NARROW = STANDARD.replace(width=1, draws=500)
# Andersen and Roed-Sørensen 2021, appendix .3: hidden weights and biases N(0, 8), output N(0, 1 / sqrt 16), tanh output
THESIS = PriorSpec(view="rejection", width=16, weight_sd=8.0, bias_sd=8.0, out_sd=1.0, out_bias_sd=0.25, squash="tanh")

SCENARIOS = [
    Scenario(
        "functions",
        "Functions before data",
        STANDARD,
        "A network with random weights is a random function. **Press play**: each transition draws one network from "
        "the prior, and its curve joins the others. No data yet.",
    ),
    Scenario(
        "narrow",
        "One hidden unit",
        NARROW,
        "Each curve is a single step or slope. Look at the diagonal and the cross in *f(a) against f(b)*, and then at "
        "the kernel below.",
    ),
    Scenario(
        "wide",
        "The wide limit",
        STANDARD.replace(width=256),
        "256 units, each with a small say. Sums of many small things are Gaussian: the histogram follows the dashed "
        "bell, the pairs fill the ellipses. This is a **Gaussian process**, and its kernel is known.",
    ),
    Scenario(
        "kinks",
        "ReLU",
        STANDARD.replace(activation="relu", weight_sd=1.5, bias_sd=1.0, width=64),
        "Another activation, another kernel, other functions: ReLU curves fan out towards the edges. The exact band "
        "says by how much.",
    ),
    Scenario(
        "unscaled",
        "Forgot 1/√k",
        STANDARD.replace(width=128, scaling="none"),
        "Output weights N(0, 1) whatever the width: a harmless-looking prior. Compare the curves with the band.",
        failure=True,
        why="The variance of a sum of k independent terms is k times that of one. Without dividing by √k the prior on "
        "*functions* gets wider with every unit that is added, although the prior on each *weight* stays the same. "
        "The sign *numbers* compares the functions' second moments with the kernel that was meant.",
    ),
    Scenario(
        "same-weights",
        "Same weights, other functions",
        PriorSpec(view="compare", scaling="none", weight_sd=1.0, bias_sd=1.0, out_sd=1.0, draws=120),
        "N(0, 1) on every single weight in six networks. The prior on weights is the same six times. The prior on "
        "functions is not.",
    ),
    Scenario(
        "three-points",
        "Rejection: three points",
        THESIS,
        "Now data. The prior proposes networks, the likelihood rejects: a network is accepted with the probability "
        "that its curve deserves. What is left **is** the posterior.",
    ),
    Scenario(
        "six-points",
        "All six points",
        THESIS.replace(used=6, bound="observed"),
        "Figure 4.1 of Andersen and Roed-Sørensen (2021): six points, σ = 0.1, 100,000 networks. Count the survivors.",
        failure=True,
        why="Each new point and each smaller σ multiplies the share of survivors by a factor below one: the prior does "
        "not know where the data are, and proposes blindly. A Markov chain tests as many networks, but proposes near "
        "the ones that already fit. The curves of this picture are too few to trust, and the signs say so.",
    ),
    Scenario(
        "undivided",
        "Forgot to divide",
        THESIS.replace(used=4, bound="undivided"),
        "Accept if u is below the *likelihood itself*. A density can be far above 1, and then everything passes.",
        failure=True,
        why="At σ = 0.1 the density of a perfect hit is 3.99 a point. Whatever has a likelihood above 1 is accepted "
        "with certainty, the good networks no more often than the fair ones, so the band at the points is too wide. "
        "Acceptance needs a bound: likelihood divided by its largest possible value.",
    ),
]
