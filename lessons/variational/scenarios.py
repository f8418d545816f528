"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.variational.spec import VariationalLesson

FIT = VariationalLesson(target="logistic", rows=40, start_x=-1.5, start_y=-0.5, start_sd=0.3, steps=200, seed=1)
RIDGE = VariationalLesson(correlation=0.9, steps=200, start_x=-2.0, start_y=1.0, view="marginals", seed=2)
MODES = VariationalLesson(method="kl", separation=7.0, weight=0.6, start_x=1.0, start_sd=1.0)
SCORE = VariationalLesson(
    target="logistic", start_x=-0.5, start_sd=0.5, estimator="score", step_size=0.03, view="gradients", seed=3
)
PRECISION = VariationalLesson(
    target="precision", start_x=3.0, start_sd=0.6, view="marginals", steps=300, step_size=0.05, seed=4
)

SCENARIOS = [
    Scenario(
        "fit",
        "q finds the posterior",
        FIT,
        "The grey map is a posterior. The blue ellipses are **q**, a normal distribution that we may move and stretch. "
        "**Press play.** In each step a few points are drawn from q, each tells which way is uphill, and q takes a "
        "step.",
    ),
    Scenario(
        "modes",
        "two divergences, two modes",
        MODES,
        "Two q start as one. One makes **KL(q‖p)** small, the other **KL(p‖q)**. **Press play** and see where each "
        "pays for its mistakes.",
    ),
    Scenario(
        "mean-field",
        "mean-field on a ridge",
        RIDGE,
        "A correlated target, and a q whose coordinates are independent. Its mean arrives. Compare the width of q with "
        "the dashed truth, and with the draws of NUTS.",
        failure=True,
        why="KL(q‖p) punishes q for lying where p does not. An ellipse with upright axes can only stay inside a "
        "slanted ridge by being as narrow as the ridge: each sd is that of a coordinate *given* the other, √(1 − ρ²) "
        "of its own.",
    ),
    Scenario(
        "full-rank",
        "full rank cures it",
        RIDGE.replace(family="full_rank", steps=300),
        "The same target, the same steps. Now q may tilt: ζ = mean + L·ε with a lower triangular L. The gap closes and "
        "both sds are right.",
    ),
    Scenario(
        "coordinates",
        "one coordinate at a time",
        VariationalLesson(method="cavi", correlation=0.9, start_x=-2.5, start_y=2.0, sweeps=10),
        "No gradient, no step size: hold one factor of q, and set the other to the best there is. The ELBO never "
        "falls. Use *slow motion* to see each update in three parts.",
    ),
    Scenario(
        "mean-precision",
        "mean and precision",
        VariationalLesson(method="cavi", pair="precision", start_x=0.0, start_sd=1.0, sweeps=6),
        "Four measurements, unknown mean μ and precision τ. The best factors are a normal and a Gamma, each the "
        "posterior of a simpler problem, averaged over the other. What remains of the gap is their dependence.",
    ),
    Scenario(
        "score",
        "score-function gradients",
        SCORE,
        "The same q, the same number of points, another estimate of the same slope: log p − log q times the slope of "
        "log q. It needs no gradient of the model, and pays for it with **noise**: look at both panels on the right.",
    ),
    Scenario(
        "too-big",
        "step size too big",
        FIT.replace(step_size=3.0, samples=3, steps=200),
        "As in the first scenario, but with 3 points a step instead of 10, and a step thirty times as long.",
        failure=True,
        why="The estimate of the slope is noisy, and a step is made as if it were exact. Small steps average the noise "
        "over many points. A large step throws q about, and one that makes q too narrow sends it far away.",
    ),
    Scenario(
        "three",
        "three inferences",
        VariationalLesson(
            target="logistic",
            rows=10,
            prior_sd=5.0,
            family="full_rank",
            start_sd=0.5,
            view="marginals",
            steps=300,
            step_size=0.05,
            seed=5,
        ),
        "One posterior of ten pairs, bent and skewed, by three ways: **exactly** on a grid (dashed), by **NUTS** "
        "(green), and by q (blue). The table below adds what each costs.",
    ),
    Scenario(
        "jacobian",
        "forgot the Jacobian",
        PRECISION.replace(variant="no_jacobian"),
        "A precision must be positive, so q lives on log τ. The density of log τ is that of τ **times τ**. This one "
        "forgets the factor.",
        failure=True,
        why="Without the log-Jacobian log τ the energy is that of another density, p(μ, τ)/τ, which leans towards "
        "small τ. The fit goes there, quietly; only the comparison with the truth shows it. (*This run* is red for "
        "another reason: NUTS beside it walks on τ itself, and its paths break at the edge, τ = 0.)",
    ),
    Scenario(
        "minibatch",
        "forgot n/B",
        FIT.replace(rows=100, batch=10, variant="no_scaling", step_size=0.05, steps=400),
        "Each step looks at 10 of 100 pairs. Their log likelihood must be multiplied by 10 to stand for all. This one "
        "forgets.",
        failure=True,
        why="Unscaled, the sum over a minibatch is on average the log likelihood of a tenth of the data. q comes out "
        "as if there were ten pairs only: much too wide, and nearer to the prior.",
    ),
]
