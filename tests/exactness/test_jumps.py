"""Do the jumps leave the posterior alone? Prior recovery, the joint test, p(k | D) against prior draws, the balance of
births and deaths, the ledger against a second implementation; and every wrong scheme fails.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import engine
from engine.diagnostics import ess_mean
from engine.jumps import FACTORS, start_architecture
from engine.networks.mlp import HEADER
from engine.networks.passes import ROW
from tests.engine.networks import reference

NO_X, NO_Y = np.zeros((0, 2)), np.zeros(0, dtype=int)
TINY_X = np.array([[-0.6, -0.4], [-0.4, -0.6], [0.5, 0.6], [0.6, 0.4], [-0.5, 0.4], [-0.6, 0.6], [0.4, -0.5], [0.6, -0.6]])
TINY_Y = np.array([0, 0, 0, 0, 1, 1, 1, 1])


def log_sizes(prior, low, high):
    """Log prior of a size, from scipy."""
    k = np.arange(low, high + 1)
    kind, number = prior if isinstance(prior, tuple) else (prior, None)
    log = {
        "uniform": lambda: np.zeros(len(k)),
        "geometric": lambda: stats.geom.logpmf(k, 1.0 - number),
        "poisson": lambda: stats.poisson.logpmf(k, number),
    }[kind]()
    return log - np.logaddexp.reduce(log)


# Prior recovery: with the likelihood off, the chain must return the prior of sizes and weights.

RECOVERIES = {
    "width": {"width": (1, 6)},
    "width, geometric": {"width": (2, 6), "width_prior": ("geometric", 0.6)},
    "width, Poisson, from scratch": {"width": (1, 6), "width_prior": ("poisson", 3.0), "keep_outputs": False},
    "width, rescaled": {"width": (1, 6), "jump": "rescaled"},
    "width, prior scaled by the width": {"width": (1, 5), "scale_by_width": True},
    "width, both": {"width": (1, 5), "jump": "rescaled", "scale_by_width": True},
    "width, split, prior scaled": {"width": (1, 5), "jump": "split", "scale_by_width": True},
    "width and depth, drawn anew": {"width": (1, 3), "depth": (1, 3), "jump": "redraw"},
    "depth": {"width": 2, "depth": (1, 4), "depth_prior": ("geometric", 0.7)},
    "width and depth": {"width": (1, 3), "depth": (1, 3), "jump": "rescaled", "scale_by_width": True},
}
SWEEPS, JUMPS = 12_000, 40


def prior_run(case, sweeps=SWEEPS, jumps=JUMPS, chains=1, **settings):
    case = {**case, **settings}
    network = engine.network(2, 2, width=case.pop("width"), depth=case.pop("depth", 1), prior_sd=1.3)
    within = {"within": "hmc", "step_size": 0.2, "steps": 10, **case}
    return engine.sample_architecture(network, NO_X, NO_Y, chains=chains, draws=sweeps, jumps=jumps, warmup=20, seed=31, **within)


def size_p_value(recording, case):
    """p-value of the chi-squared test of all architectures against their prior, sweeps taken as independent."""
    network = recording.run.network
    widths = network.width if isinstance(network.width, tuple) else (network.width,) * 2
    depths = network.depth if isinstance(network.depth, tuple) else (network.depth,) * 2
    width = np.exp(log_sizes(case.get("width_prior", "uniform"), *widths))
    depth = np.exp(log_sizes(case.get("depth_prior", "uniform"), *depths))
    counts = np.zeros((len(width), len(depth)))
    np.add.at(counts, (recording.width.ravel() - widths[0], recording.depth.ravel() - depths[0]), 1)
    return stats.chisquare(counts.ravel(), np.outer(width, depth).ravel() * counts.sum()).pvalue


def weights_by_layer(recording, scaled):
    """Every weight and bias of every draw over its prior sd: {(layer or "out", kind): values}."""
    values = {}
    for (width, depth), draws in recording.by_architecture().items():
        network = recording.network(width, depth)
        for layer, (weights, biases) in enumerate(network.unpack(draws), start=1):
            name = "out" if layer == depth + 1 else layer
            factor = np.sqrt(width) if scaled and layer > 1 else 1.0
            values.setdefault((name, "weights"), []).append((weights * factor / network.prior_sd).ravel())
            values.setdefault((name, "biases"), []).append((biases / network.prior_sd).ravel())
    return {name: np.concatenate(parts) for name, parts in values.items()}


@pytest.mark.parametrize("name", RECOVERIES)
def test_prior_recovery(name):
    case = RECOVERIES[name]
    recording = prior_run(case)
    assert recording.proposed.sum() >= 1e5
    assert size_p_value(recording, case) > 1e-4
    for values in weights_by_layer(recording, case.get("scale_by_width", False)).values():
        assert stats.kstest(values, "norm").pvalue > 1e-5
        assert abs(values.mean()) * np.sqrt(len(values)) < 4.5
        assert abs((values**2).mean() - 1.0) * np.sqrt(len(values) / 2.0) < 4.5
    # and single weights, architecture by architecture
    for (width, depth), draws in recording.by_architecture().items():
        network = recording.network(width, depth)
        sd = np.full(network.dim, network.prior_sd)
        if case.get("scale_by_width"):
            outgoing = [n.startswith("W") and not n.startswith("W1") for n in network.labels]
            sd[outgoing] /= np.sqrt(width)
        p_values = [stats.kstest(draws[:, j] / sd[j], "norm").pvalue for j in range(network.dim)]
        assert min(p_values) > 1e-6


def test_prior_recovery_of_precisions():
    network = engine.network(2, 1, width=2, depth=(1, 3), likelihood="gaussian")
    recording = engine.sample_architecture(
        network,
        NO_X,
        NO_Y,
        chains=1,
        draws=20_000,
        jumps=5,
        seed=32,
        weight_precision=(5.0, 4.0),
        noise_precision=(3.0, 2.0),
        within="hmc",
        step_size=0.2,
    )
    assert stats.chisquare(np.bincount(recording.depth[0, ::10])[1:]).pvalue > 1e-4
    for which in range(recording.precisions.shape[2]):
        values = recording.precisions[0, ::10, which]
        shape, rate = (3.0, 2.0) if which == recording.precisions.shape[2] - 1 else (5.0, 4.0)
        p_value = stats.kstest(values[~np.isnan(values)], stats.gamma(shape, scale=1 / rate).cdf).pvalue
        assert p_value > 1e-4, which


@pytest.mark.parametrize(
    "variant,jump,sweeps",
    [
        ("no_jacobian", "rescaled", 3000),
        ("no_end_points", "plain", 3000),
        ("slot_once", "plain", 3000),
        ("no_proposal", "split", 3000),
        ("slot_once", "split", 3000),
        ("no_proposal", "redraw", 3000),
        ("no_kernel_densities", "plain", 3000),
        ("as_coded", "plain", 2000),
    ],
)
def test_wrong_schemes_do_not_recover_the_prior(variant, jump, sweeps):
    slow = variant in ("no_kernel_densities", "as_coded")
    recording = prior_run({"width": (1, 6), "jump": jump}, sweeps, 1 if slow else JUMPS, variant=variant)
    if slow:  # dropped densities let through what NUTS has improved: weights come out too small
        assert mean_square_z(recording) < -8
    else:
        assert size_p_value(recording, {}) < 1e-6


def mean_square_z(recording):
    """Error of the mean square of the weights over the prior's, in Monte Carlo standard errors."""
    squares = np.nanmean((recording.draws / recording.run.network.prior_sd) ** 2, axis=2)
    return (squares.mean() - 1.0) * np.sqrt(ess_mean(squares)) / squares.std()


