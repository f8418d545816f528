"""The predictions, with answers computed from the runs."""

from __future__ import annotations

import threading

import numpy as np

from app.kit.frame import Question
from lessons.weights import analysis
from lessons.weights.spec import WeightsSpec
from lessons.weights.training import model_of

NEVER = threading.Event()
RATIOS = (0.25, 0.7, 1.0, 1.6)


def region(spec: WeightsSpec, name: str) -> analysis.Region:
    """One line of the comparison."""
    return next(line for line in analysis.compared(spec, NEVER) if line.name == name)


def _outside(spec: WeightsSpec) -> int:
    found = region(spec, "outside").ratio
    return int(np.argmin([abs(np.log(found / choice)) for choice in RATIOS]))


def _explain_outside(spec: WeightsSpec) -> str:
    lines = analysis.compared(spec, NEVER)
    told = "; ".join(f"{line.name} {line.ratio:.2f} ({line.low:.2f} to {line.high:.2f})" for line in lines)
    return (
        f"Ratio of sds (± 2 standard errors): {told}. Outside the data only the prior limits the slope, and *all* "
        "weight vectors that fit the data are in the posterior. q holds one neighbourhood of them. Among the data "
        "independent weights cannot cancel each other's noise, as they do in the posterior, so q may be too wide there."
    )


def points_right(spec: WeightsSpec) -> tuple[float, float]:
    """Share of the points that q's and NUTS's averages get right."""
    chains = analysis.reference(spec, NEVER).recording.draws.reshape(-1, model_of(spec).dim)
    return analysis.right(spec, analysis.drawn(spec)), analysis.right(spec, chains)


def _gives_up(spec: WeightsSpec) -> int:
    found, _ = points_right(spec)
    return 0 if found > 0.95 else 1 if found > 0.7 else 2


def _explain_gives_up(spec: WeightsSpec) -> str:
    found, nuts = points_right(spec)
    value, error = analysis.elbo(spec)
    zero = spec.size * np.log(0.5)
    return (
        f"q: {100 * found:.0f} %, NUTS: {100 * nuts:.0f} %. A coin for every point has a log likelihood of "
        f"{spec.size} × log ½ = {zero:.1f} nats; q's ELBO is {value:.1f} ± {error:.1f}. Fitting would cost more KL "
        "than it brings. Move **Prior sd** to 2 and run again."
    )


def between(spec: WeightsSpec) -> tuple[float, float]:
    """Ratio in the gap, with the right objective and as the spec has it."""
    return region(spec.replace(variant="exact"), "between them").ratio, region(spec, "between them").ratio


def _light(spec: WeightsSpec) -> int:
    before, after = between(spec)
    return 0 if after < 0.8 * before else 2 if after > 1.25 * before else 1


def _explain_light(spec: WeightsSpec) -> str:
    before, after = between(spec)
    return (
        f"In the gap q's sd is {before:.2f} of NUTS's with the whole KL and {after:.2f} with a tenth of it. The KL "
        "holds the entropy of q, so turning it down makes narrow weights cheap."
    )


QUESTIONS = [
    Question(
        "outside",
        "Beyond the last points, where nothing was seen: how large is q's sd beside that of NUTS?",
        ("about a quarter", "about 0.7", "about the same", "half as large again"),
        _outside,
        _explain_outside,
        scenario="gap",
    ),
    Question(
        "gives-up",
        "Four units, prior sd 1, forty points. NUTS's average gets all points right. How many does q's?",
        ("all or nearly", "about three quarters", "about half"),
        _gives_up,
        _explain_gives_up,
        scenario="gives-up",
    ),
    Question(
        "light",
        "Only a tenth of the KL is counted. What becomes of q's sd in the gap?",
        ("smaller", "about the same", "larger"),
        _light,
        _explain_light,
        scenario="light-kl",
    ),
]
