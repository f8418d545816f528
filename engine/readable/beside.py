"""A readable twin beside its kernel: the same start, the same random numbers, both timed; `python -m engine.readable.hmc`."""

from __future__ import annotations

import copy
import math
import time
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from engine.evidence.annealing import EXACT, Path, Population, Reference
from engine.evidence.pilot import explore
from engine.jumps import toy
from engine.jumps.recording import architecture_of
from engine.jumps.run import ArchitectureRun, start_architecture
from engine.networks.mlp import HIDDEN, SIZES
from engine.networks.prior import stream as prior_stream
from engine.networks.sweep import NetworkRecording, set_mass, start_network
from engine.readable import densities
from engine.samplers.chain import start_chain
from engine.spike_and_slab.gibbs import SelectionRun
from engine.spike_and_slab.model import SpikeAndSlab, spike_and_slab
from engine.targets import Target
from engine.training.nodes import output_loss
from engine.training.train import TrainingRun, TrainingSpec, initial_parameters, outgoing_units
from engine.variational.convolution import ConvolutionRun, start_convolution
from engine.variational.dense import Dense
from engine.variational.fused import key, normals, pace, padded, uniforms
from engine.variational.minibatch import Shape
from engine.variational.network import start_network as start_variational
from engine.variational.spike_and_slab_network import SpikeAndSlab as SparseWeights

Array = NDArray[np.float64]
Parts = tuple[Array, ...]  # of a network: W (k, inputs), b (k,), V (outputs, k), c (outputs,)


def streams(target: Target, seed: int = 0) -> tuple[Array, np.random.Generator]:
    """Where the kernel's first chain of this seed begins, (dim,), and its random numbers."""
    chain, _ = start_chain(target, np.random.SeedSequence(seed).spawn(1)[0], None)
    return chain.position, chain.rng


def with_gradient(target: Target) -> Callable[[Array], tuple[float, Array]]:
    """The target as plain NumPy: q (dim,) → log density and gradient (dim,)."""
    return densities.PLAIN[target.name](target)


def value_only(target: Target) -> Callable[[Array], float]:
    """The target as plain NumPy: q (dim,) → log density."""
    plain = with_gradient(target)
    return lambda q: plain(q)[0]


def stream(seed: int = 0) -> np.random.Generator:
    """The random numbers of kernels that have one chain."""
    return np.random.Generator(np.random.SFC64(seed))


def nested_start(spec: toy.ToySpec) -> tuple[Array, np.random.Generator]:
    """Where the first chain over nested models begins, (start,), and its random numbers."""
    chain = toy.begin(spec)._chains[0]
    return chain.theta[: spec.start].copy(), chain.rng


def small_network(width: int | tuple[int, int] = (1, 5)) -> tuple[engine.Network, Array, NDArray[np.int64]]:
    """A network with one hidden layer, and 40 points of two classes in opposite quarters of the plane."""
    x = stream(1).standard_normal((40, 2))
    return engine.network(2, 1, width=width, likelihood="bernoulli"), x, (x[:, 0] * x[:, 1] > 0.0).astype(np.int64)


def network_start(run: ArchitectureRun) -> tuple[Parts, np.random.Generator, Callable[[Parts], float]]:
    """Where the first chain over networks with one hidden layer begins, its random numbers, and the log likelihood."""
    chain = run._chains[0]
    k = int(chain.state.ints[SIZES + 1])
    network = architecture_of(run.network, k, 1)
    parts = tuple(part.copy() for pair in network.unpack(chain.state.theta[: network.dim]) for part in pair)
    return parts, copy.deepcopy(chain.rng), log_likelihood(run.x, np.asarray(run.y))


def deep_network() -> tuple[engine.Network, Array, NDArray[np.int64]]:
    """The same points, and a network of one to four hidden layers of two units."""
    _, x, y = small_network()
    return engine.network(2, 1, width=2, depth=(1, 4), likelihood="bernoulli"), x, y


