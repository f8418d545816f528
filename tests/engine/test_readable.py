"""The readable twins give their kernels' draws: bit by bit where both see the same densities and the kernel rounds as
written, else to 1e-9. Each marked wrong line is the kernel's wrong variant, and differs from the right one."""

import ast
import dataclasses
import functools
import importlib
import math
import re
import types
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import linear, montecarlo, readable
from engine import training as engine_training
from engine.conjugate import beliefs
from engine.diagnostics import split_rhat
from engine.evidence.annealing import VARIANTS as ANNEALING
from engine.jumps import sample_architecture, toy
from engine.jumps.run import start_architecture
from engine.networks.prior import Prior
from engine.networks.scales import VARIANTS as SCALES
from engine.networks.scales import draw_means
from engine.networks.sweep import sample_network
from engine.readable import beside, coordinate_ascent, densities, monte_carlo, rejection
from engine.readable.advi import advi
from engine.readable.annealed_importance import annealed_importance
from engine.readable.backpropagation import PHI, backpropagation
from engine.readable.bayes_by_backprop import bayes_by_backprop
from engine.readable.bridges import bridges
from engine.readable.conjugate import conjugate
from engine.readable.convolution import convolution
from engine.readable.convolution import kl as kl_once
from engine.readable.delayed_jump import delayed_jump
from engine.readable.delayed_rejection import delayed_rejection
from engine.readable.dropout import dropout
from engine.readable.dual_averaging import dual_averaging
from engine.readable.evidence import evidence
from engine.readable.gibbs import gibbs
from engine.readable.hmc import hmc
from engine.readable.islands import islands
from engine.readable.laplace import draws, laplace
from engine.readable.layers import layers
from engine.readable.metropolis import metropolis
from engine.readable.neurons import flat, neurons
from engine.readable.nuts import State, nuts, transition
from engine.readable.optimisers import descend
from engine.readable.own_means import own_means
from engine.readable.palindrome import palindrome, split
from engine.readable.perceptron import perceptron
from engine.readable.polya_gamma import polya_gamma
from engine.readable.reversible_jump import reversible_jump
from engine.readable.rhat import rhat
from engine.readable.scales import scales
from engine.readable.slice_sampling import slice_sampling
from engine.readable.spike_and_slab import spike_and_slab
from engine.readable.spike_and_slab_network import spike_and_slab_network
from engine.readable.training import training
from engine.readable.uncertainty import uncertainty
from engine.rejection import BOUNDS, reject
from engine.samplers.chain import start_chain
from engine.samplers.islands import walk_islands
from engine.samplers.run import METHODS
from engine.scores import decompose
from engine.spike_and_slab.gibbs import polya_gamma as kernel_polya_gamma
from engine.spike_and_slab.gibbs import sample_models
from engine.spike_and_slab.model import LIKELIHOODS
from engine.targets import banana, gaussian, student
from engine.training import TrainingSpec
from engine.training.descent import descend as descent
from engine.training.nodes import VARIANTS as NODES
from engine.training.perceptron import learn
from engine.variational import VARIANTS as ADVI
from engine.variational import advi as advi_kernel
from engine.variational import cavi
from engine.variational.dropout import SCALINGS
from engine.variational.rows import logistic_regression
from lessons.conjugate.analysis import mistaken

FOLDER = Path(beside.__file__).parent
TWINS = [path.stem for path in sorted(FOLDER.glob("*.py")) if path.stem not in ("__init__", "beside", "densities")]
MOST_LINES = 80
N = 200
SOON = 80  # draws, for a step so long that rounding grows: after some 130 to 1e-9
RARE = 3000  # draws, for a wrong line that matters in one of some hundred
TARGETS = {"banana": banana(), "gaussian": gaussian(dimension=3), "student": student()}

# each wrong variant, and each way to run
SAMPLERS = [
    (metropolis, {"scale": 1.5}),
    (metropolis, {"scale": 0.8, "drift": 0.3}),
    (metropolis, {"scale": 0.8, "drift": 0.3, "variant": "no_hastings"}),
    (metropolis, {"scale": 2.5, "variant": "drop_rejections"}),
    (hmc, {"step_size": 0.4, "steps": 8}),
    (hmc, {"step_size": 0.4, "steps": 8, "jitter": 0.3, "mass": 2.0}),
    (hmc, {"step_size": 0.4, "steps": 5, "variant": "always_accept"}),
    (hmc, {"step_size": 0.2, "integrator": "swapped_kicks"}),
    (hmc, {"step_size": 0.2, "integrator": "euler"}),
    (nuts, {"step_size": 0.3}),
    (nuts, {"step_size": 0.3, "sampling": "slice"}),
    (nuts, {"step_size": 1.0, "max_energy_error": 0.3, "max_depth": 2}),
    (nuts, {"step_size": 0.3, "variant": "aliased_momentum"}),
    (nuts, {"step_size": 0.3, "variant": "aliased_momentum", "sampling": "slice"}),
    (nuts, {"step_size": 0.3, "variant": "reversed_dot"}),
    (nuts, {"step_size": 0.3, "variant": "reversed_dot", "sampling": "slice"}),
    (nuts, {"step_size": 0.6, "variant": "final_accept"}),
    (slice_sampling, {"w": 0.7}),
    (slice_sampling, {"w": 0.7, "limit": 3}),
    (slice_sampling, {"w": 0.7, "interval": "doubling"}),
    (slice_sampling, {"w": 4.0, "interval": "hyperrectangle"}),
    (slice_sampling, {"w": 2.0, "variant": "wrong_end"}),
    (slice_sampling, {"w": 0.3, "interval": "doubling", "variant": "no_test"}),
    (slice_sampling, {"w": 2.0, "variant": "fixed_side"}),
    (gibbs, {"update": "metropolis", "scale": 1.5}),
    (gibbs, {"update": "metropolis", "scale": 1.5, "scan": "random"}),
    (gibbs, {"scale": 0.4, "variant": "window"}),
    (delayed_rejection, {"scale": 3.0, "stages": 3, "pull": 0.3}),
    (delayed_rejection, {"scale": 3.0, "stages": 1}),
    (delayed_rejection, {"scale": 3.0, "stages": 3, "variant": "no_rejection_terms"}),
]
ROUNDS_AS_WRITTEN = {metropolis, hmc, slice_sampling, gibbs, delayed_rejection}


