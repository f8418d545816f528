"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.hmc.spec import HmcLesson

JUST_RIGHT = HmcLesson(target="banana", step_size=0.25, steps=12, draws=500, seed=1)
NO_ACCEPT = HmcLesson(
    target="gaussian",
    correlation=0.0,
    step_size=1.2,
    steps=4,
    variant="always_accept",
    view="draws",
    draws=2000,
    seed=5,
)
RAVINE = HmcLesson(target="gaussian", correlation=0.95, scale_ratio=3.0, step_size=0.1, steps=16, seed=3)

SCENARIOS = [
    Scenario(
        "just-right",
        "just right",
        JUST_RIGHT,
        "A ball gets a random push and rolls without friction over the hidden landscape −log π. Where it stops is the "
        "proposal. "
        "**Press play**, or *slow motion* to watch every step of a path.",
    ),
    Scenario(
        "too-short",
        "too short",
        JUST_RIGHT.replace(step_size=0.1, steps=3, view="draws"),
        "Three small steps, then a new push in a new direction. Nearly everything is accepted, and nearly nothing is "
        "explored: "
        "this is a random walk again. Compare the histograms with the dashed truth.",
    ),
    Scenario(
        "too-long",
        "too long",
        JUST_RIGHT.replace(steps=100),
        "The ball rolls out, turns, and comes back. Hollow rings mark the steps after the **U-turn**: "
        "they were paid for and lead back to where the path began.",
    ),
    Scenario(
        "too-large",
        "ε too large",
        JUST_RIGHT.replace(step_size=0.9, seed=2),
        "Steps of this length overshoot the curved valley. The energy error explodes and the ends are rejected "
        "(diamonds); "
        "crosses show where a path broke.",
        failure=True,
        why="Leapfrog is stable only while ε is below about twice the narrowest local width (in units of √mass). "
        "Beyond it the energy error "
        "grows exponentially along the path instead of swinging around zero, so exp(H₀ − H₁) is practically 0. "
        "The kernel stays exact, it only stands still.",
    ),
    Scenario(
        "funnel",
        "funnel neck",
        HmcLesson(target="funnel", step_size=0.3, steps=20, draws=1000, chains=4, seed=4),
        "The neck on the left becomes ever narrower. One step size cannot fit both ends: "
        "where the paths enter the neck they **diverge** (crosses), and the chains never get deep into it.",
        failure=True,
        why="At v the density is only exp(v/2) wide, and leapfrog needs ε below twice that. Left of v = 2·log(ε/2) "
        "every path is unstable. "
        "Divergences pile up at that border: they are the warning that a region is missing. A smaller ε moves the "
        "border, it does not "
        "remove it; a change of variables does.",
    ),
    Scenario(
        "mass",
        "mass matrix",
        RAVINE.replace(mass="covariance", step_size=0.5, steps=4, view="phase"),
        "A ravine: ten times longer than wide, and tilted. The mass matrix is the inverse of the covariance, so the "
        "ball feels a round bowl. "
        "Set *Mass* to identity with the same ε and see every path break.",
    ),
    Scenario(
        "euler",
        "Euler",
        HmcLesson(
            target="gaussian",
            correlation=0.0,
            integrator="euler",
            step_size=0.2,
            steps=10,
            view="phase",
            reverse="on",
            seed=2,
        ),
        "The same landscape, the same push, but the obvious integrator: move and kick at once. In phase space the "
        "path spirals outwards. "
        "Run backwards (squares) it does not come home. Switch the view to *marginals* to see the damage.",
        failure=True,
        why="Each Euler step multiplies area in phase space by 1 + ε²/σ² and is not its own reverse. The Metropolis "
        "step assumes a map that "
        "preserves volume and returns when the momentum is flipped; without both, min(1, exp(H₀ − H₁)) is the wrong "
        "probability.",
    ),
    Scenario(
        "no-accept",
        "no accept step",
        NO_ACCEPT,
        "Leapfrog nearly conserves energy, so why not accept everything? **Press play** and watch the histograms: "
        "they settle on a density, but on a wider one than the dashed truth.",
        failure=True,
        why="Leapfrog follows not H but a nearby energy. On a standard normal that is the energy of a normal with "
        "variance 1/(1 − ε²/4). "
        "The accept step is what pays for the difference.",
    ),
]