def layered(
    twin: Callable[..., Any], network: engine.Network, x: Array, y: NDArray[np.int64], variant: str = "exact", **settings: Any
) -> tuple[NDArray[np.int64], list[Any]]:
    """What the twin of births and deaths of layers draws from where the kernel's first chain begins."""
    chain = start_architecture(network, x, y, variant=variant, **settings)._chains[0]
    depth = int(chain.state.ints[HIDDEN])
    first = architecture_of(network, int(network.width), depth)  # type: ignore[arg-type]

    def log_likelihood(theta: Any) -> float:
        h = x
        for W, b in theta[:-1]:
            h = np.tanh(h @ W.T + b)
        z = (h @ theta[-1][0].T + theta[-1][1])[:, 0]
        return float(-np.logaddexp(0.0, np.where(y == 1, -z, z)).sum())

    theta = [(W.copy(), b.copy()) for W, b in first.unpack(chain.state.theta[: first.dim])]
    found: tuple[NDArray[np.int64], list[Any]] = twin(
        log_likelihood,
        theta,
        settings["draws"],
        copy.deepcopy(chain.rng),
        network.depth,
        jump=settings.get("jump", "plain"),
        variant=variant,
    )
    return found


def log_likelihood(x: Array, y: NDArray[np.int64]) -> Callable[[Parts], float]:
    """Of y, 0 or 1, given a network with tanh units and one output z, p(y = 1 | x) = 1 / (1 + exp(-z))."""

    def of(theta: Parts) -> float:
        W, b, V, c = theta
        z = (np.tanh(x @ W.T + b) @ V.T + c)[:, 0]
        return float(-np.logaddexp(0.0, np.where(y == 1, -z, z)).sum())

    return of


def log_likelihood_and_slopes(x: Array, y: NDArray[np.int64]) -> Callable[[Parts], tuple[float, Parts]]:
    """The same with its gradient, by backpropagation."""
    value = log_likelihood(x, y)

    def of(theta: Parts) -> tuple[float, Parts]:
        W, b, V, c = theta
        h = np.tanh(x @ W.T + b)
        back = (y - 1.0 / (1.0 + np.exp(-(h @ V.T + c)[:, 0])))[:, None]
        hidden = (back @ V) * (1.0 - h * h)
        return value(theta), (hidden.T @ x, hidden.sum(axis=0), back.T @ h, back.sum(axis=0))

    return of


def slope_of(network: engine.Network, x: Array, y: NDArray[np.int64]) -> Callable[[Array], Array]:
    """w → gradient of log p(y | w, x), without the prior's."""
    posterior = network.posterior(x, y)
    return lambda w: posterior.log_density_and_gradient(w)[1] + w / network.prior_sd**2


def counted(weights: int, seed: int = 0) -> Callable[[int], Array]:
    """t → the kernel's normal numbers of step t, (weights,); they are counted, not carried."""

    def noise(t: int) -> Array:
        found = np.zeros(padded(weights), np.float32)
        normals(found, *key(seed, t, 0))
        return found[:weights].astype(np.float64)

    return noise


def trained(
    slope: Callable[[Array], Array], mean: Array, sd: Array, n: int, seed: int = 0, *, prior_sd: float = 1.0, step_size: float = 0.01
) -> tuple[Array, Array]:
    """Means and sds (n + 1, weights) by the kernel that takes a step of Bayes by Backprop, in single precision."""
    dense = Dense(Shape((len(mean) - 1, 1)), (1.0, prior_sd, 1.0), False)  # so many weights in a row
    dense.set(mean, sd)
    dense.draw(key(seed, 0, 0))
    path = [(dense.mean.copy(), dense.sd.copy())]
    for t in range(1, n + 1):
        dense.gradient[: len(mean)] = slope(dense.weights[: len(mean)].astype(np.float64))
        dense.step(pace(t, step_size), 0.0, None, key(seed, t, 0))  # type: ignore[arg-type]
        path.append((dense.mean.copy(), dense.sd.copy()))
    means, sds = (np.array(part, np.float64) for part in zip(*path, strict=True))
    return means, sds


