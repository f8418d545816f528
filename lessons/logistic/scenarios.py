"""The named settings of the lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.logistic.spec import LogisticSpec

STANDARD = LogisticSpec()
SEPARATED = tuple((x, float(x > 0), int(x > 0)) for x in (-3.0, -2.0, -1.4, -0.8, 0.8, 1.2, 2.1, 3.2))

SCENARIOS = [
    Scenario(
        "exact",
        "Two weights, exactly",
        STANDARD,
        "150 pairs and only two unknowns: the posterior can be added up on a grid, nothing is approximate. **Press "
        "play**: a Metropolis chain walks in from (0, 0) and must find the same.",
    ),
    Scenario(
        "few",
        "Eight pairs",
        STANDARD.replace(used=8, prior_sd=5.0, scale=1.5, at=1.0),
        "Few data, a wide prior: the posterior is bent and has a long tail. The dashed ellipses are **Laplace's** "
        "normal approximation, which can only be symmetric around the top.",
    ),
    Scenario(
        "prediction",
        "One answer, or a range",
        STANDARD.replace(used=20, at=-0.5, scale=0.8),
        "At x′ = −0.5 a single fit says one probability. The posterior says how sure one can be of it. **Click "
        "into the "
        "data panel** to ask at another x′.",
    ),
    Scenario(
        "separated",
        "Nothing to converge to",
        STANDARD.replace(data="points", points=SEPARATED, prior_sd=3.0, scale=2.0, at=0.3),
        "All zeros on the left, all ones on the right. Look at the table of Newton steps below the stage: without a "
        "prior each step makes the slope larger.",
        failure=True,
        why="When a threshold separates the classes, every increase of the slope makes the data more probable: the "
        "likelihood has no maximum, and its 'estimate' is wherever the iteration was stopped. The prior makes the "
        "posterior proper, and the mean finite, but it also decides how large the slope is.",
    ),
    Scenario(
        "no-prior",
        "Forgot the prior",
        STANDARD.replace(used=20, prior_sd=0.5, scale=0.8, variant="no_prior"),
        "The chain climbs the likelihood alone, while the exact posterior has the prior in it.",
        failure=True,
        why="Everything the chain reports belongs to another posterior, the one with a flat prior: its slope is larger "
        "and more uncertain. The chain mixes well and R-hat is content; only an exact answer shows the mistake.",
    ),
    Scenario(
        "dropped",
        "Rejections not counted",
        STANDARD.replace(scale=1.5, variant="drop_rejections"),
        "Each refused proposal is thrown away instead of counting the present place once more.",
        failure=True,
        why="A place that refuses many proposals is one where the density is high; the repeats are its weight. Without "
        "them the histograms come out too wide.",
    ),
]
