"""The named races."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.race.spec import RaceLesson

HIGH = RaceLesson(dimension=20, correlation=0.5, scale=0.5, step_size=0.4, steps=6, seed=2)
CHEAT = RaceLesson(dimension=10, correlation=0.0, scale=0.75, step_size=0.5, steps=4, cheat="on", budget=20_000, seed=3)


SCENARIOS = [
    Scenario(
        "high",
        "twenty dimensions",
        HIGH,
        "Twenty correlated coordinates, two of them shown. Every racer may evaluate the density equally often. "
        "**Press play**: all four advance by cost, not by draws.",
    ),
    Scenario(
        "banana",
        "banana",
        RaceLesson(target="banana", scale=1.2, single_scale=1.5, step_size=0.3, steps=10, seed=1),
        "Two dimensions, bent. Few long paths along the valley against many cheap blind steps: the bands overlap, it "
        "is nearly a tie. Under *Rules of the race* let a gradient cost as much as three densities, and it tips.",
    ),
    Scenario(
        "home",
        "Gibbs at home",
        RaceLesson(target="normal_gamma", scale=1.7, step_size=0.25, steps=8, seed=4),
        "The posterior of a mean μ and a precision τ. Both full conditionals are known, so Gibbs draws from them "
        "exactly, without step size and without rejection.",
    ),
    Scenario(
        "rough",
        "rough ground",
        RaceLesson(
            target="formula",
            formula="-x^2/2 - y^2/2 + 2*cos(8*x) + 2*cos(8*y)",
            scale=1.2,
            single_scale=2.0,
            step_size=0.12,
            steps=10,
            seed=5,
        ),
        "A smooth hill covered with small deep pits: the slope tells where the next pit is, and nothing about the "
        "hill. The favourites lose.",
        failure=True,
        why="A gradient is local. Between two pits the potential rises by up to 4 a coordinate: a trajectory with "
        "ordinary momentum rolls to and fro in its pit, and NUTS calls that a U-turn. A blind jump over the rim "
        "does not see it.",
    ),
    Scenario(
        "resonance",
        "HMC in step",
        RaceLesson(correlation=0.0, step_size=0.393, steps=16, seed=6),
        "Independent unit normals, a fine step size, 99 % accepted, and HMC comes last. Watch its lane: it hardly "
        "leaves "
        "its circle.",
        failure=True,
        why="On a unit normal every trajectory is a circle in phase space with period 2π, and εL = 0.393 × 16 = 6.29 "
        "is one full turn: each path ends where it began. The average acceptance shows nothing. NUTS stops at the "
        "U-turn; a little jitter of ε cures HMC too.",
    ),
    Scenario(
        "large",
        "HMC, ε too large",
        RaceLesson(correlation=0.9, step_size=0.9, steps=8, seed=7),
        "The same Gaussian ridge for all, but HMC's step is longer than the ridge is stable for.",
        failure=True,
        why="Leapfrog is unstable for ε above twice the narrowest width: here 2√(1 − 0.9) = 0.63. The energy error "
        "explodes, nearly every path is rejected, and every one is paid for in full.",
    ),
    Scenario(
        "modes",
        "two modes",
        RaceLesson(
            target="two_modes",
            separation=12.0,
            scale=0.15,
            single_scale=0.15,
            step_size=0.5,
            steps=6,
            begin="random",
            seed=8,
        ),
        "Two hills, twelve sds apart, with local moves for everybody. All four find one hill, none the other: "
        "every error "
        "curve runs into the same floor.",
        failure=True,
        why="Half way between the modes the density is some 20 million times lower than on the lower hill, so local "
        "moves do not cross. Each kernel is exact and leaves the target as it is, yet no run of this length knows both "
        "weights. Set Metropolis's scale to 1.7 (in true sds): with a jump as long as the gap, the simplest racer "
        "wins.",
    ),
    Scenario(
        "cheat",
        "the cheat",
        CHEAT,
        "HMC has left out its accept step, to waste no path. It leads at first. Watch the error of the variance: it "
        "falls, and then it stops falling.",
        failure=True,
        why="Without the accept step the draws come from another density, here with variance 1/(1 − ε²/4) in place of "
        "1. The others' errors shrink like 1/√n for ever, the cheat's ends at its bias. The sign *kernel* is red.",
    ),
]
