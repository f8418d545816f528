"""The named settings of this lesson: illnesses with their names first, then the gallery without them."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.diagnostics.patients import BIASED, FAR, MODES
from lessons.diagnostics.spec import PATIENTS, DiagnosticsLesson

HEALTHY = DiagnosticsLesson(target="gaussian", sampler="nuts", step_size=0.5)
ONE_MODE = MODES.replace(start_x=-4.5, spread=1.0)
FAR_TOGETHER = FAR.replace(start_x=40.0, start_y=40.0, spread=5.0)
THINNED = DiagnosticsLesson(target="gaussian", sampler="metropolis", scale=1.0, draws=1500, thin=10)

_NAMED = [
    Scenario(
        "healthy",
        "healthy",
        HEALTHY,
        "Four chains, started in four corners, are asked the same question. **Press play**: they forget where they "
        "began, their rank bars level out, R-hat falls to 1 and the effective draws grow in a straight line.",
    ),
    Scenario(
        "two-modes",
        "two modes",
        MODES,
        "Two hills, nine standard deviations apart. Each chain stays on the hill beside its start. R-hat compares "
        "the chains with each other, and sees it.",
        failure=True,
        why="Between the hills the density is about $e^{-10}$ of the top, so a crossing is a rare accident. The "
        "spread *between* the chains' means is many times the spread *within* a chain, and more draws of the same kind "
        "do not bring R-hat down. "
        "The means also weigh both hills by how many chains started there, not by the truth (0.7 and 0.3).",
    ),
    Scenario(
        "one-mode",
        "all in one mode",
        ONE_MODE,
        "The same two hills, but all four chains start on the left one. Every number is now perfect. Compare the "
        "dashed exact mean with the traces.",
        failure=True,
        why="R-hat asks one thing: do these chains agree *with each other*? They do. None of them has ever been on "
        "the right hill, which holds 30 % of the probability, so nothing in the draws can tell of it. This is why "
        "chains must start far apart, and why even that is no proof.",
    ),
    Scenario(
        "far",
        "not burnt in",
        FAR_TOGETHER,
        "All chains start far out in the same corner. Their first hundred draws are a journey, and they are counted "
        "as if they were draws. Move the **burn-in** and watch everything recover.",
        failure=True,
        why="The travelling draws do not come from the target. All chains travelled alike, and not for long, so "
        "R-hat is only a little above 1.01, and the classic one even below. The mean pays for it. Leave out the "
        "journey; beyond that, every discarded draw costs precision and buys nothing (first figure below).",
    ),
    Scenario(
        "thinning",
        "thinning",
        THINNED,
        "Only every tenth draw is kept. The kept ones look nearly independent. Did that make them more valuable? The "
        "effective draws of *all* kept ones say so, or not.",
    ),
]
_GALLERY = [
    Scenario(
        f"patient-{number}",
        f"patient {number}" if number == PATIENTS[0] else number,  # the chips stand in a row
        DiagnosticsLesson(patient=number),
        "Until your diagnosis is locked in the story the file is sealed: no name, no settings, no truth. Look at the "
        "traces, the ranks, R-hat and ESS; change the view and the burn-in; read the table below.",
    )
    for number in PATIENTS
]
_LAST = [
    Scenario(
        "biased",
        "R-hat 1.00, and wrong",
        BIASED.replace(quantity="square", view="average"),
        "NUTS with a real bug. Four chains from four corners agree: R-hat 1.00, more than 400 effective draws, no "
        "divergence. The average of $x_1^2$, which is the variance and should be 1, settles confidently on another "
        "value.",
        failure=True,
        why="Diagnostics compare a run with itself. A sampler with a mistake has a stationary density too, only "
        "another one, and it may mix over it very well. R-hat, ESS and MCSE then describe, correctly, an average "
        "over the wrong density. Only a comparison with something known from elsewhere (an exact answer, simulated "
        "data, another sampler) can find that. The signs *kernel* and *numbers* at the top do it, and are red.",
    ),
]
SCENARIOS = [*_NAMED, *_GALLERY, *_LAST]
