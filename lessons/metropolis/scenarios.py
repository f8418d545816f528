"""The named settings of the Metropolis lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.metropolis.spec import MetropolisLesson

SCENARIOS = (
    Scenario(
        "king",
        "The island king",
        MetropolisLesson(part="islands", draws=2000, seed=3),
        "A king wants to spend his time on the islands in proportion to their people, but he only ever knows his own "
        "island and the next. "
        "Press play: the bars are the shares of his visits, the diamonds the shares of the people.",
    ),
    Scenario(
        "plane",
        "A walk in the plane",
        MetropolisLesson(part="plane", target="banana", scale=1.2, draws=2000),
        "The same rule, with a density instead of people: propose a random step, compare the heights, toss a coin. "
        "Each ring around a point is one rejection, one more visit to the same place.",
    ),
    Scenario(
        "sizes",
        "Three step sizes",
        MetropolisLesson(part="triptych", scale=1.5, factor=10.0, draws=1500),
        "Three walks with the *same* random numbers. Only the step size differs. The small one is nearly always "
        "accepted and goes nowhere, "
        "the big one is nearly always rejected.",
    ),
    Scenario(
        "far",
        "Start far away",
        MetropolisLesson(
            part="plane",
            correlation=0.5,
            scale=0.6,
            chains=4,
            draws=1000,
            start="at",
            start_x=-12.0,
            start_y=10.0,
            burn=150,
        ),
        "Four chains start far out. The first draws belong to the journey, not to the target: compare both "
        "histograms, and move the burn-in.",
    ),
    Scenario(
        "hastings",
        "Lost Hastings ratio",
        MetropolisLesson(part="plane", correlation=0.5, scale=1.0, drift=0.5, variant="no_hastings", draws=2000),
        "The proposal leans to the right, and the ratio leaves out that it does.",
        failure=True,
        why="With an asymmetric proposal the ratio needs $q(x\\mid x')/q(x'\\mid x)$. Without it this walk samples "
        "$\\pi(x)\\,e^{2\\,\\delta x_1/\\sigma^2}$ instead of $\\pi(x)$, with $\\sigma$ the scale and $\\delta$ "
        "the drift (the setting times $\\sigma$): the lines marked as wrong, known exactly. Set the sampler to “right” "
        "and the same drift does no harm.",
    ),
    Scenario(
        "rejections",
        "Rejections thrown away",
        MetropolisLesson(part="plane", correlation=0.0, scale=5.0, variant="drop_rejections", draws=2000),
        "It looks tidier: only places where the walk really went are recorded.",
        failure=True,
        why="A rejection says “stay here longer”. The time spent at a point is its weight, and without it the walk "
        "samples $\\pi(x)\\,a(x)$, with $a(x)$ the "
        "probability that a proposal made at $x$ is accepted. That is small at the top, so the histogram is too flat "
        "and too wide.",
    ),
    Scenario(
        "high",
        "High dimension",
        MetropolisLesson(part="plane", dimension=20, correlation=0.0, scale=1.0, draws=2000),
        "Twenty independent normal coordinates, of which you see two. A step that was fine in the plane is now "
        "nearly always rejected: "
        "the figures below show how acceptance and effective draws fall with the dimension.",
    ),
)
