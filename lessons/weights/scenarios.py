"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.weights.spec import WeightsSpec

XOR = WeightsSpec(problem="plane", prior_sd=2.0, initial_sd=0.02, draws=2000)

SCENARIOS = [
    Scenario(
        "gap",
        "a curve with a gap",
        WeightsSpec(),
        "Twenty points, none in the middle. Left: a normal distribution for every weight, trained by gradients. "
        "Right: NUTS on **the same network, prior and data**. Below: the ratio of their sds. **Press Run live** to "
        "train and sample to the end.",
    ),
    Scenario(
        "xor",
        "XOR",
        XOR,
        "Forty points in four clouds. Compare the two sd maps, which share one scale. In the ratio map "
        "blue says that q is narrower than the posterior, orange that it is wider. **Press Run live.**",
    ),
    Scenario(
        "own",
        "your own points",
        WeightsSpec(data="own"),
        "**Click** into the left picture to add a point, **drag** to move one, double-click or *Delete* to remove it. "
        "Where you leave a hole, see what each method says about it.",
    ),
    Scenario(
        "two-units",
        "two ways to XOR",
        XOR.replace(units=2, prior_sd=3.0, draws=1000),
        "Two hidden units can separate XOR in two ways: one stripe along either diagonal. These are different "
        "functions, both in the posterior. Watch the centre, and read the sign *this run*.",
        failure=True,
        why="A single normal sits in one mode and knows nothing of the other. And NUTS is no help here: its chains "
        "stay in the mode they found, they disagree (R-hat): *this run* has not converged, so they cannot stand as the "
        "truth either. Four units leave a way around.",
    ),
    Scenario(
        "gives-up",
        "q gives up",
        WeightsSpec(problem="plane", prior_sd=1.0, draws=1500),
        "XOR again with a prior sd of 1 in place of 2. NUTS still gets the points right. Watch what q learns.",
        failure=True,
        why="To fit XOR, several weights must be large at once *and* agree. Independent weights agree only if each is "
        "narrow, and being narrow and far from the prior costs KL for every one. Here that costs more than the "
        "fit brings: from each of the starts below training ends at the same q, next to the prior. It is no fault "
        "of the gradient: the sign *kernel* is green.",
    ),
    Scenario(
        "wide-start",
        "too wide a start",
        WeightsSpec(problem="plane", units=6, prior_sd=2.0, initial_sd=1.0),
        "Every weight starts with an sd of 1 instead of a small one. Below, the same training from other starts.",
        failure=True,
        why="With so much noise in every weight, units do more harm than good. The first thing training learns is to "
        "shrink the weights that lead out of them to 0, and what is behind a 0 gets no gradient and drifts to the "
        "prior: units are switched off before they have learnt anything. It is a local maximum of the ELBO, as "
        "the other starts below show.",
    ),
    Scenario(
        "light-kl",
        "KL turned down",
        WeightsSpec(variant="light_kl"),
        "“The KL hurts the fit, so we multiply it by 0.1.” Often done, seldom told. Watch the band.",
        failure=True,
        why="Energy − KL/10 is no bound on the evidence of this model: it is what one would climb had every point been "
        "seen ten times. q is then far too sure, everywhere. The sign *kernel* is red: the gradient is not the ELBO's.",
    ),
    Scenario(
        "no-scaling",
        "n/B forgotten",
        WeightsSpec(batch=5, variant="no_scaling"),
        "Minibatches of 5 of the 20 points. The KL is that of all weights; the log likelihood is that of 5 points, and "
        "must be multiplied by 20/5 to stand for all. Here it is not.",
        failure=True,
        why="The data count for a quarter of what they are, the prior for all: q underfits. The loss falls as nicely "
        "as before. What matters is the balance of the two terms, not their size.",
    ),
]
