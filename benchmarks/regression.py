"""House prices by a 13-10-1 network, beside numpyro and PyMC: 404 rows, 3 chains of 1,000 + 3,000 NUTS transitions.

    POSTERIOR_LAB_DATA=... python -m benchmarks.regression                        all engines, many minutes
    python -m benchmarks.regression --engines here learned --chains 3 --draws 3000
    python -m benchmarks.regression --engines numpyro --chains 2 --warmup 60 --draws 60    a shorter run

The size of the run is that of Andersen and Roed-Sorensen 2021, table 5.3, which took 1,496.69 s with PyMC3 (1,851.46 s
hierarchical) on raw inputs and noise sd 1; their machine was another, and so the times stand side by side, no more.
Here inputs and prices are standardised, hidden units are ReLU, weights and biases N(0, 1), the noise sd is 0.3.
"learned" is the same network with a precision a layer and the noise learned, ours alone.

Every engine is a process of its own. Seconds by the clock and of all processors together, warm-up and draws without
compilation (a short run comes before). On a busy machine only processor time means something. ESS and R-hat: bulk, of f
at 20 rows that were not used, the worst of them, since weights are label-switched.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.samplers import versions

ROWS, UNITS, NOISE_SD = 404, 10, 0.3
WATCHED = 20
THEIRS = {"1 hidden layer": 1496.69, "hierarchical": 1851.46}  # seconds, the paper's


class Prices(NamedTuple):
    """Standardised inputs and prices, and the unit of the prices in 1,000 dollars."""

    x: np.ndarray
    y: np.ndarray
    new_x: np.ndarray
    new_y: np.ndarray
    unit: float


def prices() -> Prices:
    """The Boston data in a fixed shuffled order, 404 rows and the other 102."""
    folder = os.environ.get("POSTERIOR_LAB_DATA")
    if not folder:
        raise SystemExit("POSTERIOR_LAB_DATA is not set: it names the folder that holds boston_housing.csv")
    table = np.loadtxt(Path(folder) / "boston_housing.csv", delimiter=",", skiprows=1)
    table = table[np.random.default_rng(1).permutation(len(table))]
    mean, sd = table[:ROWS].mean(axis=0), table[:ROWS].std(axis=0)
    scaled = (table - mean) / sd
    return Prices(scaled[:ROWS, :13], scaled[:ROWS, 13], scaled[ROWS:, :13], scaled[ROWS:, 13], float(sd[13]))


# chains, warm-up, draws, seed -> f at new_x (chains, draws, rows), gradient evaluations (0: not told)
Sampler = Callable[[int, int, int, int], tuple[np.ndarray, int]]


def here(weights: str = "fixed", noise: str = "fixed") -> Sampler:
    import engine

    data = prices()
    network = engine.network(13, 1, width=UNITS, activation="relu", likelihood="gaussian", noise_sd=NOISE_SD)

    def run(chains: int, warmup: int, draws: int, seed: int) -> tuple[np.ndarray, int]:
        found = engine.sample_network(
            network, data.x, data.y, weights=weights, noise=noise, chains=chains, warmup=warmup, draws=draws, seed=seed, noise_rate=0.1
        )
        gradients = found.gradient_evaluations.sum() + found.warmup_gradient_evaluations.sum()
        return found.outputs(data.new_x)[..., 0], int(gradients)

    return run


def numpyro() -> Sampler:
    import jax
    import jax.numpy as jnp
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    data = prices()
    x, y, new_x = (jnp.asarray(values) for values in (data.x, data.y, data.new_x))

    def outputs(theta, x):
        hidden = jax.nn.relu(x @ theta[:130].reshape(UNITS, 13).T + theta[130:140])
        return hidden @ theta[140:150] + theta[150]

    def potential(theta):
        return 0.5 * jnp.sum(theta**2) + 0.5 * jnp.sum((y - outputs(theta, x)) ** 2) / NOISE_SD**2

    def run(chains: int, warmup: int, draws: int, seed: int) -> tuple[np.ndarray, int]:
        sampler = MCMC(
            NUTS(potential_fn=potential, target_accept_prob=0.9),
            num_warmup=warmup,
            num_samples=draws,
            num_chains=chains,
            chain_method="sequential",
            progress_bar=False,
        )
        first, second = jax.random.split(jax.random.key(seed))
        start = jax.random.normal(first, (chains, 151) if chains > 1 else (151,))
        sampler.run(second, init_params=start)
        theta = sampler.get_samples(group_by_chain=True)
        return np.asarray(jax.vmap(jax.vmap(lambda t: outputs(t, new_x)))(theta)), 0

    return run


def pymc() -> Sampler:
    import pymc as pm

    data = prices()
    with pm.Model() as model:
        hidden = pm.math.maximum(data.x @ pm.Normal("W", shape=(13, UNITS)) + pm.Normal("b", shape=UNITS), 0.0)
        mean = hidden @ pm.Normal("v", shape=UNITS) + pm.Normal("c")
        pm.Normal("y", mean, NOISE_SD, observed=data.y)

    def run(chains: int, warmup: int, draws: int, seed: int) -> tuple[np.ndarray, int]:
        with model:
            found = pm.sample(
                draws,
                tune=warmup,
                chains=chains,
                cores=1,
                target_accept=0.9,
                random_seed=seed,
                progressbar=False,
                compute_convergence_checks=False,
            )
        at = {name: found.posterior[name].to_numpy() for name in ("W", "b", "v", "c")}
        hidden = np.maximum(np.einsum("rx,cdxk->cdrk", data.new_x, at["W"]) + at["b"][:, :, None], 0.0)
        f = np.einsum("cdrk,cdk->cdr", hidden, at["v"]) + at["c"][..., None]
        return f, 0

    return run


ENGINES: dict[str, Callable[[], Sampler]] = {
    "here": here,
    "learned": lambda: here("per_layer", "learned"),
    "numpyro": numpyro,
    "pymc": pymc,
}
PEERS = ("numpyro", "pymc")


def processor_time() -> float:
    """Seconds of this process and of those it has waited for."""
    return sum(os.times()[:4])


def cell(name: str, chains: int, warmup: int, draws: int) -> None:
    """Run one engine and print its figures as JSON."""
    sampler, data = ENGINES[name](), prices()
    sampler(chains, 5, 5, 0)
    begin, spent = time.perf_counter(), processor_time()
    f, gradients = sampler(chains, warmup, draws, 1)
    seconds, spent = time.perf_counter() - begin, processor_time() - spent
    from arviz_stats.base import array_stats

    watched = f[:, :, :WATCHED]
    ess = float(np.min(array_stats.ess(watched, chain_axis=0, draw_axis=1)))
    rhat = float(np.max(array_stats.rhat(watched, chain_axis=0, draw_axis=1))) if chains > 1 else float("nan")
    error = data.unit**2 * float(np.mean((f.mean(axis=(0, 1)) - data.new_y) ** 2))
    print(json.dumps({"seconds": seconds, "spent": spent, "gradients": gradients, "ess": ess, "rhat": rhat, "mse": error}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--chains", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=3000)
    parser.add_argument("--cell", choices=ENGINES, help="one engine in this process, as JSON")
    options = parser.parse_args()
    size = (options.chains, options.warmup, options.draws)
    if options.cell:
        cell(options.cell, *size)
        return
    prices()
    print(versions("numba", "numpy", *PEERS))
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; figures of a busy machine are not worth much")
    print(f"{size[0]} chains x ({size[1]:,} + {size[2]:,}); the paper's: " + ", ".join(f"{k} {v:,.0f} s" for k, v in THEIRS.items()))
    columns = {"seconds": 10, "of CPUs": 10, "gradients/s": 14, "least ESS": 12, "ESS/s CPU": 11, "R-hat": 8, "test MSE": 10}
    print(" " * 10 + "".join(f"{column:>{width}s}" for column, width in columns.items()))
    for name in options.engines:
        if name in PEERS and find_spec(name) is None:
            print(f"{name:10s}  not installed")
            continue
        settings = ["--chains", str(size[0]), "--warmup", str(size[1]), "--draws", str(size[2])]
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.regression", "--cell", name, *settings]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name:10s}  failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
            continue
        found = json.loads(done.stdout.strip().splitlines()[-1])
        rate = f"{found['gradients'] / found['spent']:14,.0f}" if found["gradients"] else f"{'-':>14s}"
        ess = f"{found['ess']:12,.0f}{found['ess'] / found['spent']:11.3f}"
        print(f"{name:10s}{found['seconds']:10.1f}{found['spent']:10.1f}{rate}{ess}{found['rhat']:8.3f}{found['mse']:10.2f}", flush=True)


if __name__ == "__main__":
    main()