def named(value):
    return value.__name__ if callable(value) else "-".join(str(each) for each in value.values()) if isinstance(value, dict) else None


def of_kernel(twin, target, settings):
    """The kernel's first N draws."""
    held = {"mass": 1.0} if twin is nuts else {}
    return engine.sample(target, twin.__name__, chains=1, draws=N, seed=5, **held, **settings).draws[0]


def of_twin(twin, target, settings, plain=False, draws=N):
    """The twin's, on the kernel's compiled density or on one in plain NumPy."""
    log_pi = beside.with_gradient(target) if plain else target.log_density_and_gradient
    q, rng = beside.streams(target, 5)
    return twin(log_pi if twin in (hmc, nuts) else lambda x: log_pi(x)[0], q, draws, rng, **settings)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(("twin", "settings"), SAMPLERS, ids=named)
def test_a_sampler_draws_what_its_kernel_draws(twin, settings, name):
    target = TARGETS[name]
    compared = slice(SOON if twin is nuts and settings["step_size"] == 1.0 else N)
    theirs = of_kernel(twin, target, settings)[compared]
    ours = of_twin(twin, target, settings)[compared]
    if twin in ROUNDS_AS_WRITTEN:
        assert np.array_equal(ours, theirs)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    np.testing.assert_allclose(of_twin(twin, target, settings, plain=True)[compared], theirs, rtol=0, atol=1e-9)
    if settings.get("variant") and name == "banana":
        right = {key: value for key, value in settings.items() if key != "variant"}
        if twin is gibbs:
            right["update"] = "metropolis"  # the banana's conditionals are not known
        draws = RARE if settings["variant"] == "no_test" else N
        assert not np.allclose(of_twin(twin, target, right, draws=draws), of_twin(twin, target, settings, draws=draws))


