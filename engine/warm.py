"""Fill the kernel cache: `python -m engine.warm`. Takes seconds when it is full, minutes when it is empty."""

from __future__ import annotations

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
from engine import conjugate, rejection, spike_and_slab, targets, training, variational
from engine.evidence import EvidenceSpec, architecture_evidence
from engine.jumps import toy
from engine.networks import conditional_check, predictive
from engine.networks.prior import Prior
from engine.samplers import METHODS, trajectory
from engine.samplers.islands import walk_islands


def tasks() -> Iterator[tuple[str, Callable[[], object]]]:
    """Every kernel of the product as (name, call that compiles or loads it)."""
    for name in targets.FAMILIES:
        yield f"target {name}", partial(targets.build(name).log_density_many, np.zeros((2, 2)))
    gaussian = targets.TargetSpec(target="gaussian").build_target()
    for method in METHODS:
        for detail in ("draws", "transitions"):
            yield (
                f"{method}, {detail}",
                partial(engine.sample, gaussian, method, chains=1, draws=10, warmup=1, seed=0, detail=detail),
            )
    for model in (targets.normal_gamma(), targets.hierarchical_normal()):
        yield (
            f"target {model.name}",
            partial(engine.sample, model, "gibbs", chains=1, draws=10, init=np.ones(model.dim), seed=0),
        )
    for pair in ("mean", "both", "categorical"):
        prior = conjugate.PAIRS[pair]()
        yield f"posterior {pair}", partial(conjugate.posterior(prior, [1.0]).log_density_many, prior.mean()[None])
    yield "trajectory", lambda: trajectory(gaussian, np.zeros(2), np.ones(2), step_size=0.1, steps=2)
    yield "islands", lambda: walk_islands([1, 2, 3], 10, seed=0)
    yield "jumps between nested models", lambda: toy.record(toy.ToySpec(chains=1, draws=10))
    classifier = engine.network(2, 2, width=2, depth=1, activation="tanh", likelihood="softmax")
    x, y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1])
    growing = engine.network(2, 2, width=(1, 3), depth=1)
    for within in ("nuts", "hmc"):
        yield (
            f"jumps, {within}",
            partial(engine.sample_architecture, growing, x, y, chains=1, draws=5, warmup=5, within=within, seed=0),
        )
    for jump in ("annealed", "delayed"):  # tempered jumps have the kernel of annealed ones
        yield f"jumps, {jump}", partial(engine.sample_architecture, growing, x, y, jump, chains=1, draws=5, seed=0)
    yield "network posterior", lambda: classifier.posterior(x, y).log_density(np.zeros(classifier.dim))
    yield (
        "network sweeps",
        lambda: conditional_check(engine.sample_network(classifier, x, y, chains=1, draws=5, warmup=5), repeats=2),
    )
    brief = EvidenceSpec(particles=16, islands=4, moves=1)
    yield "network evidence", lambda: architecture_evidence(classifier, x, y, brief)
    yield "network predictions", lambda: predictive.decompose(classifier, classifier.prior_draws(2, seed=0), x)
    small, point = Prior(width=2), np.array([0.0])
    yield "prior functions", lambda: small.values(small.draw(2, seed=0), point)
    yield "prior kernel", lambda: small.covariance(point, point)
    yield "rejection", lambda: rejection.importance(small, point, point, 1.0, 10, 0, point)
    yield "walk", lambda: rejection.walk(small, point, point, 1.0, chains=1, steps=10, warmup=1)
    points, labels = np.eye(2), np.array([0.0, 1.0])
    for build in (variational.linear_regression, variational.logistic_regression):
        target = build(points, labels)
        yield f"target {target.name}", partial(target.log_density, np.zeros(2))
    yield "variational fit", lambda: variational.advi(gaussian, steps=2)
    yield "variational gradients", lambda: variational.gradients(gaussian, variational.Advi(), np.zeros(4), repeats=2)
    yield "ELBO", lambda: variational.elbo(gaussian, np.zeros(4))
    yield "variational networks", variational.network.warm
    yield "training", training.warm
    for likelihood in spike_and_slab.LIKELIHOODS:
        choice = spike_and_slab.spike_and_slab(points, labels, likelihood=likelihood)
        yield f"models enumerated, {likelihood}", partial(spike_and_slab.enumerate_models, choice)
        yield f"models sampled, {likelihood}", partial(spike_and_slab.sample_models, choice, draws=2, chains=1)
    yield "network accuracy", lambda: predictive.accuracy(classifier, classifier.prior_draws(2, seed=0), x, y)


def warm(report: Callable[[int, int, str], None] | None = None) -> float:
    """Run every task, calling `report(done, total, name)` before each. Returns the seconds it took."""
    begin = time.perf_counter()
    everything = list(tasks())
    for done, (name, task) in enumerate(everything):
        if report:
            report(done, len(everything), name)
        task()
    return time.perf_counter() - begin


def fill(processes: int, report: Callable[[int, int, str], None] | None = None) -> float:
    """`warm` for an empty cache: the compiling is shared among processes, for it holds the interpreter's lock.

    Two that keep a function at the same time can lose one of its versions, so a last look in this process compiles what
    is missing. Returns the seconds it took.
    """
    begin = time.perf_counter()
    names = [name for name, _ in tasks()]
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for done, _ in enumerate(pool.map(_run_one, range(len(names)))):
            if report:
                report(done, len(names), names[done])
    warm()
    return time.perf_counter() - begin


def _run_one(index: int) -> None:
    """One task, in a process of the pool."""
    next(islice(tasks(), index, None))[1]()


def _print(done: int, total: int, name: str) -> None:
    print(f"\r[{done + 1:2d}/{total}] {name:40s}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    seconds = fill(min(os.cpu_count() or 1, 4), _print)
    print(f"\rKernels ready in {seconds:.1f} s, kept in {engine.CACHE_DIR}", file=sys.stderr)
