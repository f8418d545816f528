"""Fill the kernel cache: `python -m engine.warm`. Takes seconds when it is full, minutes when it is empty.

The app does not wait for it: a page compiles what it needs when it needs it, and the server has the rest filled
meanwhile (`--gently`: in one process, which gives way to all others). It is for images of the app, tests, benchmarks.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing import get_context

import numpy as np

import engine
from engine import _cache, conjugate, diagnostics, rejection, spike_and_slab, targets, training, urn, variational
from engine.evidence import EvidenceSpec, architecture_evidence
from engine.jumps import toy
from engine.networks import predictive
from engine.networks.prior import Prior
from engine.samplers import METHODS, trajectory
from engine.samplers.islands import walk_islands
from engine.targets.constrained import density

Task = Callable[[], object]
Report = Callable[[int, int, str], None]  # done, total, the name of the next

POINTS, LABELS = np.eye(2), np.array([0.0, 1.0])


def tasks() -> Iterator[tuple[str, Task]]:
    """Every kernel of the product as (name, call that compiles or loads it), in the order of the lessons."""
    yield from _beginnings()
    yield from _samplers()
    yield from _networks()
    yield from _jumps()
    yield from _approximations()


def _beginnings() -> Iterator[tuple[str, Task]]:
    def posterior(pair: str) -> None:
        prior = conjugate.PAIRS[pair]()
        conjugate.posterior(prior, [1.0]).log_density_many(prior.mean()[None])

    def enumerated(likelihood: str) -> None:
        spike_and_slab.enumerate_models(spike_and_slab.spike_and_slab(POINTS, LABELS, likelihood=likelihood))

    for pair in ("mean", "both", "categorical"):
        yield f"posterior {pair}", partial(posterior, pair)
    yield "metropolis", partial(_sample, "metropolis")
    small, point = Prior(width=2), np.array([0.0])
    yield "prior functions", lambda: small.values(small.draw(2, seed=0), point)
    yield "prior kernel", lambda: small.covariance(point, point)
    yield "rejection", lambda: rejection.importance(small, point, point, 1.0, 10, 0, point)
    yield "walk", lambda: rejection.walk(small, point, point, 1.0, chains=1, steps=10, warmup=1)
    for likelihood in spike_and_slab.LIKELIHOODS:
        yield f"models enumerated, {likelihood}", partial(enumerated, likelihood)


def _samplers() -> Iterator[tuple[str, Task]]:
    def by_conditionals(build: Callable[[], targets.Target]) -> None:
        model = build()
        engine.sample(model, "gibbs", chains=1, draws=10, init=np.ones(model.dim), seed=0)

    def family(name: str) -> None:
        targets.build(name).log_density_many(np.zeros((2, 2)))

    def own_density() -> None:
        made = density("x positive", "-x")
        made.constrain(np.zeros(1))
        made.target.log_density(np.zeros(1))

    yield "autocorrelation", lambda: diagnostics.monotone_autocorrelation(np.ones(4), 0.0)
    yield "islands", lambda: walk_islands([1, 2, 3], 10, seed=0)
    for name in targets.FAMILIES:
        yield f"target {name}", partial(family, name)
    yield "density in named parameters", own_density
    yield "gibbs", partial(_sample, "gibbs")
    for build in (targets.normal_gamma, targets.hierarchical_normal):
        yield f"target {build.__name__}", partial(by_conditionals, build)
    yield "hmc", partial(_sample, "hmc")
    yield "trajectory", lambda: trajectory(_gaussian(), np.zeros(2), np.ones(2), step_size=0.1, steps=2)
    for method in METHODS:
        if method not in ("metropolis", "gibbs", "hmc"):
            yield method, partial(_sample, method)


def _networks() -> Iterator[tuple[str, Task]]:
    x, y = _corners()
    net = engine.network(2, 2, width=2, depth=1, activation="tanh", likelihood="softmax")
    yield "training", training.warm
    yield "network posterior", lambda: net.posterior(x, y).log_density(np.zeros(net.dim))
    yield "network predictions", lambda: predictive.decompose(net, net.prior_draws(2, seed=0), x)
    yield "network accuracy", lambda: predictive.accuracy(net, net.prior_draws(2, seed=0), x, y)
    yield "network sweeps", lambda: engine.sample_network(net, x, y, chains=1, draws=5, warmup=5)
    yield "urn", lambda: urn.evidence(1, [1], 3, 1, 1.0, 1.0, 0)
    brief = EvidenceSpec(particles=16, islands=4, moves=1)
    yield "network evidence", lambda: architecture_evidence(net, x, y, brief)


def _jumps() -> Iterator[tuple[str, Task]]:
    x, y = _corners()
    growing = engine.network(2, 2, width=(1, 3), depth=1)
    run = partial(engine.sample_architecture, growing, x, y, chains=1, draws=5, seed=0)
    yield "jumps between nested models", lambda: toy.record(toy.ToySpec(chains=1, draws=10))
    for within in ("nuts", "hmc"):
        yield f"jumps, {within}", partial(run, warmup=5, within=within)
    for jump in ("annealed", "delayed"):  # tempered jumps have the kernel of annealed ones
        yield f"jumps, {jump}", partial(run, jump=jump)


def _approximations() -> Iterator[tuple[str, Task]]:
    def target(build: Callable[..., targets.Target]) -> None:
        build(POINTS, LABELS).log_density(np.zeros(2))

    def sampled(likelihood: str) -> None:
        choice = spike_and_slab.spike_and_slab(POINTS, LABELS, likelihood=likelihood)
        spike_and_slab.sample_models(choice, draws=2, chains=1)

    for build in (variational.linear_regression, variational.logistic_regression):
        yield f"target {build.__name__}", partial(target, build)
    yield "variational fit", lambda: variational.advi(_gaussian(), steps=2)
    yield ("variational gradients", lambda: variational.gradients(_gaussian(), variational.Advi(), np.zeros(4), repeats=2))
    yield "ELBO", lambda: variational.elbo(_gaussian(), np.zeros(4))
    yield "variational networks", variational.network.warm
    yield "convolutions", variational.convolution.warm
    for likelihood in spike_and_slab.LIKELIHOODS:
        yield f"models sampled, {likelihood}", partial(sampled, likelihood)


def _gaussian() -> targets.Target:
    return targets.TargetSpec(target="gaussian").build_target()


def _sample(method: str) -> None:
    for detail in ("draws", "transitions"):
        engine.sample(_gaussian(), method, chains=1, draws=10, warmup=1, seed=0, detail=detail)


def _corners() -> tuple[np.ndarray, np.ndarray]:
    return np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1])


def warm(report: Report | None = None) -> float:
    """Run every task, calling `report` before each. Returns the seconds it took."""
    begin = time.perf_counter()
    everything = list(tasks())
    for done, (name, task) in enumerate(everything):
        if report:
            report(done, len(everything), name)
        task()
    _cache.note_full()
    return time.perf_counter() - begin


def fill(processes: int, report: Report | None = None) -> float:
    """`warm` for an empty cache: the compiling is shared among processes, for it holds the interpreter's lock. Returns
    the seconds it took.
    """
    begin = time.perf_counter()
    names = [name for name, _ in tasks()]
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for done, _ in enumerate(pool.map(_run_one, range(len(names)))):
            if report:
                report(done, len(names), names[done])
    _cache.note_full()
    return time.perf_counter() - begin


def _run_one(index: int) -> None:
    """One task, in a process of the pool."""
    next(islice(tasks(), index, None))[1]()


def _print(done: int, total: int, name: str) -> None:
    print(f"\r[{done + 1:2d}/{total}] {name:40s}", end="", file=sys.stderr, flush=True)


def _tell(done: int, total: int, name: str) -> None:
    if not _cache.has_room():
        sys.exit()  # nothing is filled
    print(done, total, name, flush=True)


if __name__ == "__main__":
    if "--gently" in sys.argv[1:]:
        os.nice(19)
        logging.disable(logging.WARNING)  # that nothing can be kept is for the server to say
        with _cache.filling(), contextlib.suppress(BrokenPipeError):  # whoever listened has gone
            warm(_tell)
    else:
        seconds = fill(min(os.cpu_count() or 1, 4), _print)
        print(f"\rKernels ready in {seconds:.1f} s, kept in {engine.CACHE_DIR}", file=sys.stderr)
