"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.priors.spec import PriorsLesson

LAYERS = PriorsLesson(seed=6)
SIX = PriorsLesson(
    data="inputs", points=60, true_noise=0.2, weights="per_input", input=1, weight_shape=0.5, weight_rate=0.05, seed=4
)

SCENARIOS = [
    Scenario(
        "layers",
        "one τ a layer",
        LAYERS,
        "NUTS moves the weights, Gibbs draws the **precision** τ of their prior from what the weights have become, "
        "again and again. **Press play**: weights and prior sd s = 1/√τ move together, inside the V.",
    ),
    Scenario(
        "own",
        "one τ a weight",
        LAYERS.replace(weights="per_weight"),
        "Now every weight has a precision of its own. With τ integrated out this is a Student t prior: most weights "
        "are small, a few may be large. Nothing is pooled: no weight tells another anything.",
    ),
    Scenario(
        "inputs",
        "one τ an input",
        SIX,
        "Six inputs; the data were made with two of them. All weights that lead out of one input share a τ. Watch the "
        "bars: where an input has no use, its weights are small, so its τ grows, so they must stay small.",
    ),
    Scenario(
        "compare",
        "side by side",
        LAYERS.replace(view="compare", draws=100),
        "The same points, the same seed, other priors. Each picture shows one draw a step, and the band holds 90 % of "
        "the draws. They agree where there are points, and differ in the gap and outside.",
    ),
    Scenario(
        "forgot-count",
        "forgot ½n",
        LAYERS.replace(variant="no_half_count"),
        "One term is missing from the Gibbs draw: the shape stays at a, whatever the number of weights. The sum of "
        "squares still pulls τ down, and nothing pulls it up: the prior widens, the weights follow.",
        failure=True,
        why="The conditional is Gamma(a + n/2, b + ½Σw²). Without n/2 every draw of τ is too small, so the weights are "
        "drawn from too wide a prior, so Σw² grows. The function still goes through the points; only the sign "
        "*kernel* and the gap tell.",
    ),
]
