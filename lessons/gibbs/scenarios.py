"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.gibbs.spec import GibbsLesson

STEPS = GibbsLesson(correlation=0.6, draws=300, seed=2)
RIDGE = STEPS.replace(correlation=0.97, view="memory", draws=500, seed=1)

SCENARIOS = [
    Scenario(
        "steps",
        "one at a time",
        STEPS,
        "Hold one coordinate fixed and draw the other from its **conditional** density, the curve on the dashed slice. "
        "Then the other way round. **Press play**, or *slow motion* to see each update in three parts.",
    ),
    Scenario(
        "ridge",
        "correlation 0.97",
        RIDGE,
        "The same sampler on a narrow ridge. Each conditional is short, so each step is short, and the walk needs many "
        "sweeps from one end to the other: the trace wanders and the autocorrelation falls slowly.",
        failure=True,
        why="Given the other coordinate, only the share √(1 − ρ²) of a coordinate's sd is left to move in. After a "
        "whole "
        "sweep the walk still remembers ρ² of where it was (diamonds: exact). No step is ever rejected, and still "
        "little is learnt.",
    ),
    Scenario(
        "block",
        "drawn as a block",
        RIDGE.replace(block="yes"),
        "The cure: draw the two correlated coordinates **together**. First x₁ with x₂ integrated out, then x₂ given "
        "x₁. "
        "Every sweep is an independent draw, whatever the correlation.",
    ),
    Scenario(
        "metropolis",
        "Metropolis inside",
        GibbsLesson(target="banana", update="metropolis", scale=1.5, draws=500, seed=3),
        "Not every conditional has a name that one can draw from. Then propose a step in one coordinate, compare "
        "densities, and accept or reject: **Metropolis within Gibbs**. Crosses are rejections.",
    ),
    Scenario(
        "normal-gamma",
        "mean and precision",
        GibbsLesson(target="normal_gamma", draws=500, seed=4),
        "Four measurements of one quantity: unknown mean μ and precision τ (one over the variance). Given τ the mean "
        "is "
        "normal, given μ the precision is Gamma. They are uncorrelated and yet not independent: where τ is small, μ "
        "may "
        "be far out.",
    ),
    Scenario(
        "groups",
        "eight schools",
        GibbsLesson(target="hierarchical", rate=25.0, draws=200, seed=5),
        "Eight estimates that help each other. A sweep draws the precision w between groups, the common mean μ, then "
        "each effect θ, between its own estimate (square) and μ: **partial pooling**.",
    ),
    Scenario(
        "neck",
        "stuck in the neck",
        GibbsLesson(target="hierarchical", rate=0.05, shape=0.2, draws=200, seed=5, view="memory"),
        "The same schools with a prior that allows groups to be all alike. When s is small every effect θ must "
        "sit near "
        "μ, and μ near the effects: each can move only by about s, and the walk stays where it is for long.",
        failure=True,
        why="In the neck of a funnel spread, mean and effects can only move together, and Gibbs moves one at a time. "
        "Each conditional is drawn perfectly; it is the shape of the joint density that holds the walk. Drawing μ and "
        "all θ as a block frees most of it (see the figure below), not all: the spread s still waits for the effects.",
    ),
    Scenario(
        "window",
        "a windowed “Gibbs”",
        GibbsLesson(target="banana", width=1.0, variant="window", scale=0.3, draws=1000, seed=6),
        "No conditional at hand? One app weighs a grid of points *around the present value* and always accepts. It "
        "looks like Gibbs and moves like Gibbs. Compare the histograms with the dashed truth, and read the sign "
        "*kernel*.",
        failure=True,
        why="The grid moves with the walk. The way there and the way back are normalised over different windows, and "
        "nothing pays for the difference. A move out to the tail and its return no longer balance, so the draws come "
        "out too narrow. With a Metropolis–Hastings ratio of the two normalisers it would be exact.",
    ),
]
