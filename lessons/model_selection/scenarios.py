"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.model_selection.spec import ModelSelectionLesson

STANDARD = ModelSelectionLesson()
WEAK = STANDARD.replace(observations=12, data_noise=0.4, noise_sd=0.4, degrees=8, degree=3, data_seed=3)

SCENARIOS = [
    Scenario(
        "evidence",
        "Which degree?",
        STANDARD,
        "30 points on a cosine, and polynomials of degree 1 to 15. **Press ▶**: each degree predicts the "
        "next point before it is seen. The sum of those scores *is* its log evidence.",
    ),
    Scenario(
        "average",
        "Average or winner",
        STANDARD.replace(observations=9, play="draws", degree=3),
        "Only nine points, so several degrees are still in the race. **Press ▶**: each draw is a degree, then a "
        "curve of that degree. The band averages over all; the winner alone is more sure than it should be.",
    ),
    Scenario(
        "razor",
        "Occam's razor",
        STANDARD.replace(play="razor"),
        "Before any data: which data sets does each degree expect? Each model has probability 1 to spend on all of "
        "them. **Press ▶** to see the bets being counted.",
    ),
    Scenario(
        "best-fit",
        "Judged by best fit",
        STANDARD.replace(mistake="best_fit", degree=15),
        "Each degree is judged by its best coefficients, not by all that it might have said.",
        failure=True,
        why="A higher degree contains the lower one, so its best fit is never worse: the most flexible curve always "
        "wins, here by following the noise. The evidence averages the fit over the prior instead; whoever can say "
        "more, said each thing with less probability.",
    ),
    Scenario(
        "vague",
        "The vaguer, the simpler",
        WEAK.replace(prior_sd=300.0),
        "A dozen noisy points of the same cosine, and a prior that wants to say nothing: every coefficient has "
        "prior sd 300.",
        failure=True,
        why="Every coefficient with a prior sd of 300 spent nearly all of its probability on curves "
        "that no one would draw. Each one costs about ln(s) nats, so as s grows the simplest model wins whatever the "
        "data (Lindley 1957, Bartlett 1957). A prior that hardly touches an estimate can decide a comparison.",
    ),
    Scenario(
        "powers",
        "Another basis",
        STANDARD.replace(basis="powers"),
        "The same data and the same curves, but the coefficients multiply 1, x, x², … as in a textbook. Fits and "
        "cross-validation cannot tell the difference. The evidence can.",
    ),
    Scenario(
        "unknown-noise",
        "Noise not known",
        STANDARD.replace(noise="unknown", noise_sd=0.3, worth=2.0, play="data"),
        "σ is a guess, three times too large and worth two observations. The data correct it, each degree for itself: "
        "what a degree cannot follow it must call noise.",
    ),
]
