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
from engine.jumps.run import ArchitectureRun
from engine.networks.mlp import SIZES
from engine.readable import densities
from engine.samplers.chain import start_chain
from engine.spike_and_slab.gibbs import SelectionRun
from engine.spike_and_slab.model import SpikeAndSlab, spike_and_slab
from engine.targets import Target
from engine.variational.convolution import ConvolutionRun, start_convolution
from engine.variational.dense import Dense
from engine.variational.fused import key, normals, pace, padded
from engine.variational.minibatch import Shape

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


def selection() -> SpikeAndSlab:
    """A model of 60 rows and 8 predictors, of which two matter."""
    rng = stream(1)
    x = rng.standard_normal((60, 8))
    return spike_and_slab(x, 0.5 * x[:, 0] - x[:, 3] + rng.standard_normal(60), inclusion=0.3)


def selection_start(model: SpikeAndSlab, seed: int = 0) -> tuple[NDArray[np.bool_], np.random.Generator]:
    """Where the first chain over a model's predictors begins, gamma (p,), and its random numbers."""
    chain = SelectionRun(model, chains=1, draws=1, seed=seed)._chains[0]
    return chain.included.copy(), chain.rng


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
    print(f"  plain NumPy {took:.3g} s, kernel {kernel_took:.3g} s: {took / kernel_took:.0f} times as fast")
    print(f"  largest difference over the first {min(rows, len(slow))}: {gap:.2g}")


def with_warmup(recording: engine.Recording) -> Array:
    """The first chain's warm-up and draws, (warmup + draws, dim)."""
    return np.concatenate([recording.warmup.draws[0], recording.draws[0]])  # type: ignore[union-attr]
