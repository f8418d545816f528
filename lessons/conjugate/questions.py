"""The predictions, with answers computed from the formulas and runs."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine.conjugate import AlphaBeta, NormalGamma
from lessons.conjugate import analysis
from lessons.conjugate.spec import WORDS, ConjugateLesson


def _pull(spec: ConjugateLesson) -> tuple[float, float]:
    """The central 95 % of the posterior."""
    low, high = analysis.course(spec).exact[-1].interval()
    return low, high


def _explain_pull(spec: ConjugateLesson) -> Said:
    here = analysis.course(spec)
    after, worth = here.exact[-1], (spec.sigma / spec.s) ** 2
    draws = analysis.walk(spec).draws[:, spec.draws // 10 :, 0]
    return say(
        prior_worth=worth,
        points=len(here.x),
        prior_mean=spec.m,
        data_mean=here.x.mean(),
        total_worth=worth + len(here.x),
        posterior_mean=after.mean()[0],
        posterior_sd=np.sqrt(after.covariance()[0, 0]),
        metropolis_mean=draws.mean(),
        repeats=analysis.REPEATS,
        as_far=analysis.conflict(spec).share * analysis.REPEATS,
    )


def _order(spec: ConjugateLesson) -> int:
    here = analysis.course(spec)
    backwards = here.prior
    for x in here.x[::-1]:
        backwards = backwards.update([x])
    return int(backwards != here.exact[-1])


def _explain_order(spec: ConjugateLesson) -> Said:
    here = analysis.course(spec)
    after, heads = here.exact[-1], here.x.sum()
    assert isinstance(after, (AlphaBeta, NormalGamma))
    return say(alpha=after.alpha, beta=after.beta, heads=heads, tails=len(here.x) - heads, log_evidence=here.log_evidence[-1])


def _better(spec: ConjugateLesson) -> int:
    here = analysis.course(spec)
    factor = np.exp(here.log_evidence[-1] - here.rival_log_evidence[-1])
    return 0 if factor > 10 / 9 else 1 if factor < 0.9 else 2


def _explain_better(spec: ConjugateLesson) -> Said:
    here = analysis.course(spec)
    log_evidence, rival = here.log_evidence[-1], here.rival_log_evidence[-1]
    heads, flips = here.x.sum(), len(here.x)
    return say(
        heads=heads,
        flips=flips,
        evidence=np.exp(log_evidence),
        alpha=spec.alpha,
        beta=spec.beta,
        rival_evidence=np.exp(rival),
        rival_alpha=spec.rival_1,
        rival_beta=spec.rival_2,
        bayes_factor=np.exp(log_evidence - rival),
        unsurprised=_unsurprised(spec.alpha, spec.beta, heads, flips),
        rival_unsurprised=_unsurprised(spec.rival_1, spec.rival_2, heads, flips),
    )


def _unsurprised(a: float, b: float, heads: float, n: int) -> float:
    """Mass of Beta(a, b) where the likelihood of `heads` in `n` flips is at least a tenth of its largest value."""
    from scipy.special import betainc, xlog1py, xlogy

    p = np.linspace(0.0, 1.0, 10_001)
    log_likelihood = xlogy(heads, p) + xlog1py(n - heads, -p)
    inside = p[log_likelihood >= log_likelihood.max() - np.log(10.0)]
    return float(betainc(a, b, inside[-1]) - betainc(a, b, inside[0]))


def _width_ratio(spec: ConjugateLesson) -> float:
    """Width of the interval shown over the right one."""
    here = analysis.course(spec)
    return float(np.ptp(here.shown[-1].interval()) / np.ptp(here.exact[-1].interval()))


QUESTIONS = [
    WORDS.question("better", _better, _explain_better, scenario="coin"),
    WORDS.question("order", _order, _explain_order, scenario="flat"),
    WORDS.question("pull", _pull, _explain_pull, scenario="narrow"),
    WORDS.question(
        "twice",
        lambda spec: int(np.argmin([abs(_width_ratio(spec) - c) for c in (0.5, 0.78, 1.0)])),
        lambda spec: say(width_ratio=_width_ratio(spec)),
        scenario="twice",
    ),
]