def local_slopes(weights: int) -> Callable[[int, Array, Array], tuple[Array, Array]]:
    """t, m, v (weights,) → slopes in m and v of the log likelihood of a logistic regression, whose sums of weights times
    inputs are drawn from the normal with mean x m and variance x^2 v.
    """
    x = stream(1).standard_normal((40, weights))
    y = (x[:, 0] - 2.0 * x[:, -1] > 0.0).astype(float)

    def of(t: int, m: Array, v: Array) -> tuple[Array, Array]:
        e = np.random.Generator(np.random.SFC64(np.random.SeedSequence([2, t]))).standard_normal(len(x))
        sd = np.sqrt(x**2 @ v)
        off = y - 1.0 / (1.0 + np.exp(-(x @ m + sd * e)))
        return off @ x, (0.5 * off * e / sd) @ x**2

    return of


def sparse_start(weights: int) -> tuple[Array, Array, Array]:
    """Means, sds and log odds of being in, at the start of a training of weights that may be absent."""
    return 0.3 * stream(3).standard_normal(weights), np.full(weights, 0.1), np.full(weights, 2.0)


def sparsely_trained(
    slopes: Callable[[int, Array, Array], tuple[Array, Array]],
    mean: Array,
    sd: Array,
    omega: Array,
    n: int,
    prior_sd: float = 1.0,
    inclusion: float = 0.1,
) -> tuple[Array, ...]:
    """Means, sds and probabilities of being in (n + 1, weights) by the kernel that takes a step, in single precision."""
    weights, never = len(mean), key(0, 0, 0)
    layer = SparseWeights(Shape((weights - 1, 1)), inclusion, prior_sd, "local", 0.1)
    layer.set(mean, sd, omega)
    layer.draw(never)
    path = [(layer.mean.copy(), layer.sd.copy(), layer.alpha.copy())]
    for t in range(n):
        m, v = layer.weights[:weights].astype(np.float64), layer.variances[:weights].astype(np.float64)
        layer.gradient[:weights], layer.variance_gradient[:weights] = slopes(t, m, v)
        layer.step(pace(t + 1, 0.01, 0.02), 0.0, None, never)  # type: ignore[arg-type]
        path.append((layer.mean.copy(), layer.sd.copy(), layer.alpha.copy()))
    return tuple(np.array(part, np.float64) for part in zip(*path, strict=True))


def small_convolution(seed: int = 0, variant: str = "exact") -> tuple[ConvolutionRun, Array, NDArray[np.int64]]:
    """A convolutional network before its first step, and its 20 images (20, 6, 6, 1) of three classes, all in a batch."""
    images, labels = stream(1).random((20, 6, 6, 1)), np.arange(20) % 3
    settings: dict[str, Any] = {"filters": (3, 4), "hidden": (5,), "pool": 2, "batch": 20, "initial_sd": 0.1, "final_step_size": 1.0}
    run = start_convolution(images, labels, estimator="weights", epochs=1000, seed=seed, variant=variant, **settings)
    return run, images.astype(np.float32).astype(np.float64), labels


def trained_convolution(n: int, seed: int = 0, variant: str = "exact") -> tuple[Array, Array]:
    """Means and sds (n + 1, weights) by the kernels that train it, in single precision."""
    run, path = small_convolution(seed, variant)[0], []
    for _ in range(n + 1):
        path.append((run.posterior.mean.copy(), run.posterior.sd.copy()))
        run.advance(1)
    means, sds = (np.array(part, np.float64) for part in zip(*path, strict=True))
    return means, sds


