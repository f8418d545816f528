"""The three signs of the page: is this sampler right, do its chains agree, and are its averages the exact ones?

The sampler is judged by the trial of `engine.judge`: weights from the prior, classes drawn from the network with these
weights at the very points of the page, and the page's transitions, which must leave both as they are. That judges the
sampler even where its chains crawl, for no chain has to find anything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.judge import (
    Average,
    Check,
    Kernel,
    OfNetwork,
    TransitionKernel,
    Verdict,
    agreement_check,
    averages_check,
    divergence_check,
    energy_check,
    gradient_check,
    unknown,
)
from engine.networks.predictive import probabilities
from engine.samplers.hmc import Hmc
from lessons.xor.chains import PLACES, WATCHED, Study, study
from lessons.xor.learning import data_of, model_of, predictor_of, settings_of
from lessons.xor.spec import WORDS, XorSpec

Array = NDArray[np.float64]

POINTS = 8  # weights at which the gradient is tried
NETWORKS = 50  # whose predictions are held against what was learned
ROUNDING = 1e-9
MISTAKES = {variant: WORDS.phrase(f"checks.{variant}") for variant in ("always_accept", "no_prior")}  # of the sampler


def kernels(spec: XorSpec) -> list[Kernel]:
    """The page's sampler, at the page's points."""
    model = OfNetwork(model_of(spec), data_of(spec)[0])
    fault = "prior_forgotten" if spec.variant == "no_prior" else ""
    method = Hmc(**settings_of(spec))
    return [TransitionKernel(model, method, mistake=MISTAKES.get(spec.variant, ""), fault=fault)]


def audit(spec: XorSpec, cancel: Any) -> list[Check]:
    """The gradient against differences, and whether the maps show what was learned."""
    rng = np.random.Generator(np.random.SFC64(spec.seed))
    model = model_of(spec)
    # where tanh is not yet a cliff: beyond, finite differences err more than the gradient
    gentle = min(spec.prior_sd, 1.0) * rng.standard_normal((POINTS, model.dim))
    return [gradient_check(model.posterior(*data_of(spec)), gentle), prediction_check(spec)]


def checks(spec: XorSpec, cancel: Any) -> list[Check]:
    """Do the chains agree, and, without data, are they the prior?"""
    found = study(spec, cancel)
    return [*run_checks(found), numbers(spec, found)]


def prediction_check(spec: XorSpec) -> Check:
    """The probability that the maps show, of single networks, against the likelihood that the sampler climbs: one point
    of class 1 alone, the density's log likelihood of it is log p.
    """
    model, predictor = model_of(spec), predictor_of(spec)
    theta = model.prior_draws(NETWORKS, spec.seed)
    shown = probabilities(predictor, theta, WATCHED)[:, :, 1]
    one = np.ones(1, dtype=np.int64)
    climbed = [np.exp(model.log_likelihood(place[None], one).log_density_many(theta)) for place in WATCHED]
    error = float(np.abs(shown - np.stack(climbed, axis=1)).max())
    verdict: Verdict = "pass" if error < ROUNDING else "fail"
    told = "checks.maps_agree" if verdict == "pass" else "checks.maps_differ"
    sentence = WORDS.phrase(told, networks=NETWORKS, inputs=len(WATCHED), off=error)
    return Check(WORDS.phrase("checks.maps"), verdict, error, ROUNDING, sentence, kind="kernel")


def run_checks(found: Study) -> list[Check]:
    """Do the chains agree on what the network computes, and on its fit?"""
    values = np.concatenate([found.watched, found.log_density[:, :, None]], axis=2)
    names = [*(WORDS.phrase("checks.probability", place=place) for place in PLACES), WORDS.phrase("checks.log_density")]
    return [agreement_check(values, names), divergence_check(found.divergent), energy_check(found.energy)]


def numbers(spec: XorSpec, found: Study) -> Check:
    """Without data the posterior is the prior, and its averages are known."""
    if spec.size:
        return unknown(WORDS.phrase("checks.answer"), WORDS.phrase("checks.no_answer"), kind="numbers")
    names = [WORDS.phrase("checks.mean_probability", place=place) for place in PLACES]
    averages = [Average(name, found.watched[:, :, i], 0.5) for i, name in enumerate(names)]
    sizes, one = (found.draws / spec.prior_sd) ** 2, 1.0
    sd = math.sqrt(2.0 / sizes.shape[2])
    averages.append(Average(WORDS.phrase("checks.mean_square"), sizes.mean(axis=2), one, sd))
    return averages_check(WORDS.phrase("checks.prior"), averages)
