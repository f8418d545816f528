"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.monte_carlo.spec import MonteCarloLesson

PI = MonteCarloLesson(integral="ball", dimension=2, draws=1000, seed=1)
HEAVY = MonteCarloLesson(integral="power", a=0.7, seed=3)

SCENARIOS = [
    Scenario(
        "pi",
        "π by darts",
        PI,
        "Throw darts at a square. The share that falls inside the circle, times the square's area 4, estimates π. "
        "**Press play**: the error falls like 1/√n, and ten other repetitions show what chance does.",
    ),
    Scenario(
        "root",
        "an integral",
        MonteCarloLesson(integral="power", a=0.3, seed=2),
        "The integrand x⁻⁰·³ is infinite at 0, yet its area and its variance are finite. The central limit theorem "
        "holds, slowly, since rare draws near 0 count much.",
    ),
    Scenario(
        "infinite",
        "infinite variance",
        HEAVY,
        "x⁻⁰·⁷: still a finite area, 1/(1 − 0.7), but an infinite variance. The average converges, more slowly than "
        "1/√n, and jumps whenever a draw falls near 0. The band it reports cannot be trusted.",
        failure=True,
        why="P(value > v) falls like v to the power −1/a = −1.43. Below a power of 2 the variance is infinite: the "
        "error falls like n to the power −0.3 only, and the central limit theorem does not hold. No run can see this "
        "from its own s/√n, which misses the large value that has not come yet.",
    ),
    Scenario(
        "cured",
        "cured by weights",
        HEAVY.replace(b=0.6),
        "The same integral. Now draws come more often where the integrand is large, with density 0.4 x⁻⁰·⁶, and each "
        "value is divided by that density. The variance is finite again, and small. At b = a it is zero.",
    ),
    Scenario(
        "rare",
        "a rare event",
        MonteCarloLesson(integral="rare", threshold=3.0, seed=4),
        "P(z > 3) = 0.00135. Of 1 000 draws one or two count; often none does, and the run reports an error of "
        "exactly 0.",
        failure=True,
        why="The variance is finite, but n·p ≈ 1.35 hits are far too few for the central limit theorem. The bars on "
        "the right stand apart, one for 0 hits, one for 1 hit, …: the band is meaningless until n is many times 1/p.",
    ),
    Scenario(
        "shifted",
        "look where it happens",
        MonteCarloLesson(integral="rare", threshold=3.0, shift=3.0, seed=4),
        "Draw from N(3, 1) instead: half of the draws count, each with the weight p/q. The same 1 000 draws, and an "
        "error fifteen times smaller.",
    ),
    Scenario(
        "narrow",
        "too narrow a proposal",
        MonteCarloLesson(integral="square", scale=0.6, seed=5),
        "E[z²] = 1 with draws from N(0, 0.6²). The tails are visited too seldom, and a draw there weighs enormously.",
        failure=True,
        why="The weight p/q grows like exp(z²(1/s² − 1)/2). For s² ≤ 1/2 its square grows at least as fast as the "
        "draws get rare, and the variance of a value is infinite. A proposal must have heavier tails than what it "
        "stands for.",
    ),
    Scenario(
        "cauchy",
        "no mean at all",
        MonteCarloLesson(integral="cauchy", seed=6),
        "The average of n Cauchy draws is as spread as a single draw. More draws do not help, however many.",
        failure=True,
        why="The tails are so heavy that the mean does not exist: one draw is now and then as large as all others "
        "together. The average of n draws has exactly the distribution of one.",
    ),
    Scenario(
        "dimensions",
        "ten dimensions",
        PI.replace(dimension=10, draws=2000),
        "The ball in ten dimensions fills 0.25 % of its cube. The rate 1/√n is the same as in the plane, and σ is what "
        "grows: some five darts in 2 000 hit, too few for a band to be believed. A regular grid (squares) fares worse: "
        "see the panel below.",
    ),
    Scenario(
        "forgotten",
        "weight forgotten",
        MonteCarloLesson(integral="rare", threshold=3.0, shift=3.0, mistake="no_weight", seed=4),
        "Draw where it happens, but leave out the weight p/q. The average settles quickly, on the wrong number.",
        failure=True,
        why="Without the weight the average estimates the probability under N(3, 1), which is 0.5. A narrow band and a "
        "smooth curve say nothing about bias.",
    ),
]