def in_rows(x: Array, y: Array, prior_sd: float = 1.0) -> Callable[..., tuple[float, Array]]:
    """Logistic regression whose rows may be asked for alone: theta, rows, factor → log prior + factor * log likelihood of
    these rows, and its gradient (dim,).
    """

    def log_joint(theta: Array, rows: Any = slice(None), factor: float = 1.0) -> tuple[float, Array]:
        X, t = x[rows], 2.0 * y[rows] - 1.0
        log_p = -np.logaddexp(0.0, -t * (X @ theta))
        log_prior = -0.5 * theta @ theta / prior_sd**2 - theta.size * math.log(prior_sd * math.sqrt(2.0 * math.pi))
        return float(log_prior + factor * log_p.sum()), -theta / prior_sd**2 + factor * (t * -np.expm1(log_p)) @ X

    return log_joint


def selection(likelihood: str = "linear", slab_sd: float = 1.0) -> SpikeAndSlab:
    """A model of 60 rows and 8 predictors, of which two matter."""
    rng = stream(1)
    x = rng.standard_normal((60, 8))
    y = 0.5 * x[:, 0] - x[:, 3] + rng.standard_normal(60)
    y = y if likelihood == "linear" else (y > 0.0).astype(float)
    return spike_and_slab(x, y, likelihood=likelihood, inclusion=0.3, slab_sd=slab_sd)


def selected(
    twin: Callable[..., Any], model: SpikeAndSlab, n: int, seed: int = 0, variant: str = "exact", begun: SpikeAndSlab | None = None
) -> tuple[Array, ...]:
    """What the twin of Gibbs sampling over a model's predictors draws from where the first chain of `begun`, or of the
    same model, begins.
    """
    chain = SelectionRun(begun or model, chains=1, draws=1, seed=seed)._chains[0]
    noise_sd = model.noise_sd if model.likelihood == "linear" else None
    data = model.design, model.y, model.precision, model.log_odds, noise_sd
    found: tuple[Array, ...] = twin(*data, n, chain.rng, chain.included.copy(), chain.coefficients, variant)
    return found


def small_regression() -> tuple[engine.Network, Array, Array]:
    """A network with one hidden layer of three units, and 30 points of a wave with noise."""
    x = np.linspace(-2.0, 2.0, 30)[:, None]
    y = np.sin(2.0 * x[:, 0]) + 0.1 * stream(1).standard_normal(30)
    return engine.network(1, 1, width=3, likelihood="gaussian", noise_sd=0.2), x, y


def half_squares(network: engine.Network, x: Array, y: Array) -> Callable[[Array], tuple[float, Array]]:
    """theta (dim,) → half the sum of squared residuals of a network of tanh units, and its gradient (dim,)."""

    def of(theta: Array) -> tuple[float, Array]:
        (W, b), (V, c) = network.unpack(theta)
        h = np.tanh(x @ W.T + b)
        off = h @ V.T + c - np.asarray(y).reshape(len(x), -1)
        back = (off @ V) * (1.0 - h * h)
        parts = back.T @ x, back.sum(axis=0), off.T @ h, off.sum(axis=0)
        return 0.5 * float((off * off).sum()), np.concatenate([part.ravel() for part in parts])

    return of