@pytest.mark.parametrize("sampling", ["multinomial", "slice"])
def test_nuts_falls_from_far_away_as_the_kernel_does(sampling):
    """The first long step gains hundreds of nats: more than exp has room for."""
    target, start = gaussian(), np.array([150.0, -150.0])
    settings = {"step_size": 0.6, "sampling": sampling}
    theirs = engine.sample(target, "nuts", chains=1, draws=20, seed=5, mass=1.0, init=start[None], **settings).draws[0]
    rng = start_chain(target, np.random.SeedSequence(5).spawn(1)[0], start)[0].rng
    gained = np.diff([target.log_density(q) for q in (start, *theirs)]).max()
    assert gained > 1e4
    np.testing.assert_allclose(nuts(beside.with_gradient(target), start, 20, rng, **settings), theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("sampling", ["multinomial", "slice"])
def test_a_full_mass_matrix(name, sampling):
    target = TARGETS[name]
    A = beside.stream(7).standard_normal((target.dim, target.dim))
    mass, log_pi = np.eye(target.dim) + A @ A.T, beside.with_gradient(target)
    theirs = engine.sample(target, "nuts", chains=1, draws=N, seed=5, mass=mass, step_size=0.3, sampling=sampling).draws[0]
    q, rng = beside.streams(target, 5)
    np.testing.assert_allclose(nuts(log_pi, q, N, rng, 0.3, np.linalg.inv(mass), sampling=sampling), theirs, rtol=0, atol=1e-9)
    theirs = engine.sample(target, "hmc", chains=1, draws=N, seed=5, mass=mass, step_size=0.3, steps=6).draws[0]
    q, rng = beside.streams(target, 5)
    np.testing.assert_allclose(hmc(log_pi, q, N, rng, 0.3, 6, mass), theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("variant", ["exact", "no_hastings", "drop_rejections"])
def test_the_walk_over_islands(variant):
    for people in ([1.0, 2.0, 9.0, 4.0], [5.0, 1.0, 1.0], np.arange(1.0, 8.0)):
        ours = islands(people, 2, N, beside.stream(5), 0.3, variant)
        assert np.array_equal(ours, walk_islands(people, N, 5, p_right=0.3, start=2, variant=variant).draws)
        right = islands(people, 2, N, beside.stream(5), 0.3)
        assert np.array_equal(ours, right) == (variant == "exact")


def test_gibbs_draws_from_the_conditionals():
    target = TARGETS["gaussian"]
    for scan in ("systematic", "random"):
        theirs, (x, rng) = of_kernel(gibbs, target, {"scan": scan}), beside.streams(target, 5)
        ours = gibbs(None, x, N, rng, densities.gaussian_conditional(target), scan=scan)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    target = engine.targets.normal_gamma(mean=1.0, shape=4.0)
    _, mean, kappa, shape, rate = target.data

    def conditional(x, j):
        if j == 0:
            return "normal", mean, 1.0 / np.sqrt(kappa * x[1])
        return "gamma", shape + 0.5, rate + 0.5 * kappa * (x[0] - mean) ** 2

    theirs, (x, rng) = of_kernel(gibbs, target, {}), beside.streams(target, 5)
    np.testing.assert_allclose(gibbs(None, x, N, rng, conditional), theirs, rtol=0, atol=1e-9)


@pytest.mark.one_seed  # with others a path may be so long that it takes the digits with it
@pytest.mark.parametrize("name", TARGETS)
def test_the_step_size_and_the_mass_are_learnt_as_the_kernel_learns_them(name):
    """Each step size comes from all transitions before, so that the last digits of two runs soon differ, and then all:
    here every transition begins where the kernel's did."""
    target, warmup = TARGETS[name], 150
    run = engine.sample(target, "nuts", chains=1, draws=N - warmup, warmup=warmup, keep_warmup=True, seed=6)
    recorded = beside.with_warmup(run)
    log_pi, made = target.log_density_and_gradient, iter(recorded)

    def move(target, x, rng, epsilon, W):
        y, accept = transition(target, x, rng, epsilon, W)
        q = next(made)
        np.testing.assert_allclose(y.q, q, rtol=1e-9, atol=1e-9)
        log_density, g = log_pi(q)
        return State(q, None, log_density, g), accept

    q, rng = beside.streams(target, 6)
    draws, epsilons = dual_averaging(log_pi, q, N - warmup, rng, warmup, move=move)
    assert np.array_equal(draws, recorded)
    np.testing.assert_allclose(epsilons, np.concatenate([run.warmup.step_size[0], run.step_size[0]]), rtol=1e-9)


@pytest.mark.parametrize("variant", toy.VARIANTS)
@pytest.mark.parametrize("family", [{}, {"family": "polynomial", "models": 4}, {"likelihood": "off", "models": 5}], ids=str)
def test_reversible_jump(family, variant):
    spec = toy.ToySpec(chains=1, draws=N, birth=0.4, seed=5, variant=variant, **family)
    theirs, (theta, rng) = toy.record(spec), beside.nested_start(spec)
    k, ours = reversible_jump(toy.models_of(spec), spec.start, theta, N, rng, spec.birth, variant)
    assert np.array_equal(k, theirs.model[0])
    np.testing.assert_allclose(ours, theirs.theta[0], rtol=0, atol=1e-9)
    theta, rng = beside.nested_start(spec)
    right, _ = reversible_jump(toy.models_of(spec), spec.start, theta, N, rng, spec.birth)
    assert np.array_equal(k, right) == (variant == "exact")


@pytest.mark.parametrize(
    ("jump", "variant"),
    [
        *((jump, variant) for jump in ("plain", "rescaled") for variant in ("exact", "no_end_points", "slot_once", "no_jacobian")),
        *(("split", variant) for variant in ("exact", "no_end_points", "slot_once", "no_proposal")),
        *(("redraw", variant) for variant in ("exact", "no_end_points", "no_proposal")),
    ],
)
def test_births_and_deaths_of_units(jump, variant):
    settings = {"jump": jump, "chains": 1, "draws": 2 * N, "within": "none", "seed": 5}
    network, x, y = beside.small_network()
    for points in (0, 10, 40):  # without data the chain moves most
        run = start_architecture(network, x[:points], y[:points], variant=variant, **settings)
        theirs = sample_architecture(network, x[:points], y[:points], variant=variant, **settings)
        theta, rng, log_likelihood = beside.network_start(run)
        k, parts = neurons(log_likelihood, theta, 2 * N, rng, network.width, jump=jump, variant=variant)
        assert np.array_equal(k, theirs.width[0])
        for i in range(2 * N):
            np.testing.assert_allclose(np.concatenate([p.ravel() for p in parts[i]]), theirs.theta(0, i), rtol=0, atol=1e-9)
        theta, rng, _ = beside.network_start(run)
        right, _ = neurons(log_likelihood, theta, 2 * N, rng, network.width, jump=jump)
        same = variant == "exact" or (variant == "no_jacobian" and jump == "plain")
        assert not (same and not np.array_equal(k, right))
        assert same or points or not np.array_equal(k, right)


def test_moves_within_a_width():
    """The twin of the jump with that of HMC between two of them."""
    settings = {"chains": 1, "draws": N, "within": "hmc", "step_size": 0.05, "seed": 5}
    network, x, y = beside.small_network()
    theirs = sample_architecture(network, x, y, **settings)
    theta, rng, log_likelihood = beside.network_start(start_architecture(network, x, y, **settings))
    told = beside.log_likelihood_and_slopes(x, y)

    def within(theta, rng):
        shapes = [part.shape for part in theta]

        def posterior(q):
            value, slopes = told(split(q, shapes))
            return value - 0.5 * q @ q, flat(slopes) - q

        return split(hmc(posterior, flat(theta), 1, rng, 0.05, 10, jitter=0.1)[0], shapes)

    k, parts = neurons(log_likelihood, theta, N, rng, network.width, within=within)
    assert np.array_equal(k, theirs.width[0])
    same_networks(parts, theirs)


@pytest.mark.parametrize("variant", ["exact", "no_kernel_densities"])
def test_palindromic_jumps(variant):
    settings = {"chains": 1, "draws": N, "within": "hmc", "step_size": 0.05, "seed": 5}
    network, x, y = beside.small_network()
    for points in (4, 10, 40):
        run = start_architecture(network, x[:points], y[:points], "palindromic", variant=variant, **settings)
        theirs = sample_architecture(network, x[:points], y[:points], "palindromic", variant=variant, **settings)
        theta, rng, _ = beside.network_start(run)
        told = beside.log_likelihood_and_slopes(x[:points], y[:points])
        k, parts = palindrome(told, theta, N, rng, network.width, step_size=0.05, variant=variant)
        assert np.array_equal(k, theirs.width[0])
        for i in range(N):
            np.testing.assert_allclose(np.concatenate([p.ravel() for p in parts[i]]), theirs.theta(0, i), rtol=0, atol=1e-9)


def same_networks(parts, recording):
    """Whether networks are the kernel's, to 1e-9."""
    for i, theta in enumerate(parts):
        np.testing.assert_allclose(np.concatenate([p.ravel() for p in theta]), recording.theta(0, i), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("jump", "variant"), [("annealed", "exact"), ("annealed", "old_level"), ("tempered", "exact"), ("tempered", "no_kernel_densities")]
)
def test_jumps_over_bridges(jump, variant):
    settings = {"chains": 1, "draws": 60, "within": "none", "bridges": 3, "jump_step_size": 0.1, "jump_steps": 3, "seed": 5}
    network, x, y = beside.small_network()
    for points in (4, 10, 40):
        theirs = sample_architecture(network, x[:points], y[:points], jump, variant=variant, **settings)
        theta, rng, _ = beside.network_start(start_architecture(network, x[:points], y[:points], jump, variant=variant, **settings))
        told = beside.log_likelihood_and_slopes(x[:points], y[:points])
        k, parts = bridges(told, theta, 60, rng, network.width, jump, levels=3, step_size=0.1, steps=3, variant=variant)
        assert np.array_equal(k, theirs.width[0])
        same_networks(parts, theirs)


@pytest.mark.parametrize("variant", ["exact", "no_rejection_terms", "no_auxiliary"])
def test_a_second_try_across_dimensions(variant):
    settings = {"chains": 1, "draws": N, "within": "none", "second_scale": 0.3, "seed": 5}
    network, x, y = beside.small_network()
    for points in (0, 10, 40):
        theirs = sample_architecture(network, x[:points], y[:points], "delayed", variant=variant, **settings)
        run = start_architecture(network, x[:points], y[:points], "delayed", variant=variant, **settings)
        theta, rng, log_likelihood = beside.network_start(run)
        k, parts = delayed_jump(log_likelihood, theta, N, rng, network.width, 0.3, variant)
        assert np.array_equal(k, theirs.width[0])
        same_networks(parts, theirs)


@pytest.mark.parametrize("variant", ["exact", "no_end_points"])
@pytest.mark.parametrize("jump", ["plain", "redraw"])
def test_births_and_deaths_of_layers(jump, variant):
    network, x, y = beside.deep_network()
    settings = {"jump": jump, "chains": 1, "draws": N, "within": "none", "seed": 5}
    for points in (0, 10, 40):
        theirs = sample_architecture(network, x[:points], y[:points], variant=variant, **settings)
        L, parts = beside.layered(layers, network, x[:points], y[:points], variant, **settings)
        assert np.array_equal(L, theirs.depth[0])
        same_networks([[part for pair in theta for part in pair] for theta in parts], theirs)
        right, _ = beside.layered(layers, network, x[:points], y[:points], **settings)
        assert points or np.array_equal(L, right) == (variant == "exact")


@pytest.mark.parametrize("variant", ["exact", "no_jacobian", "entropy_sign"])
@pytest.mark.parametrize("full_rank", [False, True])
@pytest.mark.parametrize(("estimator", "control"), [("reparameterised", False), ("score", False), ("score", True)])
def test_advi(variant, full_rank, estimator, control):
    cases = [(target, ()) for target in TARGETS.values()] + [(engine.targets.normal_gamma(mean=1.0, shape=4.0), (1,))]
    for target, positive in cases:
        supports = tuple("positive" if j in positive else "real" for j in range(target.dim))
        settings = {"samples": 3, "family": "full_rank" if full_rank else "mean_field", "supports": supports, "variant": variant}
        fit = advi_kernel(target, steps=N, seed=5, estimator=estimator, control_variate=control, **settings)
        step = {"samples": 3, "full_rank": full_rank, "estimator": estimator, "control": control}
        m, L = advi(target.log_density_and_gradient, target.dim, N, beside.stream(5), positive, variant=variant, **step)
        np.testing.assert_allclose(m, fit.mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(L, fit.root, rtol=1e-9, atol=1e-9)
        right, _ = advi(target.log_density_and_gradient, target.dim, N, beside.stream(5), positive, **step)
        assert np.allclose(m, right) == (variant == "exact" or (variant == "no_jacobian" and not positive))


@pytest.mark.parametrize("variant", ADVI)
@pytest.mark.parametrize("estimator", ["reparameterised", "score"])
def test_advi_on_minibatches(variant, estimator):
    """Three sizes of a minibatch, the last of them all rows."""
    x = beside.stream(2).standard_normal((12, 2))
    y = (beside.stream(3).random(12) < 1.0 / (1.0 + np.exp(-x @ [2.0, -1.0]))).astype(float)
    target, plain = logistic_regression(x, y), beside.in_rows(x, y)
    for batch in (1, 5, 12):
        fit = advi_kernel(target, steps=N, seed=5, samples=2, estimator=estimator, batch=batch, variant=variant)
        step = {"samples": 2, "estimator": estimator, "rows": 12, "batch": batch}
        m, L = advi(plain, 2, N, beside.stream(5), variant=variant, **step)
        np.testing.assert_allclose(m, fit.mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(L, fit.root, rtol=1e-9, atol=1e-9)
        right, _ = advi(plain, 2, N, beside.stream(5), **step)
        assert np.allclose(m, right) == (variant in ("exact", "no_jacobian") or (variant == "no_scaling" and batch == 12))


@pytest.mark.parametrize("width", [1, 2, 3])
def test_bayes_by_backprop(width):
    """The kernel counts in single precision, 6e-8 of a number in each operation, and each step begins where the last one
    ended: hence 1e-5. A KL of another weight, or a slope of another draw, is a hundred times as far off."""
    network, x, y = beside.small_network(width)
    slope, noise = beside.slope_of(network, x, y), beside.counted(network.dim, 5)
    mean, sd = 0.3 * beside.stream(1).standard_normal(network.dim), np.full(network.dim, 0.1)
    theirs = beside.trained(slope, mean, sd, N, 5, prior_sd=0.8)
    ours = bayes_by_backprop(slope, mean, sd, N, noise, prior_sd=0.8)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
    tenfold = beside.trained(lambda w: 10.0 * slope(w), mean, sd, N, 5, prior_sd=0.8)  # what the kernel is told for a light KL
    fifth = beside.trained(lambda w: 0.2 * slope(w), mean, sd, N, 5, prior_sd=0.8)
    for variant, share, wrong in (("light_kl", 1.0, tenfold), ("no_scaling", 0.2, fifth), ("exact", 0.2, theirs)):
        of_batch = functools.partial(lambda share, w: share * slope(w), share)
        told = bayes_by_backprop(of_batch, mean, sd, N, noise, prior_sd=0.8, share=share, variant=variant)
        for one, other in zip(told, wrong, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
    for wrong in (
        tenfold,
        fifth,
        bayes_by_backprop(slope, mean, sd, N, noise, prior_sd=0.85),
        bayes_by_backprop(slope, mean, sd, N, beside.counted(network.dim, 6), prior_sd=0.8),
    ):
        assert np.abs(wrong[0] - theirs[0]).max() > 1e-3


@pytest.mark.parametrize("variant", ["exact", "flipped"])
def test_convolution(variant):
    """In single precision the kernels are 6e-8 of a number off in each operation, and each step begins where the last one
    ended: hence 1e-5."""
    run, images, labels = beside.small_convolution(5)
    weights = run.shape.weights
    mean, sd = (part[:weights].astype(float) for part in (run.posterior.mean, run.posterior.sd))
    assert kl_once(mean, sd) == pytest.approx(run.fit().kl_by_layer().sum(), rel=1e-5)
    theirs = beside.trained_convolution(30, 5, variant)
    ours = {
        each: bayes_by_backprop(
            lambda w, each=each: convolution(w, images, labels, (3, 4), (5,), variant=each)[1], mean, sd, 30, beside.counted(weights, 5)
        )
        for each in ("exact", "flipped")
    }
    for one, other in zip(ours.pop(variant), theirs, strict=True):
        np.testing.assert_allclose(one, other[:, :weights], rtol=0, atol=1e-5)
    assert max(np.abs(wrong[0] - theirs[0][:, :weights]).max() for wrong in ours.values()) > 1e-2


@pytest.mark.parametrize("variant", ["exact", "no_normaliser"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_spike_and_slab(likelihood, variant):
    for slab_sd in (0.5, 1.0, 20.0):
        model = beside.selection(likelihood, slab_sd)
        told = math.log(slab_sd * math.sqrt(2.0 * math.pi)) if variant == "no_normaliser" else 0.0
        told = dataclasses.replace(model, log_odds=model.log_odds + told)
        theirs = sample_models(told, chains=1, draws=N, warmup=0, seed=5)
        found = beside.selected(spike_and_slab, model, N, 5, variant, told)
        assert np.array_equal(found[0], theirs.included[0])
        np.testing.assert_allclose(found[1], theirs.conditional[0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found[2], theirs.coefficients[0], rtol=0, atol=1e-9)
        right = beside.selected(spike_and_slab, model, N, 5, begun=told)
        assert np.allclose(right[1], found[1]) == (variant == "exact")


@pytest.mark.parametrize("eta", [0.0, 0.5, 3.0, 80.0])
def test_polya_gamma(eta):
    ours, theirs = beside.stream(5), beside.stream(5)
    np.testing.assert_allclose([polya_gamma(ours, eta) for _ in range(N)], [kernel_polya_gamma(theirs, eta) for _ in range(N)], rtol=1e-9)


@pytest.mark.parametrize("weights", [2, 8, 30])
def test_a_network_whose_weights_may_be_absent(weights):
    """In single precision, as for Bayes by Backprop. Another prior is a hundred times as far off."""
    slopes, start = beside.local_slopes(weights), beside.sparse_start(weights)
    theirs = beside.sparsely_trained(slopes, *start, N, 0.8, 0.2)
    for one, other in zip(spike_and_slab_network(slopes, *start, N, 0.8, 0.2), theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=3e-5)
    for wrong in (spike_and_slab_network(slopes, *start, N, 0.85, 0.2), spike_and_slab_network(slopes, *start, N, 0.8, 0.25)):
        assert max(np.abs(one - other).max() for one, other in zip(wrong, theirs, strict=True)) > 1e-3


@pytest.mark.parametrize("width", [1, 2, 3])
def test_laplace(width):
    network, x, y = beside.small_network(width)
    target = network.posterior(x, y).log_density_and_gradient
    mode, A, log_evidence = laplace(target, network.map_estimate(x, y, seed=1).theta)
    assert np.abs(target(mode)[1]).max() < 1e-9
    theirs = engine_training.laplace(network, x, y, mode)
    np.testing.assert_allclose(A, theirs.precision, rtol=0, atol=1e-9)
    assert log_evidence == pytest.approx(theirs.log_evidence, abs=1e-9)
    np.testing.assert_allclose(draws(mode, A, N, beside.stream(5)), theirs.draw(N, 5), rtol=0, atol=1e-9)


@pytest.mark.parametrize("variant", ANNEALING)
@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("name", TARGETS)
def test_annealed_importance(name, resample, variant):
    target = TARGETS[name]
    reference, path = beside.annealing_path(target, resample)
    theirs = beside.annealed(target, reference, path, N, ANNEALING.index(variant), 5)
    q, log_w, log_mean = annealed_importance(target.log_density_and_gradient, reference, path, N, beside.stream(5), variant)
    np.testing.assert_allclose(q, theirs.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(log_w, theirs.log_weight, rtol=0, atol=1e-9)
    assert log_mean == pytest.approx(theirs.log_evidence(), abs=1e-9)


@pytest.mark.parametrize(
    ("weights", "variant"), [*(("per_layer", each) for each in SCALES), ("per_weight", "exact"), ("per_input", "exact"), ("fixed", "exact")]
)
def test_learned_scales_of_a_prior(weights, variant):
    network, x, y = beside.small_regression()
    draws = N if (weights, variant) == ("per_layer", "exact") else 40  # a wrong prior makes long trees
    settings = {"weights": weights, "chains": 1, "draws": draws, "warmup": 0, "tuning": "fixed", "noise": "learned", "seed": 5}
    if weights == "per_input":
        settings["width_scaling"] = "yes"
    theirs = sample_network(network, x, y, variant=variant, **settings)
    ours = beside.swept(scales, network, x, y, theirs, variant=variant, **settings)
    for one, other in zip(ours, (theirs.theta, theirs.precisions, theirs.noise_precision), strict=True):
        np.testing.assert_allclose(one, other[0], rtol=1e-9, atol=1e-9)


def test_means_of_their_own():
    theta, lam, precision = beside.stream(1).standard_normal(N), np.ones(N), np.ones(N)
    ours, mu = own_means(theta, lam, precision, beside.stream(5)), np.zeros(N)
    draw_means(beside.stream(5), theta, mu, lam, precision)
    for one, other in zip(ours, (mu, lam, precision), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"batch": 7, "decay": 0.1}, {"batch": 7, "keep": 0.6}], ids=named)
@pytest.mark.parametrize("width", [1, 2, 5])
def test_training(width, settings):
    network, x, y = beside.small_network(width)
    ours = beside.trained_plainly(training, network, x, y, N, 5, **settings)
    np.testing.assert_allclose(ours, beside.trained_by_kernel(network, x, y, N, 5, **settings), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("method", ["mc_dropout", "concrete_dropout"])
def test_dropout(method, scaling):
    """In single precision each step rounds to 6e-8: hence 1e-4 after so many steps, of weights about 1. Other masks, or
    those of the other scaling, are far off."""
    for keep in (0.5, 0.9):
        settings = {"method": method, "scaling": scaling, "keep": keep}
        theirs = beside.dropped_by_kernel(60, 5, **settings)
        np.testing.assert_allclose(beside.dropped(dropout, 60, 5, **settings), theirs, rtol=0, atol=1e-4)
        other = SCALINGS[1 - SCALINGS.index(scaling)]
        assert np.abs(beside.dropped(dropout, 60, 5, **{**settings, "scaling": other}) - theirs).max() > 2e-3


def test_rhat():
    for name in TARGETS:
        draws = engine.sample(TARGETS[name], "metropolis", chains=4, draws=N, seed=5, scale=1.0).draws
        np.testing.assert_allclose([rhat(draws[:, :, j]) for j in range(draws.shape[2])], split_rhat(draws), rtol=1e-12)


# What runs in plain NumPy already, or without a chain -----------------------------------------------------------------

BELIEFS = {
    "coin": (beliefs.BetaBernoulli(2.0, 3.0), ("alpha", "beta"), [1, 0, 1, 1], 0.0),
    "count": (beliefs.GammaPoisson(2.0, 3.0), ("alpha", "beta"), [4, 0, 7], 0.0),
    "wait": (beliefs.GammaExponential(2.0, 3.0), ("alpha", "beta"), [0.4, 2.0, 0.7], 0.0),
    "precision": (beliefs.GammaNormal(2.0, 3.0, centre=1.0), ("alpha", "beta"), [0.4, 2.0, 0.7], 1.0),
    "mean": (beliefs.NormalMean(0.5, 2.0, 1.5), ("m", "s"), [0.4, 2.0, 0.7], 1.5),
    "both": (beliefs.NormalGamma(0.5, 2.0, 1.5, 0.7), ("m", "kappa", "alpha", "beta"), [0.4, 2.0, 0.7], 0.0),
    "kinds": (beliefs.DirichletCategorical((1.0, 2.0, 0.5)), ("a",), [1, 3, 3, 2], 0.0),
}


@pytest.mark.parametrize("variant", ["exact", "twice", "scale", "miscount"])
@pytest.mark.parametrize("pair", BELIEFS)
def test_conjugate_updates(pair, variant):
    prior, names, data, known = BELIEFS[pair]

    def numbers(belief):
        return np.hstack([getattr(belief, name) for name in names])

    for x in (data, data[:1], []):
        ours = conjugate(pair, numbers(prior), x, known, variant)
        np.testing.assert_allclose(ours, numbers(mistaken(prior, np.array(x, float), variant)), rtol=1e-12)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    ("twin", "kernel"),
    [
        (monte_carlo.ball(3), montecarlo.ball(3)),
        (monte_carlo.power(0.4, 0.2), montecarlo.power(0.4, 0.2)),
        (monte_carlo.rare(2.0, 2.0), montecarlo.rare(2.0, 2.0)),
        (monte_carlo.square(1.3), montecarlo.square(1.3)),
        (monte_carlo.cauchy(), montecarlo.cauchy()),
    ],
)
def test_monte_carlo(twin, kernel, weighted):
    theirs = montecarlo.replicate(kernel, replications=1, draws=N, seed=5, weighted=weighted)
    draw, f, weight = twin
    variant = "exact" if weighted else "no_weight"
    means, errors = monte_carlo.monte_carlo(draw, f, N, beside.replication(5), weight, variant)
    np.testing.assert_allclose(means, theirs.means[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(errors, theirs.standard_errors()[0], rtol=1e-6, atol=1e-12)
    _, band = monte_carlo.monte_carlo(draw, f, N, beside.replication(5), weight, "band")
    exact = monte_carlo.monte_carlo(draw, f, N, beside.replication(5), weight)[1]
    np.testing.assert_allclose(band, exact / np.sqrt(np.arange(1.0, N + 1.0)))


@pytest.mark.parametrize("bound", BOUNDS)
def test_rejection(bound):
    prior = Prior(width=8, activation="tanh")
    for points in (1, 2, 3):
        x, y = np.array([-1.0, 0.0, 1.0])[:points], np.array([0.5, 0.0, -0.5])[:points]
        theirs = reject(prior, x, y, 0.2, 1000, 5, bound)
        f = functools.partial(rejection.network, width=8)
        thetas, uniforms, accepted = rejection.rejection(f, x, y, 0.2, 1000, beside.of_prior(5), prior.sds(), bound)
        assert np.array_equal(uniforms, theirs.uniform)
        assert np.array_equal(accepted, theirs.accepted)
        np.testing.assert_allclose(thetas[accepted], theirs.weights, rtol=1e-12)


def test_evidence():
    x, noise = beside.stream(1).random(N), beside.stream(2).standard_normal(N)
    y = np.cos(6.0 * x) + 0.3 * noise
    for degree in (0, 3, 9):
        X = linear.polynomial_design(x, degree)
        theirs = linear.arrive(X, y, [degree + 1], noise_sd=0.3, prior_sd=2.0)
        scores, m, C = evidence(X, y, 0.3, 2.0)
        np.testing.assert_allclose(scores, theirs.score[:, 0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(m, theirs.mean[-1, 0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(C, theirs.root[-1, 0] @ theirs.root[-1, 0].T, rtol=0, atol=1e-9)
        unknown = linear.arrive(X, y, [degree + 1], noise_sd=0.3, prior_sd=2.0, dof=2.0).score[:, 0]
        np.testing.assert_allclose(evidence(X, y, 0.3, 2.0, 2.0)[0], unknown, rtol=1e-9, atol=1e-9)
        constant = 0.5 * (degree + 1) * math.log(2.0 * math.pi * 4.0)
        assert evidence(X, y, 0.3, 2.0, variant="constant")[0].sum() == pytest.approx(scores.sum() + constant)
        squares = ((y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2).sum() / 0.09
        fit = linear.log_density(squares, N, 2.0 * N * math.log(0.3), math.inf)
        assert evidence(X, y, 0.3, 2.0, variant="best_fit")[0].sum() == pytest.approx(float(fit))


@pytest.mark.parametrize("gap", [0.3, 0.0])
def test_the_perceptron(gap):
    """Numbers that are multiples of 1/8: no sum of the twin rounds, as none of the kernel's does."""
    for seed in range(3):
        x = np.round(8.0 * beside.stream(seed).standard_normal((20, 2))) / 8.0
        y = np.where(x[:, 0] + x[:, 1] > 0.0, 1, -1) if gap else np.where(x[:, 0] * x[:, 1] > 0.0, 1, -1)
        theirs = learn(x, (y > 0).astype(int), epochs=10)
        path, mistakes = perceptron(x, y, 10)
        assert np.array_equal(path[: len(theirs.weights)], theirs.weights)
        assert np.array_equal(mistakes[: len(theirs.mistake)], theirs.mistake)


@pytest.mark.parametrize("activation", PHI)
@pytest.mark.parametrize("variant", NODES)
def test_backpropagation(activation, variant):
    for depth, outputs, likelihood in ((1, 1, "bernoulli"), (2, 1, "gaussian"), (3, 3, "softmax")):
        network = engine.network(2, outputs, width=4, depth=depth, activation=activation, likelihood=likelihood)
        theta, x = beside.stream(1).standard_normal(network.dim), beside.stream(2).standard_normal((5, 2))
        y = x[:, 0] if likelihood == "gaussian" else (x[:, 0] > 0.0).astype(np.int64)
        ours = beside.gradient_by(backpropagation, network, theta, x, y, variant)
        rows = [engine_training.pass_nodes(network, theta, x[i], y[i], variant).gradient for i in range(5)]
        np.testing.assert_allclose(ours, np.sum(rows, axis=0), rtol=1e-9, atol=1e-9)
        kernel = -network.log_likelihood(x, y).log_density_and_gradient(theta)[1]
        assert np.allclose(ours, kernel, rtol=0, atol=1e-9) == (variant == "exact" or (variant == "no_slope" and activation == "linear"))


def test_coordinate_ascent():
    for rho in (0.0, 0.5, 0.95):
        C, mu, start = np.array([[1.0, rho], [rho, 2.0]]), np.array([1.0, -1.0]), np.array([3.0, 3.0])
        theirs = cavi.ascend_gaussian(mu, C, start=start, sweeps=N)
        m, s = coordinate_ascent.gaussian(mu, np.linalg.inv(C), start, np.ones(2), N)
        np.testing.assert_allclose(m, theirs.mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(s, theirs.sd, rtol=1e-9)
    y = np.array([4.6, 6.9, 3.1, 5.4])
    found = cavi.ascend_normal_gamma(y, beliefs.NormalGamma(0.0, 0.1, 1.0, 1.0), sweeps=N)
    ours = coordinate_ascent.mean_and_precision(y, 0.0, 0.1, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, N)
    np.testing.assert_allclose(ours, np.column_stack([found.mean, found.sd, found.shape, found.rate]), rtol=1e-9)


@pytest.mark.parametrize("rule", ["sgd", "momentum", "nesterov", "rmsprop", "adam"])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_optimisers(rule, noise):
    kernel = types.SimpleNamespace(rule=TrainingSpec(optimiser=rule, step_size=0.005).rule)
    for target in TARGETS.values():
        start = np.full(target.dim, 1.5)
        theirs = descent(target, kernel, start, steps=N, gradient_noise=noise, seed=5)
        ours = descend(target.log_density_and_gradient, start, N, rule, 0.005, beside.stream(5), noise)
        np.testing.assert_allclose(ours, theirs.path, rtol=0, atol=1e-9)


def test_uncertainty():
    p = beside.stream(5).dirichlet(np.ones(4), (7, N))
    theirs, (average, total, aleatoric, epistemic) = decompose(p), uncertainty(p)
    for one, other in ((average, theirs.mean), (total, theirs.total), (aleatoric, theirs.aleatoric), (epistemic, theirs.epistemic)):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert np.abs(uncertainty(p, "one_network")[3]).max() < 1e-12  # one network cannot contradict itself
    assert np.array_equal(uncertainty(p, "total_as_epistemic")[3], total)
    assert not np.allclose(uncertainty(p, "log_average")[0], average)


# What a twin is --------------------------------------------------------------------------------------------------------


def code_lines(text):
    """Lines of code, without docstrings, comments and blank lines."""
    tree, told = ast.parse(text), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            told.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(text.splitlines(), start=1)
    return sum(1 for number, line in lines if number not in told and line.strip() and not line.strip().startswith("#"))


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_is_short_plain_and_names_its_source(name):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert code_lines(text) <= MOST_LINES
    imported = set(re.findall(r"^(?:from|import) ([\w.]+)", readable.source(name), re.M))
    assert all(name in ("math", "numpy", "typing") or name.removeprefix("engine.readable.") in TWINS for name in imported)
    assert "Source: " in ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("name", METHODS)
def test_a_sampler_s_twin_runs_as_a_cell_without_the_engine(name, capsys):
    text = readable.source(name)
    assert "engine" not in "".join(re.findall(r"^ *(?:from|import) .*$", text, re.M))
    exec(text, {"__name__": "__main__"})  # as a notebook calls itself
    assert not capsys.readouterr().out


# Where the engine's wrong variants have their lines: module → twins. A module with variants that stands not here fails.
MARKED = {
    "engine.evidence.annealing": ["annealed_importance"],
    "engine.jumps.sweep": ["neurons", "palindrome", "bridges", "delayed_jump"],
    "engine.jumps.toy": ["reversible_jump"],
    "engine.networks.scales": ["scales"],
    "engine.samplers.delayed_rejection": ["delayed_rejection"],
    "engine.samplers.gibbs": ["gibbs"],
    "engine.samplers.hmc": ["hmc"],
    "engine.samplers.metropolis": ["metropolis"],
    "engine.samplers.nuts": ["nuts"],
    "engine.samplers.slice_sampling": ["slice_sampling"],
    "engine.training.nodes": ["backpropagation"],
    "engine.variational.advi": ["advi"],
}


def marks(name):
    """The wrong variants that have a line in a twin."""
    marked = re.findall(r"# wrong: ([\w, ]+)$", (FOLDER / f"{name}.py").read_text(encoding="utf-8"), re.M)
    return {each for line in marked for each in line.split(", ")}


def test_every_wrong_variant_of_the_engine_is_a_marked_line():
    found = {}
    for path in Path(engine.__file__).parent.rglob("*.py"):
        if re.search(r"^VARIANTS = ", path.read_text(encoding="utf-8"), re.M):
            name = ".".join(path.relative_to(Path(engine.__file__).parents[1]).with_suffix("").parts)
            found[name] = set(importlib.import_module(name).VARIANTS) - {"exact"}
    assert found.keys() == MARKED.keys()
    for name, variants in found.items():
        assert variants <= set().union(*(marks(twin) for twin in MARKED[name])), name


def test_every_fault_of_a_sampler_is_a_marked_line():
    for name, method in METHODS.items():
        assert set(method.faults) <= marks(name), name
