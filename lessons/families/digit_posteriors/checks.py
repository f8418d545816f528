"""What is told of a posterior: is its gradient right, has its training come to rest, do its chains agree?"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.diagnostics import rhat
from engine.judge import (
    Check,
    Kernel,
    TransitionKernel,
    agreement_check,
    depth_check,
    divergence_check,
    energy_check,
    joint_model,
    unknown,
    worst,
)
from engine.judge.training import rest_check, training_gradient_check
from engine.networks.stack import Stop
from engine.variational import start_network
from lessons.families.digit_posteriors.shared import Shared
from lessons.families.digit_posteriors.spec import NAMES, WORDS, PosteriorSpec
from lessons.families.digit_posteriors.training import CHAINS, THIN, Learnt, inputs, network_spec

TRIED = 60  # images at whose inputs NUTS is tried
STEPS, SEEN, FEW_SEEN = 6, 100, 40  # of a training, and images of few and of many pixels, where its gradient is checked
GROSS = 1.3  # R-hat that so few draws do not reach by chance


def kernels(shared: Shared, stop: Stop | None = None) -> list[Kernel]:
    """The kernel of NUTS with the step size and mass of its first chain, on the first `TRIED` of its inputs; none for
    the other methods. Trains to the end.
    """
    if shared.spec.method != "nuts" or shared.finish(stop) is None:
        return []
    assert shared.traces.chains is not None
    run = shared.traces.chains.run
    model = joint_model(run.target)
    assert model is not None
    some = dataclasses.replace(model, x=model.x[:TRIED].copy(), aside=f" {WORDS.phrase('checks.tried', all=len(model.x))}")
    return [TransitionKernel(some, run.method, run.adaptation)]


def training_check(data: Learnt, spec: PosteriorSpec, cancel: Any) -> list[Check]:
    """Is the gradient that trains these networks the right one? Of the same network after a few steps, on some of the
    images; nothing for NUTS, whose kernel is tried.
    """
    if spec.method == "nuts":
        return []
    some = SEEN if data.x.shape[1] <= 256 else FEW_SEEN
    run = start_network(inputs(data)[:some], data.y[:some], network_spec(spec, spec.seed, len(data.x)))
    run.advance(STEPS)
    return [training_gradient_check(run, spec.seed)]


def chain_rhat(values: NDArray) -> float:
    """R-hat of a number of each network (R,); networks of the chains alternate."""
    return float(rhat(np.ascontiguousarray(_by_chain(values))))


def _by_chain(values: NDArray) -> NDArray:
    each = len(values) // CHAINS
    return values[: each * CHAINS].reshape(each, CHAINS).T


def run_checks(shared: Shared, values: NDArray, what: str) -> list[Check]:
    """Of a trained posterior: have its trainings come to rest; for NUTS, do its chains agree on `what`, a number
    `values` (R,) of each network, and on the log density.
    """
    chains = shared.traces.chains
    if chains is None:
        return [worst([rest_check(elbo) for elbo in shared.traces.elbo])]
    drawn = chains.log_density[:, THIN - 1 :: THIN, None]
    both = np.concatenate([_by_chain(values)[:, :, None], drawn[:, : len(values) // CHAINS]], axis=2)
    agreed = agreement_check(both, (what, WORDS.phrase("checks.log_density")), apart=GROSS)
    assert chains.tree_depth is not None and chains.energy is not None
    deepest = chains.tree_depth >= chains.run.method.max_depth
    return [agreed, divergence_check(chains.divergent), energy_check(chains.energy), depth_check(deepest)]


def numbers_check(method: str) -> Check:
    """What is not known of the networks of a method."""
    words = WORDS.phrase("checks.unknown_nuts") if method == "nuts" else WORDS.phrase("checks.unknown", method=NAMES[method])
    return unknown(WORDS.phrase("checks.posterior"), words, kind="numbers")