def swept(
    twin: Callable[..., Any], network: engine.Network, x: Array, y: Array, follow: NetworkRecording | None = None, **settings: Any
) -> tuple[Array, ...]:
    """What the twin of a sweep draws from where the kernel's first chain begins: theta, tau, tau_y. With `follow` every
    sweep begins where the kernel's did, so that rounding does not grow from one to the next.
    """
    run = start_network(network, x, y, **settings)
    chain, scales, rules, spec = run._chains[0], run._scales[0], run._rules, run.spec
    inverse, root = np.ones((1, network.dim)), np.ones((1, network.dim))

    def mass(precision: Array, tau_y: float) -> Array:
        in_force = scales._replace(noise=np.array([tau_y]))
        set_mass(inverse, root, np.append(precision, tau_y), chain.ints, in_force, rules)
        return 1.0 / inverse[0]

    priors = (spec.weight_shape, spec.weight_rate), (spec.noise_shape, spec.noise_rate)
    last = mass, spec.step_size, priors[0] if spec.weights != "fixed" else None, priors[1] if spec.noise == "learned" else None
    state, rng, found = (chain.position.copy(), scales.precisions.copy(), float(scales.noise[0])), copy.deepcopy(chain.rng), []
    for i in range(spec.draws if follow is not None else 1):
        theta, tau, tau_y = state
        n = 1 if follow is not None else spec.draws
        to = half_squares(network, x, y), theta, n, rng, rules.group, rules.factor, tau, tau_y
        found.append(twin(*to, *last, rules.values, spec.variant))
        if follow is not None:
            state = follow.theta[0, i], follow.precisions[0, i], float(follow.noise_precision[0, i])
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def trained_plainly(
    twin: Callable[..., Array], network: engine.Network, x: Array, y: NDArray[Any], steps: int, seed: int = 0, **settings: Any
) -> Array:
    """The weights before each step and after the last by the twin of training, with the kernel's start and stream."""

    def slope(theta: Array, rows: Any) -> Array:
        return network.log_likelihood(x[rows], y[rows]).log_density_and_gradient(theta)[1]

    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, 2])))
    return twin(slope, initial_parameters(network, seed), steps, rng, len(x), outgoing_units(network)[0], **settings)


def trained_by_kernel(
    network: engine.Network, x: Array, y: NDArray[Any], steps: int, seed: int = 0, decay: float = 0.0, **settings: Any
) -> Array:
    """The same by the kernel."""
    run = TrainingRun(network, x, y, TrainingSpec(epochs=steps, weight_decay=decay, seed=seed, **settings), every=1)
    run.advance(steps)
    return run.trained().path


def dropout_run(steps: int, seed: int, settings: dict[str, Any]) -> Any:
    """A training under dropout by the kernel, before its first step."""
    _, x, y = small_regression()
    chosen: dict[str, Any] = {"method": "mc_dropout", "keep": 0.8, "step_size": 0.02, **settings}
    return start_variational(
        x, y, hidden=(6,), activation="tanh", likelihood="gaussian", noise_sd=0.3, epochs=steps, batch=len(x), seed=seed, **chosen
    )


def dropped_by_kernel(steps: int, seed: int = 0, **settings: Any) -> Array:
    """Weights (layer by layer) and p before each step and after the last, (steps + 1, weights + 2)."""
    run = dropout_run(steps, seed, settings)
    rows = [np.append(run.posterior.mean, run.posterior.keep)]
    for _ in range(steps):
        run.advance(1)
        rows.append(np.append(run.posterior.mean, run.posterior.keep))
    return np.array(rows, np.float64)


def dropped(twin: Callable[..., Any], steps: int, seed: int = 0, **settings: Any) -> Array:
    """The same by the twin, with the kernel's start and masks."""
    run, (_, x, y) = dropout_run(steps, seed, settings), small_regression()
    spec, posterior = run.spec, run.posterior
    sizes = [n + 1 for n in run.shape.sizes[:-1]]

    def masks(t: int) -> list[Array]:
        drawn = np.zeros(padded(len(x) * sum(sizes)), np.float32)
        uniforms(drawn, *key(seed, t, 1))
        found, at = [], 0
        for size in sizes:
            found.append(drawn[at : at + len(x) * size].reshape(len(x), size)[:, :-1].astype(np.float64))
            at += len(x) * size
        return found

    left = spec.final_step_size ** (np.arange(steps) / steps)
    learn = np.full(steps, spec.inclusion_step_size) if spec.method == "concrete_dropout" else None
    layers = [part.astype(np.float64) for part in run.shape.split(posterior.mean)]
    path = twin(
        x,
        y[:, None],
        layers,
        posterior.keep,
        masks,
        spec.step_size * left,
        spec.noise_sd,
        spec.prior_sd,
        spec.temperature,
        learn,
        "unscaled" if spec.scaling == "none" else "exact",
    )
    return np.array([np.concatenate([*(W.ravel() for W in layers), keep]) for layers, keep in path])


