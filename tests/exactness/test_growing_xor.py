"""p(k | D) and p(L | D) of XOR and noisy XOR: jumps against annealing, which never jumps, for every size with at least
0.5 % of the mass; and the wrong schemes beside them.

The short version has three points a cloud. The long one has the 200 points of Berezowski 2021 with widths from 1 to
16, under the uniform prior and, so that both ends are seen, under one that falls, and depths from 1 to 4. On 200 noisy
points chains over depth do not mix: the main modes of three and four layers are hardly ever left (of 96 chains that
started in draws of annealing 74 made no jump in 200,000 tries), and from the prior not found in a million. There depth
is compared on 20 and 80 noisy points, and annealing with itself.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import stats

import engine
from datasets.xor import NOISY_VARIANCE, VARIANCE, xor
from engine.evidence import EvidenceSpec, architecture_evidence
from engine.jumps.settings import log_size_prior

LEAST_MASS = 0.005
NOISE = {"xor": VARIANCE, "noisy": NOISY_VARIANCE}
FEW = {"width": engine.network(2, 2, width=(1, 5), temper=2.0), "depth": engine.network(2, 2, width=2, depth=(1, 3))}
ALL = {"width": engine.network(2, 2, width=(1, 16), temper=0.5), "depth": engine.network(2, 2, width=3, depth=(1, 4), temper=0.5)}
DEEP = EvidenceSpec(particles=128, moves=40, seed=4)
QUICK = EvidenceSpec(particles=128, islands=12, moves=3, seed=4)


@functools.cache
def exact(network: engine.Network, noise: str, corner: int, spec: EvidenceSpec):
    x, y, _ = xor(corner, NOISE[noise], seed=1)
    return architecture_evidence(network, x, y, spec)


def size_z(grows, network, noise, corner, spec, prior="uniform", **settings):
    """Errors of the shares of the sizes that have mass, in standard errors of both methods, and the chains' own errors.

    The chains are independent and start spread over all sizes: the spread of their shares is the error, as a normal
    deviate, however slowly each of them moves.
    """
    x, y, _ = xor(corner, NOISE[noise], seed=1)
    low, high = network.width if grows == "width" else network.depth
    known = exact(network, noise, corner, spec).probabilities(log_size_prior("prior", prior, low, high))
    chains = settings["chains"]
    starts = np.round(np.linspace(low, high, chains)).astype(int).tolist()
    recording = engine.sample_architecture(network, x, y, **{f"start_{grows}": starts, f"{grows}_prior": prior, "seed": 61, **settings})
    sizes = getattr(recording, grows)
    each = (sizes[:, :, None] == np.arange(low, high + 1)).mean(axis=1)
    judged = known.probability >= LEAST_MASS
    error = each.std(axis=0, ddof=1) / np.sqrt(chains)
    t = (each.mean(axis=0) - known.probability) / np.hypot(error, known.error)
    return stats.norm.isf(stats.t.sf(t, chains - 1))[judged], error[judged]


RUN = {"chains": 24, "draws": 500, "warmup": 60, "jumps": 30, "within": "hmc", "step_size": 0.25, "steps": 6}


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("grows", FEW)
def test_jumps_and_annealing_agree_on_a_few_points(grows, noise):
    z, error = size_z(grows, FEW[grows], noise, 3, QUICK, **RUN)
    assert len(z) >= 3 and error.max() < 0.0125
    assert np.abs(z).max() < 4, z


WRONG = {
    "no_jacobian": {"jump": "rescaled", "variant": "no_jacobian"},
    "no_end_points": {"variant": "no_end_points"},
    "slot_once": {"variant": "slot_once"},
    "no_kernel_densities": {"variant": "no_kernel_densities", "jumps": 1, "draws": 250},
    "as_coded": {"variant": "as_coded", "jumps": 1, "draws": 250},
}


@pytest.mark.parametrize("name", WRONG)
def test_every_wrong_scheme_disagrees(name):
    z, _ = size_z("width", FEW["width"], "xor", 3, QUICK, **{**RUN, **WRONG[name]})
    assert np.abs(z).max() > 5, z


# The long version: 200 points.


LONG = {"chains": 48, "draws": 200, "warmup": 200, "jumps": 100, "within": "nuts", "step_size": 0.1, "max_depth": 6}
PRIORS = {"uniform": "uniform", "falling": ("geometric", 0.4)}


@pytest.mark.long
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("noise", NOISE)
def test_jumps_and_annealing_agree_on_widths(noise, prior):
    z, error = size_z("width", ALL["width"], noise, 50, EvidenceSpec(seed=4), PRIORS[prior], **LONG)
    assert len(z) >= 5 and error.max() < 0.02
    assert np.abs(z).max() < 4, z


LAYERS = {"plain": {"jumps": 100, "draws": 300}, "annealed": {"jump": "annealed", "bridges": 16, "jumps": 2, "draws": 400}}


@pytest.mark.long
@pytest.mark.parametrize("jump", LAYERS)
@pytest.mark.parametrize("noise,corner", [("xor", 50), ("noisy", 5), ("noisy", 20)])
def test_jumps_and_annealing_agree_on_depths(noise, corner, jump):
    settings = {**LONG, "step_size": 0.07, **LAYERS[jump]}
    z, error = size_z("depth", ALL["depth"], noise, corner, DEEP, **settings)
    assert len(z) >= 2 and error.max() < 0.06
    assert np.abs(z).max() < 4, z


@pytest.mark.long
def test_annealing_of_deep_networks_with_enough_levels_knows_its_error():
    """On 200 noisy points, with the settings of the pages (20) and twice as many levels; with 4, which are enough for
    one hidden layer, the islands agree on less than a tenth of the evidence.
    """
    x, y, _ = xor(50, NOISE["noisy"], seed=1)
    network = engine.network(2, 2, width=3, depth=4, temper=0.5)

    def found(moves, islands, seed):
        spec = EvidenceSpec(particles=128, moves=moves, islands=islands, seed=seed)
        return architecture_evidence(network, x, y, spec).evidence[0]

    one, other = found(40, 16, 4), found(40, 16, 5)
    assert max(one.error, other.error) < 0.2
    assert abs(one.log_evidence - other.log_evidence) < 4 * np.hypot(one.error, other.error)
    for seed in (4, 9, 11):
        page = found(20, 8, seed)
        t = abs(page.log_evidence - one.log_evidence) / np.hypot(page.error, one.error)
        assert stats.norm.isf(stats.t.sf(t, 8 - 1)) < 4, (seed, t)
        assert abs(page.log_evidence - one.log_evidence) < 0.5 and page.error < 0.5
    few = found(4, 8, 9)
    assert few.islands.std() < 0.6 and few.log_evidence < one.log_evidence - np.log(10.0)


@pytest.mark.long
@pytest.mark.parametrize("name", WRONG)
def test_every_wrong_scheme_disagrees_on_200_points(name):
    settings = {**LONG, **WRONG[name], "draws": 100}
    z, _ = size_z("width", ALL["width"], "xor", 50, EvidenceSpec(seed=4), **settings)
    assert np.abs(z).max() > 5, z
