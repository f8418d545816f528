"""The readable twins give their kernels' draws: bit by bit where both see the same densities and the kernel rounds as
written, else to 1e-9. Each marked wrong line is the kernel's wrong variant, and differs from the right one."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import readable, training
from engine.evidence.annealing import VARIANTS as ANNEALING
from engine.jumps import sample_architecture, toy
from engine.jumps.run import start_architecture
from engine.readable import beside, densities
from engine.readable.advi import advi
from engine.readable.annealed_importance import annealed_importance
from engine.readable.bayes_by_backprop import bayes_by_backprop
from engine.readable.convolution import convolution, kl
from engine.readable.delayed_rejection import delayed_rejection
from engine.readable.dual_averaging import dual_averaging
from engine.readable.gibbs import gibbs
from engine.readable.hmc import hmc
from engine.readable.islands import islands
from engine.readable.laplace import draws, laplace
from engine.readable.metropolis import metropolis
from engine.readable.neurons import neurons
from engine.readable.nuts import State, nuts, transition
from engine.readable.palindrome import palindrome
from engine.readable.reversible_jump import reversible_jump
from engine.readable.slice_sampling import slice_sampling
from engine.readable.spike_and_slab import spike_and_slab
from engine.samplers.islands import walk_islands
from engine.samplers.run import METHODS
from engine.spike_and_slab.gibbs import sample_models
from engine.targets import banana, gaussian, student
from engine.variational import advi as advi_kernel

FOLDER = Path(beside.__file__).parent
TWINS = [path.stem for path in sorted(FOLDER.glob("*.py")) if path.stem not in ("__init__", "beside", "densities")]
MOST_LINES = 80
N = 200
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
    (slice_sampling, {"w": 0.1, "interval": "doubling", "variant": "no_test"}),
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


def of_twin(twin, target, settings, plain=False):
    """The twin's, on the kernel's compiled density or on one in plain NumPy."""
    log_pi = beside.with_gradient(target) if plain else target.log_density_and_gradient
    q, rng = beside.streams(target, 5)
    return twin(log_pi if twin in (hmc, nuts) else lambda x: log_pi(x)[0], q, N, rng, **settings)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(("twin", "settings"), SAMPLERS, ids=named)
def test_a_sampler_draws_what_its_kernel_draws(twin, settings, name):
    target = TARGETS[name]
    theirs = of_kernel(twin, target, settings)
    ours = of_twin(twin, target, settings)
    if twin in ROUNDS_AS_WRITTEN:
        assert np.array_equal(ours, theirs)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    np.testing.assert_allclose(of_twin(twin, target, settings, plain=True), theirs, rtol=0, atol=1e-9)
    if settings.get("variant") and name == "banana":
        right = {key: value for key, value in settings.items() if key != "variant"}
        if twin is gibbs:
            right["update"] = "metropolis"  # the banana's conditionals are not known
        assert not np.allclose(of_twin(twin, target, right), ours)


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


@pytest.mark.parametrize("name", TARGETS)
def test_the_step_size_and_the_mass_are_learnt_as_the_kernel_learns_them(name):
    """Each step size comes from all transitions before, so that the last digits of two runs soon differ, and then all:
    here every transition begins where the kernel's did (and no path is so long that it takes the digits with it)."""
    target, warmup = TARGETS[name], 150
    run = engine.sample(target, "nuts", chains=1, draws=N - warmup, warmup=warmup, keep_warmup=True, seed=6)
    recorded = beside.with_warmup(run)
    log_pi, made = target.log_density_and_gradient, iter(recorded)

    def move(target, x, rng, epsilon, W):
        y, accept = transition(target, x, rng, epsilon, W)
        q = next(made)
        np.testing.assert_allclose(y.q, q, rtol=1e-9, atol=1e-9)
        log_density, g = log_pi(q)
        return State(q, None, g, log_density), accept

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