def replication(seed: int = 0, number: int = 0) -> np.random.Generator:
    """The random numbers of one repetition of an estimate."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed).spawn(number + 1)[number]))


def of_prior(seed: int = 0) -> np.random.Generator:
    """The random numbers of the first networks that are drawn from a prior."""
    return prior_stream(seed, 0)


def gradient_by(
    twin: Callable[..., Any], network: engine.Network, theta: Array, x: Array, y: NDArray[Any], variant: str = "exact"
) -> Array:
    """Of the loss -log p(y | x, theta), in the order of the network's parameters (dim,)."""
    found = twin(network.unpack(theta), x, lambda z: output_loss(network, z, y)[1], network.activation, variant)
    return np.concatenate([part.ravel() for pair in found for part in pair])


def annealing_path(target: Target, resample: bool = False, particles: int = 200) -> tuple[Reference, Path]:
    """A normal reference with sd 3, and a path from it to the target, chosen by a pilot."""
    reference = Reference(np.zeros(target.dim), np.full(target.dim, 1 / 9), -target.dim * math.log(3 * math.sqrt(2 * math.pi)), 1.0)
    seed = np.random.SeedSequence(1)
    path = explore(target, reference, seed, particles=particles, moves=2, overlap=0.7, trajectory=1.5, resample=resample)
    return reference, path


def annealed(target: Target, reference: Reference, path: Path, particles: int, variant: int = EXACT, seed: int = 0) -> Population:
    """The kernel's population at the end of the path."""
    population = Population.from_reference(target, reference, particles, np.random.SeedSequence(seed))
    population.advance(target, reference, path, 0, len(path.steps), variant)
    return population


def sampler(twin: Callable[..., Array], plainly: Callable[[Target], Any], settings: dict[str, Any], n: int = 1000, seed: int = 0) -> None:
    """Run a sampler's twin on the banana, and its kernel, and print what came out."""
    target = engine.targets.banana()
    plain, (q, rng) = plainly(target), streams(target, seed)
    report(
        f"{n} transitions on the banana",
        lambda: twin(plain, q, n, rng, **settings),
        lambda: engine.sample(target, twin.__name__, chains=1, draws=n, seed=seed, **settings).draws[0],
    )


def report(what: str, twin: Callable[[], Array], kernel: Callable[[], Array], rows: int = 200) -> None:
    """Time both and compare what they give, arrays (n, ...), over the first `rows` of them."""
    began = time.perf_counter()
    slow = twin()
    took = time.perf_counter() - began
    kernel()  # compiled, or read from the cache
    kernel_took = min(timeit.repeat(kernel, number=1, repeat=5))
    gap = float(np.nanmax(np.abs(slow[:rows] - kernel()[:rows])))
    print(what)
    for name, of in (("mean", np.nanmean), ("sd", np.nanstd)):
        print(f"  {name:5} {np.array2string(np.asarray(of(slow, axis=0)), precision=4, max_line_width=100)}")
    times = took / kernel_took
    print(f"  plain NumPy {took:.3g} s, kernel {kernel_took:.3g} s: {times:.{0 if times >= 10.0 else 1}f} times as fast")
    print(f"  largest difference over the first {min(rows, len(slow))}: {gap:.2g}")


def with_warmup(recording: engine.Recording) -> Array:
    """The first chain's warm-up and draws, (warmup + draws, dim)."""
    return np.concatenate([recording.warmup.draws[0], recording.draws[0]])  # type: ignore[union-attr]