def test_the_judge_of_small_weights_passes_what_is_right():
    assert abs(mean_square_z(prior_run({"width": (1, 6)}, 3000, 1))) < 4


@pytest.mark.parametrize("jump,variant", [("plain", "no_jacobian"), ("rescaled", "exact")])
def test_a_jacobian_of_one_cannot_be_forgotten(jump, variant):
    recording = prior_run({"width": (1, 6), "jump": jump}, 3000, variant=variant)
    assert size_p_value(recording, {}) > 1e-4


# p(k | D) and the weights, against the evidence from prior draws.


def evidence(network, x, y, n=1_000_000, seed=0):
    """p(D) of one architecture as a mean over prior draws, its standard error, and E[last bias^2] in the posterior."""
    target, total, squares, moment = network.log_likelihood(x, y), 0.0, 0.0, 0.0
    for part in range(n // 100_000):
        theta = network.prior_draws(100_000, seed + part)
        likelihood = np.exp(target.log_density_many(theta))
        total, squares = total + likelihood.sum(), squares + (likelihood**2).sum()
        moment += (likelihood * theta[:, -1] ** 2).sum()
    mean = total / n
    return mean, np.sqrt((squares / n - mean**2) / n), moment / total


AGREEMENTS = {
    "plain": ((1, 3), 1, {}),
    "rescaled": ((1, 3), 1, {"jump": "rescaled", "within": "nuts"}),
    "layers": (2, (1, 3), {}),
    "from scratch": ((1, 3), 1, {"keep_outputs": False}),
    "split": ((1, 3), 1, {"jump": "split", "split_scale": 1.0, "jumps": 30}),
    "drawn anew": ((1, 3), 1, {"jump": "redraw"}),
    "layers, drawn anew": (2, (1, 3), {"jump": "redraw"}),
}


@pytest.mark.parametrize("name", AGREEMENTS)
def test_architectures_have_their_posterior_probability(name):
    width, depth, settings = AGREEMENTS[name]
    network = engine.network(2, 2, width=width, depth=depth, temper=2.0)
    recording = engine.sample_architecture(
        network, TINY_X, TINY_Y, chains=2, draws=20_000, warmup=500, seed=33, **{"within": "hmc", "jumps": 10, **settings}
    )
    sizes = recording.width if depth == 1 else recording.depth
    exact = [evidence(recording.network(k, 1) if depth == 1 else recording.network(width, k), TINY_X, TINY_Y) for k in (1, 2, 3)]
    values, errors = np.array([e[0] for e in exact]), np.array([e[1] for e in exact])
    for k in (1, 2, 3):
        share = values[k - 1] / values.sum()
        others = np.arange(3) != k - 1
        error = share * np.hypot((1 - share) * errors[k - 1] / values[k - 1], np.linalg.norm(errors[others]) / values.sum())
        here = (sizes == k).astype(float)
        mcse = here.std() / np.sqrt(ess_mean(here))
        assert mcse < 0.005
        assert abs(here.mean() - share) < 4 * np.hypot(mcse, error), k
        last = np.array([draw[-1] ** 2 for draw in recording.by_architecture()[(k, 1) if depth == 1 else (width, k)]])
        assert abs(last.mean() / exact[k - 1][2] - 1.0) < 0.05


# Geweke's joint test: draw the data given the parameters after every sweep; parameters and size then follow the prior.

GEWEKE = {
    "bernoulli": (engine.network(2, 1, width=(1, 3), likelihood="bernoulli", temper=2.0), {}),
    "three classes, layers": (engine.network(2, 3, width=(1, 2), depth=(1, 2)), {"jump": "rescaled"}),
    "gaussian, hierarchical": (
        engine.network(2, 1, width=(1, 3), likelihood="gaussian"),
        {"weight_precision": (5.0, 5.0), "noise_precision": (5.0, 5.0), "scale_by_width": True},
    ),
}


def redraw_data(run, rng):
    """Replace the data of the run by a draw given the parameters of its one chain."""
    state, network, n = run._chains[0].state, run.network, 4
    width, depth = int(state.ints[6]), int(state.ints[3])
    at = engine.jumps.recording.architecture_of(network, width, depth)
    z = reference.outputs(at, state.theta[: at.dim], TINY_X[::2])
    data = run.target.data
    data.flags.writeable = True
    row = data[HEADER + 2 * ROW : HEADER + 2 * ROW + n]
    if network.likelihood == "gaussian":
        row[:] = z[:, 0] + rng.standard_normal(n) / np.sqrt(state.precisions[-1])
    elif network.likelihood == "bernoulli":
        row[:] = 2.0 * (rng.random(n) < 1.0 / (1.0 + np.exp(-network.temper * z[:, 0]))) - 1.0
    else:
        p = np.exp(network.temper * z)
        row[:] = (rng.random(n)[:, None] > np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    data.flags.writeable = False


RUNS = 20  # independent ones: each begins at a draw of the prior, so that none is biased however slowly it moves
UNLIKELY = 1e-5  # p-value of the worst of all averages, times their number


def assert_unbiased(averages):
    """t tests over runs: `averages` (runs,) by name must have the mean 0, all at once."""
    p = {name: stats.ttest_1samp(found, 0.0).pvalue for name, found in averages.items()}
    worst = min(p, key=p.get)
    assert p[worst] * len(p) > UNLIKELY, (worst, p[worst], averages[worst])


def assert_joint_distribution(network, y, draws, seed, **settings):
    """Geweke: draw the data given the parameters after every sweep; sizes and parameters then follow the prior."""
    rng, recordings = np.random.default_rng(seed), []
    for run_seed in range(seed, seed + RUNS):
        run = start_architecture(
            network,
            TINY_X[::2],
            y,
            chains=1,
            draws=draws // RUNS,
            seed=run_seed,
            **{"within": "hmc", "step_size": 0.25, "steps": 6, **settings},
        )
        for _ in range(draws // RUNS):
            redraw_data(run, rng)
            run.advance(1)
        recordings.append(run.recording())
    architectures = np.array([found.width[0] * 100 + found.depth[0] for found in recordings])
    sizes = np.unique(architectures)
    averages = {f"share of {size}": (architectures == size).mean(axis=1) - 1.0 / len(sizes) for size in sizes}
    if "weight_precision" in settings:
        for which in (0, 1, 2, 3, -1):
            means = np.array([found.precisions[0, :, which].mean() for found in recordings])
            averages[f"precision {which}"] = means - 1.0
    else:  # of each parameter of each architecture, 0 where a run does not come by
        for i, found in enumerate(recordings):
            for sizes_here, theta in found.by_architecture().items():
                off = ((theta / network.prior_sd) ** 2 - 1.0).sum(axis=0) / found.width.shape[1]
                for j, each in enumerate(off):
                    averages.setdefault(f"square {j} of {sizes_here}", np.zeros(RUNS))[i] = each
    assert_unbiased(averages)


@pytest.mark.parametrize("name", GEWEKE)
def test_joint_distribution_of_parameters_and_data(name):
    network, settings = GEWEKE[name]
    assert_joint_distribution(network, np.zeros(4, dtype=int), 12_000, 34, **{"jumps": 2, **settings})


@pytest.mark.parametrize("variant", ["no_end_points", "slot_once", "no_kernel_densities"])
def test_the_joint_test_sees_wrong_jumps(variant):
    network, _ = GEWEKE["bernoulli"]
    with pytest.raises(AssertionError):
        assert_joint_distribution(network, np.zeros(4, dtype=int), 6_000, 34, jump="plain", jumps=2, variant=variant)


# Births and deaths balance.


def test_births_and_deaths_balance_in_every_cell():
    network = engine.network(2, 2, width=(1, 3), temper=2.0)
    recording = engine.sample_architecture(network, TINY_X, TINY_Y, chains=1, draws=300_000, within="none", seed=36, start_width=2)
    cell = 4 * recording.width[0] + np.digitize(recording.log_likelihood[0], [-5.6, -5.4, -5.0])
    flows = np.zeros((16, 16))
    np.add.at(flows, (cell[:-1], cell[1:]), 1)
    busy = (flows + flows.T > 200) & ~np.eye(16, dtype=bool)
    assert busy.sum() >= 12
    z = (flows - flows.T)[busy] / np.sqrt((flows + flows.T)[busy])
    assert np.abs(z).max() < 4.5


# The ledger, against a second implementation in numpy.


def grown(network, theta, slot, born, stretch):
    """The layers of a network with a unit inserted at `slot`, its parameters taken from `born` in order."""
    width, depth = network.width, network.depth
    wider = engine.jumps.recording.architecture_of(network, width + 1, depth)
    new = np.zeros(wider.dim, dtype=bool)
    for (weights, biases), layer in zip(wider.unpack(np.arange(wider.dim)), range(1, depth + 2), strict=True):
        if layer <= depth:
            new[weights[slot].astype(int)] = True
            new[biases[slot].astype(int)] = True
        if layer > 1:
            new[weights[:, slot].astype(int)] = True
    out = np.zeros(wider.dim)
    out[new] = born
    out[~new] = theta
    for (weights, _), layer in zip(wider.unpack(np.arange(wider.dim)), range(1, depth + 2), strict=True):
        if layer > 1:
            old = weights.astype(int).ravel()
            old = old[~new[old]]
            out[old] *= stretch
    return wider, out


def reference_factors(network, small, big, x, y, born, sizes):
    """The factors of the birth of a unit that leads from `small` to `big`, both (network, theta)."""
    k, low, high, scaled, rescaled, log_prior = sizes

    def weights_prior(net, theta):
        total = 0.0
        for layer, (weights, biases) in enumerate(net.unpack(theta), start=1):
            sd = net.prior_sd / np.sqrt(net.width if scaled and layer > 1 else 1)
            total += stats.norm.logpdf(weights, scale=sd).sum() + stats.norm.logpdf(biases, scale=net.prior_sd).sum()
        return total

    def new_density():
        flat = np.zeros(big[0].dim)
        _, placed = grown(small[0], np.full(small[0].dim, np.nan), born[0], born[1], 1.0)
        total = 0.0
        for layer, (weights, biases) in enumerate(big[0].unpack(placed), start=1):
            sd = big[0].prior_sd / np.sqrt(big[0].width if scaled and layer > 1 else 1)
            fresh = ~np.isnan(weights)
            total += stats.norm.logpdf(weights[fresh], scale=sd).sum()
            total += stats.norm.logpdf(biases[~np.isnan(biases)], scale=big[0].prior_sd).sum()
        assert flat.size == big[0].dim
        return total

    kept = small[0].outputs * k + (small[0].depth - 1) * k * k
    b = 1.0 if k == low else 0.5
    d = 1.0 if k + 1 == high else 0.5
    return [
        reference.log_likelihood(big[0], big[1], x, y) - reference.log_likelihood(small[0], small[1], x, y),
        log_prior[k + 1 - low] - log_prior[k - low],
        weights_prior(*big) - weights_prior(*small),
        -new_density(),
        np.log(k + 1),
        -np.log(k + 1),
        np.log(d / b),
        kept * np.log(np.sqrt(k / (k + 1))) if rescaled else 0.0,
    ]


@pytest.mark.parametrize(
    "depth,settings",
    [(1, {}), (1, {"jump": "rescaled", "scale_by_width": True, "width_prior": ("geometric", 0.5)}), (2, {"jump": "rescaled"})],
)
def test_ledger_of_units_explains_every_jump(depth, settings):
    x, y = reference.samples(engine.network(2, 3, width=2), 30, seed=5)
    network = engine.network(2, 3, width=(1, 4), depth=depth, temper=0.7)
    recording = engine.sample_architecture(network, x, y, chains=1, draws=150, seed=37, within="none", detail="jumps", **settings)
    ledger, log_prior = recording.ledger, log_sizes(settings.get("width_prior", "uniform"), 1, 4)
    theta, width = recording.start[0], int(recording.start_width[0])
    assert {0, 1} <= set(ledger.move[0, :, 0].tolist())
    for t in range(150):
        move, slot = int(ledger.move[0, t, 0]), int(ledger.slot[0, t, 0])
        assert ledger.width[0, t, 0] == width
        here = recording.network(width, depth)
        born = ledger.parameters[0, t, 0]
        born = born[~np.isnan(born)]
        if move == 0:
            stretch = np.sqrt(width / (width + 1)) if "jump" in settings else 1.0
            there, proposed = grown(here, theta[: here.dim], slot, born, stretch)
            small, big, k, sign = (here, theta[: here.dim]), (there, proposed), width, 1.0
        else:
            there = recording.network(width - 1, depth)
            stretch = np.sqrt(width / (width - 1)) if "jump" in settings else 1.0
            mark = grown(there, np.full(there.dim, np.nan), slot, born, 1.0)[1]
            kept = theta[: here.dim].copy()
            np.testing.assert_array_equal(kept[~np.isnan(mark)], born)
            proposed = kept[np.isnan(mark)]
            for layer, (weights, _) in enumerate(there.unpack(np.arange(there.dim)), start=1):
                if layer > 1:
                    proposed[weights.astype(int).ravel()] *= stretch
            small, big, k, sign = (there, proposed), (here, kept), width - 1, -1.0
        sizes = (k, 1, 4, settings.get("scale_by_width", False), "jump" in settings, log_prior)
        wanted = reference_factors(network, small, big, x, y, (slot, born), sizes)
        np.testing.assert_allclose(ledger.factors[0, t, 0], sign * np.array(wanted), atol=1e-9)
        total = 0.0
        for factor in ledger.factors[0, t, 0]:
            total += factor
        assert ledger.log_ratio[0, t, 0] == total
        accepted = ledger.uniform[0, t, 0] < np.exp(min(total, 0.0))
        assert ledger.accepted[0, t, 0] == accepted
        if accepted:
            theta, width = proposed, there.width
        assert recording.width[0, t] == width
        np.testing.assert_allclose(recording.theta(0, t), theta[: recording.network(width, depth).dim], rtol=1e-12)
        at = recording.network(width, depth)
        np.testing.assert_allclose(recording.log_likelihood[0, t], reference.log_likelihood(at, recording.theta(0, t), x, y), atol=1e-9)


def test_ledger_of_layers_explains_every_jump():
    x, y = reference.samples(engine.network(2, 1, width=2, likelihood="gaussian"), 10, seed=6)
    network = engine.network(2, 1, width=2, depth=(1, 3), likelihood="gaussian", noise_sd=3.0)
    recording = engine.sample_architecture(network, x, y, chains=1, draws=150, seed=38, within="none", detail="jumps")
    ledger, depth, theta = recording.ledger, int(recording.start_depth[0]), recording.start[0]
    for t in range(150):
        move = int(ledger.move[0, t, 0])
        here, there = recording.network(2, depth), recording.network(2, depth + (1 if move == 2 else -1))
        born, old = ledger.parameters[0, t, 0, :6], theta[: here.dim]
        split = here.dim - 3
        new = np.concatenate([old[:split], born, old[split:]] if move == 2 else [old[: split - 6], old[split:]])
        np.testing.assert_array_equal(born, born if move == 2 else old[split - 6 : split])
        sign, bottom = (1.0, depth) if move == 2 else (-1.0, depth - 1)
        density = stats.norm.logpdf(born).sum()
        wanted = [
            reference.log_likelihood(there, new, x, y) - reference.log_likelihood(here, old, x, y),
            0.0,
            sign * density,
            -sign * density,
            0.0,
            0.0,
            sign * np.log(0.5 if bottom == 1 else 2.0),
            0.0,
        ]
        np.testing.assert_allclose(ledger.factors[0, t, 0], wanted, atol=1e-9)
        if ledger.accepted[0, t, 0]:
            theta, depth = new, there.depth
        np.testing.assert_allclose(recording.theta(0, t), theta[: recording.network(2, depth).dim])
    assert len(FACTORS) == 8 and {2, 3} == set(ledger.move[0, :, 0].tolist())


def test_what_the_chain_keeps_does_not_drift():
    x, y = reference.samples(engine.network(2, 2, width=2), 200, seed=7)
    network = engine.network(2, 2, width=(1, 16), temper=0.5)
    kept, fresh = (
        engine.sample_architecture(network, x, y, chains=1, draws=100, jumps=2000, seed=39, within="none", keep_outputs=keep)
        for keep in (True, False)
    )
    np.testing.assert_array_equal(kept.width, fresh.width)
    np.testing.assert_array_equal(kept.draws, fresh.draws)
    assert np.abs(kept.log_likelihood - fresh.log_likelihood).max() < 1e-10
