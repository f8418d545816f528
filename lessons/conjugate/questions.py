"""The predictions, with answers computed from the formulas and runs."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.conjugate import analysis
from lessons.conjugate.spec import ConjugateLesson


def _pull(spec: ConjugateLesson) -> int:
    """Where the posterior mean lies between prior mean and data mean: 0 at the data, 1 in the middle, 2 at the "
    "prior."""
    here = analysis.course(spec)
    prior, data, after = here.prior.mean()[0], here.x.mean(), here.exact[-1].mean()[0]
    return int(np.argmin(np.abs(np.array([0.0, 0.5, 1.0]) - (data - after) / (data - prior))))


def _explain_pull(spec: ConjugateLesson) -> str:
    here = analysis.course(spec)
    after, worth = here.exact[-1], (spec.sigma / spec.s) ** 2
    draws = analysis.walk(spec).draws[:, spec.draws // 10 :, 0]
    return (
        f"The prior is worth σ²/s² = {worth:.0f} observations and there are {len(here.x)}: the posterior mean is "
        f"({worth:.0f}·{spec.m:g} + {len(here.x)}·{here.x.mean():.3f})/{worth + len(here.x):.0f} = "
        f"{after.mean()[0]:.3f}, "
        f"with sd {np.sqrt(after.covariance()[0, 0]):.3f}. Metropolis found {draws.mean():.3f}. Of "
        f"{analysis.REPEATS} data sets that this prior expects, {analysis.conflict(spec).share * analysis.REPEATS:.0f} "
        "lie as far out as these."
    )


def _order(spec: ConjugateLesson) -> int:
    here = analysis.course(spec)
    backwards = here.prior
    for x in here.x[::-1]:
        backwards = backwards.update([x])
    return int(backwards != here.exact[-1])


def _explain_order(spec: ConjugateLesson) -> str:
    here = analysis.course(spec)
    after = here.exact[-1]
    return (
        f"Backwards or forwards, Beta({after.alpha:g}, {after.beta:g}): {here.x.sum():.0f} heads and "
        f"{len(here.x) - here.x.sum():.0f} tails are added, and a sum has no order. The log evidence, "
        f"{here.log_evidence[-1]:.4f}, is the same too, though each flip's own prediction depends on what came before."
    )


def _better(spec: ConjugateLesson) -> int:
    here = analysis.course(spec)
    factor = np.exp(here.log_evidence[-1] - here.rival_log_evidence[-1])
    return 0 if factor > 10 / 9 else 1 if factor < 0.9 else 2


def _explain_better(spec: ConjugateLesson) -> str:
    here = analysis.course(spec)
    one, two = here.log_evidence[-1], here.rival_log_evidence[-1]
    heads, n = here.x.sum(), len(here.x)
    return (
        f"{heads:.0f} heads in {n} flips: the evidence is {np.exp(one):.3g} under Beta({spec.alpha:g}, "
        f"{spec.beta:g}) and "
        f"{np.exp(two):.3g} under Beta({spec.rival_1:g}, {spec.rival_2:g}). The Bayes factor is "
        f"{np.exp(one - two):.2f}. "
        "A prior is judged by what it predicted before it saw the data. Coins with which such data are no surprise "
        "(likelihood at least a tenth of the largest) have "
        f"{_unsurprised(spec.alpha, spec.beta, heads, n):.0%} of the first prior's mass and "
        f"{_unsurprised(spec.rival_1, spec.rival_2, heads, n):.0%} of the other's."
    )


def _unsurprised(a: float, b: float, heads: float, n: int) -> float:
    """Mass of Beta(a, b) where the likelihood of `heads` in `n` flips is at least a tenth of its largest value."""
    from scipy.special import betainc, xlog1py, xlogy

    p = np.linspace(0.0, 1.0, 10_001)
    log_likelihood = xlogy(heads, p) + xlog1py(n - heads, -p)
    inside = p[log_likelihood >= log_likelihood.max() - np.log(10.0)]
    return float(betainc(a, b, inside[-1]) - betainc(a, b, inside[0]))


def _narrower(spec: ConjugateLesson) -> float:
    """Width of the interval shown over the right one."""
    here = analysis.course(spec)
    return float(np.ptp(here.shown[-1].interval()) / np.ptp(here.exact[-1].interval()))


QUESTIONS = [
    Question(
        "better",
        "The data are mostly heads. Which prior gave them the higher probability, before seeing any: Beta(6, 6), which "
        "expects a fair coin, or the flat Beta(1, 1)?",
        ["Beta(6, 6)", "the flat one", "neither: within 10 % of each other"],
        _better,
        _explain_better,
        scenario="coin",
    ),
    Question(
        "order",
        "The same flips in the opposite order. Does the posterior change?",
        ["No", "Yes"],
        _order,
        _explain_order,
        scenario="flat",
    ),
    Question(
        "pull",
        "100 points with mean 5 and sd 1. The prior for the mean is N(4, 0.1²). Where does the posterior sit?",
        ["Near 5: the data win", "Near 4.5", "Near 4: the prior wins"],
        _pull,
        _explain_pull,
        scenario="narrow",
    ),
    Question(
        "twice",
        "The flips are used twice by mistake. How wide is the 95 % interval, compared with the right one?",
        ["Half as wide", "About three quarters", "As wide"],
        lambda spec: int(np.argmin([abs(_narrower(spec) - c) for c in (0.5, 0.78, 1.0)])),
        lambda spec: (
            f"{_narrower(spec):.2f} times. Twice the data would divide the width by √2 = 1.41; the prior's 12 imagined "
            "flips, counted once, soften that. No new information came in, so all of it is false confidence."
        ),
        scenario="twice",
    ),
]