@pytest.mark.parametrize("jump", ["plain", "rescaled"])
@pytest.mark.parametrize("variant", ["exact", "no_end_points", "slot_once", "no_jacobian"])
def test_births_and_deaths_of_units(jump, variant):
    settings = {"jump": jump, "chains": 1, "draws": 2 * N, "within": "none", "seed": 5}
    network, x, y = beside.small_network()
    for points in (0, 10, 40):  # without data the chain moves most
        run = start_architecture(network, x[:points], y[:points], variant=variant, **settings)
        theirs = sample_architecture(network, x[:points], y[:points], variant=variant, **settings)
        theta, rng, log_likelihood = beside.network_start(run)
        k, parts = neurons(log_likelihood, theta, 2 * N, rng, network.width, rescale=jump == "rescaled", variant=variant)
        assert np.array_equal(k, theirs.width[0])
        for i in range(2 * N):
            np.testing.assert_allclose(np.concatenate([p.ravel() for p in parts[i]]), theirs.theta(0, i), rtol=0, atol=1e-9)
        theta, rng, _ = beside.network_start(run)
        right, _ = neurons(log_likelihood, theta, 2 * N, rng, network.width, rescale=jump == "rescaled")
        same = variant == "exact" or (variant == "no_jacobian" and jump == "plain")
        assert not (same and not np.array_equal(k, right))
        assert same or points or not np.array_equal(k, right)


def test_palindromic_jumps():
    settings = {"chains": 1, "draws": N, "within": "hmc", "step_size": 0.05, "seed": 5}
    network, x, y = beside.small_network()
    for points in (4, 10, 40):
        run = start_architecture(network, x[:points], y[:points], "palindromic", **settings)
        theirs = sample_architecture(network, x[:points], y[:points], "palindromic", **settings)
        theta, rng, _ = beside.network_start(run)
        k, parts = palindrome(beside.log_likelihood_and_slopes(x[:points], y[:points]), theta, N, rng, network.width, step_size=0.05)
        assert np.array_equal(k, theirs.width[0])
        for i in range(N):
            np.testing.assert_allclose(np.concatenate([p.ravel() for p in parts[i]]), theirs.theta(0, i), rtol=0, atol=1e-9)


@pytest.mark.parametrize("variant", ["exact", "no_jacobian", "entropy_sign"])
@pytest.mark.parametrize("full_rank", [False, True])
def test_advi(variant, full_rank):
    cases = [(target, ()) for target in TARGETS.values()] + [(engine.targets.normal_gamma(mean=1.0, shape=4.0), (1,))]
    for target, positive in cases:
        supports = tuple("positive" if j in positive else "real" for j in range(target.dim))
        settings = {"samples": 3, "family": "full_rank" if full_rank else "mean_field", "supports": supports, "variant": variant}
        fit = advi_kernel(target, steps=N, seed=5, **settings)
        step = {"samples": 3, "full_rank": full_rank}
        m, L = advi(target.log_density_and_gradient, target.dim, N, beside.stream(5), positive, variant=variant, **step)
        np.testing.assert_allclose(m, fit.mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(L, fit.root, rtol=1e-9, atol=1e-9)
        right, _ = advi(target.log_density_and_gradient, target.dim, N, beside.stream(5), positive, **step)
        assert np.allclose(m, right) == (variant == "exact" or (variant == "no_jacobian" and not positive))


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
    for wrong in (
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
    assert kl(mean, sd) == pytest.approx(run.fit().kl_by_layer().sum(), rel=1e-5)
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


def test_spike_and_slab():
    model = beside.selection()
    theirs = sample_models(model, chains=1, draws=N, warmup=0, seed=5)
    included, rng = beside.selection_start(model, 5)
    found = spike_and_slab(model.design, model.y, model.precision, model.log_odds, model.noise_sd, N, rng, included)
    assert np.array_equal(found[0], theirs.included[0])
    np.testing.assert_allclose(found[1], theirs.conditional[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[2], theirs.coefficients[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_laplace(width):
    network, x, y = beside.small_network(width)
    target = network.posterior(x, y).log_density_and_gradient
    mode, A, log_evidence = laplace(target, network.map_estimate(x, y, seed=1).theta)
    assert np.abs(target(mode)[1]).max() < 1e-9
    theirs = training.laplace(network, x, y, mode)
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


def test_every_fault_of_a_sampler_is_a_marked_line():
    for name, method in METHODS.items():
        marked = re.findall(r"# wrong: ([\w, ]+)$", (FOLDER / f"{name}.py").read_text(encoding="utf-8"), re.M)
        assert set(method.faults) <= {each for line in marked for each in line.split(", ")}, name
