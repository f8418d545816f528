"""The named settings of the lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.xor.spec import XorSpec

FIRST_POINTS = (
    (-0.6, -0.5, 0), (-0.4, -0.6, 0), (0.5, 0.4, 0), (0.6, 0.6, 0),
    (-0.5, 0.6, 1), (-0.6, 0.4, 1), (0.4, -0.5, 1), (0.6, -0.4, 1),
)  # fmt: skip

SCENARIOS = [
    Scenario(
        "learn",
        "Watch it learn",
        XorSpec(),
        "Four hidden units, 200 points. The chain starts at random weights and HMC moves **all of them at once**. Blue "
        "is class 0 (circles), orange class 1 (squares), white is undecided.",
    ),
    Scenario(
        "one-unit",
        "One hidden unit cannot",
        XorSpec(units=1),
        "The same data and a network with a single hidden unit. Watch the share of points that come out right.",
        failure=True,
        why="One unit is one slanted step, so its network can draw one straight edge, and no straight line separates "
        "XOR: a quarter of the points stays wrong, however many draws are taken. The sampler is not to blame, the "
        "*model* is too small. (Any of the four clouds can be the one that is given up. Chains may stay with their "
        "choice; then the sign *this run* says so.)",
    ),
    Scenario(
        "noisy",
        "Noisy XOR",
        XorSpec(data="noisy"),
        "The clouds have variance 0.1 instead of 0.015 and run into each other. Where they overlap no network can be "
        "sure: the **aleatoric** part grows, and more data would not take it away.",
    ),
    Scenario(
        "map",
        "Too confident: the MAP",
        XorSpec(prior_sd=3.0, leapfrog=100),
        "A wide prior, and beside the average the single most probable network, the MAP. A single network's colour is "
        "**not** its uncertainty about itself: far from the data it is as bold as near them.",
    ),
    Scenario(
        "tiny-prior",
        "A tiny prior",
        XorSpec(prior_sd=0.1),
        "Prior sd σ = 0.1: weights must stay small, functions flat. 200 points cannot outvote it, and the average "
        "stays white: the networks *agree* that they cannot tell.",
    ),
    Scenario(
        "huge-prior",
        "A huge prior",
        XorSpec(prior_sd=10.0, leapfrog=200),
        "Prior sd σ = 10: networks of steep cliffs. Each is certain nearly everywhere, and they contradict one another "
        "wherever there are no data: nearly all uncertainty there is **epistemic**.",
    ),
    Scenario(
        "large-step",
        "Step too large",
        XorSpec(step_size=0.15),
        "The same posterior, and leapfrog steps two and a half times as long. Watch the log posterior.",
        failure=True,
        why="The step exceeds what the narrowest direction of the posterior allows: the energy explodes along nearly "
        "every path and the Metropolis rule refuses its end. The chain stands still, so every map shows one network, "
        "and all its uncertainty looks aleatoric. The sign *kernel* is green, for a chain that "
        "stands still leaves every posterior as it is; *this run* is red: not converged.",
    ),
    Scenario(
        "never-reject",
        "Never reject",
        XorSpec(step_size=0.1, variant="always_accept"),
        "Break it: the accept step is left out, and the end of every path is taken, right or not.",
        failure=True,
        why="Without the Metropolis rule the error of the integrator goes into the maps: the clouds look less certain "
        "than they are. R-hat sees little, for all chains make the same mistake. The sign *kernel* is red: exact draws "
        "do not stay exact, and the decisions are not those of the formula.",
    ),
    Scenario(
        "own-points",
        "Your own points",
        XorSpec(data="points", points=FIRST_POINTS, step_size=0.1, leapfrog=40, temper=2.0),
        "**Click** into the large map to add a point of the chosen class, **drag** one to move it, double-click or "
        "*Delete* to remove it. The posterior learns anew each time. By keyboard: the list of points in the settings.",
    ),
]
