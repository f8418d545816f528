"""Jumps that land: palindromic, tempered, annealed, delayed. With the likelihood on, against p(D | k) from prior draws
(prior recovery alone cannot see a wrong bridge: every weight is 1 there); the weights' means against ratios of
evidence; the ledger against a second implementation; every mutant caught.

What is proved where, of every exact jump (T: bridges or levels, λ: tempering, s: scale of the second draw, p: power of
the schedule; k: units, L: layers; "long" runs with `make test-long`). Plain and rescaled jumps are in test_jumps.

    test                     plain       palindromic  tempered           annealed              delayed
    p(size | tiny XOR)       k, L        k, L         k: T 1 λ 0.3,      k: T 1, 4, 12 (p 2),  k: s 0.2, 0.5, from
                             and         (here)       T 3 λ 0.1, short   32, long steps;       scratch, informed s 1,
                             rescaled                 steps; L: T 2      L: T 5 (p 2)          1.5; L: s 0.7
    prior recovery           k, L, both  k, both      k: T 2;            k: T 4, 16, scaled;   k: s 0.2, 0.5, 1.5,
                                                      both: T 1          both: T 3             scaled, informed; both
    joint distribution       k, L,       k            k: T 2; L: T 1     k, L: T 3;            k: s 0.5, informed;
    (Geweke)                 Gaussian                                    Gaussian: T 3         L; Gaussian: informed
    calibration (long;       k, L, both  k, L, both   k, L, both:        k, L, both:           k, L, both: s 0.2, 0.5,
    plain: also short)       rescaled                 T 1, T 3           T 2, T 12             1.5; k: informed
    ledger, second code      k, L        k            k: T 1             k, L: T 4             k: narrow, informed
    E[weight] = evidence     –           –            –                  k: T 1, 3, 8; L: T 4  –
    acceptance in the limit  –           = plain      λ 1 = palindrome   T 1, 8, 64            –
    mutants that fail        4, as_coded densities    densities          old level: k, L       rejection, auxiliary
    against annealing, 200   k, L (long) –            –                  L: T 16 (long)        –

That as many births are accepted as deaths, cell by cell, holds for a chain that settles at the wrong distribution, too:
no mutant above is seen by it, so it is no proof and stands here for no jump.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import stats

import engine
from engine import judge
from engine.diagnostics import ess_mean
from engine.jumps import FACTORS
from tests.engine.networks import reference
from tests.exactness.test_jumps import (
    GEWEKE,
    RUNS,
    TINY_X,
    TINY_Y,
    assert_joint_distribution,
    assert_unbiased,
    evidence,
    log_sizes,
    prior_run,
    weights_by_layer,
)

WIDTHS = engine.network(2, 2, width=(1, 3), temper=2.0)
DEPTHS = engine.network(2, 2, width=2, depth=(1, 3), temper=2.0)

# p(D | 1, 2, 3), the standard errors, and the posterior mean of the square of the last bias: 10 million prior draws
# each, as `test_the_numbers_are_those_of_prior_draws` makes them.
EXACT = {
    "width": (
        (6.23154062194e-4, 4.50139111599e-4, 3.62291897140e-4),
        (3.61461468e-7, 3.92767719e-7, 4.88790201e-7),
        (0.616654078605, 0.687464864049, 0.742848522799),
    ),
    "depth": (
        (4.50139111599e-4, 6.00369800887e-4, 6.69332755733e-4),
        (3.92767719e-7, 5.08079253e-7, 5.28794555e-7),
        (0.687464864049, 0.724665414878, 0.731884143676),
    ),
}


def from_prior_draws(kind, n):
    sizes = [engine.network(2, 2, **({"width": k} if kind == "width" else {"width": 2, "depth": k}), temper=2.0) for k in (1, 2, 3)]
    return tuple(zip(*(evidence(network, TINY_X, TINY_Y, n) for network in sizes), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("kind", EXACT)
def test_the_numbers_are_those_of_prior_draws(kind):
    values, errors, moments = from_prior_draws(kind, 10_000_000)
    np.testing.assert_allclose(values, EXACT[kind][0], rtol=1e-6)
    np.testing.assert_allclose(errors, EXACT[kind][1], rtol=1e-6)
    np.testing.assert_allclose(moments, EXACT[kind][2], rtol=1e-6)


def shares(kind):
    """p(k | D) and its standard error."""
    values, errors = np.array(EXACT[kind][0]), np.array(EXACT[kind][1])
    share = values / values.sum()
    relative = errors / values
    spread = np.sqrt(((np.eye(3) - share) ** 2 * relative**2).sum(axis=1))
    return share, share * spread


@functools.cache
def tiny(kind, draws, jumps, **settings):
    return engine.sample_architecture(
        WIDTHS if kind == "width" else DEPTHS,
        TINY_X,
        TINY_Y,
        chains=2,
        draws=draws,
        warmup=300,
        jumps=jumps,
        seed=51,
        **{"within": "hmc", **settings},
    )


def tiny_run(kind, draws, jumps, settings):
    return tiny(kind, draws, jumps, **settings)


def size_z(kind, recording):
    """Error of the share of each size, in standard errors of both sides; and those of the chain."""
    sizes = recording.width if kind == "width" else recording.depth
    share, error = shares(kind)
    z, mcse = np.empty(3), np.empty(3)
    for k in (1, 2, 3):
        here = (sizes == k).astype(float)
        mcse[k - 1] = here.std() / np.sqrt(ess_mean(here))
        z[k - 1] = (here.mean() - share[k - 1]) / np.hypot(mcse[k - 1], error[k - 1])
    return z, mcse


FAR = 4.8  # in standard errors: of the sizes in all tests below, one right one in 10,000 tables is further off

# name: (what varies, sweeps, jumps in each, settings)
LANDING = {
    "palindromic": ("width", 6_000, 2, {"jump": "palindromic"}),
    "layers, palindromic": ("depth", 8_000, 2, {"jump": "palindromic"}),
    "tempered": ("width", 6_000, 6, {"jump": "tempered", "bridges": 1, "tempering": 0.3}),
    "tempered, short steps": ("width", 6_000, 6, {"jump": "tempered", "bridges": 1, "jump_step_size": 0.05}),
    "tempered, 3 levels": ("width", 6_000, 4, {"jump": "tempered", "bridges": 3, "tempering": 0.1, "jump_moves": 2}),
    "annealed, T = 1": ("width", 6_000, 8, {"jump": "annealed", "bridges": 1}),
    "annealed, T = 4": ("width", 6_000, 6, {"jump": "annealed", "bridges": 4, "jump_steps": 3}),
    "annealed, T = 12": ("width", 6_000, 3, {"jump": "annealed", "bridges": 12, "bridge_power": 2.0}),
    "annealed, T = 32": ("width", 3_000, 3, {"jump": "annealed", "bridges": 32, "jump_steps": 3}),
    "annealed, long steps": ("width", 6_000, 6, {"jump": "annealed", "bridges": 4, "jump_step_size": 1.0}),
    "delayed": ("width", 8_000, 8, {"jump": "delayed"}),
    "delayed, very narrow": ("width", 8_000, 8, {"jump": "delayed", "second_scale": 0.2}),
    "delayed, from scratch": ("width", 8_000, 8, {"jump": "delayed", "keep_outputs": False}),
    "delayed, informed": ("width", 8_000, 8, {"jump": "delayed", "second": "informed"}),
    "delayed, informed, wide": ("width", 8_000, 8, {"jump": "delayed", "second": "informed", "second_scale": 1.5}),
    "layers, tempered": ("depth", 6_000, 5, {"jump": "tempered", "bridges": 2}),
    "layers, annealed": ("depth", 6_000, 4, {"jump": "annealed", "bridges": 5, "bridge_power": 2.0}),
    "layers, delayed": ("depth", 8_000, 8, {"jump": "delayed", "second_scale": 0.7}),
}


@pytest.mark.parametrize("name", LANDING)
def test_architectures_have_their_posterior_probability(name):
    kind, draws, jumps, settings = LANDING[name]
    recording = tiny_run(kind, draws, jumps, settings)
    z, mcse = size_z(kind, recording)
    assert mcse.max() < 0.01
    assert np.abs(z).max() < FAR, z
    for k in (1, 2, 3):
        draws = recording.by_architecture()[(k, 1) if kind == "width" else (2, k)]
        assert abs((draws[:, -1] ** 2).mean() / EXACT[kind][2][k - 1] - 1.0) < 0.1


MUTANTS = {
    "annealed, old level": ("width", 6_000, 6, {"jump": "annealed", "bridges": 3, "variant": "old_level"}),
    "layers, annealed, old level": ("depth", 6_000, 6, {"jump": "annealed", "bridges": 3, "variant": "old_level"}),
    "tempered, no densities": ("width", 6_000, 6, {"jump": "tempered", "bridges": 2, "tempering": 0.1, "variant": "no_kernel_densities"}),
    "delayed, no rejection terms": ("width", 8_000, 8, {"jump": "delayed", "variant": "no_rejection_terms"}),
    "delayed, no auxiliary": ("width", 8_000, 8, {"jump": "delayed", "variant": "no_auxiliary"}),
    "as coded": ("width", 1_500, 1, {"jump": "as_coded"}),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name):
    kind, draws, jumps, settings = MUTANTS[name]
    z, _ = size_z(kind, tiny_run(kind, draws, jumps, settings))
    assert np.abs(z).max() > judge.Z_LIMIT, z


def test_a_palindrome_without_its_kernel_densities_lets_through_what_its_moves_improve():
    """One mistake of the published code alone: the moves around the jump raise the likelihood of what is accepted."""
    right, wrong = (
        tiny_run("width", 4_000, 2, {"jump": "palindromic", "variant": variant, "within": "hmc"})
        for variant in ("exact", "no_kernel_densities")
    )
    z, _ = size_z("width", wrong)
    difference = wrong.log_likelihood.mean() - right.log_likelihood.mean()
    error = np.hypot(*(r.log_likelihood.std() / np.sqrt(ess_mean(r.log_likelihood)) for r in (right, wrong)))
    assert max(np.abs(z).max(), abs(difference) / error) > 6, (z, difference / error)


# The weights.


def weights(recording, kind, size, birth):
    """Weights of all jumps proposed by births from `size` (or deaths), in order of happening."""
    ledger = recording.ledger
    sizes = ledger.width if kind == "width" else ledger.depth
    here = (sizes == size) & (ledger.move % 2 == (0 if birth else 1))
    return np.exp(ledger.factors[..., 0][here])


@pytest.mark.parametrize("kind,bridges", [("width", 1), ("width", 3), ("width", 8), ("depth", 4)])
def test_mean_weights_are_ratios_of_evidence(kind, bridges):
    """Annealed importance sampling: a birth that starts in the posterior of k has a mean weight of
    r = p(D | k+1) / p(D | k), whatever the number of bridges; a death back the reciprocal. Rare weights are large, so
    that means of them tell little; with s(w) = w / (1 + w) births and deaths also have E[s(w / r)] = E[s(r w)], of
    numbers below 1 (Bennett 1976, who solves this for r).
    """
    recording = tiny_run(kind, 4_000, 4, {"jump": "annealed", "bridges": bridges, "detail": "jumps"})
    values = EXACT[kind][0]
    for size in (1, 2):
        ratio = values[size] / values[size - 1]
        z = evidence_z(recording, kind, size, ratio)
        assert abs(z) < 4.5, (size, z)
        assert min(abs(evidence_z(recording, kind, size, off * ratio)) for off in (0.8, 1.25)) > 4.5, "no power"


def evidence_z(recording, kind, size, ratio):
    """How far a ratio of evidence is from what births from `size` and deaths back to it say, in standard errors."""
    births, deaths = weights(recording, kind, size, True) / ratio, weights(recording, kind, size + 1, False) * ratio
    shares = births / (1.0 + births), deaths / (1.0 + deaths)
    error = np.sqrt(sum(share.var() / ess_mean(share[None]) for share in shares))
    return (shares[0].mean() - shares[1].mean()) / error


def test_many_bridges_drive_acceptance_towards_the_odds():
    """min(1, p(D | 2) / p(D | 1) x d(2) / b(1)) for a birth from one unit, and so on."""
    values = EXACT["width"][0]
    limits = {
        (1, 0): values[1] / values[0] * 0.5,
        (2, 1): values[0] / values[1] * 2.0,
        (2, 0): values[2] / values[1] * 2.0,
        (3, 1): values[1] / values[2] * 0.5,
    }
    distance = []
    for bridges, moves, draws in ((1, 1, 4_000), (8, 1, 4_000), (64, 2, 700)):
        recording = tiny_run("width", draws, 4, {"jump": "annealed", "bridges": bridges, "jump_moves": moves, "detail": "jumps"})
        ledger = recording.ledger
        found = [ledger.accepted[(ledger.width == k) & (ledger.move == move)].mean() for k, move in limits]
        distance.append(np.abs(np.array(found) - np.minimum(1.0, list(limits.values()))))
    assert np.all(distance[0] > distance[1]) and np.all(distance[1] > distance[2] - 0.03)
    assert distance[2].max() < 0.06 < 0.2 < distance[0].max(), distance


def test_palindromic_and_plain_accept_the_same():
    """The theorem: moves at the same target around a jump do not raise its acceptance."""
    for move in ("neuron birth", "neuron death"):
        accepted = []
        for jump, jumps in (("plain", 8), ("palindromic", 2)):
            recording = tiny_run("width", 4_000, jumps, {"jump": jump})
            which = engine.jumps.MOVES.index(move)
            share = recording.jumped[..., which].sum() / recording.proposed[..., which].sum()
            series = recording.jumped[..., which] - share * recording.proposed[..., which]
            error = series.std() / np.sqrt(ess_mean(series)) / recording.proposed[..., which].mean()
            accepted.append((share, error))
        (a, ea), (b, eb) = accepted
        assert abs(a - b) < 4 * np.hypot(ea, eb), (move, accepted)


def test_tempered_at_power_one_is_a_palindrome():
    recording = tiny_run("width", 3_000, 4, {"jump": "tempered", "bridges": 1, "tempering": 1.0, "detail": "jumps"})
    weight = recording.ledger.bridge_log_weight
    np.testing.assert_allclose(weight[..., 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(weight[..., 2], 0.0, atol=1e-12)
    assert np.abs(size_z("width", recording)[0]).max() < 4


# Prior recovery and the joint test.

RECOVERIES = {
    "palindromic": ({"width": (1, 6), "jump": "palindromic"}, 3_000, 4),
    "palindromic, both": ({"width": (1, 3), "depth": (1, 3), "jump": "palindromic"}, 3_000, 4),
    "tempered": ({"width": (1, 6), "jump": "tempered", "bridges": 2}, 4_000, 6),
    "tempered, both": ({"width": (1, 3), "depth": (1, 3), "jump": "tempered", "bridges": 1}, 4_000, 6),
    "annealed": ({"width": (1, 6), "jump": "annealed", "bridges": 4}, 4_000, 6),
    "annealed, T = 16": ({"width": (1, 6), "jump": "annealed", "bridges": 16, "jump_steps": 3}, 3_000, 3),
    "annealed, scaled": ({"width": (1, 5), "jump": "annealed", "bridges": 3, "scale_by_width": True}, 4_000, 6),
    "annealed, both": ({"width": (1, 3), "depth": (1, 3), "jump": "annealed", "bridges": 3, "scale_by_width": True}, 4_000, 6),
    "delayed": ({"width": (1, 6), "jump": "delayed"}, 6_000, 10),
    "delayed, very narrow": ({"width": (1, 6), "jump": "delayed", "second_scale": 0.2}, 6_000, 10),
    "delayed, wide": ({"width": (1, 6), "jump": "delayed", "second_scale": 1.5}, 6_000, 10),
    "delayed, scaled, geometric": (
        {"width": (2, 6), "jump": "delayed", "scale_by_width": True, "width_prior": ("geometric", 0.6)},
        6_000,
        10,
    ),
    "delayed, informed": ({"width": (1, 5), "jump": "delayed", "second": "informed", "scale_by_width": True}, 6_000, 10),
    "delayed, both": ({"width": (1, 3), "depth": (1, 3), "jump": "delayed"}, 6_000, 10),
}


@pytest.mark.parametrize("name", RECOVERIES)
def test_prior_recovery(name):
    """Each run begins at a draw of the prior, so that runs are independent and unbiased however slowly sizes change: t
    tests over them.
    """
    case, sweeps, jumps = RECOVERIES[name]
    recording, averages = prior_run(case, sweeps // RUNS, jumps, chains=RUNS), {}
    network = recording.run.network
    widths = network.width
    log_width = log_sizes(case.get("width_prior", "uniform"), *widths)
    for which, sizes, log_prior in (("width", recording.width, log_width), ("depth", recording.depth, np.zeros(3))):
        if np.ptp(sizes):
            prior = np.exp(log_prior - np.logaddexp.reduce(log_prior))
            for size, share in zip(range(sizes.min(), sizes.max() + 1), prior, strict=True):
                averages[which, size] = (sizes == size).mean(axis=1) - share
    assert_unbiased(averages)
    for values in weights_by_layer(recording, case.get("scale_by_width", False)).values():
        assert stats.kstest(values, "norm").pvalue > 1e-5
        assert abs((values**2).mean() - 1.0) * np.sqrt(len(values) / 2.0) < 4.5


JOINT = {
    "bernoulli, palindromic": ("bernoulli", {"jump": "palindromic"}, 2_500),
    "bernoulli, tempered": ("bernoulli", {"jump": "tempered", "bridges": 2}, 2_500),
    "bernoulli, delayed, narrow": ("bernoulli", {"jump": "delayed"}, 5_000),
    "three classes, layers, delayed": ("three classes, layers", {"jump": "delayed"}, 5_000),
    "bernoulli, annealed": ("bernoulli", {"jump": "annealed", "bridges": 3, "jump_steps": 3}, 2_500),
    "bernoulli, delayed": ("bernoulli", {"jump": "delayed", "second": "informed"}, 5_000),
    "three classes, layers, annealed": ("three classes, layers", {"jump": "annealed", "bridges": 3}, 2_500),
    "three classes, layers, tempered": ("three classes, layers", {"jump": "tempered", "bridges": 1}, 2_500),
    "gaussian, hierarchical, annealed": ("gaussian, hierarchical", {"jump": "annealed", "bridges": 3}, 3_000),
    "gaussian, hierarchical, delayed": ("gaussian, hierarchical", {"jump": "delayed", "second": "informed"}, 5_000),
}


@pytest.mark.parametrize("name", JOINT)
def test_joint_distribution_of_parameters_and_data(name):
    model, settings, draws = JOINT[name]
    network, more = GEWEKE[model]
    assert_joint_distribution(network, np.zeros(4, dtype=int), draws, 52, **{"jumps": 4, **more, **settings})


# The ledger, against a second implementation in numpy.

X, Y = reference.samples(engine.network(2, 3, width=2), 30, seed=8)
THREE = engine.network(2, 3, width=(1, 4), temper=0.7)
DEEP = engine.network(2, 3, width=2, depth=(1, 3), temper=0.7)


def faded(network, theta, slot, level):
    """log likelihood with the output of the unit at `slot` scaled."""
    scaled = theta.copy()
    for layer, (weights, _) in enumerate(network.unpack(np.arange(network.dim)), start=1):
        if layer > 1:
            scaled[weights[:, slot].astype(int)] *= level
    return reference.log_likelihood(network, scaled, X, Y)


def without_last(network, theta):
    """The network without its last hidden layer, and its parameters."""
    small = engine.jumps.recording.architecture_of(network, network.width, network.depth - 1)
    split = network.dim - sum(network.layer_shapes[-1])
    lost = sum(network.layer_shapes[-2])
    return small, np.concatenate([theta[: split - lost], theta[split:]])


@pytest.mark.parametrize("layers", [False, True])
def test_ledger_of_annealed_jumps(layers):
    recording = engine.sample_architecture(
        DEEP if layers else THREE,
        X,
        Y,
        "annealed",
        chains=1,
        draws=120,
        seed=54,
        within="none",
        detail="jumps",
        bridges=4,
        bridge_power=1.5,
        jump_step_size=0.15,
    )
    ledger, levels = recording.ledger, (np.arange(5) / 4) ** 1.5
    before = [
        (int(recording.start_width[0]), int(recording.start_depth[0])),
        *zip(recording.width[0].tolist(), recording.depth[0].tolist(), strict=True),
    ]
    theta = recording.start[0]
    assert len(set(ledger.move[0, :, 0].tolist())) == 2
    for t in range(120):
        width, depth = before[t]
        birth, slot = ledger.move[0, t, 0] in (0, 2), int(ledger.slot[0, t, 0])
        large = recording.network(*((width, depth + birth) if layers else (width + birth, depth)))
        way = levels if birth else levels[::-1]
        np.testing.assert_array_equal(ledger.bridge_level[0, t, 0], way[1:])
        total = 0.0
        for row in range(4):
            at = ledger.bridge_position[0, t, 0, row, : large.dim]

            def log_density(level, at=at, large=large, slot=slot):
                if not layers:
                    return faded(large, at, slot, level)
                small, kept = without_last(large, at)
                return (1 - level) * reference.log_likelihood(small, kept, X, Y) + level * reference.log_likelihood(large, at, X, Y)

            gained = log_density(way[row + 1]) - log_density(way[row])
            np.testing.assert_allclose(ledger.bridge_log_weight[0, t, 0, row], gained, atol=1e-8)
            total += ledger.bridge_log_weight[0, t, 0, row]
            if not birth and row == 0:
                np.testing.assert_array_equal(at, theta[: large.dim])
        np.testing.assert_allclose(ledger.factors[0, t, 0, 0], total, atol=1e-12)
        explained(ledger, t)
        if ledger.accepted[0, t, 0]:
            theta = recording.draws[0, t]
            last = ledger.bridge_position[0, t, 0, -1, : large.dim]
            if birth:
                np.testing.assert_array_equal(last, theta[: large.dim])
        np.testing.assert_array_equal(recording.draws[0, t], theta)
        np.testing.assert_allclose(
            recording.log_likelihood[0, t],
            reference.log_likelihood(recording.network(*before[t + 1]), recording.theta(0, t), X, Y),
            atol=1e-9,
        )


def explained(ledger, t):
    """The decision follows from the factors."""
    total = 0.0
    for factor in ledger.factors[0, t, 0]:
        total += factor
    total += ledger.rejection[0, t, 0]
    assert ledger.log_ratio[0, t, 0] == total or np.isneginf(total)
    assert ledger.accepted[0, t, 0] == (ledger.uniform[0, t, 0] < np.exp(min(total, 0.0)))


@pytest.mark.parametrize("jump", ["tempered", "palindromic"])
def test_ledger_of_jumps_between_moves(jump):
    """After Al-Awadhi, Hurn and Jennison 2004: [pi / rho](theta*) [rho(theta') / rho(theta~)] [rho / pi](theta)."""
    recording = engine.sample_architecture(
        THREE, X, Y, jump, chains=1, draws=100, seed=55, within="hmc", step_size=0.1, detail="jumps", bridges=1, tempering=0.4
    )
    ledger, power = recording.ledger, 0.4 if jump == "tempered" else 1.0
    for t in range(100):
        small = recording.network(int(ledger.width[0, t, 0]), 1)
        birth, slot = ledger.move[0, t, 0] == 0, int(ledger.slot[0, t, 0])
        other = recording.network(small.width + (1 if birth else -1), 1)
        tilde, prime, star = (ledger.bridge_position[0, t, 0, row, : network.dim] for row, network in enumerate((small, other, other)))
        at_tilde, at_prime, at_star = (
            reference.log_likelihood(network, theta, X, Y) for network, theta in ((small, tilde), (other, prime), (other, star))
        )
        if jump == "palindromic":
            np.testing.assert_allclose(ledger.factors[0, t, 0, 0], at_prime - at_tilde, atol=1e-8)
        else:
            middle = power * (at_prime - at_tilde)
            np.testing.assert_allclose(ledger.bridge_log_weight[0, t, 0, 1], middle, atol=1e-8)
            up = (1 - power) * at_star
            np.testing.assert_allclose(ledger.bridge_log_weight[0, t, 0, 2], up, atol=1e-8)
            np.testing.assert_allclose(ledger.factors[0, t, 0, 0], ledger.bridge_log_weight[0, t, 0].sum(), atol=1e-12)
        born = ledger.parameters[0, t, 0]
        kept = (other if birth else small).unpack(prime if birth else tilde)
        np.testing.assert_array_equal(np.concatenate([kept[0][0][slot], [kept[0][1][slot]], kept[1][0][:, slot]]), born)
        explained(ledger, t)
        if ledger.accepted[0, t, 0]:
            np.testing.assert_array_equal(recording.theta(0, t), star)


def log_second(network, theta, slot, scale, informed):
    """log g2 of the unit at `slot`."""
    sd = network.prior_sd
    (w, b), (v, c) = network.unpack(theta)
    inner = stats.norm.logpdf([*w[slot], b[slot]], scale=sd).sum()
    if not informed:
        return inner + stats.norm.logpdf(v[:, slot], scale=scale * sd).sum()
    h = np.tanh(X @ w.T + b)
    z = np.delete(h, slot, 1) @ np.delete(v, slot, 1).T + c
    p = np.exp(network.temper * z)
    p /= p.sum(axis=1, keepdims=True)
    slope = network.temper * h[:, slot] @ (np.eye(3)[Y] - p)
    weight = network.temper**2 * h[:, slot] ** 2
    bend = np.diag(weight @ p) - (weight[:, None] * p).T @ p
    covariance = np.linalg.inv(bend + np.eye(3) / sd**2)
    return inner + stats.multivariate_normal.logpdf(v[:, slot], covariance @ slope, scale**2 * covariance)


@pytest.mark.parametrize("second", ["narrow", "informed"])
def test_ledger_of_delayed_jumps(second):
    recording = engine.sample_architecture(
        THREE, X, Y, "delayed", chains=1, draws=200, seed=56, within="none", detail="jumps", second=second, second_scale=0.8
    )
    ledger, theta, width = recording.ledger, recording.start[0], int(recording.start_width[0])
    seen = set()

    def placed(base, large, slot, unit):
        """The large network with `unit` at `slot` in place of what is there, or inserted in base."""
        (w, b), (v, c) = [(a.copy(), d.copy()) for a, d in large.unpack(base)]
        w[slot], b[slot], v[:, slot] = unit[:2], unit[2], unit[3:]
        return np.concatenate([w.ravel(), b, v.ravel(), c])

    def log_refused(log_ratio):
        with np.errstate(divide="ignore"):
            return np.log1p(-min(1.0, np.exp(log_ratio)))

    for t in range(200):
        birth, slot = ledger.move[0, t, 0] == 0, int(ledger.slot[0, t, 0])
        here = recording.network(width, 1)
        small, large = (here, recording.network(width + 1, 1)) if birth else (recording.network(width - 1, 1), here)
        k = small.width
        x = theta[: here.dim]
        if birth:
            base = insert(here, x, slot)
        else:
            base = x
            (w, b), (v, c) = here.unpack(x)
            x = np.concatenate([np.delete(w, slot, 0).ravel(), np.delete(b, slot), np.delete(v, slot, 1).ravel(), c])
        constant = np.log((1.0 if k + 1 == 4 else 0.5) / (1.0 if k == 1 else 0.5))
        at_x = reference.log_likelihood(small, x, X, Y)

        def log_first(unit, base=base, large=large, slot=slot, constant=constant, at_x=at_x):
            """log R1(x, y)."""
            return reference.log_likelihood(large, placed(base, large, slot, unit), X, Y) - at_x + constant

        one, two = ledger.stage_parameters[0, t, 0]
        sign = 1.0 if birth else -1.0
        np.testing.assert_allclose(ledger.stage_log_ratio[0, t, 0, 0], sign * log_first(one), atol=1e-8)
        reached = not np.isnan(ledger.stage_log_ratio[0, t, 0, 1])
        assert reached == (ledger.stage_uniform[0, t, 0, 0] >= np.exp(min(0.0, sign * log_first(one))))
        seen.add((bool(birth), reached, bool(ledger.accepted[0, t, 0])))
        if reached:
            u1, u2 = (one, two) if birth else (two, one)
            large_theta = placed(base, large, slot, u2)
            ratio = log_first(u2) + stats.norm.logpdf(u2).sum() - log_second(large, large_theta, slot, 0.8, second == "informed")
            with np.errstate(invalid="ignore"):
                ratio += log_refused(-log_first(u2)) - log_refused(log_first(u1))
            np.testing.assert_allclose(ledger.stage_log_ratio[0, t, 0, 1], sign * ratio, atol=1e-7)
            back = -log_first(u2) if birth else log_first(u1)
            np.testing.assert_allclose(ledger.back_log_ratio[0, t, 0, 0], back, atol=1e-8)
        assert ledger.log_ratio[0, t, 0] == ledger.stage_log_ratio[0, t, 0, int(reached)]
        explained(ledger, t)
        if ledger.accepted[0, t, 0]:
            theta = placed(base, large, slot, ledger.stage_parameters[0, t, 0, int(reached)]) if birth else x
            width = (large if birth else small).width
        np.testing.assert_allclose(recording.theta(0, t), theta[: recording.network(width, 1).dim], atol=1e-12)
    assert len(FACTORS) == 8 and {(True, True, True), (False, True, True), (True, False, True)} <= seen


def insert(network, theta, slot):
    """The parameters of one unit more, zeros at `slot`."""
    (w, b), (v, c) = network.unpack(theta)
    return np.concatenate([np.insert(w, slot, 0.0, 0).ravel(), np.insert(b, slot, 0.0), np.insert(v, slot, 0.0, 1).ravel(), c])
