"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from datasets import coin, counts, kinds, measurements, waiting_times
from lessons.conjugate.spec import ConjugateLesson, written

BIASED = written(coin(20, 0.7, seed=3).x)
HUNDRED = written(measurements(100, 5.0, 1.0, seed=2).x)

COIN = ConjugateLesson(pair="bernoulli", alpha=6.0, beta=6.0, flips=BIASED)
NARROW = ConjugateLesson(
    pair="mean", m=4.0, s=0.1, sigma=1.0, values=HUNDRED, rival_1=0.0, rival_2=0.01, play="walk", truth="on"
)
WAITS = ConjugateLesson(
    pair="exponential", alpha=2.0, beta=2.0, rate_true=0.5, waits=written(waiting_times(30, 0.5, seed=2).x), truth="on"
)

SCENARIOS = [
    Scenario(
        "coin",
        "a coin",
        COIN,
        "Is this coin fair? The prior Beta(6, 6) acts as if 6 heads and 6 tails had been seen before; its rival "
        "Beta(1, 1) is flat. **Press play** to see the flips arrive, or drag the prior in the plane on the right.",
    ),
    Scenario(
        "flat",
        "a flat prior",
        COIN.replace(alpha=1.0, beta=1.0, rival_1=6.0, rival_2=6.0, likelihood="newest", view="evidence"),
        "The uniform prior. After h heads and t tails the density is (h+t+1)!/(h! t!) rʰ(1−r)ᵗ; the card fills it in. "
        "Each posterior is the next flip's prior: use *slow motion*.",
    ),
    Scenario(
        "counts",
        "horse kicks",
        ConjugateLesson(
            pair="poisson", alpha=2.0, beta=1.0, rival_1=20.0, rival_2=10.0, counts=written(counts().x), view="next"
        ),
        "Deaths by horse kick in the Prussian army, 200 corps-years. The mean count λ has a Gamma prior: α deaths "
        "imagined in β imagined years. The prediction, lower right, settles on the shares observed.",
    ),
    Scenario(
        "waits",
        "waiting times",
        WAITS,
        "How long until the next bus, if buses come at random? Data are times, the unknown is their rate. The "
        "prediction has a heavier tail than an exponential: the rate itself is uncertain.",
    ),
    Scenario(
        "narrow",
        "narrow prior",
        NARROW,
        "100 points from N(5, 1) and a prior that is sure of 4: N(4, 0.1²), worth 100 points of its own. "
        "Random-walk Metropolis (bars) beside the exact posterior.",
        failure=True,
        why="The prior's weight is σ²/s² = 100 observations, as many as there are data, so the posterior lands half "
        "way between 4 and 5 and is sure of it. Nothing is wrong with the computation: sampler and formula agree. The "
        "prior was wrong, and the conflict panel below shows that these data were next to impossible under it.",
    ),
    Scenario(
        "vague",
        "vague prior",
        NARROW.replace(m=0.0, s=10.0, rival_1=4.0, rival_2=100.0),
        "The same 100 points and a prior N(0, 10²), worth a hundredth of a point. Now the posterior is the likelihood, "
        "nearly. The Bayes factor against the narrow prior is in the view *evidence*.",
    ),
    Scenario(
        "spread",
        "known mean",
        ConjugateLesson(
            pair="precision",
            centre=5.0,
            alpha=2.0,
            beta=2.0,
            rival_1=1.0,
            rival_2=0.5,
            truth="on",
            values=written(measurements(40, 5.0, 1.0, seed=4).x),
            view="estimate",
        ),
        "The mean is known and the spread is not. Its unknown is the precision τ = 1/variance; n points add n/2 to α "
        "and half their sum of squares to β.",
    ),
    Scenario(
        "both",
        "mean and spread",
        ConjugateLesson(
            pair="both",
            m=4.0,
            kappa=1.0,
            alpha=2.0,
            beta=2.0,
            rival_1=4.0,
            rival_2=20.0,
            truth="on",
            values=written(measurements(25, 5.0, 1.0, seed=6).x),
            view="estimate",
        ),
        "Both unknown at once: the Normal-Gamma. The mean's posterior is a Student t, wider than a normal because the "
        "spread is uncertain too. Switch the unknown shown to see τ.",
    ),
    Scenario(
        "kinds",
        "three kinds",
        ConjugateLesson(
            pair="categorical",
            rival_1=20.0,
            rival_2=2.0,
            kinds=written(kinds(30, (0.5, 0.3, 0.2), seed=2).x),
            truth="on",
        ),
        "A die with three faces. The Dirichlet prior imagines a₁, a₂ and a₃ throws of each; every throw adds one.",
    ),
    Scenario(
        "twice",
        "data used twice",
        COIN.replace(mistake="twice", view="estimate"),
        "“The posterior looks good, let us take it as the prior.” And then the same flips go in again.",
        failure=True,
        why="Posterior becomes prior only for *new* data. Used twice, 20 flips count as 40: the curve is too narrow, "
        "by about √2 when data dominate, and the interval claims more than it knows.",
    ),
    Scenario(
        "rate",
        "rate or scale?",
        WAITS.replace(mistake="scale", view="next"),
        "The posterior is Gamma(α + n, rate β + Σx). Many libraries want a *scale*, and take the rate without "
        "complaint.",
        failure=True,
        why="Scale is 1/rate. Given the rate as a scale, the mean becomes (α + n)(β + Σx) instead of (α + n)/(β + Σx); "
        "the curve leaves the picture and the prediction collapses towards 0. Table 3.1 of "
        "Berezowski (2021) calls β a scale, though its updates are those of a rate.",
    ),
]
